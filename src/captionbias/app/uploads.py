"""Files from strangers, read in a separate process.

A file may unpack to more than the machine holds, or crash the library that reads it. A child process under a limit of
memory and of time bounds both for every format, so the process that serves the app never parses an upload itself.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from captionbias.captions import MAX_CHARACTERS
from captionbias.captions.tables import Table, table_from_file

MAX_BYTES = 100_000_000  # of a file, and of its text once unpacked
MAX_ROWS = 400_000  # human captions of COCO 2014's validation images: 202,654
MAX_IMAGES = 50_000  # COCO 2014's validation images: 40,504
MAX_COLUMNS = 100
MAX_VALUES = 4_000_000  # cells, and entries of the lists in them
MAX_CELL = MAX_CHARACTERS
MAX_NAME = 80
MEMORY = 2 << 30
SECONDS = 60

ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_STARTS = {
    b"PK\x03\x04": "an Excel workbook or a zip archive: in Excel, save it as 'CSV UTF-8'; unpack an archive first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: in Excel, save it as 'CSV UTF-8'",
    b"PAR1": "a Parquet file: give it the ending .parquet",
    b"\x1f\x8b": "a packed file (gzip): unpack it first",
}
_HTML = re.compile(rb"<\s*[!?/a-z]", re.IGNORECASE)
_SCALARS = {str, int, float, bool, type(None)}
_ROWS_AT_A_TIME = 1000
_children: set[subprocess.Popen[bytes]] = set()
REFUSED = 3  # the child's exit status with a message; Python itself exits with 1 or 2
# Threads and memory pools reserve address space, which is what the limit counts.
_FRUGAL = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def open_upload(path: Path) -> Table:
    """Read an uploaded .csv, .tsv, .json, .jsonl or .parquet file, COCO results and COCO captions among them.

    Columns lose blanks around their names. Columns without a name, and those that hold anything but text, numbers and
    lists of these (pictures, boxes, dates), are left out: no argument takes them.

    Returns:
        The table, called like the file. It holds its content and needs the file no more.

    Raises:
        ValueError: the file is not a table of a known format, is damaged, or exceeds a limit of this module. The
            message names the file without its folder, and says what to do.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "mine.csv")
        ...     _ = file.write_text("image_id;caption\\n7;a man\\n")
        ...     table = open_upload(file)
        >>> table.name, table.columns, table.column("caption")
        ('mine.csv', ('image_id', 'caption'), ['a man'])
    """
    shown = shown_name(path.name)
    check_file(path, ENDINGS)
    first, *lines = in_child("captionbias.app.uploads", str(path.absolute()), shown, shown=shown).splitlines()
    texts = dict(zip(json.loads(first), lines, strict=True))
    return Table(shown, tuple(texts), lambda column: list(json.loads(texts[column])), sum(map(len, lines)))


def in_child(module: str, *arguments: str, shown: str, seconds: float | None = None, given: bytes = b"") -> bytes:
    """What a module of the app prints in a child process, under limits of memory and time.

    Args:
        shown: what messages call that which it reads.
        seconds: it may take; `SECONDS` when None.
        given: what it reads from its standard input.

    Raises:
        ValueError: the child refuses, with its message; it takes too long, or crashes.
    """
    seconds = seconds or SECONDS
    command = [sys.executable, "-m", module, *arguments]
    pipe, environment = subprocess.PIPE, {**os.environ, **_FRUGAL}
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        _children.add(child)
        try:
            printed, _ = child.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise ValueError(f"{shown} takes more than {seconds} seconds to read: give a smaller file") from None
        finally:
            _children.discard(child)
            child.kill()
    if child.returncode == 0:
        return printed
    if child.returncode == REFUSED:
        raise ValueError(printed.decode())
    raise ValueError(f"{shown} cannot be read: it is damaged, or needs too much memory; write it again or split it")


def stop_reading() -> None:
    """Kill the child processes: nobody waits for what they read."""
    for child in list(_children):
        child.kill()


def shown_name(name: str) -> str:
    """A file's name as messages show it: no folders, no characters that cannot be seen, at most 80 characters.

    >>> shown_name("../../etc/pass\\x00wd.csv")
    'passwd.csv'
    """
    last = re.split(r"[\\/]", name)[-1]
    seen = "".join(filter(str.isprintable, last)).strip() or "the file"
    return seen if len(seen) <= MAX_NAME else f"{seen[: MAX_NAME - 13]}...{seen[-10:]}"


def check_file(path: Path, endings: Sequence[str]) -> None:
    """Raise ValueError for what is wrong with a file as far as can be seen before it is parsed."""
    if fault := _fault(path, endings):
        raise ValueError(f"{shown_name(path.name)} {fault}")


def _fault(path: Path, endings: Sequence[str]) -> str | None:
    if path.is_symlink() or not path.is_file():
        return "is not a file: upload it again"
    ending = path.suffix.lower()
    if ending not in endings:
        return f"has the ending '{ending[:20]}': give a file that ends with one of {', '.join(endings)}"
    size = path.stat().st_size
    if size > MAX_BYTES:
        return f"has {size / 1e6:,.0f} MB, and no file may have more than {MAX_BYTES / 1e6:,.0f} MB: give fewer images"
    if size == 0:
        return "is empty: write it again, or give another"
    with path.open("rb") as file:
        start = file.read(65536)
    return _fault_of_start(start, ending) if ending in ENDINGS else None


def _fault_of_start(start: bytes, ending: str) -> str | None:
    if ending == ".parquet" and start.startswith(b"PAR1"):
        return None
    for signature, kind in _STARTS.items():
        if start.startswith(signature):
            return f"is {kind}"
    if _HTML.match(start.removeprefix(codecs.BOM_UTF8).lstrip()):
        return "is a web page (HTML): download the file itself, not the page that shows it"
    if ending == ".parquet":
        return "is not a Parquet file: give it the ending of the format that it has"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and ending in (".csv", ".tsv"):
        return None
    if b"\0" in start:
        return f"is not text, which a {ending} file is: save it again as UTF-8 (in Excel, as 'CSV UTF-8')"
    return None


def _main(path: Path, name: str) -> int:
    """Read the file and print its columns: their names, then the values of each in a line. Prints the error if any."""
    from pyarrow import ArrowException

    limit_memory()
    try:
        columns = _read(path)
        lines = [json.dumps(values, ensure_ascii=False).encode() for values in (list(columns), *columns.values())]
    except MemoryError:
        fault = "needs too much memory: a few values are huge once unpacked, or there are too many; split the file"
    except (ArrowException, OSError, UnicodeDecodeError):
        fault = "is damaged: write it again"
    except RecursionError:
        fault = 'has lists or records nested too deeply: write each row as {"image_id": ..., "caption": ...}'
    except ValueError as error:
        fault = str(error).removeprefix(str(path)).strip()
    else:
        sys.stdout.buffer.writelines(line + b"\n" for line in lines)
        return 0
    sys.stdout.buffer.write(f"{name} {fault}".replace(str(path), name).encode())
    return REFUSED


def limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and macOS refuses
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _read(path: Path) -> dict[str, list[Any]]:
    """The columns that an argument could take."""
    columns: dict[str, list[Any]] = {}
    unfit: set[str] = set()
    rows = sizes = characters = 0
    for part in _parts(path):
        for column, values in part.items():
            texts = _texts(values)
            if texts is None:
                unfit.add(column)
                continue
            _check_texts(texts, column)
            characters += sum(map(len, texts))
            sizes += sum(len(value) if type(value) is list else 1 for value in values)
            columns.setdefault(column, []).extend(values)
        rows += len(next(iter(part.values()), ()))
        _check_totals(rows, sizes, characters)
    fit = {column: values for column, values in columns.items() if column not in unfit}
    if not rows or not fit:
        raise ValueError("has no rows of text or numbers: give a table of image ids and captions, a row for each image")
    return fit


def _texts(values: list[Any]) -> list[str] | None:
    """Every text in the cells of a column and in lists in them; None if a cell is anything else."""
    kinds = set(map(type, values))
    entries = list(chain.from_iterable(value for value in values if type(value) is list)) if list in kinds else []
    if not (kinds - {list} | set(map(type, entries))) <= _SCALARS:
        return None
    return [text for text in chain(values, entries) if type(text) is str]


def _check_texts(texts: list[str], column: str) -> None:
    longest = max(texts, key=len, default="")
    if len(longest) > MAX_CELL:
        raise ValueError(
            f"has a text of {len(longest):,} characters in column '{column}' ({longest[:30]!r}...), and none may have "
            f"more than {MAX_CELL:,}: shorten it"
        )
    whole = "".join(texts)
    if "\0" in whole:
        raise ValueError(f"has a NUL character (code 0) in column '{column}': write the file again without it")
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"has half a character (a lone surrogate) in column '{column}': write the file again as UTF-8"
        ) from None


def _check_totals(rows: int, sizes: int, characters: int) -> None:
    if rows > MAX_ROWS:
        raise ValueError(f"has more than {MAX_ROWS:,} rows: give fewer images")
    if sizes > MAX_VALUES:
        raise ValueError(f"has more than {MAX_VALUES:,} values: give fewer images, or leave out columns")
    if characters > MAX_BYTES:
        raise ValueError(f"holds more than {MAX_BYTES / 1e6:,.0f} MB of text once unpacked: give fewer images")


def _parts(path: Path) -> Iterator[dict[str, list[Any]]]:
    """The columns of a file; of Parquet, which may unpack to far more than its size, some rows at a time."""
    if path.suffix.lower() == ".parquet":
        yield from _parquet_parts(path)
        return
    table = table_from_file(path)
    names = _checked_names(table.columns)
    yield {name: table.read(column) for column, name in zip(table.columns, names, strict=True) if name}


def _parquet_parts(path: Path) -> Iterator[dict[str, list[Any]]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        columns = file.schema_arrow.names
        names = dict(zip(columns, _checked_names(columns), strict=True))
        # Metadata count values that repeat once: only reading tells how large they are.
        for batch in file.iter_batches(_ROWS_AT_A_TIME, use_threads=False):
            yield {name: batch[column].to_pylist() for column, name in names.items() if name}


def _checked_names(columns: Any) -> list[str]:
    """Column names without the blanks around them."""
    names = [str(column).strip() for column in columns]
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"has {len(names):,} columns, and no table may have more than {MAX_COLUMNS}: leave some out")
    for name, count in Counter(filter(None, names)).items():
        if len(name) > MAX_NAME:
            raise ValueError(
                f"has a column with a name of {len(name):,} characters ({name[:30]!r}...): "
                "write the names of the columns in the first row, each shorter than that"
            )
        if count > 1:
            raise ValueError(f"has {count} columns named '{name}': rename all but one")
        if not name.isprintable():
            raise ValueError(f"has a column with characters in its name that cannot be seen ({name!r}): rename it")
    return names


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2]))
