"""Signals as a terminal leaves them, for the processes that tests start and end."""

from __future__ import annotations

import signal


def restore() -> None:
    """As `preexec_fn`: under nohup and in the background these tests ignore signals, and so would what they start."""
    for one in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
