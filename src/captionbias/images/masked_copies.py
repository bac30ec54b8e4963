"""Masked copies of images in a folder, each whole or not there, made once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from captionbias.arrays import Flags
from captionbias.attackers.workers import cores
from captionbias.images.masks import masked
from captionbias.images.reading import Images
from captionbias.io.files import replacing, user_path
from captionbias.io.formats import write_json
from captionbias.progress import Watch

SETTINGS = "masking.json"
JPEG: dict[str, Any] = {"format": "JPEG", "quality": 95, "subsampling": 0}


class Copies(NamedTuple):
    """The copies that `write_masked` made and those that were there already; why an image has none, by its id."""

    written: int
    there: int
    left_out: dict[str, str]


def write_masked(
    images: Images,
    regions: Sequence[Flags],
    folder: str | Path,
    *,
    fill: str = "mean",
    settings: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Copies:
    """Write a masked copy of each image to a folder, as ID.jpg: quality 95, colours at full resolution.

    A copy that is there is not made again, even if its image or its region has changed since.

    Args:
        regions: `(H, W)`, True inside, one for each image, as for `captionbias.images.masks.masked`.
        folder: made if need be. It also gets masking.json, with the settings and the images left out.
        fill: as for `mask_image`.
        settings: what else determines the copies; a folder with copies of other settings is refused.
        watch: called with the step and the share done.
    """
    pictures = masked(images, regions, fill)
    for image in images.ids:
        if not image or Path(image).name != image or image.startswith(".") or "\0" in image:
            raise ValueError(f"image id {image!r} cannot be the name of a file: give images a column of other ids")
    to = user_path(folder, "folder")
    made_with: dict[str, Any] = {"fill": fill, **(settings or {})}
    _prepare(to, made_with)
    copies = {image: to / f"{image}.jpg" for image in images.ids}
    new = [row for row, path in enumerate(copies.values()) if not path.exists()]

    def copy(row: int) -> str:
        """Write the copy of an image; the reason if there is none."""
        try:
            picture = pictures[row]
        except ValueError as error:
            return str(error).rpartition(": ")[0]  # without the way out, which was taken
        with replacing(copies[images.ids[row]]) as part:
            picture.save(part, **JPEG)
        return ""

    left_out = {}
    with ThreadPoolExecutor(cores()) as threads:
        for done, (row, reason) in enumerate(zip(new, threads.map(copy, new), strict=True), 1):
            if reason:
                left_out[images.ids[row]] = reason
            if watch:
                watch("masking", done / len(new))
    write_json({"settings": made_with, "left_out": left_out}, to / SETTINGS)
    return Copies(len(new) - len(left_out), len(images) - len(new), left_out)


def _prepare(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder, or see that copies in it were made with the same settings."""
    known = folder / SETTINGS
    if known.exists():
        before = json.loads(known.read_text(encoding="utf-8"))["settings"]
        if before != settings:
            raise ValueError(f"{folder} has copies that were made with {before}, not {settings}: name another folder")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} has other files: name a new folder for the masked copies")
    write_json({"settings": settings, "left_out": {}}, known)
