"""Masked copies of images in a folder, each whole or not there, made once."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from captionbias.arrays import Flags
from captionbias.attackers.ranks import on_rank_0, share
from captionbias.attackers.workers import cores
from captionbias.images.masks import check_fill, masked_image
from captionbias.images.reading import Images, selected
from captionbias.io.files import replacing
from captionbias.io.formats import write_json

if TYPE_CHECKING:
    from PIL.Image import Image

SETTINGS = "masking.json"
JPEG: dict[str, Any] = {"format": "JPEG", "quality": 95, "subsampling": 0}
T = TypeVar("T")
Find: TypeAlias = Callable[[list["Image"]], Sequence[Flags]]


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

    A copy that is there is not made again, even if its image or its region has changed since.
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

    def copy(row: int, picture: Image, regions: Sequence[Flags], at: int) -> str:
        masked = masked_image(picture, regions[at], fill, f"image {images.ids[row]}")
        with replacing(to / f"{images.ids[row]}.jpg") as part:
            masked.save(part, **JPEG)
        return ""

    def write(positions: Sequence[int]) -> Generator[tuple[int, str | None], None, None]:
        """Each position with None if its copy was there, "" if it is new, or why there is none."""
        with ThreadPoolExecutor(cores()) as threads:
            for start in range(0, len(positions), batch):
                rows = positions[start : start + batch]
                outcomes: dict[int, Any] = dict.fromkeys(rows)
                new = [row for row in rows if not (to / f"{images.ids[row]}.jpg").exists()]
                outcomes |= zip(new, threads.map(_or_reason(images.make), new), strict=True)
                read = [row for row in new if not isinstance(outcomes[row], str)]
                pictures = [outcomes[row] for row in read]
                regions = selected(find, read) if not callable(find) else find(pictures) if read else []
                whole = threads.map(_or_reason(copy), read, pictures, [regions] * len(read), range(len(read)))
                outcomes |= zip(read, whole, strict=True)
                for row in rows:
                    if strict and outcomes[row]:
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


def _or_reason(function: Callable[..., T]) -> Callable[..., T | str]:
    def tried(*arguments: Any) -> T | str:
        try:
            return function(*arguments)
        except ValueError as error:
            return str(error)

    return tried
