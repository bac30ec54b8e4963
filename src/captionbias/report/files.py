"""Results as files, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from captionbias.report.grids import Grid

FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def check_writable(path: Path) -> None:
    """Raise before the work what `write_json` would raise after it."""
    with _explained(path):
        part, target = _places(path)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(target.stat().st_mode):
                raise FileExistsError(0, "what has that name is no file")
        part.touch()
        part.unlink()


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a result as JSON, whole or not at all; what is undefined becomes null.

    Raises:
        ValueError: the folder does not exist or cannot be written to, or the path is no file's.
    """
    write_text(json_text(content, indent=2) + "\n", path)


def json_text(content: Mapping[str, Any], indent: int | None = None) -> str:
    """A result as JSON; what is undefined becomes null.

    >>> json_text({"lic": float("nan")})
    '{"lic": null}'
    """
    return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def csv_text(grid: Grid) -> str:
    r"""A table as CSV. No spreadsheet takes a text in it for a formula: what could be one gets a quote before it.

    >>> from captionbias.report.grids import Column, Grid
    >>> csv_text(Grid("", (Column("task"), Column("adds", ".2f")), [["=cmd()", -0.125], ["knife", None]]))
    "task,adds\r\n'=cmd(),-0.125\r\nknife,\r\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # with another, a lone \r in a cell would begin a row
    writer.writerow([_no_formula(column.name) for column in grid.columns])
    writer.writerows([_no_formula(cell) for cell in row] for row in grid.rows)
    return text.getvalue()


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def write_text(text: str, path: Path) -> None:
    """Write a file whole or not at all; errors as `write_json`."""
    part, target = _places(path)
    with _explained(path):
        try:
            part.write_text(text, encoding="utf-8", newline="")
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink()


def _places(path: Path) -> tuple[Path, Path]:
    """Where the file grows and where it goes; a link stays, and what it points to is replaced."""
    target = Path(os.path.realpath(path))
    return target.parent / f".captionbias-{os.getpid()}.part", target


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(f"{path} cannot be written ({reason}): name a file in a folder you can write to") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
