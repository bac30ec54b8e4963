"""Worker processes: every result once, and nothing that lives on when work or the main process ends."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing

import pytest

from captionbias.attackers.workers import in_workers
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


@pytest.fixture
def started(tmp_path):
    """Starts a script in a process group of its own, as a terminal does."""

    def start(script: str, **environment: str) -> subprocess.Popen[str]:
        file = tmp_path / "script.py"
        file.write_text(PREAMBLE + textwrap.dedent(script))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": os.environ | environment}
        return subprocess.Popen([sys.executable, file], start_new_session=True, preexec_fn=signals.restore, **pipes)

    return start


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed. Its workers hold the same pipes, so this returns when the last of them is gone."""
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_call_while_another_has_the_workers_does_its_work_itself():
    def pid(item: int) -> int:
        return os.getpid()

    second: list[tuple[int, int]] = []
    with closing(in_workers(pid, range(4), 2)) as first:
        next(first)
        thread = threading.Thread(target=lambda: second.extend(in_workers(pid, range(3), 2)))
        thread.start()
        thread.join(PATIENCE)
        assert {os.getpid()} == {one for _, one in second}
        assert os.getpid() not in {one for _, one in first}


def test_an_error_of_a_task_arrives_and_the_rest_is_left(tmp_path):
    class AttackerError(Exception):
        pass

    def fail_at_three(item: int) -> None:
        (tmp_path / str(item)).touch()
        time.sleep(0.1)
        if item == 3:
            raise AttackerError("captions[3] is empty: drop it")

    with pytest.raises(AttackerError, match=r"^captions\[3\] is empty: drop it$"):
        list(in_workers(fail_at_three, range(100), 2))
    assert len(list(tmp_path.iterdir())) < 100


@pytest.mark.parametrize("to_group", [True, False])
def test_control_c_ends_everything_at_once(started, to_group):
    process = started("list(in_workers(work, range(8), 2))")
    assert [process.stdout.readline() for _ in range(2)] == ["at work\n"] * 2
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    _, complaints = ended(process)
    assert process.returncode == -signal.SIGINT
    assert complaints.rstrip().endswith("KeyboardInterrupt"), complaints


def test_workers_do_not_outlive_a_killed_main_process(started):
    process = started("list(in_workers(work, range(8), 2))")
    assert process.stdout.readline() == "at work\n"
    process.kill()
    ended(process)  # fails if a worker still holds the pipes


def test_a_script_needs_no_main_guard_its_classes_travel_and_what_a_launcher_set_does_not(started):
    """Torch in a worker would wait for the others forever."""
    launched = dict.fromkeys(("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"), "1")
    script = f"""
        from dataclasses import dataclass

        print("once")

        @dataclass
        class Score:
            value: int

        class Doubled:
            def __call__(self, score):
                return Score(2 * score.value), [name for name in {list(launched)} if name in os.environ]

        results = [result for _, result in in_workers(Doubled(), [Score(1), Score(2)], 2)]
        print(all(type(score) is Score for score, _ in results), sorted(score.value for score, _ in results))
        print([names for _, names in results])
        """
    # That it ends within the patience says also that idle workers, which wait for 300 seconds, do not hold it up.
    assert ended(started(script, **launched)) == ("once\nTrue [2, 4]\n[[], []]\n", "")
