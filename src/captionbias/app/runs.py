"""The runs of a page: each holds everything of one measurement, and one thread measures them in their turn."""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import RLock, Thread

from captionbias.app import measuring
from captionbias.app.compared import together
from captionbias.app.data import Data, read_uploads
from captionbias.app.measuring import Look, PageSettings
from captionbias.app.results import RunResult
from captionbias.app.uploads import shown_name
from captionbias.attackers.ranks import RankError
from captionbias.attackers.workers import WorkerKilledError
from captionbias.errors import message_of
from captionbias.progress import Watch, duration

# A free Space has 16 GB: the tables of a run are 0.3 at most, measuring may need 4, each of two readings 2.
MAX_HELD, MAX_WAITING, READERS = 20, 32, 2
EXPIRES = 3600.0  # seconds after its last use
UNSEEN = 120.0  # seconds without a page that shows it
FAULTS = (ValueError, RankError, WorkerKilledError)
GONE = (
    "this run is not here any more: runs are removed an hour after their last use, or when others need room; give the "
    "files again"
)
logger = logging.getLogger("captionbias")


class State(Enum):
    """How far a run is; whatever is changed later becomes another run, unless it is a draft."""

    READING = "being read"
    DRAFT = "being prepared"
    WAITING = "waiting"
    RUNNING = "being measured"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CancelledError(Exception):
    """Somebody cancelled the run, or nobody looks at it any more."""


@dataclass(eq=False)
class Run:
    """One measurement with everything of it; `id` is secret, `owner` the secret of the browser that began it.

    `files`: their names and digests; `uploads`: where they lie, as long as they do. `message`: in words, what went
    wrong, or why it ended. `result`: the first part, then the whole. `edition` counts what a page has to show anew.
    """

    owner: str = ""
    data: Data = field(default_factory=Data)
    settings: PageSettings = field(default_factory=PageSettings)
    files: dict[str, str] = field(default_factory=dict)
    uploads: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    state: State = State.DRAFT
    message: str = ""
    reading: Future[None] | None = None
    asked: float = 0.0
    begun: float = 0.0
    step: str = ""
    done: float = 0.0
    result: RunResult | None = None
    edition: int = 0
    seen: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)
    _looked: tuple[tuple[Data, str], Look] | None = None

    def another(self, owner: str) -> Run:
        """A draft of the same data and choices."""
        return Run(owner, self.data, self.settings, self.files, self.uploads, _looked=self._looked)

    @property
    def working(self) -> bool:
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def ready(self) -> bool:
        """Whether it can be measured."""
        return bool(self.data) and self.state != State.READING and not self.look().not_ready

    def look(self) -> Look:
        """What will be measured; kept, because several events ask for it."""
        key = self.data, self.settings.attribute
        if self._looked is None or self._looked[0] != key:
            self._looked = key, measuring.look(*key)
        return self._looked[1]

    def left(self) -> str:
        """The step that it is at, and about how long it takes from now on, as far as this is known."""
        passed = time.monotonic() - self.begun
        known = passed > 1 and self.done > 0.005
        return self.step + (f", about {duration(passed * (1 / self.done - 1))} left" if known else "")


def measured(run: Run, watch: Watch) -> Iterator[RunResult]:
    return measuring.measure(run.data, run.settings, watch)


def read_files(paths: Sequence[str]) -> tuple[Data, dict[str, str]]:
    """The data of uploaded files, and the files' names and digests."""
    data = read_uploads(paths)
    return data, {shown_name(path.name): sha256(path.read_bytes()).hexdigest() for path in map(Path, paths)}


def _message(error: Exception) -> str:
    """What to tell of an error; of one that nobody foresaw the log has more."""
    if isinstance(error, FAULTS):
        return message_of(error)
    logger.exception("a run of the page failed", exc_info=error)
    return "the page failed; whoever serves it finds the reason in its log"


