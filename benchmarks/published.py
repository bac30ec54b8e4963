"""The published captions, and their arguments of metrics."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

CAPTIONERS = ["nic", "sat", "fc", "att2in", "transformer", "nic_plus"]


class Shared:
    """The published captions in a folder."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "data" / "gender").is_dir():
            sys.exit(f"no published captions at {folder}: this benchmark needs them; pass --shared FOLDER")
        self.folder = folder

    def images(self, captioner: str, human: bool, attribute: str = "gender", objects: bool = False) -> dict[str, Any]:
        """Arguments of a metric; with `human`, the images that have human captions, and those captions; with `objects`,
        those of them with COCO's annotations of objects, and these as tasks."""
        data = self.folder / "data" / attribute
        table = pd.read_parquet(data / "people.parquet")
        table = table.merge(pd.read_parquet(data / "predictions" / f"{captioner}.parquet"), on="image_id")
        if human:
            table = table[table.references.map(len) > 0]
        if objects:
            table = table.merge(pd.read_parquet(self.folder / "data" / "gender" / "objects.parquet"), on="image_id")
        if attribute == "race":
            table = table[table.skin.isin(["Light", "Dark"])]
        labels = table.skin if attribute == "race" else table.gender
        given: dict[str, Any] = {"predictions": list(table.caption), "attributes": list(labels)}
        given |= {"attribute_lexicon": attribute}
        if objects:
            given["tasks"] = [list(row) for row in table.objects]
        return given | ({"references": [list(row) for row in table.references]} if human else {})
