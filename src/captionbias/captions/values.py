"""Single values and single columns, as Python, numpy, pandas, pyarrow and datasets hand them over."""

from __future__ import annotations

import ast
import json
import math
import numbers
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from captionbias.errors import InputError

TEXTS = ("raw", "caption", "text")  # what objects call the text of a caption
_SHORT_NUMBER = re.compile(r"[0-9]{1,11}")
_WHOLE_NUMBER = re.compile(r"-?\d+\.0")
_COCO_NAME = re.compile(r"(?:.*[/\\])?(?:COCO_[a-z]+\d{4}_)?(\d{12})(?:\.[A-Za-z]\w*)?(?:\?.*)?")
_FILE_OF_NUMBER = re.compile(r"(\d+)\.(?:jpe?g|png)", re.IGNORECASE)
_CAPTION = re.compile(r"(.+\.(?:jpe?g|png))(?:\.\d)?#\d+", re.IGNORECASE)  # of Flickr's images, as 42.jpg#0
_FOLDER = re.compile(r".*[/\\]")
_SUFFIX = re.compile(r"\.(?:jpe?g|png)(?:\?.*)?$", re.IGNORECASE)
# What Python writes otherwise than JSON: strings, between which numpy has blanks alone, and constants.
_PYTHON = re.compile(r"""('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")(?=(\s+['"])?)|\b(None|nan|True|False)\b|\\.""")


def is_missing(value: object) -> bool:
    """True for None, NaN, pandas' NA and NaT."""
    if isinstance(value, (str, list, tuple, int)):
        return False  # almost always so, and much faster than the question for numbers
    is_nan = isinstance(value, numbers.Real) and value != value  # numpy's floats are Real too
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def is_column(value: object) -> bool:
    """True for a list, tuple, array, Series or datasets Column; False for text, a mapping, a set, a table."""
    if isinstance(value, (list, tuple, str)):
        return not isinstance(value, str)
    is_table = hasattr(value, "columns") or hasattr(value, "column_names")
    is_scalar = getattr(value, "ndim", 1) == 0
    is_sized_and_ordered = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return is_sized_and_ordered and not (is_table or is_scalar or isinstance(value, (bytes, bytearray, Mapping)))


def as_list(argument: str, value: Collection[Any]) -> list[Any]:
    """The entries of a column as a new list; those of a datasets Column of ClassLabel, which are numbers, by name."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if not is_column(value):
        kind = "a string" if isinstance(value, str) else f"of type {type(value).__name__}"
        raise InputError(argument, f"is {kind}: give a list with one entry for each image")
    for convert in ("tolist", "to_pylist"):
        if hasattr(value, convert):
            return list(getattr(value, convert)())
    try:
        rows = list(value[:])  # type: ignore[index]  # a datasets Column gives a slice 100 times faster than its rows
    except TypeError:
        rows = list(value)
    feature = getattr(value, "features", None)
    names = getattr(getattr(feature, "feature", feature), "names", None)  # ClassLabel, or lists of it
    return rows if names is None else [class_name(row, names) for row in rows]


def holds_list(cell: object) -> bool:
    """True for a list and for text that seems to be one."""
    return cell.lstrip().startswith("[") if isinstance(cell, str) else is_column(cell)


def entries(cell: Any) -> list[Any]:
    """The entries of a cell: a list, one as text as JSON or Python writes it, or one text. Of a list of objects, such
    as COCO's, their texts.

    >>> entries('["a man", "a guy"]'), entries([{"raw": "a man"}]), entries("[a man]")
    (['a man', 'a guy'], ['a man'], ['[a man]'])
    >>> entries("['a man', None]"), entries("['a man' 'a guy']")
    (['a man', None], ['a man', 'a guy'])
    """
    if not holds_list(cell):
        return [cell]
    if isinstance(cell, str):
        text = cell.strip()
        for read in (json.loads, _python_list) if text.endswith("]") else ():
            with suppress(ValueError, SyntaxError, RecursionError):
                return entries(read(text))
        if text.endswith("]") and text[1:].lstrip().startswith(("'", '"')):
            raise ValueError(f"{text[:40]!r} looks like a list and is not a whole one; write it with json.dumps")
        return [cell]
    items = as_list("column", cell)
    return list(map(_text_of, items)) if dict in set(map(type, items)) else items


def _text_of(entry: Any) -> Any:
    """The text of an object such as COCO's; what is none as it is."""
    return next((entry[name] for name in TEXTS if name in entry), entry) if isinstance(entry, dict) else entry


