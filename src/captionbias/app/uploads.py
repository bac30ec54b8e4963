"""Files of captions from strangers, read in a separate process, which stays for the next ones.

A file may unpack to more than the machine holds, or crash the library that reads it. A child process under a limit of
memory and of time bounds both for every format, so the process that serves the app never parses an upload itself. It is
ended by what it cannot read, and after large files.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from captionbias.captions import MAX_CHARACTERS
from captionbias.captions.sources import PACKED
from captionbias.captions.tables import READERS, Column, Table, longest_text, table_from_file
from captionbias.captions.values import entries, is_column

MAX_BYTES = 100_000_000  # of a file, and of its text once unpacked
MAX_TOTAL = 3 * MAX_BYTES  # of all files together
MAX_ROWS = 400_000  # human captions of COCO 2014's validation images: 202,654
MAX_IMAGES = 50_000  # that have captions; COCO 2014's validation images: 40,504
MAX_COLUMNS = 100
MAX_VALUES = 4_000_000  # cells, and entries of the lists in them
MAX_NAME = 80
MEMORY = 2 << 30
SECONDS = 60  # for each file
LARGE = 30_000_000  # bytes of what a child printed, which may keep memory afterwards
ENDINGS = (*READERS, PACKED)  # of pickles plain data alone are read

_SCALARS = {str, int, float, bool, type(None)}
_children: set[subprocess.Popen[bytes]] = set()
_idle: list[subprocess.Popen[bytes]] = []
# Threads and memory pools reserve address space, which is what the limit counts.
_FRUGAL = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def open_tables(paths: Sequence[Path]) -> list[Table]:
    """Read uploaded tables, which are called like their files and need them no more. Columns lose blanks around their
    names; those without a name of at most 80 visible characters, and with anything but text, numbers and lists of
    these, are left out. ValueError, which names the file: one cannot be read."""
    for path in paths:
        check_file(path)
    if not paths:
        return []
    child, tables, size, seconds = ready_child(), list[Table](), 0, SECONDS * len(paths)
    late, end = Timer(seconds, child.kill), time.monotonic() + seconds
    late.start()
    try:
        assert child.stdin
        assert child.stdout
        with suppress(BrokenPipeError):  # it died, which its answer tells
            child.stdin.write(json.dumps([str(path.absolute()) for path in paths]).encode() + b"\n")
            child.stdin.flush()
        for path in paths:
            columns = json.loads(child.stdout.readline() or "null")
            if isinstance(columns, str):
                raise ValueError(columns)
            printed = [child.stdout.readline() for _ in columns or ()]
            if columns is None or not all(line.endswith(b"\n") for line in printed):
                fault = "cannot be read: it is damaged, or needs too much memory; write it again or split it"
                if time.monotonic() >= end:
                    fault = f"takes more than {seconds} seconds to read: give a smaller file"
                raise ValueError(f"{shown_name(path.name)} {fault}")
            size += sum(map(len, printed))
            tables.append(_table(path, dict(zip(columns, printed, strict=True))))
    finally:
        late.cancel()
        if len(tables) == len(paths) and size < LARGE:
            _idle.append(child)
        else:
            _end(child)
    return tables


def _table(path: Path, texts: dict[str, bytes]) -> Table:
    """The table of which the child printed the values of each column."""
    return Table(shown_name(path.name), tuple(texts), lambda column: list(json.loads(texts[column])))


def ready_child() -> subprocess.Popen[bytes]:
    """A child process that waits for files, under a limit of memory; a new one where none is idle."""
    while _idle:
        child = _idle.pop()
        if child.poll() is None:
            return child
        _end(child)
    command, pipe = [sys.executable, "-m", "captionbias.app.uploads"], subprocess.PIPE
    child = subprocess.Popen(command, env={**os.environ, **_FRUGAL}, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    _children.add(child)
    return child


def warm_up() -> None:
    """Start a child process that waits for the first files."""
    _idle.append(ready_child())


def stop_reading() -> None:
    """End the child processes: nobody waits for what they read."""
    _idle.clear()
    for child in list(_children):
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            pipe.close()  # type: ignore[union-attr]
    _children.discard(child)


def shown_name(name: str) -> str:
    """A file's name as messages show it: no folders, no characters that cannot be seen, at most 80 characters."""
    last = re.split(r"[\\/]", name)[-1]
    seen = "".join(filter(str.isprintable, last)).strip() or "the file"
    return seen if len(seen) <= MAX_NAME else f"{seen[: MAX_NAME - 13]}...{seen[-10:]}"


