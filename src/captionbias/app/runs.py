"""The runs of a page: each holds everything of one measurement, and one thread measures them in their turn."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any

from captionbias.app import measuring
from captionbias.app.compared import clock, together
from captionbias.app.data import Columns, Data, read_uploads
from captionbias.app.measuring import Look, PageSettings
from captionbias.app.results import RunResult
from captionbias.app.uploads import shown_name
from captionbias.attackers.ranks import RankError
from captionbias.attackers.workers import WorkerKilledError
from captionbias.captions.tables import Table
from captionbias.errors import message_of
from captionbias.io.files import write_text
from captionbias.progress import Watch, duration

# A free Space has 16 GB: the tables of a run are 0.3 at most, measuring may need 4, each of two readings 2.
MAX_HELD, MAX_WAITING, MAX_OF_ONE, READERS = 20, 32, 8, 2
EXPIRES = 3600.0  # seconds after the last use of a run's data
KEPT, MAX_KEPT = 24 * 3600.0, 300  # seconds after a run was asked for, in which its report is on disk; reports
RUN, REPORT = "run.json", "report.html"  # in a run's folder
UNSEEN = 120.0  # seconds without a page that shows it
FAULTS = (ValueError, RankError, WorkerKilledError)
GONE = (
    "this run is not here any more: reports are kept for a day, and what was not measured for an hour, or until others "
    "need room; give the files again"
)
NO_FILES = "the files of this run are not here any more: give them again to measure them anew"
STOPPED = "The page was stopped while this run was under way: give the files again."
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


@dataclass(frozen=True)
class Kept:
    """What is kept of a whole result, in a folder of its own: with what is shown of a `RunResult`."""

    folder: Path
    whole: bool = True

    @property
    def report(self) -> str:
        return (self.folder / REPORT).read_text(encoding="utf-8")

    @property
    def files(self) -> dict[str, Path]:
        return {path.name: path for path in sorted(self.folder.iterdir()) if path.name != RUN}


class CancelledError(Exception):
    """Somebody cancelled the run, or nobody looks at it any more."""


@dataclass(eq=False)
class Run:
    """One measurement with everything of it; `id` is secret, `owner` the secret of the browser that began it.

    `files`: their names and digests; `uploads`: where they lie, as long as they do. `message`: in words, what went
    wrong, or why it ended. `result`: the first part, then the whole. `edition` counts what a page has to show anew.
    `told`: only what is told of it is left, and its report; of its files the names. `page`: which showed it last.
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
    result: RunResult | Kept | None = None
    told: bool = False
    page: str = ""
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
    def loses(self) -> int:
        """How much is lost with its data: nothing that is on disk, what was chosen, or what was found."""
        return 0 if isinstance(self.result, Kept) else 1 + (self.asked > 0)

    @property
    def ready(self) -> bool:
        return bool(self.data) and self.state != State.READING and not self.look().not_ready

    def look(self) -> Look:
        """What will be measured; kept, because several events ask for it."""
        if self.told:
            return Look(NO_FILES)
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


