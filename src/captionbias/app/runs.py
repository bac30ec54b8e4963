"""Runs of people who use the app at once: each can be cancelled by whoever began it, and by nobody else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock


class CancelledError(Exception):
    """The person who began the run does not want it any more."""


class Runs:
    """The runs in progress, by session."""

    def __init__(self, seconds: float | None = None) -> None:
        """`seconds`: how long a run may take; None for as long as it needs."""
        self._stops: dict[str, Event] = {}
        self._lock = Lock()
        self._working = Lock()
        self._seconds = seconds

    @contextmanager
    def begun(self, session: str, show: Callable[[float, str], object]) -> Iterator[Callable[[str, float], None]]:
        """A run, as the function that an audit calls at every step; an earlier run of the session is cancelled.

        It begins when no other is at work: one that was cancelled goes on to its next step.

        `show`: called with the share that is done and a text with the step and the time left.
        """
        stop, start = Event(), time.monotonic()
        with self._lock:
            earlier = self._stops.get(session)
            self._stops[session] = stop
        if earlier:
            earlier.set()

        def watch(step: str, done: float) -> None:
            if stop.is_set():
                raise CancelledError
            passed = time.monotonic() - start
            if self._seconds and passed > self._seconds:
                raise ValueError(
                    f"the run took more than {self._seconds / 60:.0f} minutes, which is all that this page has: take "
                    "the fast preset, fewer trials or fewer images, or measure on a machine of your own"
                )
            show(done, step + _time_left(passed, done))

        try:
            while not self._working.acquire(timeout=0.2):
                if stop.is_set():
                    raise CancelledError
            try:
                yield watch
            finally:
                self._working.release()
        finally:
            with self._lock:
                if self._stops.get(session) is stop:
                    del self._stops[session]

    def cancel(self, session: str) -> bool:
        """Cancel the run of a session; whether there was one."""
        with self._lock:
            stop = self._stops.get(session)
        if stop:
            stop.set()
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