def check_file(path: Path) -> None:
    """Raise ValueError for what is wrong with a file as far as can be seen before it is parsed."""
    name, ending = shown_name(path.name), Path(path.name.lower().removesuffix(PACKED)).suffix
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{name} is not a file: upload it again")
    if ending not in READERS:
        raise ValueError(
            f"{name} has the ending '{ending[:20]}': give a file that ends with one of {', '.join(ENDINGS)}"
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


def _main() -> None:
    """Read the tables whose paths each line of standard input lists, and print what is in each: the names of columns,
    then the values of each; or what is wrong with it."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and macOS refuses
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for name in ("pyarrow.parquet", "pandas", "openpyxl"):  # now, not as files come
        with suppress(ImportError):
            import_module(name)
    for line in sys.stdin.buffer:
        with TemporaryDirectory() as folder:
            paths = [_beside(Path(path), Path(folder)) for path in json.loads(line)]
            for path in paths:
                try:
                    table = _checked(path)
                    printed = [json.dumps(part, ensure_ascii=False).encode() for part in (list(table), *table.values())]
                except ValueError as error:
                    name = shown_name(path.name)
                    fault = str(error).replace(str(path), name)
                    printed = [json.dumps(fault if fault.startswith(name) else f"{name} {fault}").encode()]
                sys.stdout.buffer.writelines(part + b"\n" for part in printed)
                sys.stdout.buffer.flush()  # a later one may end this process


def _beside(path: Path, folder: Path) -> Path:
    """The file beside the others, as some name what is in another, and under a name that is no address."""
    link = folder / path.name.replace("::", "__")
    with suppress(OSError):  # Windows may not allow it
        link.symlink_to(path)
    return link if link.exists() else path


def _checked(path: Path) -> dict[str, list[Any]]:
    """The values of the columns that an argument could take, by their names."""
    table = table_from_file(path)
    columns: dict[str, list[Any]] = {}
    cells = characters = 0
    for name, values in _columns(table):
        if (texts := _texts(values)) is None or not values or _pictures(texts):
            continue
        cells += sum(len(value) if type(value) is list else 1 for value in values)
        characters += sum(map(len, texts))
        if len(values) > MAX_ROWS:
            raise ValueError(f"has more than {MAX_ROWS:,} rows: give fewer images")
        if cells > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values: give fewer images, or leave out columns")
        if characters > MAX_BYTES:
            raise ValueError(f"holds more than {MAX_BYTES / 1e6:,.0f} MB of text once unpacked: give fewer images")
        _check_texts(texts, name)
        columns[name] = values
    if not columns:
        raise ValueError("has no rows of text or numbers: give a table of image ids and captions, a row for each image")
    return columns


def _columns(table: Table) -> Iterator[tuple[str, list[Any]]]:
    """Each column that has a name, and what the objects in it have as their longest text."""
    for column, name in zip(table.columns, _checked_names(table.columns), strict=True):
        values = list(map(_plain, table.read(column))) if name else []
        yield name, values
        if any(type(value) is dict or (type(value) is list and dict in map(type, value)) for value in values):
            text = longest_text(Column(table, column)) or ""
            said = table.column(text) if 0 < len(text) <= MAX_NAME and text.isprintable() else []
            yield text, said if any(" " in each for each in said if isinstance(each, str)) else []


def _plain(cell: Any) -> Any:
    """A cell as JSON can have it; of a list of objects, such as COCO's, their texts."""
    if is_column(cell):
        return entries(list(cell))
    return str(cell) if isinstance(cell, datetime) else cell


def _texts(values: list[Any]) -> list[str] | None:
    """Every text in the cells of a column and in lists in them; None if a cell is anything else."""
    kinds = set(map(type, values))
    listed = list(chain.from_iterable(value for value in values if type(value) is list)) if list in kinds else []
    if not (kinds - {list} | set(map(type, listed))) <= _SCALARS:
        return None
    return [text for text in chain(values, listed) if type(text) is str]


def _pictures(texts: list[str]) -> bool:
    """Whether texts are mostly such as encode pictures, in tables of VLMEvalKit, say."""
    return 2 * sum(len(text) > MAX_CHARACTERS and " " not in text for text in texts) > len(texts) > 0


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


if __name__ == "__main__":
    _main()
