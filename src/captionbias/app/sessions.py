"""What each user of the page has, and their runs, of which one works."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, RLock
from typing import TYPE_CHECKING, Any

from captionbias.app.data import Data
from captionbias.progress import duration

if TYPE_CHECKING:
    from captionbias.app.results import Run

NOTHING = Data({})
# A free Space has 16 GB: the tables of a session are 0.3 at most, a run may need 4, each of two readings 2.
MAX_HELD = 20  # sessions with data
MAX_SESSIONS = 2000  # with data or without: an empty one is a kilobyte
EXPIRES = 3600  # seconds after its last use
STEPS_BACK = 10
GONE = (
    "your data are not here any more: they are removed an hour after their last use, or when others need room; give "
    "the files again"
)


class CancelledError(Exception):
    """The user who began the run cancelled it, or left."""


@dataclass(eq=False)
class Session:
    """What one user has; data and results are changed through `Sessions`."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # who has it gets the session back
    data: Data = NOTHING
    past: list[Data] = field(default_factory=list)  # the same tables before they were corrected, latest last
    pictures: Any = None
    run: Run | None = None  # what was measured last
    result: str = ""  # the secret name of the link to it; each run has another
    changing: Lock = field(default_factory=Lock)  # events of a page may come at once
    look: Any = None  # what `captionbias.app.actions.look` gave last, and of what
    gone: str = ""  # in words, why the data of whoever comes back are not there
    used: float = field(default_factory=time.monotonic)
    stop: Event | None = None  # is set to end the run that was asked for
    page: str | None = None  # gradio's name of the page that asked for it
    working: int = 0  # how many of its runs work, or wait until a cancelled one has ended

    @property
    def empty(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.data or self.past or self.run or self.pictures or self.working)

    def ask(self, page: str | None = None) -> None:
        """Begin a run in place of an earlier one; it can be cancelled from now on."""
        self.cancel()
        self.stop, self.page = Event(), page

    def cancel(self) -> bool:
        """End the run that was asked for, at its next step; whether there was one."""
        stop, self.stop = self.stop, None
        if stop:
            stop.set()
        return stop is not None

    def clear(self) -> None:
        """Forget everything, and tell so whoever comes back."""
        self.gone = self.gone if self.empty else GONE
        self.data, self.past, self.pictures, self.run, self.result, self.look = NOTHING, [], None, None, "", None


class Sessions:
    """The sessions of a page. When room is needed, those longest unused are cleared."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}  # by token
        self._pages: OrderedDict[str, Session] = OrderedDict()  # by gradio's names, the last used last
        self._lock, self._working = RLock(), Lock()

    def of(self, request: Any) -> Session:
        """The session of a `gr.Request`, made if there is none."""
        with self._lock:
            session = self._pages.get(request.session_hash)
            if session is None or session.token not in self._sessions:
                session = Session(gone=GONE if session else "")
            return self._use(session, request)

    def adopt(self, request: Any, token: str) -> bool:
        """Give a page that was loaded again the session whose secret it kept; whether it is still there."""
        with self._lock:
            session = self._sessions.get(token)
            self._use(session or Session(gone=GONE), request)
            return session is not None

    def keep(self, session: Session, data: Data) -> None:
        """Take data in place of the session's, which can be undone if the tables are the same. The sessions longest
        unused make room."""
        with self._lock:
            before, after = ({id(table) for _, table in tables.tables()} for tables in (session.data, data))
            session.past = [*session.past, session.data][-STEPS_BACK:] if before == after else []
            session.data, session.run, session.result, session.gone = data, None, "", ""
            held = [other for other in self._sessions.values() if not (other is session or other.empty)]
            idle = sorted((other for other in held if not other.working), key=lambda other: other.used)
            for other in idle[: max(0, len(held) + 1 - MAX_HELD)]:
                other.clear()

    def undo(self, session: Session) -> Data:
        """The data before the last change, which are the session's again; ValueError if there are none."""
        with self._lock:
            if not session.past:
                raise ValueError("there is nothing to undo")
            session.data, session.run, session.result = session.past.pop(), None, ""
            return session.data

    def finish(self, session: Session, run: Run) -> str:
        """Take a finished run, and give the secret name of its result."""
        with self._lock:
            session.run, session.result, session.used = run, secrets.token_urlsafe(24), time.monotonic()
            return session.result

    def result(self, name: str) -> Run | None:
        """The run with this secret name, as long as a session has it."""
        with self._lock:
            self.expire()
            return next((kept.run for kept in self._sessions.values() if name and kept.result == name), None)

    def expire(self) -> None:
        """Clear the sessions that were not used for an hour."""
        with self._lock:
            for session in self._sessions.values():
                if not session.working and time.monotonic() - session.used > EXPIRES:
                    session.clear()

    def close(self) -> None:
        """End every run and keep nothing, as the page ends."""
        with self._lock:
            for session in self._sessions.values():
                session.cancel()
            self._sessions.clear()
            self._pages.clear()

    def leave(self, request: Any) -> None:
        """End the run that a page began, as it was closed."""
        session = self._pages.get(request.session_hash)
        if session and session.page == request.session_hash:
            session.cancel()

    @contextmanager
    def running(
        self, session: Session, show: Callable[..., object], seconds: float | None = None
    ) -> Iterator[Callable[[str, float], None]]:
        """The run that was asked for, as the function that an audit calls at every step, which raises CancelledError
        once it is cancelled, and a ValueError after so many seconds. `show`: a `gr.Progress`."""
        stop = session.stop

        def tell(done: float, text: str) -> None:
            if stop is None or stop.is_set():
                raise CancelledError
            show(done, desc=text)

        tell(0.0, "starting")
        session.working += 1
        try:
            while not self._working.acquire(timeout=0.2):  # gradio lets the next one begin when one is cancelled
                tell(0.0, "waiting until an earlier run has ended")
            try:
                begun = time.monotonic()

                def watch(step: str, done: float) -> None:
                    passed = time.monotonic() - begun
                    if seconds and passed > seconds:
                        raise ValueError(
                            f"the run took more than {seconds / 60:.0f} minutes, the limit of this page: "
                            "take the fast preset, fewer trials or fewer images, or measure on your machine"
                        )
                    left = f", about {duration(passed * (1 / done - 1))} left" if passed > 1 and done > 0.005 else ""
                    tell(done, step + left)

                yield watch
            finally:
                self._working.release()
        finally:
            session.working -= 1
            if session.stop is stop:
                session.stop = None

    def _use(self, session: Session, request: Any) -> Session:
        if request.session_hash:  # else nobody could come back to it
            session.used = time.monotonic()
            self._sessions[session.token] = self._pages[request.session_hash] = session
            self._pages.move_to_end(request.session_hash)
            if len(self._pages) > 2 * MAX_SESSIONS:
                self._pages.popitem(last=False)
            if len(self._sessions) > MAX_SESSIONS:
                others = (other for other in self._sessions.values() if other is not session)
                del self._sessions[min(others, key=lambda other: (other.working, not other.empty, other.used)).token]
        return session
