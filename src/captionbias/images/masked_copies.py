"""Masked copies of images in a folder, each whole or not there, made once.

A copy's comment is a digest of the image and of the region that it was made from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from captionbias.arrays import Flags
from captionbias.attackers.ranks import on_rank_0, share
from captionbias.attackers.workers import cores
from captionbias.images.masks import check_fill, masked_image
from captionbias.images.reading import Images, open_image, read_source
from captionbias.io.files import replacing
from captionbias.io.formats import write_json

if TYPE_CHECKING:
    from PIL.Image import Image

SETTINGS = "masking.json"
JPEG: dict[str, Any] = {"format": "JPEG", "quality": 95, "subsampling": 0}
T = TypeVar("T")
Find: TypeAlias = Callable[[list["Image"]], Sequence[Flags]]


class _Outdated(NamedTuple):
    """An image whose copy is not there, or was made from another image or region, which may be still to be found."""

    picture: Image
    region: Any
    made_from: str


class Copies(NamedTuple):
    """What `write_masked` did: how many copies are new, and were there already; why an image has none, by its id."""

    written: int
    there: int
    left_out: dict[str, str]


def write_masked(
    images: Images,
    find: Find | Sequence[Flags],
    folder: str | Path,
    *,
    fill: str = "mean",
    settings: Mapping[str, Any] | None = None,
    strict: bool = False,
    batch: int = 16,
    progress: Callable[[str, float], None] | None = None,
) -> Copies:
    """Write a masked copy of each image to a folder, as ID.jpg: quality 95, colours at full resolution.

    A copy that is there is made again if its image or its region has changed, and removed if there is nothing to mask
    any more. What a function finds is not compared: it is asked about new and changed images alone.

    Several processes of `accelerate launch` share the images out; each must make the same call.

    Args:
        images: the images.
        find: their regions, `(H, W)` each; or a function that gives those of a batch of upright RGB images.
        folder: made if need be. It also gets masking.json, with the settings and the images left out.
        fill: as for `mask_image`.
        settings: what else determines the copies; a folder with copies of other settings is refused.
        strict: raise where an image would be left out.
        batch: images in memory at a time.
        progress: called with the step and the share done.

    Raises:
        ValueError: the folder has other files or copies made with other settings, an id cannot be the name of a file, a
            copy cannot be written; with `strict` also the first image that cannot be masked.
    """
    check_fill(fill)
    for image in images.ids:
        if not image or Path(image).name != image or image.startswith(".") or "\0" in image:
            raise ValueError(f"image id {image!r} cannot be the name of a file: give images a column of other ids")
    to = Path(folder).expanduser()
    made_with: dict[str, Any] = {"fill": fill, **(settings or {})}
    on_rank_0(lambda: _prepare(to, made_with))

    def path(row: int) -> Path:
        return to / f"{images.ids[row]}.jpg"

    def outdated(row: int) -> _Outdated | None:
        """What the copy is to be made from; None if it was made from the same image and region."""
        name = f"image {images.ids[row]}"
        source, made_from = read_source(images.sources[row], name)
        region = None if callable(find) else find[row]
        if region is not None:
            made_from += hashlib.blake2b(np.ascontiguousarray(region).data, digest_size=16).hexdigest()
        return None if _made_from(path(row)) == made_from else _Outdated(open_image(source, name), region, made_from)

    def copy(row: int, image: _Outdated) -> str:
        """Why there is no copy, or ""."""
        name = f"image {images.ids[row]}"
        copied = _or_reason(partial(masked_image, image.picture, image.region, fill, name))
        if isinstance(copied, str):
            return copied
        with replacing(path(row)) as part:
            copied.save(part, **JPEG, comment=image.made_from)
        return ""

    def write(positions: Sequence[int]) -> Generator[tuple[int, str | None], None, None]:
        """Each position with None if its copy was there, "" if it is new, or why there is none."""
        with ThreadPoolExecutor(cores()) as threads:
            for start in range(0, len(positions), batch):
                rows = positions[start : start + batch]
                outcomes: dict[int, Any] = dict(
                    zip(rows, threads.map(lambda row: _or_reason(partial(outdated, row)), rows), strict=True)
                )
                fresh = {row: one for row, one in outcomes.items() if isinstance(one, _Outdated)}
                if callable(find) and fresh:
                    regions = find([one.picture for one in fresh.values()])
                    fresh = {row: fresh[row]._replace(region=regions[at]) for at, row in enumerate(fresh)}
                outcomes |= zip(fresh, threads.map(copy, fresh.keys(), fresh.values()), strict=True)
                for row in rows:
                    if outcomes[row]:
                        path(row).unlink(missing_ok=True)
                        if strict:
                            raise ValueError(outcomes[row])
                    yield row, outcomes[row]
                if progress:
                    progress("masking", (start + len(rows)) / len(positions))

    outcomes = share(images.ids, write)
    # The reasons without the way out, which was taken.
    left_out = {key: why.rpartition(": ")[0] for key, why in zip(images.ids, outcomes, strict=True) if why}
    on_rank_0(lambda: write_json({"settings": made_with, "left_out": left_out}, to / SETTINGS))
    return Copies(outcomes.count(""), outcomes.count(None), left_out)


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


def _made_from(copy: Path) -> str:
    """The comment of a copy; "" if there is none."""
    from PIL import Image

    try:
        with Image.open(copy) as opened:
            return str(opened.info.get("comment", b""), "ascii", "replace")
    except OSError:
        return ""


def _or_reason(function: Callable[[], T]) -> T | str:
    try:
        return function()
    except ValueError as error:
        return str(error)
