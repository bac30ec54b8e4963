"""Records of a JSON file, one block after another, so that memory does not grow with the file."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from captionbias.arrays import Array, Integers

Columns: TypeAlias = dict[str, list[Any]]
Check: TypeAlias = Callable[[Any], str | None]  # what is wrong with a value, or None

BLOCK = 8192
_MISSING = object()
_DEEPEST = 100  # brackets open at once: ijson's memory grows with their square
_BORING = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = np.array([1 if letter in b"[{" else -1 if letter in b"]}" else 0 for letter in range(256)])
_LARGEST = 1e38  # what fits in 32 bits
_ODD_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\\ud800-\udfff]")  # invisible letters do stand in names of paintings
_HALF = re.compile(r"[\ud800-\udfff]")
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxlong = 2, 60, 60


def read_records(
    path: Path, key: str, checks: Mapping[str, Check], optional: Collection[str] = ()
) -> Iterator[Columns]:
    """Blocks of the records `{key: [record, ...]}` of a JSON file, or of its array of records when `key` is "".

    Args:
        path: the file.
        key: the member of the file's object that holds the records.
        checks: the fields to read, each with the check that its values pass.
        optional: fields that a record may lack; they are then None.

    Raises:
        ValueError: the file is missing, no JSON or cut off, has no such member, or a record lacks a field or has a bad
            value; names the file, the first bad record and the way out.
    """
    import ijson
    from datasets.utils import tqdm

    where = f"{path.name}: {key}" if key else path.name
    first, found = 0, False
    try:
        bar = {"desc": where, "unit": "B", "unit_scale": True, "leave": False}
        with path.open("rb") as plain, tqdm.wrapattr(plain, "read", total=path.stat().st_size, **bar) as file:
            records = ijson.items(_Shallow(file, path.name), f"{key}.item" if key else "item", use_float=True)
            while block := list(islice(records, BLOCK)):
                found = True
                yield columns_of(block, where, checks, optional, first)
                first += len(block)
        if not found and not _holds(path, key):
            wanted = f'an object with "{key}": [...]' if key else "an array of records"
            raise ValueError(f"{path.name} has no list of records there: it must be {wanted}; is it the right file?")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
    except (ijson.JSONError, UnicodeDecodeError) as error:
        what = str(error).splitlines()[0].strip()
        raise ValueError(
            f"{path.name} is not whole JSON ({what}), after {first:,} records: fetch the file again"
        ) from error


def _holds(path: Path, key: str) -> bool:
    """Whether an empty list stands where the records should."""
    import ijson

    with path.open("rb") as file:
        return any(prefix == key and event == "start_array" for prefix, event, _ in ijson.parse(file))


class _Shallow:
    """A JSON file to read from, as long as no more than `_DEEPEST` brackets are open."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._depth, self._in_string, self._cut = 0, False, b""

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        plain = self._cut + content
        if b"\\" in plain:
            plain = re.sub(rb"\\.", b"", plain, flags=re.DOTALL)  # an escaped quote ends no string
        self._cut = b"\\" if plain.endswith(b"\\") else b""
        marks = np.frombuffer(plain.translate(None, _BORING), np.uint8)
        in_string = np.logical_xor.accumulate(np.append(self._in_string, marks == ord('"')))
        steps = np.where(in_string[1:], 0, _STEPS[marks])
        depth = np.append(self._depth, self._depth + np.cumsum(steps))
        if depth.max() > _DEEPEST:
            raise ValueError(f"{self._name} has more than {_DEEPEST} brackets open at once: is it the right file?")
        self._depth, self._in_string = int(depth[-1]), bool(in_string[-1])
        return content


def columns_of(
    block: Sequence[Any], where: str, checks: Mapping[str, Check], optional: Collection[str] = (), first: int = 0
) -> Columns:
    """The fields of records, checked; `first` is the number of the first record, for messages.

    Raises:
        ValueError: as `read_records`.
    """
    if set(map(type, block)) != {dict}:
        row = next(row for row, record in enumerate(block) if type(record) is not dict)
        raise ValueError(f"{where}[{first + row}] is no object: every record is one, with {', '.join(checks)}")
    columns = {}
    for field, check in checks.items():
        values = [record.get(field, _MISSING) for record in block]
        if _MISSING in values:
            if field not in optional:
                raise ValueError(f'{where}[{first + values.index(_MISSING)}] has no "{field}": every record needs one')
            values = [None if value is _MISSING else value for value in values]
        for row, value in enumerate(() if _all_pass(check, values) else values):
            if value is None and field in optional:
                continue
            if fault := check(value):
                raise ValueError(f'{where}[{first + row}]: "{field}" {fault}')
        columns[field] = values
    return columns


