"""Several processes, started by `accelerate launch` or the like, that share one list of trials.

They talk through the key-value store that every launcher of torch programs starts: each rank says there what it was
given, that it lives, how it ended, and what its trials gave. No collective operation is used: those need all ranks at
once and give up after minutes, and ranks finish hours apart.
"""

from __future__ import annotations

import atexit
import io
import itertools
import json
import math
import os
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from captionbias.attackers.base import TrialScores
from captionbias.captions.check import CaptionBiasWarning

if TYPE_CHECKING:
    import torch
    from torch.distributed.distributed_c10d import Store

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
# Seconds. Training may hold the interpreter, and with it the sign of life, for as long as one operation takes.
BEAT, BEAT_WHILE_WAITING, SILENCE = 1.0, 0.1, 60.0
NOTE_AFTER, PATIENCE = 5.0, 600.0
LINGER = 5.0
PART_BYTES = 4 << 20  # the store takes 8 MiB at once
ONE_PROCESS = "if only one process is to measure, pass distributed=False"
GO_ON = "finished trials are kept, run again to go on"
_calls = itertools.count()
_stores: dict[tuple[str, int], Store] = {}  # kept open: ranks that are ahead may speak there already


class RankError(RuntimeError):
    """Another process, without which the trials cannot be completed, failed, died or never came."""


