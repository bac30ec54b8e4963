"""How far long work is: a bar, log lines, or a function of the caller's."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeAlias

from captionbias.warnings import CaptionBiasWarning

# True for a bar at once, False for nothing, None for a bar or log lines of what takes long, or what to call with how
# many trials are finished and how many there are.
Progress: TypeAlias = bool | Callable[[int, int], None] | None
Report: TypeAlias = Callable[[int, int], None]
# What to call with the step that begins or goes on, and the share of the work that is done, in [0, 1].
Watch: TypeAlias = Callable[[str, float], None]

BAR_AFTER, BAR_EVERY, LINE_EVERY = 5.0, 0.5, 30.0  # seconds
LONG = 60.0  # seconds that all trainings on a CPU take, for a warning
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
    elif progress is None:
        with told_if_long(f"training {name}", "attackers") as report:
            yield report
    elif progress:
        with _rich_bar(name) as report:
            yield report
    else:
        yield lambda finished, total: None


@contextmanager
def told_if_long(doing: str, unit: str = "") -> Iterator[Report]:
    """A bar once `BAR_AFTER` has passed, where someone may look at it; else a log line in every `LINE_EVERY`.

    Gives a function to call with how many of the unit are finished and how many there are, where that is known.
    """
    if _silent.get() or os.environ.get("RANK", "0") != "0":  # of several processes the first one tells
        yield lambda finished, total: None
        return
    counts, done, began = [0, 0], threading.Event(), time.monotonic()

    def report(finished: int, total: int) -> None:
        counts[:] = finished, total

    def show() -> None:
        if done.wait(BAR_AFTER):
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
            with _shown_by_default():
                logger.info("%s: %s", doing, far)

    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    # A thread of its own, because a single training may take minutes; in the context, by which notebooks know the cell.
    thread = threading.Thread(target=copy_context().run, args=(show if watched else log,), daemon=True)
    thread.start()
    try:
        yield report
    finally:
        done.set()
        thread.join()


@contextmanager
def _shown_by_default() -> Iterator[None]:
    """Log lines go to standard error in a program that has not said where they go."""
    if logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    if level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def _rich_bar(name: str) -> Iterator[Report]:
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn(f"training {name}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)


def warn_of_cpu(name: str, attackers: int, at_once: int, first: float) -> None:
    """Say how long neural attackers train on a CPU if it is long, when the first is trained, which took some seconds.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_cpu("lstm-lic", attackers=20, at_once=2, first=90.0)
    >>> print(caught[0].message)
    20 attackers (lstm-lic) train on a CPU, 2 at once: about 15 min, as the first took 90 s. preset='fast' of lic and
    dbac takes seconds, encoder='linear' of dpa and label_leakage too; progress=False silences this
    """
    seconds = first * math.ceil(attackers / at_once)
    if attackers > at_once and seconds > LONG:
        warnings.warn(
            f"{attackers} attackers ({name}) train on a CPU, {at_once} at once: about {duration(seconds)}, as the "
            f"first took {duration(first)}. preset='fast' of lic and dbac takes seconds, encoder='linear' of dpa "
            "and label_leakage too; progress=False silences this",
            CaptionBiasWarning,
            stacklevel=2,
        )


def duration(seconds: float) -> str:
    """A duration in a unit of which there are a few.

    >>> duration(3.2), duration(100), duration(600), duration(20_000)
    ('3 s', '100 s', '10 min', '5.6 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
