"""Independent tasks in worker processes, one thread each, that end when their work or the main process ends.

joblib's loky starts them: a user's script needs no `if __name__ == "__main__"`, what a script or notebook defines
travels to them, and so do large arrays, as memory-mapped files that all of them read. They stay ready for the next
call: starting them takes longer than many a training.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, TypeVar

from captionbias.io.temporary import own_folder

Item = TypeVar("Item")
Result = TypeVar("Result")
Caught = tuple[str, type[Warning], str, int]  # a warning: text, category, file name and line

# How torchrun, accelerate and MPI tell a process that it is one of several. A worker is none of these: its torch would
# wait for the others forever.
LAUNCHED = re.compile(
    r"RANK|WORLD_SIZE|NODE_RANK|(LOCAL|GROUP|ROLE)_(RANK|WORLD_SIZE)|MASTER_(ADDR|PORT)"
    r"|(TORCHELASTIC|OMPI_COMM_WORLD|MV2_COMM_WORLD|PMI|MPI)_\w+"
)
FOLDER = "captionbias-workers-"  # of a process's temporary files, before its number
PARENT_CHECK_SECONDS = 0.5
_pool = threading.Lock()
_held: list[Any] = []  # locks, until this process ends


class WorkerKilledError(RuntimeError):
    """A worker process ended in the middle of its work."""


def cores() -> int:
    """Cores that this process may use, at least 1.

    Affinity and a container's limits count, and processes that a launcher started here share the cores.
    """
    from joblib import cpu_count

    launched = os.environ.get("LOCAL_WORLD_SIZE") or "1"
    if not launched.isdecimal() or int(launched) < 1:
        raise ValueError(f"LOCAL_WORLD_SIZE is {launched!r}: the launcher sets it to a number of processes; unset it")
    return max(1, int(cpu_count()) // int(launched))


def in_workers(
    task: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Generator[tuple[int, Result], None, None]:
    """Do a task for each item, each in one of some worker processes.

    Yields the number of an item and its result, as they are finished: in any order. What a task warns of arrives once.
    Closing the iterator stops the work, and so do Ctrl-C and an error. Iterate under `contextlib.closing`: an exception
    in the body of a bare loop leaves the iterator open, and Python then ends only when the items in work are done.

    Task, items and results are pickled; arrays of a megabyte or more in items reach the workers as read-only memory
    maps of one file. Within the user's own `joblib.parallel_config("dask")`, or any other backend of processes, that
    backend's workers do the work, as many as it has or as its `n_jobs` says. The work is done in this process if there
    is one worker or one item, if no process can be started from here, or if another call has the workers.

    Raises:
        WorkerKilledError: a worker was killed; the next call starts new ones. What a task raises arrives as it is.

    Example:
        >>> from contextlib import closing
        >>> with closing(in_workers(len, ["one", "three"], workers=2)) as results:
        ...     sorted(results)
        [(0, 3), (1, 5)]
    """
    workers = min(workers, len(items))
    elsewhere = _chosen_workers()
    able = len(items) > 1 if elsewhere else workers > 1 and _processes_can_start()
    # A second call would change the pool's size under the first, and joblib would wait for ever.
    if able and _pool.acquire(blocking=False):
        try:
            yield from _in_pool(task, items, elsewhere or workers, own=not elsewhere)
        finally:
            _pool.release()
    else:
        yield from ((index, task(item)) for index, item in enumerate(items))


def _processes_can_start() -> bool:
    """Not from a daemonic process, nor without a temporary folder or semaphores, which joblib needs."""
    from joblib.parallel import mp

    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return False
    return mp is not None and not multiprocessing.current_process().daemon


def _chosen_workers() -> int:
    """How many workers the joblib backend has that the user has chosen with `parallel_config`; 0 for our own workers.

    All that it has (-1) if the user has not said. Threads are no workers of this kind.
    """
    from joblib.parallel import BACKENDS, get_active_backend

    backend, workers = get_active_backend()
    if isinstance(backend, BACKENDS["loky"]) or getattr(backend, "supports_sharedmem", False):
        return 0
    return int(workers or -1)


def _in_pool(
    task: Callable[[Item], Result], items: Sequence[Item], workers: int, own: bool
) -> Iterator[tuple[int, Result]]:
    from joblib import Parallel, delayed, parallel_config
    from joblib.parallel import get_active_backend

    if own:
        _end_workers_in_time(os.getpid())
        with parallel_config("loky", inner_max_num_threads=1, initializer=_begin_worker, initargs=(os.getpid(),)):
            parallel = Parallel(
                workers,
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch="2 * n_jobs",
                temp_folder=_own_folder(os.getpid()),  # joblib's own choice may be a file system in memory
            )
    else:
        lazily = getattr(get_active_backend()[0], "supports_return_generator", False)
        parallel = Parallel(workers, return_as="generator_unordered" if lazily else "list", batch_size=1)
    # joblib replaces a worker that has grown by 300 MB, mapped pages among them, and says so.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)
    results: Any = None
    shown: set[tuple[str, type[Warning]]] = set()
    try:
        with _deaf_to_interrupts():
            results = iter(parallel(delayed(_do)(task, index, item) for index, item in enumerate(items)))
        for index, result, caught in results:
            for warning in caught:
                if warning[:2] not in shown:
                    shown.add(warning[:2])
                    warnings.warn_explicit(*warning)
            yield index, result
    except BrokenExecutor as error:
        if error.__cause__ is not None:  # not killed: something cannot be pickled, and the message says what
            raise
        raise WorkerKilledError(
            "a worker process was killed, most often because memory ran out: results that were finished are kept, so "
            "make the same call again to go on; fewer workers need less memory"
        ) from error
    finally:
        if hasattr(results, "close"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib warns of items left undone: that is what stopping is for
                results.close()


@cache
def _end_workers_in_time(pid: int) -> None:
    """A process that multiprocessing started joins its children at its end, before joblib tells them to end."""
    from joblib.externals.loky import get_reusable_executor

    if multiprocessing.parent_process() is not None:  # the queue to the workers is closed at 10
        Finalize(None, lambda: get_reusable_executor(reuse=True).shutdown(), exitpriority=100)


@cache
def _own_folder(pid: int) -> str:
    """A folder for this process's memory maps, which goes when it ends; what killed ones left goes now.

    Only a kill of the whole process group leaves anything: else joblib's own process tidies up. Semaphores have the
    number of their process in their names, as folders do.
    """
    folder, lock, swept = own_folder(FOLDER)
    for dead in swept:
        for semaphore in Path("/dev/shm").glob(f"sem.loky-{dead}-*"):
            with suppress(OSError):
                semaphore.unlink()
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=-1)  # after the workers
    _held.append(lock)
    return str(folder)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started in here never hear Ctrl-C, not even while they import: they inherit the mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_resource_tracker

    # Both lift the mask when they start, so they start before it.
    resource_tracker.ensure_running()
    loky_resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin_worker(parent: int) -> None:
    # Ctrl-C reaches the whole process group: the main process alone answers it, and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in filter(LAUNCHED.fullmatch, list(os.environ)):
        del os.environ[name]
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A worker waits on a pipe whose other end the workers hold too: it would never notice that the parent is gone."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)


def _do(task: Callable[[Item], Result], index: int, item: Item) -> tuple[int, Result, list[Caught]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            result = task(item)
        except Exception as error:
            if _travels(error):
                raise
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
    return index, result, [(str(one.message), one.category, one.filename, one.lineno) for one in caught]


def _travels(error: Exception) -> bool:
    """An exception whose `__init__` wants more than a message breaks when it is unpickled, and the pool with it."""
    from joblib.externals.loky.backend.reduction import dumps

    try:
        pickle.loads(dumps(error))
    except Exception:
        return False
    return True
