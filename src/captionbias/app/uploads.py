"""Files of captions from strangers, read in a separate process: one for all files of a drop.

A file may unpack to more than the machine holds, or crash the library that reads it. A child process under a limit of
memory and of time bounds both for every format, so the process that serves the app never parses an upload itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from captionbias.captions import MAX_CHARACTERS
from captionbias.captions.tables import READERS, Table, table_from_file

MAX_BYTES = 100_000_000  # of a file, and of its text once unpacked
MAX_TOTAL = 3 * MAX_BYTES  # of all files together
MAX_ROWS = 400_000  # human captions of COCO 2014's validation images: 202,654
MAX_IMAGES = 50_000  # that have captions; COCO 2014's validation images: 40,504
MAX_COLUMNS = 100
MAX_VALUES = 4_000_000  # cells, and entries of the lists in them
MAX_NAME = 80
MEMORY = 2 << 30
SECONDS = 60  # for each file
# No stranger's pickle is opened, nor what unpacks to gigabytes.
ENDINGS = tuple(ending for ending in READERS if ending not in (".pkl", ".eval"))

_SCALARS = {str, int, float, bool, type(None)}
_children: set[subprocess.Popen[bytes]] = set()
_REFUSED = 3  # the child's exit status with a message; Python itself exits with 1 or 2
_END = b"\n\n"  # of what is printed of a table, whose lines are JSON
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
    return [_table(path, printed.splitlines()) for path, printed in zip(paths, _in_child(paths), strict=True)]


def _table(path: Path, lines: list[bytes]) -> Table:
    """The table of which the child printed the columns and then the values of each."""
    texts = dict(zip(json.loads(lines[0]), lines[1:], strict=True))
    return Table(shown_name(path.name), tuple(texts), lambda column: list(json.loads(texts[column])))


def _in_child(paths: Sequence[Path]) -> list[bytes]:
    """What a child process, under limits of memory and time, prints of each table."""
    command, pipe = [sys.executable, "-m", "captionbias.app.uploads"], subprocess.PIPE
    given, seconds = json.dumps([str(path.absolute()) for path in paths]).encode(), SECONDS * len(paths)
    fault = "cannot be read: it is damaged, or needs too much memory; write it again or split it"
    with subprocess.Popen(
        command, env={**os.environ, **_FRUGAL}, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as child:
        _children.add(child)
        try:
            printed, _ = child.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            printed, fault = late.output or b"", f"takes more than {seconds} seconds to read: give a smaller file"
        finally:
            _children.discard(child)
            child.kill()
    *tables, rest = printed.split(_END)
    if len(tables) == len(paths):
        return tables
    if child.returncode == _REFUSED:
        raise ValueError(rest.decode())
    raise ValueError(f"{shown_name(paths[len(tables)].name)} {fault}")


def stop_reading() -> None:
    """Kill the child processes: nobody waits for what they read."""
    for child in list(_children):
        child.kill()


def shown_name(name: str) -> str:
    """A file's name as messages show it: no folders, no characters that cannot be seen, at most 80 characters."""
    last = re.split(r"[\\/]", name)[-1]
    seen = "".join(filter(str.isprintable, last)).strip() or "the file"
    return seen if len(seen) <= MAX_NAME else f"{seen[: MAX_NAME - 13]}...{seen[-10:]}"


def check_file(path: Path) -> None:
    """Raise ValueError for what is wrong with a file as far as can be seen before it is parsed."""
    name, ending = shown_name(path.name), path.suffix.lower()
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{name} is not a file: upload it again")
    if ending not in ENDINGS:
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


def _main() -> int:
    """Read the tables whose paths are standard input and print what is in each. Prints the error, if any, and ends."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and macOS refuses
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for path in json.load(sys.stdin.buffer):
        try:
            sys.stdout.buffer.write(b"\n".join(_checked(Path(path))) + _END)
        except ValueError as error:
            name = shown_name(Path(path).name)
            fault = str(error).replace(path, name)
            sys.stdout.buffer.write((fault if fault.startswith(name) else f"{name} {fault}").encode(errors="replace"))
            return _REFUSED
        sys.stdout.buffer.flush()  # a later one may end this process
    return 0


def _checked(path: Path) -> list[bytes]:
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


if __name__ == "__main__":
    sys.exit(_main())
