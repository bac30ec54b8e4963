"""Tables from files and from memory, seen alike: named columns of Python values, read when they are needed."""

from __future__ import annotations

import csv
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias
from zipfile import BadZipFile

from captionbias.captions.logs import row_of_answer, samples_of
from captionbias.captions.names import NAMES, USUAL_ID, VALUE, plain_name
from captionbias.captions.sources import MOST_BYTES, PACKED, Remote, is_url, load_rows
from captionbias.captions.values import as_list, class_name, entries, is_column, is_missing
from captionbias.errors import Argument, Message, few, within
from captionbias.io.files import user_path
from captionbias.io.formats import json_object
from captionbias.io.plain_pickle import read_plain_pickle

File: TypeAlias = Path | Remote
MOST_CELLS = 5_000_000  # of a column of a packed file, which may be small
ROWS_AT_ONCE = 4096
OF_PEOPLE = "human|ref|reference|gt|ground_truth"
HUMAN_CAPTIONS = rf"(?:(?:{OF_PEOPLE})_?)?(?:caption|sentence|{OF_PEOPLE})s?"
# How a file begins that has no column names: with an image, perhaps the number of a caption, and a caption.
_PICTURE = re.compile(r"[^,;\t|]+(?:#\d+|\.(?:jpe?g|png|webp|gif))\s*[,;\t|](\s*\d+\s*[,;\t|])?", re.IGNORECASE)
MOST_SHOWN, MOST_INSIDE = 20, 1000  # column names in a message, and parts of an object that are looked through for it
PERSON = "person"  # bears the attribute, and is not an object
KNOWN = set(chain(*NAMES.values()))
CAPTIONS = {*NAMES["prediction_column"], *NAMES["reference_column"]}  # may have separators in them, and end a row
ANSWER = "filtered_resps"  # what lmms-eval's `--log_samples` calls the model's text
SPEAKERS = ("gpt", "assistant")  # who answers in a conversation
DAMAGED = (OSError, EOFError, zlib.error, RecursionError, KeyError, csv.Error, json.JSONDecodeError, BadZipFile)
FLAGS = dict.fromkeys(("", "none", "nan", "0", "0.0", "false"), 0) | dict.fromkeys(("1", "1.0", "true"), 1)
DICTIONARIES = ("PLAIN_DICTIONARY", "RLE_DICTIONARY")


class Table(NamedTuple):
    """Named columns; messages call the table `name`."""

    name: str
    columns: tuple[str, ...]
    read: Callable[[str], list[Any]]

    def spelled(self, column: str) -> str | None:
        """The column as the table writes it: Gender for gender; of output.0.text, which reaches into the objects and
        lists of a column, the first part. None if there is none.
        """
        if column in self.columns:
            return column
        outer, dot, inner = column.partition(".")
        for name, rest in ((column, ""), (outer, dot + inner)):
            named = [each for each in self.columns if isinstance(each, str) and plain_name(each) == plain_name(name)]
            alike = [name] if name in named else named
            if len(alike) == 1:
                return alike[0] + rest
        return None

    def column(self, column: str) -> list[Any]:
        """The values of a column; ValueError, with the columns that exist, if the table does not have it once."""
        name = self.spelled(column)
        if name is None:
            raise no_column(column, [self])
        if name not in self.columns:
            return self._inside(name)
        if self.columns.count(name) > 1:
            raise ValueError(f"{self.name} has more than one column '{name}': rename all but one")
        values = self.read(name)
        if not values:
            raise ValueError(f"{self.name} has no rows: give a table with one row or more for each image")
        return values

    def with_column(self, name: str, values: list[Any]) -> Table:
        """The same with one more column, or another one in place of one."""
        columns = tuple(dict.fromkeys((*self.columns, name)))
        return self._replace(columns=columns, read=lambda column: values if column == name else self.read(column))

    def _inside(self, column: str) -> list[Any]:
        """The values that the objects and lists of a column have under the names and numbers that follow its own."""
        path, *names = column.split(".")
        values = self.column(path)
        for name in names:
            parts = list(map(_parts, values))
            values = [inner.get(name) for inner in parts]
            if all(value is None for value in values):
                there = dict.fromkeys(f"{path}.{each}" for inner in parts for each in islice(inner, MOST_SHOWN))
                raise no_column(column, [self._replace(columns=tuple(there) or self.columns)])
            path += f".{name}"
        return values


