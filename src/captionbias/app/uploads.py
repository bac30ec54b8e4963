"""Files from strangers, read in a separate process: tables of captions, and images, which are masked and shrunk there.

A file may unpack to more than the machine holds, or crash the library that reads it. A child process under a limit of
memory and of time bounds both for every format, so the process that serves the app never parses an upload itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from captionbias.arrays import Array
from captionbias.captions import MAX_CHARACTERS
from captionbias.captions.tables import Table, table_from_file
from captionbias.wings import wing

MAX_BYTES = 100_000_000  # of a file, and of its text once unpacked
MAX_TOTAL = 3 * MAX_BYTES  # of all files together, and of all images once unpacked
MAX_ROWS = 400_000  # human captions of COCO 2014's validation images: 202,654
MAX_IMAGES = 50_000  # that have captions; COCO 2014's validation images: 40,504
MAX_PICTURES = 5_000  # that are uploaded themselves
MAX_COLUMNS = 100
MAX_VALUES = 4_000_000  # cells, and entries of the lists in them
MAX_NAME = 80
MEMORY = 2 << 30
SECONDS, PICTURE_SECONDS = 60, 600

TABLES = (".csv", ".tsv", ".txt", ".token", ".json", ".jsonl", ".parquet")
ARCHIVES = (".zip",)
PIXELS = "pixels"
_SCALARS = {str, int, float, bool, type(None)}
_children: set[subprocess.Popen[bytes]] = set()
_REFUSED = 3  # the child's exit status with a message; Python itself exits with 1 or 2
# Threads and memory pools reserve address space, which is what the limit counts.
_FRUGAL = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images as the small judge sees them, `side` pixels on a side; notes, and previews with their captions. The
    folder, with pixels, previews and small pictures, is deleted with this."""

    ids: tuple[str, ...]
    side: int
    notes: tuple[str, ...]
    previews: tuple[tuple[str, str], ...]
    folder: TemporaryDirectory[str]

    def pixels(self) -> Array:
        """`(images, side, side, 3)` of bytes, read when they are used."""
        path = Path(self.folder.name, PIXELS)
        return np.memmap(path, np.uint8, "r", shape=(len(self.ids), self.side, self.side, 3))

    def small(self) -> Callable[[str], str]:
        """A function that gives the data URL of an image, made small, for reports."""
        pictures: Callable[[str], str] = image_wing().small_pictures(self.ids, Path(self.folder.name))
        return pictures


def open_table(path: Path) -> Table:
    """Read an uploaded table, which is called like its file and needs it no more. Columns lose blanks around their
    names; those without a name of at most 80 visible characters, and with anything but text, numbers and
    lists of these, are left out."""
    check_file(path, TABLES)
    name = shown_name(path.name)
    first, *lines = _in_child(name, SECONDS, table=str(path.absolute())).splitlines()
    texts = dict(zip(json.loads(first), lines, strict=True))
    return Table(name, tuple(texts), lambda column: list(json.loads(texts[column])))


@cache
def image_wing() -> Any:
    """What the images wing does with uploads; None without the wing, or what its judges need."""
    packages = ("torch", "accelerate", "PIL", "pycocotools", "ijson")
    return wing("images.uploads") if all(map(find_spec, packages)) else None


def open_pictures(paths: Sequence[Path], annotations: Path | None) -> Pictures:
    """Read uploaded images and archives of images, and mask the persons in them if there are COCO's annotations."""
    for path in paths:
        check_file(path, (*ARCHIVES, *image_wing().ENDINGS))
    if annotations:
        check_file(annotations, (".json",))
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="captionbias-app-")
    asked = {
        "pictures": [str(path.absolute()) for path in paths],
        "annotations": str(annotations.absolute()) if annotations else None,
        "folder": folder.name,
    }
    answer = json.loads(_in_child("the upload", PICTURE_SECONDS, **asked))
    return Pictures(
        tuple(answer["ids"]),
        answer["side"],
        tuple(answer["notes"]),
        tuple((str(Path(folder.name, file)), caption) for file, caption in answer["previews"]),
        folder,
    )


