"""Processes that `accelerate launch` or the like has started together share out one list of trials.

They meet in the key-value store that every launcher of torch programs starts. Collective operations would not do: they
need all ranks at once and give up after minutes, and ranks finish hours apart.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import json
import math
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from captionbias.attackers.base import TrialScores
from captionbias.attackers.device import device
from captionbias.captions.check import CaptionBiasWarning
from captionbias.io.plain_pickle import ARRAYS, read_plain_pickle

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

Result = TypeVar("Result")

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
BEAT = 0.1  # seconds between two signs of life
SILENCE = 45.0  # without any until a rank counts as dead; training may hold the interpreter for a while
NOTE_AFTER, PATIENCE = 5.0, 600.0  # for ranks that have not come
LINGER = 3.0  # for the others to learn why this rank fails
PROTOCOL = 4  # of pickles: with later ones numpy's arrays name other functions
PART_BYTES = 4 << 20  # the store takes 8 MiB at once
ONE_PROCESS = "if only one process is to measure, pass distributed=False"
RESUME = "look at its output; finished trials are kept, run again to go on"
LOST = f"rank 0 or its launcher ended, or its machine is out of reach ({{}}): {RESUME}"
_calls = itertools.count()


class RankError(RuntimeError):
    """Another process, without which the trials cannot be completed, failed, died or never came."""


def rank_and_size() -> tuple[int, int]:
    """The number of this process among those started together, and how many there are; (0, 1) for one alone.

    Imports nothing: a process is one of several if its launcher set `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and
    `MASTER_PORT`, or if the user's script has started `torch.distributed`.

    >>> rank_and_size()
    (0, 1)
    """
    if os.environ.keys() >= LAUNCHED:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if "torch.distributed" in sys.modules:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def share(
    keys: Sequence[str],
    train: Callable[[Sequence[int]], Generator[tuple[int, Result], None, None]],
    *,
    distributed: bool = True,
) -> list[Result]:
    """One result for each key, in order, computed by all ranks together; every rank gets all of them.

    Each rank must make the same call. It waits for the slowest for as long as that one lives.

    Args:
        keys: what determines each result, the same on every rank.
        train: takes the positions in `keys` that fall to this rank, and yields each with its result.
        distributed: False when this process computes all of them alone, whatever others run beside it.

    Raises:
        ValueError: a rank has other keys, or torch or accelerate is missing.
        RankError: another rank did not come, failed or died; the message names it.

    >>> share(["a", "b", "c"], lambda positions: ((position, position**2) for position in positions))
    [0, 1, 4]
    """
    rank, size = rank_and_size() if distributed else (0, 1)
    with closing(train(range(rank, len(keys), size))) as finished:
        results = _Ranks(rank, size, keys).complete(finished) if size > 1 else dict(finished)
    return [results[position] for position in range(len(keys))]


def on_rank_0(task: Callable[[], Result]) -> Result:
    """The result of `task` on rank 0, on every rank; each must make this call. Raises as `share` does.

    >>> on_rank_0(lambda: "done")
    'done'
    """
    return share(["rank 0"], lambda positions: ((position, task()) for position in positions))[0]


@dataclass
class _Status:
    """What a rank shows in the store.

    `beat` grows while it lives. `bytes`: size of its results, once they are there. `left`: it has everybody's results.
    `fault`: why the trials cannot be completed.
    """

    digest: str
    beat: int = 0
    bytes: int = 0
    left: bool = False
    fault: str = ""


class _Ranks:
    """The ranks of one call. Only a thread uses the store: a rank in training lives, and a dead store hangs none."""

    def __init__(self, rank: int, size: int, keys: Sequence[str]) -> None:
        if not (find_spec("torch") and find_spec("accelerate")):
            needed = "several processes share the trials through torch and accelerate"
            raise ValueError(f"{needed}: pip install 'captionbias[torch]'; {ONE_PROCESS}")
        self.rank, self.expected = rank, {*range(size)} - {rank}
        self.own = _Status(hashlib.sha256("".join(keys).encode()).hexdigest())
        self.others: dict[int, _Status] = {}  # those that have come
        self.heard: dict[int, int] = {}  # this rank's beat, a clock that stops with the process, at each one's last
        self.results: dict[int, Any] = {}
        self.packed = b""
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._talk, args=[next(_calls)], daemon=True)
        self.thread.start()

    def complete(self, finished: Iterable[tuple[int, Any]]) -> dict[int, Any]:
        """The results of all ranks by position; those of this one are trained here."""
        try:
            self._agree()
            device()  # a rank without trials must take part in starting the process group
            for position, result in finished:
                self.results[position] = result
                self._check()
            self.packed = pickle.dumps(self.results, PROTOCOL)
            self._until(lambda: self.own.left)
            if self.rank == 0:  # its process may hold the store
                self._until(lambda: all(status.left for status in self.others.values()))
            return self.results
        except BaseException as error:
            known = isinstance(error, RankError)
            self._blame(str(error) if known else f"rank {self.rank} failed with {type(error).__name__}: {error}")
            # A launcher ends all ranks, and the store, soon after the first has failed: let the others learn why.
            self._wait(lambda: all(status.fault or status.left for status in self.others.values()), LINGER)
            raise
        finally:
            self.closing.set()
            self.thread.join(LINGER)

    def _agree(self) -> None:
        """Wait until every rank has come with the same digest."""

        def late() -> set[int]:
            return self.expected - self.others.keys()

        if not self._until(lambda: not late(), NOTE_AFTER):
            message = f"rank {self.rank} is waiting for {_listed(late())} to make the same call; {ONE_PROCESS}"
            warnings.warn(message, CaptionBiasWarning, stacklevel=2)
            if not self._until(lambda: not late(), PATIENCE - NOTE_AFTER):
                message = f"rank {self.rank} gave up after {PATIENCE:g} s: {_listed(late())} did not make the same call"
                raise RankError(f"{message}; {ONE_PROCESS}")
        if differ := [rank for rank, status in self.others.items() if status.digest != self.own.digest]:
            raise ValueError(
                f"{_listed(differ)} made this call with other captions or arguments than rank {self.rank}: use the "
                f"same ones on every rank; {ONE_PROCESS}"
            )
        self._check()

    def _until(self, enough: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Whether there is enough in time; a RankError if there cannot be."""
        self._wait(lambda: enough() or bool(self.own.fault), seconds)
        if not enough():
            self._check()
        return enough()

    def _wait(self, enough: Callable[[], bool], seconds: float) -> None:
        end, beat, unanswered = time.monotonic() + seconds, 0, 0.0
        while self.thread.is_alive() and not enough() and time.monotonic() < end:
            time.sleep(BEAT / 4)
            beat, unanswered = self.own.beat, unanswered + BEAT / 4 if beat == self.own.beat else 0.0
            if unanswered > SILENCE and beat:
                self._blame(LOST.format(f"no answer for {SILENCE:g} s"))

    def _check(self) -> None:
        if self.own.fault:
            raise RankError(self.own.fault)

    def _blame(self, fault: str) -> None:
        self.own.fault = self.own.fault or fault  # the first is the cause of the others

    def _talk(self, call: int) -> None:
        try:
            from torch.distributed import distributed_c10d as c10d

            store = _launchers_store() if os.environ.keys() >= LAUNCHED else c10d._get_default_store()
            # After a restart by the launcher, its store still has what was there before.
            restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)
            store = c10d.PrefixStore(f"captionbias {restarts} {call}", store)
            last = False
            while not last:
                last = self.closing.wait(BEAT if self.own.beat else 0)
                self._show(store)
                self._look(store)
            if self.rank == 0 and not self.own.fault:  # every rank has all results
                for rank, status in [(0, self.own), *self.others.items()]:
                    for start in range(0, status.bytes, PART_BYTES):
                        store.delete_key(f"{rank} {start}")
        except Exception as error:
            self._blame(LOST.format(str(error).partition("\n")[0]))  # torch adds its own stack

    def _show(self, store: Store) -> None:
        if self.packed and not self.own.bytes:
            for start in range(0, len(self.packed), PART_BYTES):
                store.set(f"{self.rank} {start}", self.packed[start : start + PART_BYTES])  # type: ignore[arg-type]
            self.own.bytes = len(self.packed)
        self.own.beat += 1
        store.set(str(self.rank), json.dumps(asdict(self.own)))

    def _look(self, store: Store) -> None:
        here = [rank for rank in self.expected if rank in self.others or store.check([str(rank)])]
        shown = (_Status(**json.loads(status)) for status in store.multi_get(list(map(str, here))))
        before, self.others = self.others, dict(zip(here, shown, strict=True))
        for rank, status in self.others.items():
            if rank not in before or before[rank].beat != status.beat:
                self.heard[rank] = self.own.beat
            if status.fault:
                self._blame(status.fault)
            elif not status.left and (self.own.beat - self.heard[rank]) * BEAT > SILENCE:
                self._blame(f"rank {rank} died (no sign of life for {SILENCE:g} s): {RESUME}")
        if self.own.bytes and not self.own.left and all(status.bytes for status in self.others.values()):
            for rank, status in self.others.items():
                starts = range(0, status.bytes, PART_BYTES)
                self.results |= _read(b"".join(store.get(f"{rank} {start}") for start in starts))
            self.own.left = True


@functools.cache  # kept open: ranks that are ahead may be in the next call already
def _launchers_store() -> Store:
    """A connection of our own; rank 0 hosts the store if the launcher does not."""
    from torch.distributed.rendezvous import rendezvous

    store: Store = next(rendezvous("env://", timeout=timedelta(seconds=2 * PATIENCE)))[0]
    return store


def _read(results: bytes) -> dict[int, Any]:
    """Scores of trials and plain data; no other pickle is read, as it could run code."""
    admitted = ARRAYS | {"captionbias.attackers.base.TrialScores": TrialScores}
    found: dict[int, Any] = read_plain_pickle(io.BytesIO(results), admitted)
    return found


def _listed(ranks: Iterable[int]) -> str:
    *first, last = map(str, sorted(ranks))
    return f"ranks {', '.join(first)} and {last}" if first else f"rank {last}"
