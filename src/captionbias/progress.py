"""How far long work is: a bar, log lines, or a function of the caller's."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeAlias

# True for a bar at once, False for nothing, None for a bar or log lines of what takes long, or what to call with how
# many trials are finished and how many there are.
Progress: TypeAlias = bool | Callable[[int, int], None] | None
Report: TypeAlias = Callable[[int, int], None]
# What to call with the step that begins or goes on, and the share of the work that is done, in [0, 1].
Watch: TypeAlias = Callable[[str, float], None]

BAR_AFTER, BAR_EVERY, LINE_EVERY = 5.0, 0.5, 30.0  # seconds
logger = logging.getLogger("captionbias")
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def steps_shown(progress: Progress) -> Iterator[None]:
    """Within, `told_if_long` is silent if the caller wants no progress, or shows it himself."""
    token = _silent.set(progress is False or callable(progress))
    try:
        yield
    finally:
        _silent.reset(token)


@contextmanager
def reported(progress: Progress, name: str) -> Iterator[Report]:
    """What to call with how many trials are finished and how many there are."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda finished, total: None
    else:
        with told_if_long(f"training {name}", "attackers", at_once=bool(progress)) as report:
            yield report


@contextmanager
def told_if_long(doing: str, unit: str = "", at_once: bool = False) -> Iterator[Report]:
    """A bar once `BAR_AFTER` has passed, or `at_once`, where someone may look at it; else a log line in `LINE_EVERY`.

    Gives a function to call with how many of the unit are finished and how many there are, where that is known.
    """
    if _silent.get() or os.environ.get("RANK", "0") != "0":  # of several processes the first one tells
        yield lambda finished, total: None
        return
    counts, done, began = [0, 0], threading.Event(), time.monotonic()

    def report(finished: int, total: int) -> None:
        counts[:] = finished, total

    def show() -> None:
        if done.wait(0 if at_once else BAR_AFTER):
            return
        from tqdm.auto import tqdm

        with tqdm(desc=doing, total=counts[1] or None, leave=False) as bar:
            bar.start_t -= time.monotonic() - began
            while not done.wait(BAR_EVERY):
                bar.n, bar.total = counts[0], counts[1] or None
                bar.refresh()

    def log() -> None:
        while not done.wait(LINE_EVERY):
            passed = duration(time.monotonic() - began)
            far = f"{counts[0]:,} of {counts[1]:,} {unit} in {passed}" if counts[1] else f"{passed} so far"
            logger.warning("%s: %s", doing, far)  # which is seen where no logging is set up, too

    watched = at_once or "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    # A thread of its own, because a single training may take minutes; in the context, by which notebooks know the cell.
    thread = threading.Thread(target=copy_context().run, args=(show if watched else log,), daemon=True)
    thread.start()
    try:
        yield report
    finally:
        done.set()
        thread.join()


def duration(seconds: float) -> str:
    """A duration in a unit of which there are a few."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
