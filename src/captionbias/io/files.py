"""Files that people named, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


def check_writable(path: Path) -> None:
    """Raise before the work what `replacing` would raise after it."""
    with _explained(path):
        _check_target(path)
        part = _part(path)
        part.touch()
        part.unlink()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name of a file to write, which takes the place of `path` when all is written; if that fails, none is left.

    A link stays, and what it points to is replaced; a file that was there leaves its mode to the new one.

    Raises:
        ValueError: the folder does not exist or cannot be written to, or the path is no file's.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text(), os.listdir(folder)
    ('whole', ['a.txt'])
    """
    part = _part(path)
    with _explained(path):
        _check_target(path)
        try:
            yield part
            with suppress(FileNotFoundError):
                shutil.copymode(_target(path), part)
            part.replace(_target(path))
        finally:
            with suppress(OSError):
                part.unlink()


def _check_target(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(_target(path).stat().st_mode):
            raise FileExistsError(0, "what has that name is no file")


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _part(path: Path) -> Path:
    return _target(path).with_name(f".captionbias-{uuid4().hex}.part")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(f"{path} cannot be written ({reason}): name a file in a folder you can write to") from error