def _all_pass(check: Check, values: Sequence[Any]) -> bool:
    """Whether all values are as most are, so that none needs a look of its own."""
    if check not in USUAL:
        return False
    kinds, usual = USUAL[check]
    return set(map(type, values)) == {kinds} and usual(values)


def check_unique(where: str, field: str, values: Array) -> None:
    """Raise for the first value that stands twice."""
    _, firsts = np.unique(values, return_index=True)
    if len(firsts) < len(values):
        row = int(np.setdiff1d(np.arange(len(values)), firsts)[0])
        earlier = int(np.flatnonzero(values == values[row])[0])
        raise ValueError(f'{where}[{row}]: "{field}" {values[row]} stands at [{earlier}] already: drop one of the two')


def check_known(where: str, field: str, values: Integers, known: Integers, first: int = 0) -> None:
    """Raise for the first value that is none of the ascending `known` ones."""
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    strange = np.flatnonzero(known[place] != values)
    if len(strange):
        row = int(strange[0])
        raise ValueError(
            f'{where}[{first + row}]: "{field}" {values[row]} is unknown: it must be one that its COCO file lists'
        )


def whole(value: Any) -> str | None:
    """A whole number that fits in 64 bits, 0 or above.

    >>> whole(42), whole(-1)
    (None, 'is -1: it must be a whole number, 0 or above')
    """
    if type(value) is int and 0 <= value < 2**63:
        return None
    return f"is {short(value)}: it must be a whole number, 0 or above"


def image(value: Any) -> str | None:
    """An image id: a whole number, or one as a string.

    >>> image(42), image("42"), image("a")
    (None, None, "is 'a': it must be a whole number, 0 or above")
    """
    digits = type(value) is str and value.isascii() and value.isdigit() and len(value) < 19
    return whole(int(value)) if digits else whole(value)


def text(value: Any) -> str | None:
    """A string, empty or not, that can be written: half of a pair of code units, as "\\ud83d", is no letter."""
    if type(value) is not str:
        return f"is {short(value)}: it must be a string"
    if not value.isascii() and _HALF.search(value):
        return f"is {short(value)}, which holds half a letter and cannot be written: mend it"
    return None


def flag(value: Any) -> str | None:
    """0 or 1, as COCO writes `iscrowd`."""
    return None if type(value) is int and value in (0, 1) else f"is {short(value)}: it must be 0 or 1"


def number(value: Any) -> str | None:
    """A finite number that fits in 32 bits."""
    if type(value) in (int, float) and -_LARGEST < value < _LARGEST:
        return None
    return f"is {short(value)}: it must be a finite number, and no larger than {_LARGEST:g}"


def box(value: Any) -> str | None:
    """`[x, y, width, height]`, four finite numbers."""
    if type(value) is list and len(value) == 4 and not any(map(number, value)):
        return None
    return f"is {short(value)}: it must be [x, y, width, height], four finite numbers"


def file_name(value: Any) -> str | None:
    """The name of a file, without folders.

    >>> file_name("COCO_val2014_000000000042.jpg")
    >>> file_name("../secret.jpg")
    "is '../secret.jpg': it must be the plain name of a file, without folders"
    """
    if type(value) is str and value.strip(". ") and not _ODD_IN_NAMES.search(value):
        return None
    return f"is {short(value)}: it must be the plain name of a file, without folders"


def fits(numbers: Sequence[Any]) -> bool:
    """Whether all of these pass `number`."""
    if not set(map(type, numbers)) <= {int, float}:
        return False
    try:
        return bool((np.abs(np.array(numbers, np.float64)) < _LARGEST).all())  # false for nan
    except OverflowError:
        return False


def whole_letters(texts: Sequence[str]) -> bool:
    """Whether all of these pass `text`."""
    together = "".join(texts)
    return together.isascii() or not _HALF.search(together)


# For the checks of the long columns: the type that all values have, and whether such values all pass.
USUAL: dict[Check, tuple[type, Callable[[Sequence[Any]], bool]]] = {
    whole: (int, lambda values: min(values) >= 0 and max(values) < 2**63),
    text: (str, whole_letters),
    flag: (int, lambda values: set(values) <= {0, 1}),
    box: (list, lambda values: set(map(len, values)) == {4} and fits([*chain.from_iterable(values)])),
}


def short(value: Any) -> str:
    """A value as messages show it: what is long or deep is not shown whole.

    >>> short("a" * 100), short([[[[]]]])
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaa'", '[[[...]]]')
    """
    try:
        return _REPR.repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return f"a {type(value).__name__} with a number of thousands of digits"
