"""What each user of the page has: their data, earlier data, and results, within the memory that all of them share."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any

from captionbias.app.upload_state import Data

if TYPE_CHECKING:
    from captionbias.app.results import Run

NOTHING = Data({})
# A free Space has 16 GB; a run may need 4, and each of the few readings at a time up to 2.
MAX_BYTES = 4_000_000_000  # of all sessions' tables and results
MAX_OF_ADDRESS = 1_000_000_000  # three times what one session can upload
MAX_SESSIONS = 2000  # with data or without: an empty one is a kilobyte
MAX_EMPTY = 200  # of an address
EXPIRES = 3600  # seconds after its last use
GRACE = 30  # seconds that a connection may be lost
STEPS_BACK = 10
REMEMBERED = 10_000  # sessions that went, to tell who comes back


def secret() -> str:
    """A name that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(eq=False)
class Session:
    """What one user has; changed through `Sessions`.

    Attributes:
        address: where its requests come from.
        token: secret; who has it gets the session back, see `Sessions.adopt`.
        data, past: what was read, and what was before it, latest last.
        pictures: the images that were read.
        run, result: the finished run, and the secret name of the link to it; each run has another.
        progress: of the run that works or waits: the share done and the step; None when there is none.
        look: what `captionbias.app.actions.looked` found last, and of what.
        gone: in words, why the data of whoever comes back are not there; empty if they are.
    """

    address: str = ""
    token: str = field(default_factory=secret)
    data: Data = NOTHING
    past: list[Data] = field(default_factory=list)
    pictures: Any = None
    run: Run | None = None
    result: str = ""
    progress: tuple[float, str] | None = None
    gone: str = ""
    look: Any = None
    used: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)  # when its last connection ended
    keys: dict[str, None] = field(default_factory=dict)  # gradio's names of its pages, in their order

    @property
    def size(self) -> int:
        """Bytes of its tables and its result; a table that several data share counts once."""
        tables = {id(table): table.size for data in (self.data, *self.past) for _, table in data.tables()}
        return sum(tables.values()) + (self.run.size if self.run else 0)

    @property
    def empty(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.data or self.past or self.run or self.pictures or self.progress)


