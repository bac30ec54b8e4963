"""The one folder of a process that serves a page: uploads, reports and what child processes write are in it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

PREFIX = "captionbias-page-"
LOCK = "lock"
NEW = 60  # seconds in which a folder has no lock yet


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder of this process alone, which every temporary file of it and of its children is in meanwhile.

    Only its user can open it. Its name has the process and the time. It is removed at the end, also by a signal, and
    so is what killed processes of this user left: a folder is in use while its lock is held, which ends with a process.
    For the main thread.
    """
    for name in ("SIGTERM", "SIGHUP"):  # as Ctrl-C; who ignores one, as under nohup, goes on ignoring it
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
    sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-{time.time():.0f}-"))
    names = ("TMPDIR", "GRADIO_TEMP_DIR")
    before = tempfile.tempdir, {name: os.environ.get(name) for name in names}
    try:
        with FileLock(folder / LOCK):
            tempfile.tempdir = str(folder)
            os.environ |= {"TMPDIR": str(folder), "GRADIO_TEMP_DIR": str(folder / "uploads")}
            yield folder
    finally:
        tempfile.tempdir, variables = before
        for name, value in variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove the folders in it that dead processes of this user left."""
    for left in folder.glob(f"{PREFIX}*"):
        try:
            found = left.lstat()
            if not left.is_dir() or left.is_symlink() or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
                continue
            if not (left / LOCK).exists() and time.time() - found.st_mtime < NEW:
                continue
            with FileLock(left / LOCK, blocking=False):
                pass
        except (OSError, Timeout):
            continue
        shutil.rmtree(left, ignore_errors=True)
