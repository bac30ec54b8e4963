"""ArtEmis (Achlioptas et al. 2021; version 2: Mohamed et al. 2022): what people feel before paintings, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from captionbias.captions.tables import csv_rows
from captionbias.datasets.json_records import caption, file_name, short
from captionbias.datasets.original_files import OriginalFiles
from captionbias.datasets.rows_by_image import RowsByImage

ORIGIN = "https://www.artemisdataset.org and https://www.artemisdataset-v2.org"
EMOTIONS = ("amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness", "something else")


class ArtemisEmotions(OriginalFiles):
    """Reads every CSV file of the folder, with the columns `art_style`, `painting`, `emotion` and `utterance`.

    `paintings`: a row for each painting, its emotion the one that most people felt, as ImageCaptioner2 votes (section
    5.1); paintings without a most frequent one are left out. `utterances`: a row for each utterance. Both are sorted by
    art style and painting, utterances of one painting in the order of the files.
    """

    SPLIT: ClassVar[str] = "train"
    BENCHMARK: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.files = tuple(sorted(folder.glob("*.csv")))
        if not self.files:
            raise ValueError(f"{folder} has no CSV file: put those of one version there; they come from {ORIGIN}")

    def schema(self, configuration: str) -> pa.Schema:
        names = {"image_id": pa.string(), "art_style": pa.string(), "painting": pa.string()}
        felt = {"emotions": pa.list_(pa.string())} if configuration == "paintings" else {}
        return pa.schema({**names, "references": pa.list_(pa.string()), "attribute": pa.string(), **felt})

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        left_out = self.left_out[configuration] = Counter()
        for (style, painting), rows in self._paintings:
            felt = [(emotion, utterance) for _, _, emotion, utterance in rows if utterance.strip()]
            left_out["empty utterances"] += len(rows) - len(felt)
            names = {"image_id": f"{style}/{painting}", "art_style": style, "painting": painting}
            if configuration == "utterances":
                yield from ({**names, "references": [utterance], "attribute": emotion} for emotion, utterance in felt)
                continue
            emotions = [emotion for emotion, _ in felt]
            ranked = Counter(emotions).most_common(2)
            if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
                left_out["without a most frequent emotion"] += 1
            elif felt:
                references = [utterance for _, utterance in felt]
                yield {**names, "references": references, "attribute": ranked[0][0], "emotions": emotions}

    @cached_property
    def _paintings(self) -> RowsByImage:
        rows = (row for path in self.files for row in _utterances(path))
        return RowsByImage(list(_CHECKS), rows, keys=2)


def _utterances(path: Path) -> Iterator[tuple[str, ...]]:
    """Art style, painting, emotion and utterance of each row of a file."""
    table = csv_rows(path)
    header = next(table)
    for column in _CHECKS:
        if header.count(column) != 1:
            raise ValueError(f"{path.name} must have the columns {', '.join(_CHECKS)}, each once: {column!r} is not")
    chosen = itemgetter(*map(header.index, _CHECKS))
    for number, row in enumerate(map(chosen, table)):
        for value, (column, check) in zip(row, _CHECKS.items(), strict=True):
            if fault := check(value):
                raise ValueError(f"{path.name}: {column}[{number}] {fault}")
        yield row


def _emotion(value: str) -> str | None:
    return None if value in EMOTIONS else f"must be one of {', '.join(EMOTIONS)}, not {short(value)}"


_CHECKS = {"art_style": file_name, "painting": file_name, "emotion": _emotion, "utterance": caption}
