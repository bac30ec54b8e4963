"""The one store of what is kept on disk: finished trials, captions, embeddings of captions, word vectors.

An entry is a file `KIND-KEY.npz` of named arrays, with its key. It appears whole or not at all, so a process may be
killed at any moment; one that is lost or damaged later is never misread, and never unpickled.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from captionbias.errors import InputError
from captionbias.io.files import user_path, written_whole
from captionbias.warnings import warn

Arrays = Mapping[str, npt.NDArray[Any]]
Value = TypeVar("Value")

# In the order in which they make room: what is soon had again goes first.
KINDS = ("vectors", "embeddings", "trial", "captions")
FILE = re.compile(
    rf"({'|'.join(KINDS)})-([0-9a-f]{{64}}|[0-9a-f]{{32}}-[0-9a-f]{{16}})\.npz|\.captionbias-[0-9a-f]{{32}}\.part"
)
PART_SECONDS = 3600  # a younger one may be growing
GIGABYTE = 1_000_000_000
_complained: set[Path] = set()


class Entry(NamedTuple):
    """A file of the store; `used`: when it was last used, in seconds since 1970; `size` in bytes."""

    used: float
    path: Path
    size: int
    kind: str
    key: str


@dataclass(frozen=True)
class Store:
    """Entries in `folder`, of at most `limit` bytes once `trim` was called; `open_store` makes one.

    A key is 64 hexadecimal digits, or 32, a hyphen and 16. No method raises because of the disk: without a store scores
    are the same, they only take longer.
    """

    folder: Path
    limit: int

    def load(self, kind: str, key: str, read: Callable[[Arrays], Value | None]) -> Value | None:
        """Read an entry, now the last used, by what `read` makes of its arrays; None when there is no such entry.

        One that is damaged or another's, or of which `read` raises anything, is warned of and removed.
        """
        path = self._path(kind, key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                content = dict(arrays)
            if str(content.pop("key")) != key:
                raise ValueError("an entry of another key")
            value = read(content)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # a damaged file makes its readers raise almost anything
            reason = getattr(error, "strerror", None) or "it is damaged, or another's"
            warn(f"{path} cannot be used ({reason}): its contents are computed again")
            if not isinstance(error, OSError):
                _remove(path)  # or whoever looks next would be warned as well
            return None
        if value is not None:
            with suppress(OSError):  # a store that is only read from
                os.utime(path)
        return value

    def save(self, kind: str, key: str, arrays: Arrays) -> None:
        """Keep arrays under a key, in place of those that were. If that fails, warn once a process: for thousands of
        trials all would say the same."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with written_whole(self._path(kind, key)) as part, part.open("wb") as file:
                np.savez(file, **arrays, key=np.array(key))  # type: ignore[arg-type]
        except OSError as error:
            if self.folder not in _complained:
                _complained.add(self.folder)
                warn(
                    f"finished work cannot be kept in {self.folder} ({error.strerror or error}): scores are right, but "
                    "the next run computes them again. Free space there or make it writable, or name another folder "
                    "with cache= or in CAPTIONBIAS_CACHE",
                )

    def keys(self, kind: str, start: str = "") -> list[str]:
        """The keys of this kind that begin with `start`, in alphabetical order."""
        return sorted(entry.key for entry in self.contents() if entry.kind == kind and entry.key.startswith(start))

    def contents(self) -> list[Entry]:
        """Every entry, the longest unused first."""
        return self._files("npz")

    def trim(self) -> None:
        """Remove entries beyond the limit, by kind, then the longest unused first; and what killed processes left."""
        entries = sorted(self.contents(), key=lambda entry: KINDS.index(entry.kind))
        excess = sum(entry.size for entry in entries) - self.limit
        for entry in entries:
            if excess > 0 and _remove(entry.path):
                excess -= entry.size
        for part in self._files("part"):
            if part.used < time.time() - PART_SECONDS:
                _remove(part.path)

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{key}.npz"

    def _files(self, ending: str) -> list[Entry]:
        """Files of our own making, the longest unused first. A link is not one of them, whatever its name."""
        files = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for file in entries:
                ours = file.name.endswith(ending) and FILE.fullmatch(file.name)
                if ours and file.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # another process removed it just now
                        status = file.stat(follow_symlinks=False)
                        kind, key = ours[1] or "", ours[2] or ""
                        files.append(Entry(status.st_mtime, Path(file.path), status.st_size, kind, key))
        return sorted(files)


def open_store(cache: bool | str | Path) -> Store | None:
    """The store in a folder: `$CAPTIONBIAS_CACHE` or the usual one for True, none for False. Nothing is written yet.

    `$CAPTIONBIAS_CACHE_GB` limits the size: 1 (10^9 bytes) by default, some 70,000 trials of 1,500 captions.
    """
    if cache is False:
        return None
    if not isinstance(cache, (bool, str, Path)):
        raise InputError("cache", f"must be True, False or a folder, not {cache!r}")
    try:
        limit = int(float(os.environ.get("CAPTIONBIAS_CACHE_GB") or 1) * GIGABYTE)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"CAPTIONBIAS_CACHE_GB: {error}; set it to a number of gigabytes, such as 0.5") from error
    usual = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "captionbias")
    folder = (os.environ.get("CAPTIONBIAS_CACHE") or usual) if cache is True else cache
    # An absolute path, for worker processes may have another working folder.
    return Store(Path(os.path.abspath(user_path(folder, "cache"))), limit)


def _remove(path: Path) -> bool:
    """Remove a file, and say whether it is gone, whoever removed it."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
