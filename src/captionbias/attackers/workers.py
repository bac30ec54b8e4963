"""Independent tasks in worker processes, one thread each, that end when their work or the main process ends.

joblib's loky starts them: a user's script needs no `if __name__ == "__main__"`, what it defines travels to them, and so
do large arrays, as memory-mapped files. They stay ready for the next call: starting takes longer than many a training.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from typing import TypeVar

from captionbias.attackers.ranks import LAUNCHED

Item = TypeVar("Item")
Result = TypeVar("Result")

PARENT_CHECK_SECONDS = 0.5
_pool = threading.Lock()


class WorkerKilledError(RuntimeError):
    """A worker process ended in the middle of its work."""


def cores() -> int:
    """Cores that this process may use: within a container's limits, shared with a launcher's processes here."""
    from joblib import cpu_count

    return max(1, int(cpu_count()) // int(os.environ.get("LOCAL_WORLD_SIZE") or 1))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Limit torch and BLAS to so many threads. With one, sums are made in one order whatever the machine is busy with,
    and for small networks more gain nothing; large encoders take all `cores()`."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    with threadpool_limits(count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def in_workers(
    task: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Generator[tuple[int, Result], None, None]:
    """Do a task for each item in some worker processes, and yield the number of an item and its result in any order.

    Closing the iterator stops the work, and so do Ctrl-C and an error. Iterate under `contextlib.closing`: an exception
    in the body of a bare loop leaves it open. The work is done in this process if one worker is enough, or if another
    call has the workers. A killed worker is a `WorkerKilledError`; what a task raises arrives as it is.
    """
    workers = min(workers, len(items))
    # A second call would change the pool's size under the first, and joblib would wait for ever.
    if workers > 1 and _pool.acquire(blocking=False):
        try:
            with closing(_in_pool(task, items, workers)) as results:
                yield from results
        finally:
            _pool.release()
    else:
        yield from ((number, task(item)) for number, item in enumerate(items))


def _in_pool(
    task: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Generator[tuple[int, Result], None, None]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config("loky", inner_max_num_threads=1, initializer=_begin_worker, initargs=(os.getpid(),)):
        parallel = Parallel(
            workers,
            return_as="generator_unordered",
            batch_size=1,
            temp_folder=tempfile.gettempdir(),  # joblib's own choice may be a file system in memory
        )
    # joblib tells of workers that it replaces, as their mapped pages count as growth, and of items left undone.
    warnings.filterwarnings("ignore", r"A worker stopped while some jobs|\d+ tasks which were still", UserWarning)
    try:
        yield from parallel(delayed(_numbered)(task, number, item) for number, item in enumerate(items))
    except BrokenExecutor as error:
        if error.__cause__ is not None:  # not killed: something cannot be pickled, and the message says what
            raise
        raise WorkerKilledError(
            "a worker process was killed, most often because memory ran out: finished results are kept, so make the "
            "same call again to continue; fewer workers need less memory"
        ) from error


def _numbered(task: Callable[[Item], Result], number: int, item: Item) -> tuple[int, Result]:
    return number, task(item)


def _begin_worker(parent: int) -> None:
    # Ctrl-C reaches the whole process group: the main process alone answers it, and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in LAUNCHED:  # a worker is none of a launcher's processes: its torch would wait for the others forever
        os.environ.pop(name, None)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this worker with its parent: waiting on a pipe that other workers hold too, it would never notice."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