class Column(NamedTuple):
    """A column of a table; of labels perhaps the crossing of several."""

    table: Table
    name: str
    crossed_with: tuple[str, ...] = ()

    def values(self) -> list[Any]:
        return self.table.column(self.name)

    def __str__(self) -> str:
        return f"{' x '.join(map(repr, (self.name, *self.crossed_with)))} of {self.table.name}"


def _parts(value: Any) -> Mapping[str, Any]:
    """What an object or a list has, by name or number."""
    if is_column(value):
        return {str(number): entry for number, entry in enumerate(value)}
    return value if isinstance(value, dict) else {}


def no_column(column: str, tables: Iterable[Table], *ways: str, purpose: str = "") -> ValueError:
    """The error that none of the tables has the column."""
    none = "no columns"
    tables_there = (
        f"{table.name} has no column '{column}'{purpose}: it has {few(map(repr, table.columns), MOST_SHOWN) or none}"
        for table in tables
    )
    return ValueError(Message("; ".join(tables_there), ways=ways or ["name one of these"]))


def nested(column: Column, argument: str) -> Message:
    """What is wrong with a column that holds objects, with the way to their longest text."""
    text = longest_text(column) or f"{column.name}.text"
    return Message(f"{column} is nested: name what is in it, as in ", Argument(argument, text))


def longest_text(column: Column) -> str | None:
    """The way to the text of most words in the first object of a column; None where it has no text."""
    inside = [(column.name, next((value for value in column.values() if _parts(value)), None))]
    for path, value in inside:
        if len(inside) < MOST_INSIDE:
            inside += [(f"{path}.{name}", inner) for name, inner in _parts(value).items()]
    texts = {path: value.count(" ") for path, value in inside if isinstance(value, str)}
    return max(texts, key=texts.__getitem__, default=None)


def numbered(columns: Iterable[str], stem: str = HUMAN_CAPTIONS) -> dict[str, tuple[str, ...]]:
    """Columns whose plain names are a stem and a number, as one: those that hold one human caption of an image each.

    >>> numbered(["image_id", "caption_1", "caption_2", "caption_3"])
    {'caption_1 ... caption_3': ('caption_1', 'caption_2', 'caption_3')}
    """
    groups: dict[str, list[str]] = {}
    for column in columns:
        if match := re.fullmatch(rf"({stem})_?\d+", plain_name(column)):
            groups.setdefault(match[1], []).append(column)
    return {f"{group[0]} ... {group[-1]}": tuple(group) for group in groups.values() if len(group) > 1}


def with_together(table: Table, groups: Mapping[str, Sequence[str]]) -> Table:
    """The table with more columns: each has the entries of several as a list, without what is missing."""
    groups = {name: group for name, group in groups.items() if name not in table.columns}

    def read(name: str) -> list[Any]:
        if name not in groups:
            return table.read(name)
        rows = zip(*map(table.column, groups[name]), strict=True)
        return [[entry for cell in row if not is_missing(cell) for entry in entries(cell)] or None for row in rows]

    return table._replace(columns=(*table.columns, *groups), read=read)