def _in_child(name: str, seconds: float, **asked: Any) -> bytes:
    """What a child process, under limits of memory and time, prints of what is asked for; ValueError if it refuses.
    Messages call what it reads `name`."""
    command, pipe = [sys.executable, "-m", "captionbias.app.uploads"], subprocess.PIPE
    with subprocess.Popen(command, env={**os.environ, **_FRUGAL}, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        _children.add(child)
        try:
            printed, _ = child.communicate(json.dumps({"name": name, **asked}).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise ValueError(f"{name} takes more than {seconds} seconds to read: give a smaller file") from None
        finally:
            _children.discard(child)
            child.kill()
    if child.returncode == 0:
        return printed
    if child.returncode == _REFUSED:
        raise ValueError(printed.decode())
    raise ValueError(f"{name} cannot be read: it is damaged, or needs too much memory; write it again or split it")


def stop_reading() -> None:
    """Kill the child processes: nobody waits for what they read."""
    for child in list(_children):
        child.kill()


def shown_name(name: str) -> str:
    """A file's name as messages show it: no folders, no characters that cannot be seen, at most 80 characters."""
    last = re.split(r"[\\/]", name)[-1]
    seen = "".join(filter(str.isprintable, last)).strip() or "the file"
    return seen if len(seen) <= MAX_NAME else f"{seen[: MAX_NAME - 13]}...{seen[-10:]}"


def check_file(path: Path, endings: Sequence[str]) -> None:
    """Raise ValueError for what is wrong with a file as far as can be seen before it is parsed."""
    name, ending = shown_name(path.name), path.suffix.lower()
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{name} is not a file: upload it again")
    if ending not in endings:
        raise ValueError(
            f"{name} has the ending '{ending[:20]}': give a file that ends with one of {', '.join(endings)}"
        )
    size, most = path.stat().st_size, f"{MAX_BYTES / 1e6:,.0f} MB"
    if size > MAX_BYTES:
        raise ValueError(f"{name} has {size / 1e6:,.0f} MB, and no file may have more than {most}: give fewer images")
    if size == 0:
        raise ValueError(f"{name} is empty: write it again, or give another")


def check_total(size: int) -> None:
    """Raise ValueError if files have more bytes together than a page takes."""
    if size > MAX_TOTAL:
        raise ValueError(
            f"the files have {size / 1e6:,.0f} MB together, and this page takes {MAX_TOTAL / 1e6:,.0f} MB at most: "
            "give fewer captioners or images"
        )


# In the child process


def _main() -> int:
    """Read what standard input asks for and print what is in it. Prints the error if any."""
    asked = json.loads(sys.stdin.buffer.read())
    name, table = asked["name"], asked.get("table")
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and macOS refuses
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        with ExitStack() as opened:
            lines = _table(Path(table)) if table else [json.dumps(_pictures(asked, opened)).encode()]
    except ValueError as error:
        fault = str(error)
        for path in filter(None, (table, asked.get("annotations"), *asked.get("pictures", ()))):
            fault = fault.replace(path, shown_name(path))
        named = not table or fault.startswith(name)
        sys.stdout.buffer.write((fault if named else f"{name} {fault}").encode(errors="replace"))
        return _REFUSED
    sys.stdout.buffer.write(b"\n".join(lines))
    return 0


def _table(path: Path) -> list[bytes]:
    """The names of the columns that an argument could take, then the values of each, as JSON."""
    table = table_from_file(path)
    columns: dict[str, list[Any]] = {}
    entries = characters = 0
    for column, name in zip(table.columns, _checked_names(table.columns), strict=True):
        values = table.read(column) if name else []
        if (texts := _texts(values)) is None or not values:
            continue
        entries += sum(len(value) if type(value) is list else 1 for value in values)
        characters += sum(map(len, texts))
        if len(values) > MAX_ROWS:
            raise ValueError(f"has more than {MAX_ROWS:,} rows: give fewer images")
        if entries > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values: give fewer images, or leave out columns")
        if characters > MAX_BYTES:
            raise ValueError(f"holds more than {MAX_BYTES / 1e6:,.0f} MB of text once unpacked: give fewer images")
        _check_texts(texts, column)
        columns[name] = values
    if not columns:
        raise ValueError("has no rows of text or numbers: give a table of image ids and captions, a row for each image")
    return [json.dumps(values, ensure_ascii=False).encode() for values in (list(columns), *columns.values())]


def _texts(values: list[Any]) -> list[str] | None:
    """Every text in the cells of a column and in lists in them; None if a cell is anything else."""
    kinds = set(map(type, values))
    entries = list(chain.from_iterable(value for value in values if type(value) is list)) if list in kinds else []
    if not (kinds - {list} | set(map(type, entries))) <= _SCALARS:
        return None
    return [text for text in chain(values, entries) if type(text) is str]


def _check_texts(texts: list[str], column: str) -> None:
    longest = max(texts, key=len, default="")
    if len(longest) > MAX_CHARACTERS:
        raise ValueError(
            f"has a text of {len(longest):,} characters in column '{column}' ({longest[:30]!r}...), and none may have "
            f"more than {MAX_CHARACTERS:,}: shorten it"
        )
    whole = "".join(texts)
    if "\0" in whole or whole != whole.encode(errors="ignore").decode():
        raise ValueError(
            f"has a NUL character (code 0) or half a character (a lone surrogate) in column '{column}': write the file "
            "again as UTF-8, without it"
        )


def _checked_names(columns: Sequence[Any]) -> list[str]:
    """The names without blanks around them, "" for those that are too long or cannot be seen."""
    if len(columns) > MAX_COLUMNS:
        raise ValueError(f"has {len(columns)} columns, and no table may have more than {MAX_COLUMNS}: leave some out")
    stripped = [str(column).strip() for column in columns]
    names = [name if len(name) <= MAX_NAME and name.isprintable() else "" for name in stripped]
    for name, count in Counter(filter(None, names)).items():
        if count > 1:
            raise ValueError(f"has {count} columns named '{name}': rename all but one")
    return names


def _pictures(asked: dict[str, Any], opened: ExitStack) -> dict[str, Any]:
    """The answer to `open_pictures`; the pixels and the previews are files in the folder."""
    uploads = [upload for path in asked["pictures"] for upload in _in_upload(Path(path), opened)]
    if len(uploads) > MAX_PICTURES:
        raise ValueError(f"there are {len(uploads):,} files, and this page takes {MAX_PICTURES:,} images: give fewer")
    check_total(sum(size for _, size, _ in uploads))
    files = [(name, shown_name(name), partial(_unpacked, name, read)) for name, _, read in uploads]
    prepared: dict[str, Any] = image_wing().prepare(files, asked["annotations"], Path(asked["folder"]), PIXELS)
    return prepared


def _in_upload(path: Path, opened: ExitStack) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """The name without folders, the bytes once unpacked, and what reads them, of a picture or of each file in an
    archive, which is never unpacked to a folder."""
    if path.suffix.lower() not in ARCHIVES:
        yield path.name, path.stat().st_size, path.read_bytes
        return
    try:
        archive = opened.enter_context(ZipFile(path))
    except (BadZipFile, NotImplementedError, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{shown_name(path.name)} is not a zip archive, or is damaged: pack it again") from error
    for member in archive.infolist():
        *folders, name = re.split(r"[\\/]", member.filename)
        if not (member.is_dir() or name.startswith(".") or "__MACOSX" in folders):  # which systems add to archives
            yield name, member.file_size, partial(archive.read, member)


def _unpacked(name: str, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        raise ValueError(
            f"{shown_name(name)} is damaged or locked with a password: pack it again, without one"
        ) from error


if __name__ == "__main__":
    sys.exit(_main())
