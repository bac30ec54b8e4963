"""Processes that `accelerate launch` or the like has started together share out one list of trials.

They meet in the key-value store that every launcher of torch programs starts. Collective operations would not do: they
give up after minutes, and ranks finish hours apart. The launcher ends all ranks when one fails or dies.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import io
import itertools
import os
import pickle
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from captionbias.attackers.base import TrialScores
from captionbias.io.plain_pickle import ARRAYS, read_plain_pickle

if TYPE_CHECKING:
    import torch
    from torch.distributed.distributed_c10d import Store

Result = TypeVar("Result")

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
MEETING_SECONDS, TRAINING_SECONDS = 600.0, 7 * 24 * 3600.0  # that a rank waits for the others
POLL_SECONDS = 0.05
PROTOCOL = 4  # of pickles: with later ones numpy's arrays name other functions
PART_BYTES = 4 << 20  # the store takes 8 MiB at once
ONE_PROCESS = "if only one process is to measure, leave distributed out"
_calls = itertools.count()


class RankError(RuntimeError):
    """Another process, without which the trials cannot be completed, is gone or never came."""


def rank_and_size() -> tuple[int, int]:
    """The number of this process among those started together, and how many there are; (0, 1) for one alone. Imports
    nothing: a launcher sets `LAUNCHED`, or the user's script has started `torch.distributed`."""
    if os.environ.keys() >= LAUNCHED:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if "torch.distributed" in sys.modules:
        from torch import distributed

        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def device() -> torch.device:
    """The device that Accelerate gives to this process. Under a launcher with GPUs, Accelerate starts the process group
    if the script has not: call it on every rank."""
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # Accelerator obeys this flag, PartialState does not. Accelerator is not used, because it fixes the precision of
    # one that the script makes later. No process group is needed on a CPU, and gloo's fails on many networks.
    if parse_flag_from_env("ACCELERATE_USE_CPU"):
        return torch.device("cpu")
    state = PartialState()
    atexit.unregister(state.destroy_process_group)
    atexit.register(state.destroy_process_group)  # NCCL warns about a group that is left to the end of the process
    chosen: torch.device = state.device
    return chosen


def share(
    keys: Sequence[str],
    train: Callable[[Sequence[int]], Generator[tuple[int, Result], None, None]],
    *,
    distributed: bool = False,
) -> list[Result]:
    """One result for each key, in order, computed by all ranks together; every rank gets all of them.

    Each rank must make the same call, and waits for the slowest. `train` takes the positions in `keys` that fall to
    this rank, and yields each with its result. Unless `distributed`, this process computes all of them alone.
    """
    rank, size = rank_and_size() if distributed else (0, 1)
    with closing(train(range(rank, len(keys), size))) as finished:
        results = dict(finished) if size == 1 else _completed(rank, size, keys, finished)
    return [results[position] for position in range(len(keys))]


def on_rank_0(task: Callable[[], Result]) -> Result:
    """The result of `task` on rank 0, on every rank; each must make this call."""
    return share(["rank 0"], lambda positions: ((position, task()) for position in positions), distributed=True)[0]


def _completed(
    rank: int, size: int, keys: Sequence[str], finished: Generator[tuple[int, Result], None, None]
) -> dict[int, Result]:
    """The results of all ranks by position; those of this one are trained here."""
    from torch.distributed import DistError

    try:
        store = _store()
        digest = hashlib.sha256("".join(keys).encode()).digest()
        digests = _exchanged(store, rank, size, "keys", digest, MEETING_SECONDS)
        if differ := [other for other in range(size) if digests[other] != digest]:
            raise ValueError(
                f"rank {differ[0]} made this call with other captions or arguments than rank {rank}: use the same ones "
                f"on every rank; {ONE_PROCESS}"
            )
        device()  # a rank without trials must take part in starting the process group
        own = dict(finished)
        packed = _exchanged(store, rank, size, "results", pickle.dumps(own, PROTOCOL), TRAINING_SECONDS)
        _end(store, rank, size)
    except DistError as error:
        reason = str(error).partition("\n")[0]  # torch adds its own stack
        raise RankError(
            f"rank 0, its launcher or its machine is gone ({reason}): look at its output; finished trials are kept, "
            "run again to go on"
        ) from error
    # Scores of trials and plain data; no other pickle is read, as it could run code.
    admitted = ARRAYS | {"captionbias.attackers.base.TrialScores": TrialScores}
    unpacked = (read_plain_pickle(io.BytesIO(pickled), admitted) for pickled in packed)
    return {position: result for part in unpacked for position, result in part.items()} | own


def _store() -> Store:
    """The store that the ranks of this call share. After a restart, the launcher's store has what was there before."""
    from torch.distributed import distributed_c10d as c10d

    store = _launchers_store() if os.environ.keys() >= LAUNCHED else c10d._get_default_store()
    return c10d.PrefixStore(f"captionbias {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)} {next(_calls)}", store)


@functools.cache  # kept open: ranks that are ahead may be in the next call already
def _launchers_store() -> Store:
    """A connection of our own; rank 0 hosts the store if the launcher does not."""
    from torch.distributed.rendezvous import rendezvous

    store: Store = next(rendezvous("env://", timeout=timedelta(seconds=MEETING_SECONDS)))[0]
    return store


def _exchanged(store: Store, rank: int, size: int, what: str, own: bytes, seconds: float) -> list[bytes]:
    """The contents that all ranks have put there, as soon as the last one has."""
    starts = range(0, len(own), PART_BYTES)
    for number, start in enumerate(starts):
        store.set(f"{what} {rank} {number}", own[start : start + PART_BYTES])  # type: ignore[arg-type]
    store.set(f"{what} {rank}", str(len(starts)))
    return [b"".join(map(store.get, _put_by(store, other, what, seconds))) for other in range(size)]


def _put_by(store: Store, rank: int, what: str, seconds: float) -> list[str]:
    """The keys of the parts that a rank has put there, as soon as it has."""
    end = time.monotonic() + seconds
    while not store.check([f"{what} {rank}"]):  # a wait in the store would not hear Ctrl-C
        if time.monotonic() > end:
            raise RankError(f"rank {rank} did not make the same call within {seconds:g} s; {ONE_PROCESS}")
        time.sleep(POLL_SECONDS)
    return [f"{what} {rank} {number}" for number in range(int(store.get(f"{what} {rank}")))]


def _end(store: Store, rank: int, size: int) -> None:
    """Rank 0, whose process may hold the store, waits until every rank has all results, and removes them."""
    store.set(f"end {rank}", "0")
    if rank == 0:
        for other in range(size):
            _put_by(store, other, "end", MEETING_SECONDS)
        for part in itertools.chain.from_iterable(_put_by(store, other, "results", 0) for other in range(size)):
            store.delete_key(part)
