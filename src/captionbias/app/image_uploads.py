"""Images from strangers, opened, masked and shrunk in a separate process, as their captions are read in one.

What comes back is what the small judge sees, a few kilobytes an image, in a file of a temporary folder.
"""

from __future__ import annotations

import json
import re
import stat
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from captionbias.app.uploads import REFUSED, check_file, in_child, limit_memory, shown_name
from captionbias.arrays import Array
from captionbias.vision.images import Images, coco_name
from captionbias.vision.masks import masked_image, read_regions, shown

MAX_IMAGES = 5_000
MAX_BYTES = 300_000_000  # of all images together, as uploaded and once unpacked
MAX_IMAGE = 30_000_000  # bytes of a file in an archive
SECONDS = 600
PREVIEWS, PREVIEW_SIDE = 4, 256
ARCHIVES = (".zip",)
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".jp2")
PIXELS = "pixels"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images as the small judge sees them. Their folder is deleted with this.

    Attributes:
        ids: of the images.
        side: pixels on a side.
        notes: which images are left out and why, and what else to know.
        previews: of the first images, files with their captions, before and after masking.
        sources: the names of the files that were uploaded, and that of the annotations if there are any.
        folder: with the pixels and the previews.
    """

    ids: tuple[str, ...]
    side: int
    notes: tuple[str, ...]
    previews: tuple[tuple[str, str], ...]
    sources: tuple[str, ...]
    annotations: str | None
    folder: TemporaryDirectory[str]

    def pixels(self) -> Array:
        """`(images, side, side, 3)` of bytes, read when they are used."""
        path = Path(self.folder.name, PIXELS)
        return np.memmap(path, np.uint8, "r", shape=(len(self.ids), self.side, self.side, 3))


def open_pictures(paths: Sequence[Path], annotations: Path | None) -> Pictures:
    """Read uploaded images and archives of images, and mask the persons in them if there are annotations.

    Files that are not images, images without a person, and those that the annotations do not know are left out.

    Args:
        paths: images and .zip archives, whose folders do not count.
        annotations: COCO's, a .json file; None if the persons are masked already.

    Raises:
        ValueError: nothing is left, two images have the same id, an archive holds what it must not, or a limit of this
            module or of `captionbias.app.uploads` is exceeded. The message names the file, and says what to do.
    """
    if len(paths) > MAX_IMAGES:
        raise ValueError(f"there are {len(paths):,} files, and this page takes {MAX_IMAGES:,} images: give fewer")
    for path in paths:
        check_file(path, (*ARCHIVES, *ENDINGS))
    if annotations:
        check_file(annotations, (".json",))
    _check_total(sum(path.stat().st_size for path in paths), "the images")
    folder = TemporaryDirectory(prefix="captionbias-app-")
    asked = {
        "paths": [str(path.absolute()) for path in paths],
        "annotations": str(annotations.absolute()) if annotations else None,
        "folder": folder.name,
    }
    given = json.dumps(asked).encode()
    answer = json.loads(in_child(__name__, shown="the upload", seconds=SECONDS, given=given))
    return Pictures(
        tuple(answer["ids"]),
        answer["side"],
        tuple(answer["notes"]),
        tuple((str(Path(folder.name, file)), caption) for file, caption in answer["previews"]),
        tuple(shown_name(path.name) for path in paths),
        shown_name(annotations.name) if annotations else None,
        folder,
    )


# In the child process


class Upload(NamedTuple):
    """An image that was uploaded by itself or in an archive: its name without folders, and what reads it."""

    name: str
    read: Callable[[], bytes]

    @property
    def is_image(self) -> bool:
        """By its name."""
        return Path(self.name).suffix.lower() in ENDINGS


@dataclass(frozen=True, eq=False)
class _Sources(Sequence[Any]):
    uploads: Sequence[Upload]

    def __len__(self) -> int:
        return len(self.uploads)

    def __getitem__(self, index: Any) -> Any:
        upload = self.uploads[index]
        try:
            return {"bytes": upload.read(), "path": shown_name(upload.name)}
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise ValueError(f"{shown_name(upload.name)} is damaged: pack it again") from error


def _main() -> int:
    """Read what standard input asks for and print what `open_pictures` needs. Prints the error if any."""
    limit_memory()
    asked = json.loads(sys.stdin.buffer.read())
    try:
        with ExitStack() as opened:
            answer = _read(asked, opened)
    except MemoryError:
        fault = "the images need too much memory: make them smaller, or give fewer"
    except RecursionError:
        fault = "the annotations have lists or records nested too deeply: fetch the file again"
    except ValueError as error:
        fault = str(error)
        for path in filter(None, (asked["annotations"], *asked["paths"])):
            fault = fault.replace(path, shown_name(path))
    else:
        sys.stdout.buffer.write(json.dumps(answer).encode())
        return 0
    sys.stdout.buffer.write(fault.encode(errors="replace"))
    return REFUSED


def _read(asked: dict[str, Any], opened: ExitStack) -> dict[str, Any]:
    from captionbias.vision.judges import shrunk, small_side

    found = [upload for path in map(Path, asked["paths"]) for upload in _uploads(path, opened)]
    uploads = [upload for upload in found if upload.is_image]
    left_out = [f"{shown_name(upload.name)} is not an image" for upload in found if not upload.is_image]
    if len(uploads) > MAX_IMAGES:
        raise ValueError(f"there are {len(uploads):,} images, and this page takes {MAX_IMAGES:,} at most: give fewer")
    names: dict[str, Upload] = {}
    for upload in uploads:
        name = coco_name(upload.name)
        if names.setdefault(name, upload) is not upload:
            first, second = shown_name(names[name].name), shown_name(upload.name)
            raise ValueError(f"{first} and {second} have the same id {shown_name(name)!r}: remove or rename one")
    images = Images(tuple(names), _Sources(uploads))
    regions, notes = None, []
    if asked["annotations"] and uploads:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            regions = read_regions(asked["annotations"], images)
        notes = [str(one.message) for one in heard]
        notes.append(f"persons are masked by {regions.source}: their segments, in the mean colour of the rest")
    folder = Path(asked["folder"])
    kept: list[str] = []
    previews: list[tuple[str, str]] = []
    side = 0
    with (folder / PIXELS).open("wb") as file:
        for row, name in enumerate(names):
            try:
                before = after = images[row]
                if regions is not None:
                    after = masked_image(before, regions[row], "mean", f"image {shown_name(name)}")
            except ValueError as error:
                left_out.append(str(error))
                continue
            if len(kept) < PREVIEWS:
                stages = {"": after} if regions is None else {", before": before, ", masked": after}
                for stage, image in stages.items():
                    small, preview = image.copy(), f"{len(previews)}.png"
                    small.thumbnail((PREVIEW_SIDE, PREVIEW_SIDE))
                    small.save(folder / preview)
                    previews.append((preview, f"{shown_name(name)}{stage}"))
            side = side or small_side(after)
            file.write(shrunk(after, side).tobytes())
            kept.append(name)
    if not kept:
        raise ValueError(f"no image is left: {shown(left_out) if left_out else 'the archives are empty'}")
    if left_out:
        notes.append(f"{len(left_out):,} files are left out: {shown(left_out)}")
    return {"ids": kept, "side": side, "notes": notes, "previews": previews}


def _uploads(path: Path, opened: ExitStack) -> Iterator[Upload]:
    if path.suffix.lower() not in ARCHIVES:
        yield Upload(path.name, path.read_bytes)
        return
    name = shown_name(path.name)
    try:
        archive = opened.enter_context(ZipFile(path))
    except (BadZipFile, NotImplementedError, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not a zip archive, or is damaged: pack it again") from error
    members = [member for member in archive.infolist() if not _passed_over(member)]
    if len(members) > MAX_IMAGES:
        raise ValueError(f"{name} holds {len(members):,} files, and this page takes {MAX_IMAGES:,} at most: give fewer")
    for member in members:
        if fault := _fault(member):
            raise ValueError(f"{name} holds {shown_name(member.filename)}, which {fault}")
    _check_total(sum(member.file_size for member in members), f"the files in {name}")
    yield from (Upload(_parts(member)[-1], partial(archive.read, member)) for member in members)


def _passed_over(member: ZipInfo) -> bool:
    """Folders, and what systems add to archives."""
    *folders, name = _parts(member)
    return member.is_dir() or (".." not in folders and (name.startswith(".") or "__MACOSX" in folders))


def _parts(member: ZipInfo) -> list[str]:
    return re.split(r"[\\/]", member.filename)


def _fault(member: ZipInfo) -> str | None:
    parts = _parts(member)
    if ".." in parts or parts[0] == "" or re.match("[A-Za-z]:", member.filename):
        return "has a path that leads out of the archive: pack the folder again"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link: pack the file itself"
    if member.flag_bits & 1:
        return "is locked with a password: pack it without one"
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return "is packed in an unusual way: pack it as zip programs do by themselves (deflate)"
    if Path(member.filename).suffix.lower() in ARCHIVES:
        return "is an archive itself: unpack it first"
    if member.file_size > MAX_IMAGE:
        return f"has {member.file_size / 1e6:,.0f} MB, and none may have more than {MAX_IMAGE / 1e6:,.0f} MB"
    return None


def _check_total(size: int, what: str) -> None:
    if size > MAX_BYTES:
        raise ValueError(
            f"{what} have {size / 1e6:,.0f} MB together, and this page takes {MAX_BYTES / 1e6:,.0f} MB at most: give "
            "fewer images"
        )


if __name__ == "__main__":
    sys.exit(_main())