def one_hot(table: Table, name: str) -> dict[str, list[str]]:
    """Under this name the labels of columns of 0 and 1 of which a row has one, such as gender_female and gender_male,
    where it is what they have in common, or one of them; "unknown" of a row that has none."""
    plain, spelled = plain_name(name), table.spelled(name)
    stems = ["_".join(plain.split("_")[:parts]) for parts in range(plain.count("_"), 0, -1)] if spelled else [plain]
    for stem in stems:
        columns = [column for column in table.columns if plain_name(column).startswith(f"{stem}_")]
        flags = [[FLAGS.get(str(cell).lower()) for cell in table.column(column)] for column in columns]
        rows = list(zip(*flags, strict=True))
        if len(columns) > 1 and all(None not in row and sum(row) < 2 for row in rows):
            words = [plain_name(column).split("_") for column in columns]
            shared = len([*takewhile(lambda parts: len({*parts}) == 1, zip(*words, strict=False))])
            labels = ["_".join(parts[shared:]) for parts in words]
            return {spelled or name: [labels[row.index(1)] if any(row) else "unknown" for row in rows]}
    return {}


def as_table(data: Any, name: str) -> Table:
    """The table of a path, a URL, a dataset's name, or data in memory, which messages call `name`."""
    if isinstance(data, Table):
        return data
    if not isinstance(data, (str, Path)):
        return table_from_memory(data, name)
    if is_url(data):
        return table_from_file(Remote(str(data)))
    if names_dataset(data):
        return _table_of_folder(user_path(data, name)) or table_from_memory(load_rows(data), str(data))
    return table_from_file(user_path(data, name))


def names_dataset(source: str | Path) -> bool:
    """Whether this is a folder, which may hold a dataset, or `owner/dataset:configuration:split`, and no file here."""
    path = os.path.expanduser(str(source))
    if os.path.lexists(path) or is_url(source):
        return os.path.isdir(path)
    name, _, _ = path.partition(":")
    on_the_hub = not os.path.isabs(name) and name.count("/") == 1
    return os.path.isdir(name) or (on_the_hub and Path(name.removesuffix(PACKED)).suffix.lower() not in READERS)


def _table_of_folder(folder: Path) -> Table | None:
    """The table of a folder of a JSON file for each image, such as DCI's; None of any other."""
    files, records = sorted(folder.glob("*.json")), list[dict[str, Any]]()
    for file in files if len(files) == len(list(folder.glob("*"))) > 1 else ():
        with _explained(file), _text(file) as text:
            record = json.load(text, object_pairs_hook=json_object)
        if not isinstance(record, dict) or CAPTIONS.isdisjoint(map(plain_name, record)):
            return None
        records.append({name: value for name, value in record.items() if not isinstance(value, dict)})
    return _table_of_records(folder, records, "file", range(len(records))) if records else None


def table_from_memory(table: Any, name: str = "table") -> Table:
    """See a datasets.Dataset, pandas DataFrame, pyarrow Table or mapping of columns as a Table."""
    # A Dataset may be set to hide columns or to give tensors.
    plain = table.with_format(None) if hasattr(table, "with_format") else table
    columns = table if isinstance(table, Mapping) else getattr(table, "column_names", getattr(table, "columns", None))
    if columns is None or not hasattr(plain, "__getitem__"):
        raise ValueError(
            f"{name} is of type {type(table).__name__}: "
            "give a file, a datasets.Dataset, a pandas DataFrame, a pyarrow Table or a mapping of columns"
        )
    if isinstance(table, Mapping):
        lengths = {column: len(values) for column, values in table.items() if is_column(values)}
        for column, length in lengths.items():
            if length != next(iter(lengths.values())):
                raise ValueError(f"'{column}' of {name} has length {length:,}, unlike other columns: make them equal")
    memory = Table(name, tuple(columns), lambda column: as_list(f"{name}['{column}']", plain[column]))
    memory = _with_class_names(memory, getattr(table, "schema", None))
    return with_together(memory, numbered(memory.columns))


def table_from_file(path: File) -> Table:
    """Open a file by its extension, see `READERS`.

    In text and sheets an empty cell is missing; NA, null and None are words like any other.
    """
    path = Remote(str(path)) if path.suffix == PACKED else path
    with _explained(path):
        if not path.exists():
            raise ValueError(f"{path} does not exist: check the path")
        if path.suffix.lower() not in READERS:
            raise ValueError(f"{path} has the unknown extension '{path.suffix}': give one of {', '.join(READERS)}")
        with path.open("rb") as file:
            if not file.read(1):
                raise ValueError(f"{path} is an empty file: write it again, or give another")
        table = READERS[path.suffix.lower()](path)
        return with_together(table, numbered(table.columns))


