"""Worker processes: every result once, one thread each, and nothing that lives on when work or the main process ends.

Tasks are defined inside tests, and so travel as those of a user's script do.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from joblib import parallel_config

from captionbias.attackers.workers import cores, in_workers
from captionbias.captions import CaptionBiasWarning
from tests import signals
from tests.patience import FOREVER, PATIENCE

PREAMBLE = f"""
import os, sys, time
from contextlib import closing
from captionbias.attackers.workers import in_workers

def work(item):
    os.write(1, b"at work\\n")  # one line, whoever writes beside it
    time.sleep({FOREVER})
"""


def started(script: str, **environment: str) -> subprocess.Popen[str]:
    """A script in a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        start_new_session=True,
        preexec_fn=signals.restore,
    )


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed. Its workers hold the same pipes, so this returns when the last of them is gone."""
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def output(script: str, **environment: str) -> list[str]:
    process = started(script, **environment)
    printed, complaints = ended(process)
    assert process.returncode == 0, complaints
    assert complaints == ""
    return printed.splitlines()


def gone(pids: set[int]) -> bool:
    """Whether these children end soon, and are not left as zombies."""
    deadline = time.monotonic() + PATIENCE
    while any(map(exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(exists, pids))


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def test_every_item_is_done_once_and_given_when_it_is_finished(tmp_path):
    def squared(item: int) -> int:
        if item == 0:
            wait_for(tmp_path / "9")
        (tmp_path / str(item)).touch()
        return item**2

    found = list(in_workers(squared, range(12), 2))
    assert sorted(found) == [(item, item**2) for item in range(12)]
    assert found[0] == (1, 1)


def pid_and_square(item: int) -> tuple[int, int, str]:
    return os.getpid(), item**2, multiprocessing.current_process().name


def test_the_backend_that_the_user_has_chosen_does_the_work():
    with parallel_config("multiprocessing", n_jobs=2):
        found = dict(in_workers(pid_and_square, range(8), 1))
    assert {index: square for index, (_, square, _) in found.items()} == {item: item**2 for item in range(8)}
    assert os.getpid() not in {pid for pid, _, _ in found.values()}
    assert len({pid for pid, _, _ in found.values()}) <= 2
    assert not any("Loky" in name for _, _, name in found.values())


def test_a_dask_cluster_does_the_work(class_trial):
    """Trainings too; skipped where dask is not installed, which nothing else here needs."""
    from captionbias.attackers.engine import run_trials
    from captionbias.attackers.registry import find_attacker

    trials = [class_trial(seed=seed) for seed in range(3)]
    here = run_trials(trials, find_attacker("bow"), cache=False)
    with dask_cluster() as pids:
        found = dict(in_workers(pid_and_square, range(8), 1))
        there = run_trials(trials, find_attacker("bow"), cache=False, placement="processes")
    assert {pid for pid, _, _ in found.values()} <= pids
    assert [one.log_probability.tolist() for one in there] == [one.log_probability.tolist() for one in here]


@contextmanager
def dask_cluster() -> Iterator[set[int]]:
    """Two workers of Dask, which joblib uses meanwhile: their process ids."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
        parallel_config("dask"),
    ):
        yield set(client.run(os.getpid).values())


@pytest.mark.slow
def test_a_metric_has_the_same_bits_when_a_dask_cluster_trains_its_attackers(monkeypatch):
    from captionbias.metrics import lic
    from captionbias.synthetic import plant

    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    captions = vars(plant(60, captions=1, a_to_t=0.8))
    options = {"encoder": "rnn", "trials": 2, "bootstrap": 30, "cache": False}
    with dask_cluster():
        there = lic(**captions, **options)
    assert there == lic(**captions, **options)


@pytest.mark.parametrize("backend", ["threading", "sequential", "loky"])
def test_threads_are_not_workers(backend):
    with parallel_config(backend):
        found = [name for _, (_, _, name) in in_workers(pid_and_square, range(8), 2)]
    assert all("Loky" in name for name in found)


def test_warnings_of_workers_arrive_once_a_call():
    def warn(item: int) -> None:
        warnings.warn(f"class {item % 2} has few images", CaptionBiasWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)
            assert len(list(in_workers(warn, range(8), 2))) == 8
        assert sorted(str(one.message) for one in caught) == ["class 0 has few images", "class 1 has few images"]
        assert {one.category for one in caught} == {CaptionBiasWarning}
        assert {one.filename for one in caught} == {__file__}


def test_a_call_inside_the_loop_of_another_is_answered():
    # joblib would wait for ever: the second call has another size of pool.
    with closing(in_workers(abs, range(40), 2)) as results:
        next(results)
        assert sorted(in_workers(abs, [-1, -2, -3], 3)) == [(0, 1), (1, 2), (2, 3)]
        assert len(list(results)) == 39


