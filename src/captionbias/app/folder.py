"""The one folder of a process that serves a page: uploads, reports and what child processes write are in it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from captionbias.io.temporary import own_folder

PREFIX = "captionbias-page-"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder of this process alone, which every temporary file of it and of its children is in meanwhile.

    It is removed at the end, also by a signal, and so is what killed processes of this user left. For the main thread.
    """
    for name in ("SIGTERM", "SIGHUP"):  # as Ctrl-C; who ignores one, as under nohup, goes on ignoring it
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
    folder, lock = own_folder(PREFIX)
    names = ("TMPDIR", "GRADIO_TEMP_DIR")
    before = tempfile.tempdir, {name: os.environ.get(name) for name in names}
    try:
        tempfile.tempdir = str(folder)
        os.environ |= {"TMPDIR": str(folder), "GRADIO_TEMP_DIR": str(folder / "uploads")}
        yield folder
    finally:
        lock.release()
        tempfile.tempdir, variables = before
        for name, value in variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
