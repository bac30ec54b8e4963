"""Processes that `accelerate launch` or the like has started together share out one list of trials.

Accelerate starts torch's process group where the script has not. Within it ranks have a group of their own, on
processors: the script's may give up after minutes, and ranks finish hours apart. The launcher ends all ranks when one
fails or dies.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch
    from torch.distributed import ProcessGroup

Result = TypeVar("Result")

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
MEETING_SECONDS, TRAINING_SECONDS = 600.0, 7 * 24 * 3600.0  # that a rank waits for the others
ONE_PROCESS = "if only one process is to measure, leave distributed out"


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
    """The device that Accelerate gives to this process, which may be the only one to ask for it."""
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    # Accelerator obeys this flag, PartialState does not. Accelerator is not used, because it fixes the precision of
    # one that the script makes later.
    if parse_flag_from_env("ACCELERATE_USE_CPU"):
        return torch.device("cpu")
    if "LOCAL_RANK" not in os.environ or torch.distributed.is_initialized():
        chosen: torch.device = PartialState().device
        return chosen
    # Here PartialState would start the process group, and wait in it for ranks that need not come.
    if not (accelerator := torch.accelerator.current_accelerator()) or not torch.accelerator.is_available():
        return torch.device("cpu")
    return torch.device(accelerator.type, int(os.environ["LOCAL_RANK"]) % torch.accelerator.device_count())


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
    if size == 1:
        results = _results(train(range(len(keys))))
    else:
        with _group() as group:
            _check_same(group, rank, keys)
            own = _results(train(range(rank, len(keys), size)))
            parts = _gathered(group, own, TRAINING_SECONDS)
        results = {position: result for part in (*parts, own) for position, result in part.items()}
    return [results[position] for position in range(len(keys))]


def on_rank_0(task: Callable[[], Result]) -> Result:
    """The result of `task` on rank 0, on every rank; each must make this call."""
    return share(["rank 0"], lambda positions: ((position, task()) for position in positions), distributed=True)[0]


def _results(finished: Generator[tuple[int, Result], None, None]) -> dict[int, Result]:
    with closing(finished):
        return dict(finished)


@contextmanager
def _group() -> Iterator[ProcessGroup]:
    """A process group of this call's ranks."""
    from accelerate import PartialState
    from torch import distributed

    with _of_other_ranks(MEETING_SECONDS):
        if not distributed.is_initialized():
            state = PartialState(cpu=device().type == "cpu")
            atexit.register(state.destroy_process_group)  # NCCL warns about one that is left to the end of the process
        if not distributed.is_initialized():
            raise ValueError(
                "distributed: this script has ended its process group, in which ranks meet: measure before "
                f"end_training(); {ONE_PROCESS}"
            )
        group = distributed.new_group(backend="gloo", timeout=timedelta(seconds=MEETING_SECONDS))
    try:
        yield group
    finally:
        distributed.destroy_process_group(group)


def _check_same(group: ProcessGroup, rank: int, keys: Sequence[str]) -> None:
    digest = hashlib.sha256("".join(keys).encode()).digest()
    digests = _gathered(group, digest, MEETING_SECONDS)
    if differ := [other for other, its in enumerate(digests) if its != digest]:
        raise ValueError(
            f"rank {differ[0]} made this call with other captions or arguments than rank {rank}: use the same ones on "
            f"every rank; {ONE_PROCESS}"
        )


def _gathered(group: ProcessGroup, own: Result, seconds: float) -> list[Result]:
    """What each rank has, once the last one has come."""
    from torch import distributed

    gathered: list[Any] = [None] * distributed.get_world_size(group)
    with _of_other_ranks(seconds):
        distributed.monitored_barrier(group, timeout=timedelta(seconds=seconds), wait_all_ranks=True)
        distributed.all_gather_object(gathered, own, group)
    return gathered


@contextmanager
def _of_other_ranks(seconds: float) -> Iterator[None]:
    """Errors of torch, which are plain ones, as those of a rank that it waits for."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]  # torch adds its own stack
        raise RankError(
            f"another rank is gone, or did not make the same call within {seconds:g} s ({reason}): look at its "
            f"output; finished trials are kept, so run it again to continue; {ONE_PROCESS}"
        ) from error
