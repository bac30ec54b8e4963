"""How far long work is: a bar, or a function of the caller's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

# True for a bar at once, False for nothing, None for a bar of what takes long, or what to call with how many
# trials are finished and how many there are.
Progress: TypeAlias = bool | Callable[[int, int], None] | None
Report: TypeAlias = Callable[[int, int], None]
# What to call with the step that begins or goes on, and the share of the work that is done, in [0, 1].
Watch: TypeAlias = Callable[[str, float], None]

BAR_AFTER, LINE_EVERY = 5.0, 30.0  # seconds
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def show_steps(progress: Progress) -> Iterator[None]:
    """Within, `report_if_long` is silent if the caller wants no progress, or shows it himself."""
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
        with report_if_long(f"training {name}", "attackers", at_once=bool(progress)) as report:
            yield report


@contextmanager
def report_if_long(doing: str, unit: str, at_once: bool = False) -> Iterator[Report]:
    """A bar once `BAR_AFTER` has passed, or `at_once`; where nobody looks at it, in the log of a batch job, once every
    `LINE_EVERY`.

    Gives a function to call with how many of the unit are finished and how many there are.
    """
    if _silent.get() or os.environ.get("RANK", "0") != "0":  # of several processes the first one tells
        yield lambda finished, total: None
        return
    from tqdm.auto import tqdm

    watched = at_once or "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    delay, every = (0 if at_once else BAR_AFTER, 0.1) if watched else (LINE_EVERY, LINE_EVERY)
    with tqdm(desc=doing, unit=f" {unit}", delay=delay, mininterval=every, miniters=1, leave=False) as bar:

        def report(finished: int, total: int) -> None:
            bar.total = total
            bar.update(finished - bar.n)

        yield report


def duration(seconds: float) -> str:
    """A duration in a unit of which there are a few."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
