"""Runs of users who share the process of the app: one works at a time, and only its user cancels it or hears of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition, Event
from typing import Any

from captionbias.captions import CaptionBiasWarning

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


class CancelledError(Exception):
    """The user who began the run cancelled it."""


class Runs:
    """The runs in progress, by session."""

    def __init__(self, seconds: float | None = None) -> None:
        """`seconds`: how long a run may take; None for as long as it needs."""
        self._line: list[tuple[str, Event]] = []  # the first one works, the others wait
        self._requested: dict[str, Event] = {}  # of sessions whose run is about to begin
        self._changed = Condition()
        self._seconds = seconds

    def request(self, session: str) -> None:
        """A run of this session is about to begin, and can be cancelled from now on."""
        with self._changed:
            self._requested[session] = Event()

    @contextmanager
    def begun(self, session: str, show: Callable[[float, str], object]) -> Iterator[Callable[[str, float], None]]:
        """A run, as the function that an audit calls at every step; an earlier run of the session is cancelled.

        Runs work one after another, in the order in which they were begun. One that was cancelled goes on to its next
        step.

        `show`: called with the share that is done and a text with the step and the time left.
        """
        with self._changed:
            stop = self._requested.pop(session, None) or Event()
            run = session, stop
            self.cancel(session)
            self._line.append(run)
        try:
            self._wait(run, show)
            start = time.monotonic()

            def watch(step: str, done: float) -> None:
                if stop.is_set():
                    raise CancelledError
                passed = time.monotonic() - start
                if self._seconds and passed > self._seconds:
                    raise ValueError(
                        f"the run took more than {self._seconds / 60:.0f} minutes, the limit of this page: "
                        "take the fast preset, fewer trials or fewer images, or measure on your machine"
                    )
                show(done, step + _time_left(passed, done))

            yield watch
        finally:
            with self._changed:
                self._line.remove(run)
                self._changed.notify_all()

    def _wait(self, run: tuple[str, Event], show: Callable[[float, str], object]) -> None:
        """Until the run is the first in the line."""
        _, stop = run
        with self._changed:
            while (before := self._line.index(run)) and not stop.is_set():
                show(0.0, f"waiting for {before} earlier run{'s' if before > 1 else ''}")
                self._changed.wait()
        if stop.is_set():
            raise CancelledError

    def cancel(self, session: str) -> bool:
        """Cancel the run of a session, working, waiting or requested; whether there was one."""
        with self._changed:
            stops = [stop for name, stop in (*self._line, *self._requested.items()) if name == session]
            for stop in stops:
                stop.set()
            self._changed.notify_all()
        return bool(stops)


def _time_left(passed: float, done: float) -> str:
    """
    >>> _time_left(10, 0.25), _time_left(1, 0.01), _time_left(600, 0.5)
    (', about 30 s left', '', ', about 10 min left')
    """
    if done < 0.02 or passed < 1 or done >= 1:
        return ""
    left = passed * (1 - done) / done
    return f", about {left:.0f} s left" if left < 90 else f", about {left / 60:.0f} min left"


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of this call, and of no other thread; needs `listen`."""
    notes: list[str] = []
    token = _heard.set(notes)
    try:
        yield notes
    finally:
        _heard.reset(token)


def listen() -> None:
    """From now on warnings of this library go to the enclosing `heard`, if there is one; all others as before."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        notes = _heard.get()
        if notes is None or not issubclass(category, CaptionBiasWarning):
            before(message, category, *place, **more)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.simplefilter("always", CaptionBiasWarning)
    warnings.showwarning = show