class Sessions:
    """The sessions of a page. When room is needed, those without data go first, then those longest unused."""

    def __init__(self, most: int = MAX_BYTES, of_address: int = MAX_OF_ADDRESS) -> None:
        self._most, self._of_address = most, of_address
        self._sessions: dict[str, Session] = {}  # by token
        self._keys: dict[str, Session] = {}
        self._connections: Counter[str] = Counter()
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._lock = RLock()
        self._closed = False

    def of(self, request: Any) -> Session:
        """The session of a `gr.Request`, made if there is none: then its `gone` says what became of an earlier one."""
        key = request.session_hash
        if not key:  # nobody could come back to it
            return Session(address_of(request))
        with self._lock:
            self.expire()
            session = self._keys.get(key)
            if session is None:
                session = Session(address_of(request), gone=self._gone.pop(key, ""))
                self._limit_number(session)
                self._sessions[session.token] = session
                self._name(session, key)
            session.used = time.monotonic()
            return session

    def adopt(self, request: Any, token: str | None) -> bool:
        """Give a page that was loaded again the session whose secret it kept; whether it is still there.

        Pages that show one session share it.
        """
        with self._lock:
            new = self.of(request)
            session = self._sessions.get(token or "")
            if session is None:
                new.gone = new.gone or self._gone.pop(token or "", "")
                return False
            if session is not new:
                if len(new.keys) == 1:
                    self._sessions.pop(new.token, None)
                self._name(session, request.session_hash)
            session.used = time.monotonic()
            return True

    def keep(self, session: Session, data: Data, pictures: Any = None) -> None:
        """Take data in place of the session's, which can be undone; the result of the earlier ones goes.

        Raises:
            ValueError: they do not fit beside what other users have.
        """
        with self._lock:
            later = Session(session.address, data=data, past=[*session.past, session.data][-STEPS_BACK:])
            later.past = [one for one in later.past if one]
            while later.past and later.size > self._of_address // 2:
                later.past.pop(0)
            self._make_room(session, later.size)
            session.data, session.past, session.run, session.result = data, later.past, None, ""
            session.pictures, session.gone = pictures or session.pictures, ""

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
            self._make_room(session, session.size + run.size)
            session.run, session.result, session.used = run, secret(), time.monotonic()
            return session.result

    def result(self, name: str) -> Run | None:
        """The run with this secret name, as long as a session has it."""
        with self._lock:
            self.expire()
            return next((one.run for one in self._sessions.values() if name and one.result == name), None)

    def expire(self) -> None:
        """Remove the sessions that were not used for an hour."""
        with self._lock:
            for session in list(self._sessions.values()):
                if session.progress is None and time.monotonic() - session.used > EXPIRES:
                    self._drop(session, f"they were not used for {EXPIRES / 60:.0f} minutes")

    @contextmanager
    def connected(self, key: str) -> Iterator[None]:
        """A stream of this page is open meanwhile."""
        with self._lock:
            self._connections[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._connections[key] -= 1
                if not self._connections[key]:
                    del self._connections[key]
                if session := self._keys.get(key):
                    session.seen = time.monotonic()

    def close(self) -> None:
        """The page ends: nobody is here any more, and nothing is kept."""
        with self._lock:
            self._closed = True
            self._sessions.clear()
            self._keys.clear()

    def here(self, session: Session) -> bool:
        """Whether somebody listens to the session, or did until some seconds ago."""
        with self._lock:
            if self._closed:
                return False
            listens = any(key in self._connections for key in session.keys)
            return listens or time.monotonic() - session.seen < GRACE

    def _name(self, session: Session, key: str) -> None:
        session.keys[key] = None
        session.seen = time.monotonic()
        self._keys[key] = session
        for old in [old for old in session.keys if old not in self._connections][:-STEPS_BACK]:
            del session.keys[old]
            self._keys.pop(old, None)

    def _limit_number(self, session: Session) -> None:
        """Remove sessions until there can be one more."""
        idle = [one for one in self._sessions.values() if one.progress is None]
        idle.sort(key=lambda one: (not one.empty, one.used))
        near = [one for one in idle if one.empty and one.address == session.address]
        for one in near[: max(0, len(near) + 1 - MAX_EMPTY)] or idle[: max(0, len(self._sessions) + 1 - MAX_SESSIONS)]:
            self._drop(one, "room was needed for other users")

    def _make_room(self, session: Session, needed: int) -> None:
        """Remove others until a session can have so many bytes."""
        others = [one for one in self._sessions.values() if one is not session]
        near = [one for one in others if one.address == session.address]
        for among, most, reason in (
            (near, self._of_address, "room was needed for other data from the same address"),
            (others, self._most, "room was needed for other users"),
        ):
            sizes = {one: one.size for one in among if one.token in self._sessions}
            idle = sorted((one for one in sizes if sizes[one] and one.progress is None), key=lambda one: one.used)
            excess = sum(sizes.values()) + needed - most
            if excess > sum(sizes[one] for one in idle):
                raise ValueError(
                    f"these data take {needed / 1e6:,.0f} MB, and there is no room for them now: wait until other runs "
                    "have ended, give fewer captioners or images, or measure on your machine"
                )
            for one in idle:
                if excess <= 0:
                    break
                excess -= sizes[one]
                self._drop(one, reason)

    def _drop(self, session: Session, reason: str) -> None:
        self._sessions.pop(session.token, None)
        told = f"your data are not here any more: {reason}; give the files again"
        for key in session.keys:
            self._keys.pop(key, None)
        if not session.empty:
            self._gone |= dict.fromkeys([session.token, *session.keys], told)
            while len(self._gone) > REMEMBERED:
                self._gone.popitem(last=False)


def address_of(request: Any) -> str:
    """Where a request comes from: on a Space the last hop that its proxy names, else whoever connected.

    `request`: of gradio or of Starlette.
    """
    if os.environ.get("SPACE_ID") and (hops := request.headers.get("x-forwarded-for", "")):
        return str(hops).rpartition(",")[2].strip()
    return str(request.client.host) if request.client else ""
