"""Records of a large JSON file, read one at a time, and plain checks of records and ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, type | tuple[type, ...]]  # the fields that a record must have, and their types


def read_records(path: Path, key: str, fields: Fields) -> Iterator[dict[str, Any]]:
    """The records `{key: [record, ...]}` of a JSON file, or of its array of records when `key` is "", one at a time; of
    a JSONL file those of its lines.

    The text of a large file is never in memory as a whole. A progress bar shows how much of it is read.
    """
    import ijson
    from datasets.utils import tqdm

    where = f"{path.name}: {key}" if key else path.name
    lines = path.suffix == ".jsonl"
    prefix = "" if lines else f"{key}.item" if key else "item"
    row = -1
    try:
        bar = {"desc": where, "unit": "B", "unit_scale": True, "leave": False}
        with path.open("rb") as plain, tqdm.wrapattr(plain, "read", total=path.stat().st_size, **bar) as file:
            for row, record in enumerate(ijson.items(file, prefix, use_float=True, multiple_values=lines)):
                check_record(record, f"{where}[{row}]", fields)
                yield record
    except (ijson.JSONError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].strip()
        raise ValueError(
            f"{path.name} is not whole JSON ({reason}), after {row + 1:,} records: fetch the file again"
        ) from error
    if row < 0:
        wanted = f'an object with "{key}": [...]' if key else "records"
        raise ValueError(f"{path.name} must be {wanted}: check that it is the right file")


def check_record(record: Any, where: str, fields: Fields) -> None:
    """Raise ValueError, which begins with `where`, unless the record has the fields."""
    for field, kind in fields.items():
        value = record.get(field) if isinstance(record, dict) else None
        if not isinstance(value, kind):
            raise ValueError(f'{where}: "{field}" is {short(value)}: correct it, or fetch the file again')


def unique_ids(values: Sequence[Any], where: str, field: str, known: Collection[int] | None = None) -> list[int]:
    """Whole numbers, which may be written as text; each once, and one of the `known`."""
    rows: dict[int, int] = {}
    for row, value in enumerate(values):
        place = f'{where}[{row}]: "{field}"'
        if not isinstance(value, int) and not (isinstance(value, str) and value.isdecimal()):
            raise ValueError(f"{place} must be a whole number, not {short(value)}: correct it")
        if (first := rows.setdefault(int(value), row)) != row:
            raise ValueError(f"{place} {int(value)} is also at [{first}]: remove one of the two")
        if known is not None:
            check_known(int(value), f"{where}[{row}]", field, known)
    return list(rows)


def check_known(value: int, where: str, field: str, known: Collection[int]) -> None:
    """Raise ValueError, which begins with `where`, for a value that is not one of the `known` ones."""
    if value not in known:
        raise ValueError(
            f'{where}: "{field}" {value} is not in the COCO file: check that both files are of the same images'
        )
