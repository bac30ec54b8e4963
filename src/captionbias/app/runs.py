"""Runs of users who use the app at once: only the user who began a run can cancel it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Event


class CancelledError(Exception):
    """The user who began the run cancelled it."""


class Runs:
    """The runs in progress, by session."""

    def __init__(self, seconds: float | None = None) -> None:
        """`seconds`: how long a run may take; None for as long as it needs."""
        self._stops: dict[str, Event] = {}
        self._line: list[Event] = []  # the first one works, the others wait
        self._changed = Condition()
        self._seconds = seconds

    @contextmanager
    def begun(self, session: str, show: Callable[[float, str], object]) -> Iterator[Callable[[str, float], None]]:
        """A run, as the function that an audit calls at every step; an earlier run of the session is cancelled.

        Runs work one after another, in the order in which they were begun. One that was cancelled goes on to its next
        step.

        `show`: called with the share that is done and a text with the step and the time left.
        """
        stop = Event()
        with self._changed:
            if session in self._stops:
                self._stops[session].set()
            self._stops[session] = stop
            self._line.append(stop)
            self._changed.notify_all()
        try:
            self._wait(stop, show)
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
                self._line.remove(stop)
                if self._stops.get(session) is stop:
                    del self._stops[session]
                self._changed.notify_all()

    def _wait(self, stop: Event, show: Callable[[float, str], object]) -> None:
        """Until the run is the first in the line."""
        with self._changed:
            while (before := self._line.index(stop)) and not stop.is_set():
                show(0.0, f"waiting for {before} earlier run{'s' if before > 1 else ''}")
                self._changed.wait()
        if stop.is_set():
            raise CancelledError

    def cancel(self, session: str) -> bool:
        """Cancel the run of a session; whether there was one."""
        with self._changed:
            stop = self._stops.get(session)
            if stop:
                stop.set()
                self._changed.notify_all()
        return stop is not None


def _time_left(passed: float, done: float) -> str:
    """
    >>> _time_left(10, 0.25), _time_left(1, 0.01), _time_left(600, 0.5)
    (', about 30 s left', '', ', about 10 min left')
    """
    if done < 0.02 or passed < 1 or done >= 1:
        return ""
    left = passed * (1 - done) / done
    return f", about {left:.0f} s left" if left < 90 else f", about {left / 60:.0f} min left"
