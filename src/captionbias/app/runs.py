"""Runs of users who share the process of the app: one works at a time, and only its user cancels it or hears of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from threading import Event, Lock, RLock
from typing import Any

from captionbias.app.line import Line
from captionbias.app.sessions import Session
from captionbias.captions import CaptionBiasWarning

NEEDED = (
    *("gensim.models", "scipy.sparse", "sklearn.linear_model", "captionbias.report.html"),
    *("nltk.translate.meteor_score", "pycocoevalcap.bleu.bleu", "pycocoevalcap.cider.cider"),
)
_importing = Lock()
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def import_ahead() -> None:
    """Import what runs need, so that the first one does not wait for it; one thread at a time.

    Packages that import each other in a circle fail in a thread when another one is importing them.
    """
    with _importing:
        for name in NEEDED:
            with suppress(ImportError):
                import_module(name)


class CancelledError(Exception):
    """The user who began the run cancelled it, or left."""


class Runs:
    """The runs in progress, one at a time."""

    def __init__(self, seconds: float | None = None, here: Callable[[Session], bool] = lambda session: True) -> None:
        """`seconds`: how long a run may take, None for as long as it needs; `here`: whether its user still listens."""
        self._line = Line()
        self._stops: dict[Session, list[Event]] = {}
        self._requested: dict[Session, Event] = {}  # whose run is about to begin
        self._seconds, self._here = seconds, here
        self._lock = RLock()

    def request(self, session: Session) -> None:
        """A run of this session is about to begin, and can be cancelled from now on."""
        with self._lock:
            self._requested[session] = Event()

    @contextmanager
    def begun(self, session: Session, show: Callable[[float, str], object]) -> Iterator[Callable[[str, float], None]]:
        """A run, as the function that an audit calls at every step; an earlier run of the session is cancelled.

        One that was cancelled, or whose user left, goes on to its next step.

        `show`: called with the share that is done and a text with the step and the time left, from the beginning.
        """
        with self._lock:
            stop = self._requested.pop(session, None) or Event()
            self.cancel(session)
            self._stops.setdefault(session, []).append(stop)

        def tell(done: float, text: str) -> None:
            if stop.is_set() or not self._here(session):
                raise CancelledError
            session.progress = done, text
            show(done, text)

        try:
            tell(0.0, "starting")
            with self._line.turn(session.address, lambda before: tell(0.0, _waiting(before))):
                start = time.monotonic()

                def watch(step: str, done: float) -> None:
                    passed = time.monotonic() - start
                    if self._seconds and passed > self._seconds:
                        raise ValueError(
                            f"the run took more than {self._seconds / 60:.0f} minutes, the limit of this page: "
                            "take the fast preset, fewer trials or fewer images, or measure on your machine"
                        )
                    tell(done, step + _time_left(passed, done))

                watch("starting", 0.0)
                import_ahead()
                yield watch
        finally:
            with self._lock:
                self._stops[session].remove(stop)
                if not self._stops[session]:
                    del self._stops[session]
                    session.progress = None

    def cancel(self, session: Session | None = None) -> bool:
        """Cancel the run of a session, or all runs, working, waiting or requested; whether there was one."""
        with self._lock:
            of_runs = [*self._stops.items(), *((one, [stop]) for one, stop in self._requested.items())]
            stops = [stop for one, found in of_runs if session in (None, one) for stop in found]
            for stop in stops:
                stop.set()
        self._line.check()
        return bool(stops)


def _waiting(before: int) -> str:
    return f"waiting for {before} earlier run{'s' if before > 1 else ''}"


def _time_left(passed: float, done: float) -> str:
    """
    >>> _time_left(10, 0.25), _time_left(0.1, 0.01), _time_left(600, 0.5)
    (', about 30 s left', '', ', about 10 min left')
    """
    if passed < 1 or not 0.005 <= done < 1:
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
