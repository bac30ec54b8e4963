"""Results as files, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


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
    write_text(json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write a file whole or not at all; errors as `write_json`."""
    part, target = _places(path)
    with _explained(path):
        try:
            part.write_text(text, encoding="utf-8")
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
