"""Temporary folders of a process: one is in use while its process lives, and what a killed one left is swept."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LOCK = "lock"
NEW = 60  # seconds in which a folder has no lock yet


def own_folder(prefix: str) -> tuple[Path, Any]:
    """A new temporary folder of this process, which only its user can open, and the lock that keeps it: hold on to it.

    What dead processes left in folders of this prefix is removed.
    """
    from filelock import FileLock

    sweep(Path(tempfile.gettempdir()), prefix)
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))
    lock = FileLock(folder / LOCK)
    with suppress(OSError, NotImplementedError):  # file systems without locks, where nothing is swept
        lock.acquire()
    return folder, lock


def sweep(temporary: Path, prefix: str) -> None:
    """Remove the folders with this prefix that dead processes of this user left."""
    from filelock import FileLock, Timeout

    for left in temporary.glob(f"{prefix}*"):
        try:
            status = left.lstat()
            if not left.is_dir() or left.is_symlink() or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
                continue
            if not (left / LOCK).exists() and time.time() - status.st_mtime < NEW:
                continue
            with FileLock(left / LOCK, blocking=False):
                pass
        except (OSError, NotImplementedError, Timeout):
            continue
        shutil.rmtree(left, ignore_errors=True)
