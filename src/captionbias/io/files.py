"""The one way to write a file: whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from captionbias.errors import InputError


def user_path(name: str | Path, argument: str) -> Path:
    """The path that a user names as this argument, ~ being the home; an `InputError` where no file can be."""
    try:
        path = Path(os.path.expanduser(name))
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, ValueError, TypeError) as error:
        raise InputError(argument, f"{name!r:.60} cannot be read ({error}): give another path") from error
    return path


def check_ending(path: Path, *endings: str) -> None:
    """Raise a ValueError for a name with another ending than these."""
    if path.suffix.lower() not in endings:
        raise ValueError(f"{path} does not end in {' or '.join(endings)}: name a file that does")


def check_writable(path: Path) -> None:
    """Raise before the work what `replacing` would raise after it."""
    with _explained(path):
        part = _part(_target(path))
        part.touch()
        part.unlink()


def write_text(text: str, path: Path) -> None:
    """Write a text as UTF-8 with the line breaks that it has; errors as `replacing`."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name of a file to write, which takes the place of `path`, a user's file, when all is written.

    A link stays, and what it points to is replaced, keeping its mode. ValueError: it cannot be written, or is not a
    file.
    """
    with _explained(path):
        target = _target(path)
        with written_whole(target) as part:
            yield part
            with suppress(FileNotFoundError):
                shutil.copymode(target, part)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """The name of a file of our own to write, as `replacing`; raises `OSError` as it is. Only a kill leaves a part."""
    part = _part(path)
    try:
        yield part
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


def _part(path: Path) -> Path:
    return path.with_name(f".captionbias-{uuid4().hex}.part")


def _target(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(target.stat().st_mode):
            raise FileExistsError(0, "what has that name is not a file")
    return target


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ValueError(f"{path} cannot be written ({reason}): name a file in a folder you can write to") from error