@contextmanager
def _explained(path: File) -> Iterator[None]:
    """Errors of the libraries that read files as errors that name the file and the way out."""
    import pyarrow

    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path} needs more memory than is free: give fewer rows, or a larger machine") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} cannot be read ({error}): it may be in cp1252, as Windows writes; save it as UTF-8, in Excel as "
            "'CSV UTF-8', or convert it with iconv -f cp1252 -t utf-8"
        ) from error
    except (*DAMAGED, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read ({reason}): check that it is a whole {path.suffix} file") from error
    except ValueError as error:
        raise (error if str(path) in str(error) else within(str(path), error)) from error


def _csv(path: File) -> Table:
    # The csv module in strict mode: pandas fills short rows up, and pyarrow lets an open quote swallow the rest.
    rows: list[list[str]] = []
    with _text(path) as file:
        # Where the comma is the decimal mark, Excel separates cells with semicolons.
        marks = "\t" if path.suffix.lower() == ".tsv" else ",;\t|"
        first = file.readline(csv.field_size_limit())
        file.seek(0)
        mark = min(filter(first.__contains__, marks), key=first.index, default=marks[0])
        unnamed = _PICTURE.match(first)
        if unnamed:
            rows.append([USUAL_ID, "number", "caption"] if unnamed[1] else [USUAL_ID, "caption"])
        plain = unnamed and mark == "\t"  # no quotes around cells
        reader = csv.reader(file, delimiter=mark, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL, strict=True)
        for row in filter(None, reader):
            rows.append(list(map(str.strip, row)))
            header, more = rows[0], len(row) > len(rows[0])
            if more and plain_name(header[0]) in NAMES["id_column"] and plain_name(header[-1]) in CAPTIONS:
                rows[-1][len(header) - 1 :] = [mark.join(row[len(header) - 1 :]).strip()]
            if len(rows[-1]) != len(header):
                mend = "put a cell that contains the separator in double quotes" if more else "add what it lacks"
                raise ValueError(f"{path} has {len(header)} columns, but line {reader.line_num} has {len(row)}: {mend}")
    if not rows:
        raise ValueError(f"{path} has only blank lines: give a file with column names and rows")
    columns = tuple(rows[0])
    return Table(str(path), columns, lambda column: [row[columns.index(column)] or None for row in rows[1:]])


def _lines(path: File) -> Table:
    """A caption a line, of the images that `train_images.txt` names beside `train.en`, as in Multi30k, or in the order
    of another table; a .txt whose first line is of column names, or of an image with its caption, is a table."""
    with _text(path) as file:
        lines = [line.strip() or None for line in file]
    first, cells = lines[0] or "", [re.split(r"[,;\t|]", line) for line in filter(None, lines)]
    names = _PICTURE.match(first) or not KNOWN.isdisjoint(map(plain_name, cells[0] if cells else ()))
    uneven = len(set(map(len, cells))) > 1 or first.lower().endswith((".", ".jpg", ".png"))
    sentence = any(cell.count(" ") > 2 for row in cells[:1] for cell in row)
    if path.suffix.lower() == ".txt" and (names or not (uneven or sentence)):
        return _csv(path)
    beside = Path(re.sub(r"\.[^/\\]*$", "", str(path)) + "_images.txt")
    images = {USUAL_ID: _lines(beside).read(VALUE)} if beside.is_file() else {}
    return table_from_memory({**images, VALUE: lines}, str(path))


def _text(path: File) -> IO[str]:
    """The file as text, with the line breaks that it has; in UTF-16 too, as spreadsheets and PowerShell write it."""
    with path.open("rb") as file:
        encoding = json.detect_encoding(file.read(4))
    return path.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")


def _workbook(path: File) -> Table:
    import pandas as pd

    try:
        with path.open("rb") as file:
            sheets = pd.read_excel(
                file, sheet_name=None, engine="openpyxl", dtype=object, keep_default_na=False, na_values=[""]
            )
    except ImportError as error:
        raise ValueError(f"{path} is an Excel workbook: save it as CSV UTF-8, or pip install openpyxl first") from error
    except MemoryError:
        raise
    except Exception as error:  # damaged workbooks make their reader raise almost anything
        raise BadZipFile(str(error)) from error
    filled = [name for name, sheet in sheets.items() if len(sheet)]
    if len(filled) != 1:
        raise ValueError(f"{path} has {len(filled)} sheets with rows ({', '.join(filled)}): save one as CSV UTF-8")
    return table_from_memory(sheets[filled[0]].rename(columns=lambda name: str(name).strip()), str(path))


def _json(path: File) -> Table:
    with _text(path) as file:
        return _table_of_content(path, json.load(file, object_pairs_hook=without_outline))


def _eval(path: File) -> Table:
    with path.open("rb") as file:
        records = [json.loads(sample, object_pairs_hook=json_object) for sample in samples_of(file)]
    return _table_of_records(path, records, "sample", range(len(records)))


def _pickle(path: File) -> Table:
    with path.open("rb") as file:
        return _table_of_content(path, read_plain_pickle(file))


def _table_of_content(path: File, content: Any) -> Table:
    """The table of records, alone or beside what is said of all; of columns, as pandas writes them; or of an object
    with an entry for each image, by its id.
    """
    match content:
        case {"categories": _, "annotations": [{"category_id": _}, *_]}:
            columns = objects_of_images(content, str(path))
            return Table(str(path), tuple(columns), columns.__getitem__)
        case list(records) | {"annotations": list(records)} | {"images": list(records)}:
            return _table_of_records(path, records, "position", range(len(records)))
        case {"samples": list(records)} | {"request_states": list(records)}:  # logs of Inspect and VHELM
            return _table_of_records(path, records, "position", range(len(records)))
    entries = list(content.values()) if isinstance(content, dict) else []
    kinds = set(map(type, entries))
    as_columns = kinds == {list} or (kinds == {dict} and len(set(map(tuple, entries))) == 1)
    if as_columns and len(entries) > 1 and not set(map(plain_name, content)).isdisjoint(chain(*NAMES.values())):
        columns = {name: list(_parts(column).values()) for name, column in content.items()}
        return table_from_memory(columns, str(path))
    lists = [entry for entry in entries if isinstance(entry, list) and entry and isinstance(entry[0], dict)]
    if len(lists) == 1 and (kinds > {list} or len(entries) == 1):
        return _table_of_content(path, lists[0])
    if kinds == {dict}:
        with_ids = not set(map(plain_name, entries[0])).isdisjoint(NAMES["id_column"])
        return _table_of_content(
            path, entries if with_ids else [{USUAL_ID: image, **record} for image, record in content.items()]
        )
    if kinds and dict not in kinds:
        return table_from_memory({USUAL_ID: list(content), VALUE: entries}, str(path))
    raise ValueError(
        f"{path} holds neither records nor an entry for each image id: "
        'write it as [{"image_id": ..., "caption": ...}, ...]'
    )


def without_outline(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A `json_object`; an annotation without its outline: outlines are most of the file, and no argument takes them."""
    record = json_object(pairs)
    if "category_id" in record:
        record.pop("segmentation", None)
    return record


def objects_of_images(content: Mapping[str, Any], name: str = "instances") -> dict[str, list[Any]]:
    """The columns `image_id` and `objects` of COCO's instances: what is annotated in an image, each once.

    People are not objects. An image without any has an empty list.
    """
    try:
        categories = {category["id"]: category["name"] for category in content["categories"]}
        named: dict[Any, set[str]] = {image["id"]: set() for image in content["images"]}
        for annotation in content["annotations"]:
            named[annotation["image_id"]].add(categories[annotation["category_id"]])
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{name} does not hold together ({type(error).__name__}: {error}): correct it, or fetch the file again"
        ) from error
    objects = [category for category in categories.values() if category != PERSON]
    if not objects:
        raise ValueError(f"{name} has no category beside people: give COCO's instances_*.json, which has 80")
    return {
        "image_id": list(named),
        "objects": [[category for category in objects if category in present] for present in named.values()],
    }


def _jsonl(path: File) -> Table:
    records, numbers = [], []
    decode = json.JSONDecoder(object_pairs_hook=json_object).decode
    with _text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                records.append(decode(line))
            except json.JSONDecodeError as error:
                place = f"line {number:,}, column {error.colno}"
                raise ValueError(f"{path} is broken JSON at {place} ({error.msg}): write one record a line") from error
            numbers.append(number)
    return _table_of_records(path, records, "line", numbers)


def _table_of_records(path: File, records: list[Any], unit: str, numbers: Sequence[int]) -> Table:
    for number, record in zip(numbers, records, strict=True):
        if not isinstance(record, dict):
            raise ValueError(
                f"{path} has {type(record).__name__} instead of a record at {unit} {number:,}: "
                'write each row as {"image_id": ..., "caption": ...}'
            )
    records = [row_of_answer(record) or row_of_log(record) for record in records]
    columns = tuple(dict.fromkeys(column for record in records for column in record))
    if not columns:
        raise ValueError(f"{path} holds no rows: give a file with a record for each image")
    return Table(str(path), columns, lambda column: [record.get(column) for record in records])


def row_of_log(record: dict[str, Any]) -> dict[str, Any]:
    """A line of lmms-eval's log with the model's text as `caption`, and what the task keeps of the image beside it; a
    conversation, as ShareGPT4V has it, with its first answer as `caption`.

    Tasks keep it once for each score, as `"coco_CIDEr": {"image_id": 42, "answer": [...], "pred": "..."}`. Other
    records stay as they are.

    >>> row = row_of_log({"doc_id": 0, "filtered_resps": "a man", "coco_CIDEr": {"image_id": 42, "pred": "a man"}})
    >>> row["image_id"], row["caption"]
    (42, 'a man')
    """
    if ANSWER not in record:
        turns = record.get("conversations", record.get("messages"))
        for turn in turns if isinstance(turns, list) else ():
            if isinstance(turn, dict) and turn.get("from", turn.get("role")) in SPEAKERS:
                return {"caption": turn.get("value", turn.get("content")), **record}
        return record
    row: dict[str, Any] = {}
    for name, value in record.items():
        row |= value if isinstance(value, dict) else {name: value}
    caption = record[ANSWER]
    for _ in range(2):  # earlier versions wrap it
        caption = caption[0] if isinstance(caption, list) and len(caption) == 1 else caption
    return row | {"caption": caption}


def _parquet(path: File) -> Table:
    from pyarrow.parquet import ParquetFile, read_schema

    def read(column: str) -> list[Any]:
        """The column, some rows at a time: a text of a small file's dictionary may be in every row."""
        values: list[Any] = []
        cells = size = 0
        with _explained(path), path.open("rb") as opened:  # damage below the schema shows only now
            metadata = ParquetFile(opened).metadata
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            chunks = zip(*(map(group.column, range(metadata.num_columns)) for group in groups), strict=True)
            packed = [leaf[0].path_in_schema for leaf in chunks if all(map(_has_dictionary, leaf))]
            file = ParquetFile(opened, metadata=metadata, read_dictionary=packed)
            for group in range(len(groups)):  # each has a dictionary of its own
                for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=[column]):
                    more = _cells_and_bytes(batch.column(0))
                    cells, size = cells + more[0], size + more[1]
                    if cells > MOST_CELLS or size > MOST_BYTES:
                        raise ValueError(
                            f"{path}: column '{column}' unpacks to {cells:,} cells and {size / 1e6:,.0f} MB or more; "
                            f"the limit is {MOST_CELLS:,} cells and {MOST_BYTES / 1e6:,.0f} MB: give fewer rows, "
                            "count the captions with captionbias count, or read the file in Python and pass the table"
                        )
                    values += _values(batch.column(0))
        return values

    with path.open("rb") as opened:
        schema = read_schema(opened)
    document = schema.field("doc").type if {"doc", "model_response"} <= {*schema.names} else ""
    if "specific: " in str(document):  # a log of lighteval, whose pictures are not read
        rows = zip(*map(read, ("doc.choices", "doc.id", "doc.specific", "model_response.text")), strict=True)
        records = [{"doc": choices | of | more, "model_response": text} for choices, of, more, text in rows]
        return _table_of_records(path, records, "row", range(len(records)))
    return _with_class_names(Table(str(path), tuple(schema.names), read), schema)


def _with_class_names(table: Table, schema: Any) -> Table:
    """The table with labels in place of their numbers where `datasets` wrote which are which, as of a ClassLabel."""
    written = (getattr(schema, "metadata", None) or {}).get(b"huggingface", b"{}")
    features = json.loads(written).get("info", {}).get("features", {})
    inner = {name: of[0] if isinstance(of, list) else of.get("feature", of) for name, of in features.items()}
    names = {
        name: of["names"] for name, of in inner.items() if isinstance(of, dict) and of.get("_type") == "ClassLabel"
    }

    def read(column: str) -> list[Any]:
        rows = table.read(column)
        return [class_name(row, names[column]) for row in rows] if column in names else rows

    return table._replace(read=read) if names else table


def _has_dictionary(chunk: Any) -> bool:
    """Whether Arrow can leave the texts of this chunk in their dictionary."""
    encodings = set(chunk.encodings)
    able = chunk.physical_type == "BYTE_ARRAY" and encodings <= {*DICTIONARIES, "PLAIN", "RLE", "BIT_PACKED"}
    return able and not encodings.isdisjoint(DICTIONARIES)


def _cells_and_bytes(array: Any) -> tuple[int, int]:
    """The number of rows or entries of lists, and the bytes that they take when each has its own text."""
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(array.type) and types.is_string(array.type.value_type):
        lengths = pc.take(pc.binary_length(array.dictionary), array.indices)
        return len(array), pc.sum(pc.cast(lengths, "int64")).as_py() or 0
    if types.is_struct(array.type) or types.is_map(array.type):
        parts = array.flatten() if types.is_struct(array.type) else [array.keys, array.items]
        return len(array), sum(size for _, size in map(_cells_and_bytes, parts))
    if types.is_nested(array.type):
        cells, size = _cells_and_bytes(array.flatten())
        return max(len(array), cells), size
    return len(array), array.nbytes


def _values(array: Any) -> list[Any]:
    """The rows as Python values; those with the same text of the file's dictionary share it."""
    import numpy as np
    from pyarrow import types

    if types.is_dictionary(array.type):
        texts = np.array([*array.dictionary.to_pylist(), None], object)
        rows: list[Any] = texts[array.indices.fill_null(len(texts) - 1).to_numpy()].tolist()
        return rows
    if types.is_list(array.type) or types.is_large_list(array.type):
        entries, ends = _values(array.flatten()), np.cumsum(array.value_lengths().fill_null(0).to_numpy()).tolist()
        places = zip([0, *ends], ends, array.is_valid().to_pylist(), strict=False)
        return [entries[start:end] if valid else None for start, end, valid in places]
    return as_list("column", array)


READERS: dict[str, Callable[[File], Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".token"), _csv),
    ".txt": _lines,
    ".json": _json,
    ".jsonl": _jsonl,
    ".eval": _eval,
    ".parquet": _parquet,
    ".pkl": _pickle,
    ".xlsx": _workbook,
    **dict.fromkeys((".en", ".de", ".fr", ".es", ".cs", ".ja", ".zh"), _lines),
}