def crew() -> Crew | None:
    """The processes that this one was started with, or None if it is on its own.

    Imports nothing: a process is one of several if its launcher set `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and
    `MASTER_PORT`, or if the user's script has started `torch.distributed`.

    Example:
        >>> print(crew())
        None
    """
    if _launched():
        return Crew(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    if "torch.distributed" in sys.modules:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
            return Crew(distributed.get_rank(), distributed.get_world_size())
    return None


def _launched() -> bool:
    return os.environ.keys() >= LAUNCHED and int(os.environ["WORLD_SIZE"]) > 1


def device() -> torch.device:
    """The device that Accelerate gives to this process.

    Under a launcher with GPUs, Accelerate starts the process group if the script has not: call it on every rank.

    Example:
        >>> device().type in {"cpu", "cuda", "mps", "xpu"}
        True
    """
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # Accelerator obeys this flag, PartialState does not. Accelerator is not used, because it fixes the precision of
    # one that the script makes later. No process group is needed on a CPU, and gloo's fails on many networks.
    if parse_flag_from_env("ACCELERATE_USE_CPU"):
        return torch.device("cpu")
    started_before = _group_is_started()
    chosen: torch.device = PartialState().device
    if _group_is_started() and not started_before:
        atexit.register(_end_group)
    return chosen


def _group_is_started() -> bool:
    from torch import distributed

    return distributed.is_available() and distributed.is_initialized()


def _end_group() -> None:
    """NCCL warns of a group that is left to the end of the process; the script may have ended it by then."""
    if _group_is_started():
        from torch import distributed

        distributed.destroy_process_group()


class Crew:
    """`size` processes, of which this one is number `rank`, for one list of trials.

    Example:
        crew = processes.crew()
        with crew.sharing(digest_of_trials):
            done = {i: train(trials[i]) for i in range(crew.rank, len(trials), crew.size)}
            scores = crew.gather(done, len(trials))
    """

    _ranks: _Ranks

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    @contextmanager
    def sharing(self, digest: str, *, patience: float = PATIENCE, silence: float = SILENCE) -> Iterator[None]:
        """Wait until every rank has come with the same `digest`; tell the others if this one then fails.

        Args:
            digest: stands for everything that determines the trials.
            patience: seconds to wait for ranks that have not come.
            silence: seconds without a sign of life after which a rank counts as dead.

        Raises:
            ValueError: a rank has come with another digest.
            RankError: a rank did not come, failed or died; the message names it.
        """
        _need_torch()
        store = _store(self.rank, patience)
        self._ranks = _Ranks(store, self.rank, self.size, digest, silence)
        try:
            self._agree(patience)
            device()  # a rank without trials must take part in starting the process group
            yield
        except BaseException as error:
            known = isinstance(error, RankError)
            self._ranks.fail(str(error) if known else f"rank {self.rank} ended with {_named(error)}")
            # A launcher ends all ranks, and the store, soon after the first has failed.
            self._ranks.wait(self._ranks.all_know, LINGER)
            raise
        else:
            self._ranks.own.left = True
            if self.rank == 0:  # its process may hold the store
                self._ranks.until(lambda: self._ranks.everyone(lambda word: word.left))
        finally:
            self._ranks.close()

    def check(self) -> None:
        """Raise a RankError if a rank is known to have failed or died. Costs nothing: call it between trials."""
        if self._ranks.own.fault:
            raise RankError(self._ranks.own.fault)

    def gather(self, done: dict[int, TrialScores], total: int) -> list[TrialScores]:
        """The scores of all `total` trials, in order, once every rank has come here with its own.

        Waits for as long as the others live. Every rank gets the same.

        Raises:
            RankError: a rank failed or died; the message names it.
        """
        self._ranks.put(_packed(done))
        if not self._ranks.until(lambda: self._ranks.everyone(lambda word: word.parts is not None)):
            self.check()
        others = [_unpacked(self._ranks.get(rank)) for rank in range(self.size) if rank != self.rank]
        scores = {number: trial for part in (*others, done) for number, trial in part.items()}
        return [scores[number] for number in range(total)]

    def _agree(self, patience: float) -> None:
        def all_here() -> bool:
            return not self._ranks.missing

        if not self._ranks.until(all_here, min(NOTE_AFTER, patience)):
            self.check()
            _note_waiting(self.rank, self._ranks.missing)
            if not self._ranks.until(all_here, patience - NOTE_AFTER):
                self.check()
                raise _never_came(self.rank, self._ranks.missing, patience)
        digests = self._ranks.digests()
        others = [rank for rank, digest in digests.items() if digest != digests[0]]
        if others:
            raise ValueError(
                f"{_listed(others)} {'was' if len(others) == 1 else 'were'} given other captions or arguments than "
                f"rank 0: make the same calls, with the same captions and arguments, on every rank; {ONE_PROCESS}"
            )
        self.check()


@dataclass
class _Word:
    """What a rank says of itself.

    `beat` grows while it lives. `parts`: into how many its results are cut, once they are in the store. `left`: it has
    everybody's. `fault`: why the trials cannot be completed; whoever hears of one says it too.
    """

    digest: str
    beat: int = 0
    parts: int | None = None
    left: bool = False
    fault: str | None = None


class _Ranks:
    """Every rank's word, told and heard by a thread, so that a rank in training lives and a dead store hangs none."""

    def __init__(self, store: Store, rank: int, size: int, digest: str, silence: float) -> None:
        from torch.distributed.distributed_c10d import PrefixStore

        # After a restart by the launcher, the store still has what was said before it.
        prefix = f"captionbias/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}/{next(_calls)}"
        self._store = PrefixStore(prefix, store)
        self._rank, self._silence = rank, silence
        self.own = _Word(digest)
        self.missing = [other for other in range(size) if other != rank]
        self._heard: dict[int, _Word] = {}
        self._quiet: dict[int, float] = {}
        self._round = time.monotonic()
        self._news = threading.Condition()
        self._wake = threading.Event()
        self._awaited = self._closing = self._broken = False
        self._thread = threading.Thread(target=self._talk, name="captionbias sign of life", daemon=True)
        self._thread.start()

    def everyone(self, condition: Callable[[_Word], bool]) -> bool:
        """Whether every other rank has come, and its word meets the condition."""
        return not self.missing and all(map(condition, self._heard.values()))

    def all_know(self) -> bool:
        """Whether every other rank that has come, and has neither left nor died, knows of the fault."""
        return self._broken or all(
            word.fault or word.left or self._quiet[rank] > LINGER for rank, word in self._heard.items()
        )

    def digests(self) -> dict[int, str]:
        words = {**self._heard, self._rank: self.own}
        return {rank: words[rank].digest for rank in sorted(words)}

    def fail(self, fault: str) -> None:
        self.own.fault = self.own.fault or fault

    def until(self, enough: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Wait, and say whether there is `enough`; if not, there is a fault or the time is over."""
        self.wait(lambda: enough() or bool(self.own.fault), seconds)
        return enough()

    def wait(self, enough: Callable[[], bool], seconds: float) -> None:
        deadline, unanswered = time.monotonic() + seconds, 0.0
        self._awaited = True
        self._wake.set()
        with self._news:
            while not enough() and time.monotonic() < deadline:
                unanswered = 0.0 if self._news.wait(BEAT) else unanswered + BEAT
                if unanswered > self._silence:
                    self._lose_store(f"no answer for {self._silence:g} s")
        self._awaited = False

    def put(self, results: bytes) -> None:
        """Show this rank's results to the others."""
        starts = range(0, len(results), PART_BYTES)
        with self._reaching():
            for part, start in enumerate(starts):
                self._store.set(f"{self._rank}/{part}", results[start : start + PART_BYTES])  # type: ignore[arg-type]
        self.own.parts = len(starts)

    def get(self, rank: int) -> bytes:
        """A rank's results, once it has parts."""
        with self._reaching():
            return b"".join(self._store.get(f"{rank}/{part}") for part in range(self._heard[rank].parts or 0))

    def close(self) -> None:
        """Say the last word, and take the results out of the store if all have left."""
        self._closing = True
        self._wake.set()
        if not self._broken:  # else the thread may be waiting for an answer
            self._thread.join(LINGER)
        if self._rank == 0 and self.own.left and not self.own.fault:
            with suppress(RuntimeError):  # a store that has gone needs no tidying
                for rank, word in (*self._heard.items(), (0, self.own)):
                    for part in range(word.parts or 0):
                        self._store.delete_key(f"{rank}/{part}")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        from torch.distributed import DistError

        try:
            yield
        except DistError as error:
            self._lose_store(str(error))
            raise RankError(self.own.fault) from error

    def _talk(self) -> None:
        while True:
            last = self._closing
            try:
                self._tell()
                self._hear()
            except RuntimeError as error:
                self._lose_store(str(error))
            with self._news:
                self._news.notify_all()
            if last or self._broken:
                return
            self._wake.wait(BEAT_WHILE_WAITING if self._awaited else BEAT)
            self._wake.clear()

    def _tell(self) -> None:
        self.own.beat += 1
        self._store.set(str(self._rank), json.dumps(vars(self.own)))

    def _hear(self) -> None:
        here = [*self._heard, *(rank for rank in self.missing if self._store.check([str(rank)]))]
        words = self._store.multi_get(list(map(str, here))) if here else []
        heard = {rank: _Word(**json.loads(word)) for rank, word in zip(here, words, strict=True)}
        now = time.monotonic()
        step = min(now - self._round, 2 * BEAT)  # while this process is stopped, or busy, the others are not silent
        self._round = now
        for rank, word in heard.items():
            same = rank in self._heard and word.beat == self._heard[rank].beat
            self._quiet[rank] = self._quiet[rank] + step if same else 0.0
            if word.fault:
                self.fail(word.fault)
            elif not word.left and self._quiet[rank] > self._silence:
                self.fail(f"rank {rank} died (no sign of life for {self._silence:g} s): look at its output; {GO_ON}")
        self._heard = heard
        self.missing = [rank for rank in self.missing if rank not in heard]

    def _lose_store(self, why: str) -> None:
        self._broken = True
        why = why.partition("\n")[0]  # torch adds its own stack
        self.fail(f"rank 0 or its launcher ended, or its machine is out of reach ({why}): look at its output; {GO_ON}")


def _need_torch() -> None:
    try:
        import accelerate  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise ValueError(
            "several processes share the trials through torch and accelerate: pip install 'captionbias[torch]'; "
            + ONE_PROCESS
        ) from error


def _store(rank: int, patience: float) -> Store:
    if not _launched():
        from torch.distributed import distributed_c10d

        return distributed_c10d._get_default_store()
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if place not in _stores:
        _stores[place] = _open_store(rank, *place, patience)
    return _stores[place]


def _open_store(rank: int, address: str, port: int, patience: float) -> Store:
    """A connection of our own to the store at the launcher's address; rank 0 opens it if the launcher has not."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    opens = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    if not opens:
        _await_host(rank, address, port, patience)
    # A process group of this process may have opened it too, or do so later: `multi_tenant` lets both have it.
    timeout = timedelta(seconds=SILENCE)
    return TCPStore(address, port, None, opens, timeout, wait_for_workers=False, multi_tenant=opens)


def _await_host(rank: int, address: str, port: int, patience: float) -> None:
    start, noted = time.monotonic(), False
    while True:
        try:
            socket.create_connection((address, port), timeout=NOTE_AFTER).close()
            return
        except OSError as error:
            waited = time.monotonic() - start
            if waited > patience:
                raise _never_came(rank, [0], patience) from error
            if waited > NOTE_AFTER and not noted:
                noted = True
                _note_waiting(rank, [0])
            time.sleep(BEAT_WHILE_WAITING)


def _note_waiting(rank: int, missing: list[int]) -> None:
    message = f"rank {rank} waits for {_listed(missing)} to measure too; {ONE_PROCESS}"
    warnings.warn(message, CaptionBiasWarning, stacklevel=2)


def _never_came(rank: int, missing: list[int], patience: float) -> RankError:
    return RankError(
        f"rank {rank} waited {patience:g} s for {_listed(missing)} in vain: measure on every rank; {ONE_PROCESS}"
    )


def _listed(ranks: Iterable[int]) -> str:
    *first, last = map(str, ranks)
    return f"ranks {', '.join(first)} and {last}" if first else f"rank {last}"


def _named(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _packed(done: dict[int, TrialScores]) -> bytes:
    buffer = io.BytesIO()
    fields = {
        f"{number} {name}": getattr(scores, name)
        for number, scores in done.items()
        for name in ("log_probability", "correct")
    }
    np.savez(buffer, **fields)
    return buffer.getvalue()


def _unpacked(results: bytes) -> dict[int, TrialScores]:
    with np.load(io.BytesIO(results), allow_pickle=False) as fields:
        numbers = dict.fromkeys(name.split()[0] for name in fields.files)
        return {
            int(number): TrialScores(fields[f"{number} log_probability"], fields[f"{number} correct"])
            for number in numbers
        }
