"""Tables from files and from memory, seen alike: named columns of Python values, each read when asked for."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from captionbias.captions.values import as_list


class Table(NamedTuple):
    """Named columns. `name` is what messages call the table."""

    name: str
    columns: tuple[str, ...]
    read: Callable[[str], list[Any]]

    def column(self, column: str) -> list[Any]:
        """The values of one column; raises ValueError, with the columns that exist, if there is no such column."""
        if column not in self.columns:
            raise ValueError(f"{self.name} has no column '{column}': it has {listed(self.columns)}; name one of these")
        if self.columns.count(column) > 1:
            raise ValueError(f"{self.name} has more than one column '{column}': rename all but one")
        values = self.read(column)
        if not values:
            raise ValueError(f"{self.name} has no rows: give a table with one row or more for each image")
        return values


def listed(columns: tuple[str, ...]) -> str:
    """Column names for a message.

    >>> listed(("image_id", "caption"))
    "'image_id', 'caption'"
    """
    return ", ".join(f"'{column}'" for column in columns) or "no columns"


def table_from_memory(table: Any) -> Table:
    """See a datasets.Dataset, pandas DataFrame, pyarrow Table or mapping of columns as a Table.

    >>> table_from_memory({"caption": ("a dog", "a cat")}).column("caption")
    ['a dog', 'a cat']
    """
    plain = (
        table.with_format(None) if hasattr(table, "with_format") else table
    )  # a Dataset may hide columns or give tensors
    columns = table if isinstance(table, Mapping) else getattr(table, "column_names", getattr(table, "columns", None))
    if columns is None or not hasattr(plain, "__getitem__"):
        raise ValueError(
            f"table is of type {type(table).__name__}: "
            "give a datasets.Dataset, a pandas DataFrame, a pyarrow Table or a mapping of columns"
        )
    return Table("table", tuple(columns), lambda column: as_list(f"table['{column}']", plain[column]))


def table_from_file(path: Path) -> Table:
    """Open a .csv, .tsv, .json, .jsonl or .parquet file.

    JSON is an array of records or COCO captions, `{"annotations": [records]}`. In CSV and TSV an empty cell is
    missing; NA, null and None are words like any other. As Excel writes them, a .csv file may have semicolons or tabs
    for commas, and both may be UTF-16 with a byte order mark.

    Raises ValueError, which names the file and the way out, if it cannot be read.
    """
    openers = {".csv": _csv, ".tsv": _csv, ".json": _json, ".jsonl": _jsonl, ".parquet": _parquet}
    with _explained(path):
        if not path.exists():
            raise _Malformed("does not exist: check the path")
        if path.is_dir():
            raise _Malformed("is a directory: give one file in it")
        if path.suffix.lower() not in openers:
            raise _Malformed(f"has the unknown extension '{path.suffix}': give one of {', '.join(openers)}")
        if path.stat().st_size == 0:
            raise _Malformed("is an empty file: write it again, or give another")
        return openers[path.suffix.lower()](path)


class _Malformed(Exception):
    """What is wrong in a file and the way out; `_explained` adds the path."""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except _Malformed as error:
        raise ValueError(f"{path} {error}") from None
    except UnicodeDecodeError as error:
        encoding = error.encoding.upper()
        raise ValueError(
            f"{path} is not {encoding} text at byte {error.start:,}: save it as UTF-8, in Excel as 'CSV UTF-8'"
        ) from error
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{path} is broken JSON at {position} ({error.msg}): mend it or write it again") from error
    except RecursionError as error:
        way_out = 'write each row as {"image_id": ..., "caption": ...}'
        raise ValueError(f"{path} cannot be read (lists or records nested too deeply): {way_out}") from error
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"{path} cannot be read ({error}): check that it is a whole {path.suffix} file") from error


def _csv(path: Path) -> Table:
    header, *body = csv_rows(path)

    def read(column: str) -> list[str | None]:
        position = header.index(column)
        return [row[position] or None for row in body]

    return Table(str(path), tuple(header), read)


def csv_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV or TSV file, its header first, read as they are asked for.

    Raises ValueError, which names the file and the line, where a row is cut off or longer or shorter than the header.
    """
    # The csv module in strict mode: pandas fills short rows up, and pyarrow lets an open quote swallow the rest.
    columns = 0
    with _explained(path), path.open(encoding=_csv_encoding(path), newline="") as file:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(file.readline(csv.field_size_limit()))
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for row in filter(None, reader):
                columns = columns or len(row)
                if len(row) != columns:
                    raise _Malformed(
                        f"has {columns} columns, but line {reader.line_num} has {len(row)}: "
                        "put a cell that contains the separator in double quotes"
                    )
                yield row
        except csv.Error as error:
            if "field limit" in str(error):
                raise _Malformed(
                    f"has a cell of more than {csv.field_size_limit():,} characters at line {reader.line_num}: "
                    "shorten it, or close the quote that was left open"
                ) from error
            raise _Malformed(
                f"is broken at line {reader.line_num} ({error}): close every quote, and double the quotes inside a cell"
            ) from error
        if not columns:
            raise _Malformed("has only blank lines: give a file with column names and rows")


def _csv_encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _delimiter(header: str) -> str:
    """Where the comma is the decimal mark, Excel separates cells with semicolons."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def _json(path: Path) -> Table:
    content = json.loads(path.read_text(encoding="utf-8-sig"))
    records = content.get("annotations") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise _Malformed("holds neither an array of records nor COCO captions with 'annotations': give one of these")
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            raise _Malformed(
                f"has {type(record).__name__} instead of a record at position {position:,} of its array: "
                'write each row as {"image_id": ..., "caption": ...}'
            )
    return _table_of_records(path, records)


def _jsonl(path: Path) -> Table:
    records = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise _Malformed(
                    f"is broken JSON at line {number:,}, column {error.colno} ({error.msg}): write one record a line"
                ) from error
            if not isinstance(record, dict):
                raise _Malformed(f"has {type(record).__name__} instead of a record at line {number:,}")
            records.append(record)
    return _table_of_records(path, records)


def _table_of_records(path: Path, records: list[dict[str, Any]]) -> Table:
    columns = tuple({column: None for record in records for column in record})
    if not columns:
        raise _Malformed("holds no rows: give a file with a record for each image")
    return Table(str(path), columns, lambda column: [record.get(column) for record in records])


def _parquet(path: Path) -> Table:
    from pyarrow.parquet import ParquetFile, read_schema

    def read(column: str) -> list[Any]:
        with _explained(path), ParquetFile(path) as file:  # damage below the schema shows only now
            return as_list(column, file.read(columns=[column])[column])

    return Table(str(path), tuple(read_schema(path).names), read)