def _names_of(roles: Mapping[str, str], captions: Sequence[str]) -> Data:
    """What is told of data that are gone: the names of files and captioners."""
    tables = tuple(Table(name, (), lambda column: []) for name in roles)
    return Data(tables, roles, Columns(prediction_column=tuple(captions)))


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
        self._folder: Path | None = None
        self._addresses: dict[str, str] = {}  # from which an owner came last
        self._lock = RLock()
        self._asked: SimpleQueue[Run | None] = SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS)
        Thread(target=self._work, daemon=True).start()

    def restore(self, folder: Path) -> None:
        """Keep reports in this folder, and know again the runs that are told of there: those that were under way are
        not any more."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        for path in folder.glob(f"*/{RUN}"):
            with suppress(OSError, ValueError, KeyError, TypeError):  # another version wrote it
                told = json.loads(path.read_text(encoding="utf-8"))
                run = Run(told["owner"], _names_of(told["roles"], told["captions"]), id=path.parent.name, told=True)
                run.files, run.state, run.message = told["files"], State(told["state"]), told["message"]
                run.asked = time.monotonic() - (time.time() - told["asked"])
                if run.working:
                    run.state, run.message = State.FAILED, STOPPED
                run.result = Kept(path.parent) if run.state == State.DONE else None
                self._runs[run.id] = run
        self.expire()

    def comes(self, owner: str, address: str) -> None:
        """Tell from which address an owner came: one address may make up many owners."""
        owners = {run.owner for run in list(self._runs.values())}
        self._addresses = {one: of for one, of in self._addresses.items() if one in owners} | {owner: address}

    def find(self, name: str, owner: str = "") -> Run | None:
        """The run of this id, which is in use, as long as it is there; one that is nobody's becomes the owner's."""
        if run := self._runs.get(name):
            run.used, run.owner = time.monotonic(), run.owner or owner
        return run

    def latest(self, page: str) -> Run | None:
        """The latest run of those that a page showed."""
        return next((run for run in reversed(list(self._runs.values())) if run.page == page), None)

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
        if run.told or earlier.told:
            raise ValueError(NO_FILES)
        data = together(run.data, earlier.data, clock(earlier.asked))
        measuring.read(data)
        with self._lock:
            return self.keep(Run(owner, data, run.settings, {**earlier.files, **run.files}))

    def ask(self, run: Run, owner: str) -> Run:
        """Let the run be measured in its turn; another one like it if it was asked for before."""
        with self._lock:
            if run.state == State.READING or run.told:
                raise ValueError(NO_FILES if run.told else "the files are still being read")
            if run.state != State.DRAFT or run.owner != owner:
                run = run.another(owner)
            if sum(other.working for other in self._runs.values()) >= MAX_WAITING:
                raise ValueError(f"{MAX_WAITING} runs wait already: try again in some minutes")
            here = self._address(run)
            waiting = [other for other in self._runs.values() if other.working and self._address(other) == here]
            if here and len(waiting) >= MAX_OF_ONE:
                raise ValueError(f"{MAX_OF_ONE} runs from your address wait already: try again in some minutes")
            run.asked = run.seen = time.monotonic()
            self._turn(run, State.WAITING)
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
        """Cancel the runs at which nobody looks, remove the data of those that were not used for an hour, and reports
        after a day."""
        now = time.monotonic()
        with self._lock:
            for run in list(self._runs.values()):
                if run.working and now - run.seen > self._unseen:
                    self.cancel(run, f"Cancelled: no page showed this run for {duration(self._unseen)}.")
                elif run.told and now - run.asked > KEPT:
                    self._remove(run)
                elif not (run.working or run.told) and now - run.used > EXPIRES:
                    self._forget(run)

    def close(self) -> None:
        """End every run, as the page ends."""
        with self._lock:
            for run in self._runs.values():
                self.cancel(run, STOPPED)
            self._runs.clear()
        self._asked.put(None)
        self._readers.shutdown(wait=False, cancel_futures=True)

    def keep(self, run: Run) -> Run:
        """Hold the run, and make room for it: whose address has most loses first, then of whose report is on disk the
        data, then drafts."""
        self._runs[run.id] = run
        run.used = time.monotonic()
        held = [other for other in self._runs.values() if not other.told]
        of_address, of_owner = Counter(map(self._address, held)), Counter(other.owner for other in held)
        idle = [other for other in held if not (other.working or other is run)]
        idle.sort(key=lambda one: (-of_address[self._address(one)], -of_owner[one.owner], one.loses, one.used))
        for other in idle[: max(0, len(held) - MAX_HELD)]:
            self._forget(other)
        told = sorted((other for other in self._runs.values() if other.told), key=lambda other: other.asked)
        for other in told[: max(0, len(told) - MAX_KEPT)]:
            self._remove(other)
        return run

    def _forget(self, run: Run) -> None:
        """Remove the data of a run; what is told of it stays on disk, if it is there."""
        if self._folder and run.asked:
            run.data, run.uploads, run.told = _names_of(run.data.roles, run.data.columns.prediction_column), (), True
        else:
            self._remove(run)

    def _remove(self, run: Run) -> None:
        del self._runs[run.id]
        if self._folder:
            shutil.rmtree(self._folder / run.id, ignore_errors=True)

    def _turn(self, run: Run, state: State, message: str = "") -> None:
        run.state, run.message, run.edition = state, message, run.edition + 1
        if self._folder and run.asked:
            told: dict[str, Any] = {"owner": run.owner, "state": state.value, "message": message, "files": run.files}
            told |= {"roles": dict(run.data.roles), "captions": run.data.columns.prediction_column}
            told["asked"] = time.time() - (time.monotonic() - run.asked)
            with suppress(OSError, ValueError):  # a full disk ends no run
                (self._folder / run.id).mkdir(mode=0o700, exist_ok=True)
                write_text(json.dumps(told), self._folder / run.id / RUN)

    def _address(self, run: Run) -> str:
        return self._addresses.get(run.owner, "")

    def _on_disk(self, run: Run, result: RunResult) -> RunResult | Kept:
        """A whole result as it is kept on disk, so that it leaves the memory; a part as it is."""
        if self._folder and result.whole:
            with suppress(OSError):
                for path in result.files.values():
                    shutil.copy(path, self._folder / run.id)
                return Kept(self._folder / run.id)
        return result

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
                    run.result, run.edition = self._on_disk(run, result), run.edition + 1
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