def test_an_exception_arrives_as_it_is_and_the_rest_is_left(tmp_path):
    class AttackerError(Exception):
        pass

    def fail_at_three(item: int) -> None:
        (tmp_path / str(item)).touch()
        time.sleep(0.1)
        if item == 3:
            raise AttackerError("captions[3] is empty: drop it")

    with pytest.raises(AttackerError, match=r"^captions\[3\] is empty: drop it$") as raised:
        list(in_workers(fail_at_three, range(100), 2))
    assert "fail_at_three" in str(raised.value.__cause__), "the worker's traceback is shown"
    begun = len(list(tmp_path.iterdir()))
    assert begun < 100
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) == begun, "workers have stopped"


def test_an_exception_that_cannot_travel_is_named():
    class OfTwoParts(Exception):
        def __init__(self, one: str, other: str) -> None:
            super().__init__(f"{one} and {other}")

    def fail(item: int) -> None:
        raise OfTwoParts("this", "that")

    with pytest.raises(RuntimeError, match=r"^OfTwoParts: this and that$"):
        list(in_workers(fail, range(4), 2))


def test_closing_stops_the_work():
    def pid_then_forever(item: int) -> int:
        if item > 1:
            time.sleep(FOREVER)
        time.sleep(0.2)
        return os.getpid()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with closing(in_workers(pid_then_forever, range(8), 2)) as results:
            pids = {next(results)[1], next(results)[1]}
    assert gone(pids)
    assert not caught, "whoever closes knows that work is left"


@pytest.mark.parametrize(("to_group", "where"), [(True, "waiting"), (False, "in the loop's body")])
def test_control_c_ends_everything_at_once(to_group, where):
    script = f"""
        def work_or_return(item):
            return work(item) if item or {where == "waiting"} else item

        try:
            with closing(in_workers(work_or_return, range(8), 2)) as results:
                for result in results:
                    time.sleep({FOREVER})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            raise
        """
    process = started(script)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    time.sleep(0.2)
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    printed, complaints = ended(process)
    assert "interrupted" in printed.splitlines()
    assert process.returncode == -signal.SIGINT
    assert complaints.rstrip().endswith("KeyboardInterrupt"), complaints
    assert "runpy" not in complaints, "a worker, which Python runs as a module, has complained too"


def test_workers_do_not_outlive_a_killed_main_process():
    process = started("list(in_workers(work, range(8), 2))")
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    process.kill()
    ended(process)  # fails if a worker still holds the pipes


def test_a_script_needs_no_main_guard_and_its_classes_travel(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(
        textwrap.dedent("""
        from dataclasses import dataclass
        from captionbias.attackers.workers import in_workers

        print("once")

        @dataclass
        class Score:
            value: int

        class Doubled:
            def __call__(self, score):
                return Score(2 * score.value)

        results = [result for _, result in in_workers(Doubled(), [Score(1), Score(2)], 2)]
        print(all(type(result) is Score for result in results), sorted(result.value for result in results))
        """)
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=PATIENCE)
    # That it ends within the patience says also that idle workers, which wait for 300 seconds, do not hold it up.
    assert (done.stdout.splitlines(), done.stderr) == (["once", "True [2, 4]"], "")


def test_a_process_that_may_start_none_does_the_work_itself():
    script = """
        import multiprocessing

        def pid(item):
            return os.getpid()

        def call():
            print({pid for _, pid in in_workers(pid, range(4), 2)} == {os.getpid()}, flush=True)

        process = multiprocessing.get_context("fork").Process(target=call, daemon=True)
        process.start()
        process.join()
        """
    assert output(script) == ["True"]


def test_what_a_launcher_set_is_not_for_workers():
    """Torch in a worker would wait for the others forever."""
    script = """
        def launched(item):
            return sorted(name for name in os.environ if name in names)

        names = sys.argv[1].split()
        print([found for _, found in in_workers(launched, range(2), 2)], launched(0) == sorted(names))
        """
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PMI_SIZE")
    launched = dict.fromkeys((*launcher, "OMPI_COMM_WORLD_SIZE", "TORCHELASTIC_RUN_ID"), "1")
    assert output(script.replace("sys.argv[1]", repr(" ".join(launched))), **launched) == ["[[], []] True"]


def test_processes_of_a_launcher_share_the_cores_out(monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    alone = cores()
    assert 1 <= alone <= (os.cpu_count() or 1)
    for processes in (1, 2, 1000):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
        assert cores() == max(1, alone // processes)