def _python_list(text: str) -> Any:
    """A list as Python, pandas and numpy write it. Only strings are left to Python's parser, which then runs nothing
    and goes into no depth.
    """

    def as_json(match: re.Match[str]) -> str:
        string = match[1]
        if string is None:
            return {"None": "null", "nan": "null"}.get(match[0], match[0].lower())
        return json.dumps(ast.literal_eval(string) if "\\" in string else string[1:-1]) + ("," if match[2] else "")

    return json.loads(_PYTHON.sub(as_json, text))


def class_name(value: Any, names: Sequence[str]) -> Any:
    """The name of a class label, None where there is none; those of a list of labels."""
    if is_column(value):
        return [class_name(each, names) for each in value]
    return names[int(value)] if value is not None and 0 <= int(value) < len(names) else None


def as_weight(cell: Any) -> float | None:
    """The number above 0 that a cell holds, as text too; None where it holds none.

    >>> as_weight("2.5"), as_weight(0), as_weight("heavy")
    (2.5, None, None)
    """
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return number if 0 < number < math.inf and not isinstance(cell, bool) else None


def as_scene(cell: Any) -> str | None:
    """The name of a scene, which may be a number; None where there is none."""
    return None if is_missing(cell) or is_column(cell) else str(cell).strip() or None


ROW = "row "  # what an image without an id is called, before its number


def image_keys(argument: str, values: list[Any]) -> list[str]:
    """Image ids as strings that are equal if the ids are: 42, 42.0, "42", "42.0", "42.jpg", "42.jpg#0" and COCO's file
    names of it are one image. A file's suffix, and what follows a ? in an address, tell images apart only where nothing
    else does."""
    if set(map(type, values)) <= {int}:
        return list(map(str, values))
    if set(map(type, values)) == {str} and all(map(_SHORT_NUMBER.fullmatch, values)):
        return values
    keys = [_image_key(argument, row, value) for row, value in enumerate(values)]
    names = [_SUFFIX.sub("", key) for key in keys]
    return names if len(set(names)) == len(set(keys)) else keys


def base_names(keys: Iterable[str]) -> list[str]:
    """The ids without folders: 1 of val/1."""
    return [_FOLDER.sub("", key) for key in keys]


def coco_number(name: str) -> str | None:
    """The image's number in COCO's name of a file, with or without folder and suffix.

    >>> coco_number("COCO_val2014_000000000192.jpg"), coco_number("000000000192"), coco_number("192.jpg")
    ('192', '192', None)
    """
    number = _COCO_NAME.fullmatch(name)
    return str(int(number[1])) if number else None


def _image_key(argument: str, row: int, value: object) -> str:
    if isinstance(value, str) and value.strip():
        text = value.strip()
        for longer in (_CAPTION, _FILE_OF_NUMBER):
            text = match[1] if (match := longer.fullmatch(text)) else text
        return text[:-2] if _WHOLE_NUMBER.fullmatch(text) else coco_number(text) or text
    if is_missing(value) or isinstance(value, str):
        raise InputError(argument, "is missing: every row needs an image id; add it or drop the row", row=row)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        return str(int(number)) if number.is_integer() else str(number)
    raise InputError(argument, f"is of type {type(value).__name__}: an image id is a string or a number", row=row)