class Runs:
    """The runs of a page, by their ids. They are measured in the order in which they were asked for, whatever becomes
    of the page, unless nobody looks at one for `unseen` seconds or it takes more than `seconds`."""

    def __init__(
        self,
        measure: Callable[[Run, Watch], Iterator[RunResult]] = measured,
        seconds: float | None = None,
        unseen: float = UNSEEN,
    ) -> None:
        self._measure, self._seconds, self._unseen = measure, seconds, unseen
        self._runs: dict[str, Run] = {}
        self._lock = RLock()
        self._asked: SimpleQueue[Run | None] = SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS)
        Thread(target=self._work, daemon=True).start()

    def find(self, name: str, owner: str = "") -> Run | None:
        """The run of this id, which is in use, as long as it is there; one that is nobody's becomes the owner's."""
        if run := self._runs.get(name):
            run.used, run.owner = time.monotonic(), run.owner or owner
        return run

    def of(self, owner: str) -> list[Run]:
        """What the owner asked for, the latest first."""
        own = (run for run in list(self._runs.values()) if owner and run.owner == owner and run.asked)
        return sorted(own, key=lambda run: -run.asked)

    def change(self, run: Run, owner: str, data: Data, settings: PageSettings) -> Run:
        """A draft of the owner's with these data and settings: the run itself if it is one, or has them already, else
        another."""
        with self._lock:
            if (run.data, run.settings) == (data, settings):
                return run
            if run.state != State.DRAFT or run.owner != owner:
                run = run.another(owner)
            run.data, run.settings, run.message = data, settings, ""
            return self.keep(run)

    def read(
        self, run: Run, owner: str, read: Callable[[], tuple[Data, dict[str, str]]], uploads: tuple[str, ...] = ()
    ) -> Run:
        """Another run with the choices of this one, and soon the data and files that are read; `told` says what is
        wrong with them."""
        with self._lock:
            draft = self.keep(Run(owner, settings=run.settings, uploads=uploads, state=State.READING))
            draft.reading = self._readers.submit(self._read, draft, read)
            return draft

    def compare(self, run: Run, owner: str, earlier: Run) -> Run:
        """A draft of the owner's with the captioners of both runs. ValueError: they share no image."""
        data = together(run.data, earlier.data)
        measuring.read(data)
        with self._lock:
            return self.keep(Run(owner, data, run.settings, {**earlier.files, **run.files}))

    def ask(self, run: Run, owner: str) -> Run:
        """Let the run be measured in its turn; another one like it if it was asked for before."""
        with self._lock:
            if run.state == State.READING:
                raise ValueError("the files are still being read")
            if run.state != State.DRAFT or run.owner != owner:
                run = run.another(owner)
            if sum(other.working for other in self._runs.values()) >= MAX_WAITING:
                raise ValueError(f"{MAX_WAITING} runs wait already: try again in some minutes")
            run.state, run.message = State.WAITING, ""
            run.asked = run.seen = time.monotonic()
            self._asked.put(self.keep(run))
            return run

    def cancel(self, run: Run, why: str = "Cancelled.") -> None:
        """End a run that waits, or at its next step."""
        with self._lock:
            if run.working:
                self._turn(run, State.CANCELLED, why)

    def look(self, run: Run, owner: str = "") -> None:
        """Tell that a page shows the run, and its owner's others in a list."""
        for shown in [run, *self.of(owner)]:
            shown.seen = shown.used = time.monotonic()
        self.expire()

    def before(self, run: Run) -> int:
        """How many runs are measured before this one."""
        return sum(other.working and other.asked < run.asked for other in list(self._runs.values()))

    def expire(self) -> None:
        """Cancel the runs at which nobody looks, and remove those that were not used for an hour."""
        now = time.monotonic()
        with self._lock:
            for run in list(self._runs.values()):
                if run.working and now - run.seen > self._unseen:
                    self.cancel(run, f"Cancelled: no page showed this run for {duration(self._unseen)}.")
                elif not run.working and now - run.used > EXPIRES:
                    del self._runs[run.id]

    def close(self) -> None:
        """End every run and keep nothing, as the page ends."""
        with self._lock:
            for run in self._runs.values():
                self.cancel(run)
            self._runs.clear()
        self._asked.put(None)
        self._readers.shutdown(wait=False, cancel_futures=True)

    def keep(self, run: Run) -> Run:
        """Hold the run, and make room for it: who has most loses first, drafts before what was measured."""
        self._runs[run.id] = run
        run.used = time.monotonic()
        held = Counter(other.owner for other in self._runs.values())
        idle = [other for other in self._runs.values() if not (other.working or other is run)]
        idle.sort(key=lambda other: (-held[other.owner], other.asked > 0, other.used))
        for other in idle[: max(0, len(self._runs) - MAX_HELD)]:
            del self._runs[other.id]
        return run

    def _turn(self, run: Run, state: State, message: str = "") -> None:
        run.state, run.message, run.edition = state, message, run.edition + 1

    def _read(self, run: Run, read: Callable[[], tuple[Data, dict[str, str]]]) -> None:
        message = ""
        try:
            run.data, run.files = read()
            run.settings = run.settings.fitting(run.data)
            run.look()
        except Exception as error:
            message = _message(error)
        self._turn(run, State.DRAFT, message)

    def _work(self) -> None:
        while run := self._asked.get():
            with self._lock:
                if run.working:
                    self._turn(run, State.RUNNING)
            run.begun = time.monotonic()
            state, message = State.DONE, ""
            try:
                watch = partial(self._watch, run)
                watch("starting", 0.0)
                for result in self._measure(run, watch):
                    watch(run.step, run.done)
                    run.result, run.edition = result, run.edition + 1
            except CancelledError:
                continue
            except Exception as error:  # whatever it is, others are to be measured
                state, message = State.FAILED, _message(error)
            with self._lock:
                if run.working:
                    self._turn(run, state, message)

    def _watch(self, run: Run, step: str, done: float) -> None:
        """Note how far a run is. Raises CancelledError once it is cancelled, ValueError when it has no time left."""
        self.expire()
        if run.state != State.RUNNING:
            raise CancelledError
        if self._seconds and time.monotonic() - run.begun > self._seconds:
            raise ValueError(
                f"the run took more than {self._seconds / 60:.0f} minutes, the limit of this page: take the fast "
                "preset, fewer trials or fewer images, or measure on your machine"
            )
        run.step, run.done = step, done
