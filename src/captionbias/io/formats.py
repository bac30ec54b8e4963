"""Results as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionbias.io.files import write_text

FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a result as JSON, whole or not at all; undefined numbers become null."""
    write_text(json_text(content, indent=2) + "\n", path)


def json_text(content: Mapping[str, Any], indent: int | None = None) -> str:
    """A result as JSON; undefined numbers become null."""
    return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def read_json(path: Path) -> Any:
    """What a JSON file holds; ValueError, as for one that is broken, if it is too deep to read or has a key twice."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=json_object)
    except RecursionError as error:
        raise ValueError("lists or objects in it are nested too deeply") from error


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses what JSON readers drop: a key that an object has twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r} is twice in one object: keep one")
    return content


def csv_text(header: Iterable[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """A table as CSV. No spreadsheet takes a text in it for a formula: what could be one gets a quote before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # with another, a lone \r in a cell would begin a row
    for row in (header, *rows):
        writer.writerow([f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in row])
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
