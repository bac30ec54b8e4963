"""Records of a large JSON file, read one at a time, and the checks that their fields must pass."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from captionbias.captions.check import MAX_CHARACTERS

Check: TypeAlias = Callable[[Any], str | None]  # None for a good value; for a bad one what it must be

_LARGEST = 1e38  # what fits in 32 bits
_MOST_PIXELS = 65_535  # height or width of an image
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_REPR = reprlib.Repr()
_REPR.maxstring = 60


def read_records(
    path: Path, key: str, checks: Mapping[str, Check], optional: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """The records `{key: [record, ...]}` of a JSON file, or of its array of records when `key` is "".

    Memory does not grow with the file. A progress bar shows how much of it is read.

    Args:
        path: the file.
        key: the member of the file's object that holds the records.
        checks: the fields to check. Records may have others.
        optional: fields that a record may lack, or have as null.

    Raises:
        ValueError: the file is missing, is not JSON or is cut off, or has no such member; a record lacks a field or has
            a bad value. The message names the file and the record.
    """
    import ijson
    from datasets.utils import tqdm

    where = f"{path.name}: {key}" if key else path.name
    count = 0
    try:
        bar = {"desc": where, "unit": "B", "unit_scale": True, "leave": False}
        with path.open("rb") as plain, tqdm.wrapattr(plain, "read", total=path.stat().st_size, **bar) as file:
            for record in ijson.items(file, f"{key}.item" if key else "item", use_float=True):
                check_record(record, f"{where}[{count}]", checks, optional)
                yield record
                count += 1
        with path.open("rb") as plain:
            if not count and (key, "start_array") not in (event[:2] for event in ijson.parse(plain)):
                wanted = f'an object with "{key}": [...]' if key else "an array of records"
                raise ValueError(f"{path.name} must be {wanted}: check that it is the right file")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
    except (ijson.JSONError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].strip()
        raise ValueError(
            f"{path.name} is not whole JSON ({reason}), after {count:,} records: fetch the file again"
        ) from error


def check_record(record: Any, where: str, checks: Mapping[str, Check], optional: Collection[str] = ()) -> None:
    """Raise ValueError, which begins with `where`, unless the record has all fields and they pass their checks."""
    if not isinstance(record, dict):
        raise ValueError(f"{where} must be an object with {', '.join(checks)}, not {short(record)}")
    for field, check in checks.items():
        value = record.get(field)
        if value is None and field in optional:
            continue
        if field not in record:
            raise ValueError(f'{where} has no "{field}": add it or remove the record')
        if fault := check(value):
            raise ValueError(f'{where}: "{field}" {fault}')


def check_unique(where: str, field: str, values: Sequence[Any]) -> None:
    """Raise ValueError for the first value that occurs a second time."""
    _, firsts = np.unique(np.asarray(values), return_index=True)
    if len(firsts) < len(values):
        row = int(np.setdiff1d(np.arange(len(values)), firsts)[0])
        earlier = list(values).index(values[row])
        raise ValueError(f'{where}[{row}]: "{field}" {values[row]} is also at [{earlier}]: remove one of the two')


def check_known(where: str, row: int, field: str, value: int, known: Collection[int]) -> None:
    """Raise ValueError unless the value is one of the `known` ones."""
    if value not in known:
        raise ValueError(
            f'{where}[{row}]: "{field}" {value} is not in the COCO file: check that both files are of the same images'
        )


def whole(value: Any) -> str | None:
    """A whole number that fits in 64 bits, 0 or above.

    >>> whole(42), whole(-1)
    (None, 'must be a whole number, 0 or above, not -1')
    """
    if type(value) is int and 0 <= value < 2**63:
        return None
    return f"must be a whole number, 0 or above, not {short(value)}"


def image_id(value: Any) -> str | None:
    """A whole number, or one as a string.

    >>> image_id(42), image_id("42"), image_id("a")
    (None, None, "must be a whole number, 0 or above, not 'a'")
    """
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    return whole(int(value)) if digits else whole(value)


def pixels(value: Any) -> str | None:
    """The height or width of an image."""
    if type(value) is int and 0 <= value <= _MOST_PIXELS:
        return None
    return f"must be a number of pixels, 0 to {_MOST_PIXELS:,}, not {short(value)}"


def flag(value: Any) -> str | None:
    """0 or 1, as COCO writes `iscrowd`."""
    return None if value in (0, 1) else f"must be 0 or 1, not {short(value)}"


def number(value: Any) -> str | None:
    """A finite number that fits in 32 bits."""
    if type(value) in (int, float) and -_LARGEST < value < _LARGEST:
        return None
    return f"must be a number between {-_LARGEST:g} and {_LARGEST:g}, not {short(value)}"


def box(value: Any) -> str | None:
    """`[x, y, width, height]`, four finite numbers."""
    if isinstance(value, list) and len(value) == 4 and not any(map(number, value)):
        return None
    return f"must be [x, y, width, height], four finite numbers, not {short(value)}"


def text(value: Any) -> str | None:
    """A string, empty or not, that can be written as UTF-8."""
    if not isinstance(value, str):
        return f"must be a string, not {short(value)}"
    if not value.isascii() and _SURROGATE.search(value):
        return f"must not have half of a surrogate pair, as {short(value)} has"
    return None


def caption(value: Any) -> str | None:
    """A string, empty or not, of at most 10,000 characters."""
    if fault := text(value):
        return fault
    return (
        None if len(value) <= MAX_CHARACTERS else f"must have at most {MAX_CHARACTERS:,} characters, not {len(value):,}"
    )


def file_name(value: Any) -> str | None:
    """The name of a file, without folders.

    >>> file_name("COCO_val2014_000000000042.jpg")
    >>> file_name("val2014/42.jpg")
    "must be the name of a file, without folders, not 'val2014/42.jpg'"
    """
    if not text(value) and value.strip(". ") and not set("/\\\0") & set(value):
        return None
    return f"must be the name of a file, without folders, not {short(value)}"


def short(value: Any) -> str:
    """A value as messages show it: long and deep ones not whole.

    >>> short("a" * 100), short([[[[[[[[]]]]]]]])
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaa'", '[[[[[[[...]]]]]]]')
    """
    return _REPR.repr(value)
