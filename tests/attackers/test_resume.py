"""Runs that are killed and runs that meet: right numbers, and nothing trained twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import captionbias
from captionbias.attackers import engine
from captionbias.attackers import ranks as processes
from captionbias.attackers.neural import fitting
from captionbias.attackers.stored_trials import trial_key
from captionbias.bench import attacks
from tests.attackers.conftest import imported
from tests.patience import PATIENCE

SOURCE = str(Path(captionbias.__file__).parents[1])

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 100 images are few

STUDY = """
import json, os, sys, time
import accelerate
from counting import counting
from captionbias.metrics import lic
from captionbias.synthetic import plant

def marked(texts, words):
    "A vocabulary of its own for every side, so that a training is known by its size."
    return [f"{text} word{row % words}" for row, text in enumerate(texts)]

def study(cache, attacker):
    captions = plant(100, captions=1)
    people = marked([text for (text,) in captions.references], 3)
    return lic(
        predictions=marked(captions.predictions, 9),
        references=[[text] for text in people],
        attributes=captions.attributes,
        encoder=attacker,
        trials=18,
        bootstrap=20,
        cache=cache,
    )

def wait(seed):
    time.sleep(0.15)
    while gate and not os.path.exists(gate):
        time.sleep(0.02)

if __name__ == "__main__":
    cache, log, gate = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(study(cache, counting(log, wait))))
"""


class Run:
    """A process and those it starts: a group of their own, as a terminal makes it, with two cores at most."""

    def __init__(self, command: list[str], folder: Path, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in processes.LAUNCHED}
        environment = {"PYTHONPATH": SOURCE, "LOKY_MAX_CPU_COUNT": "2", **environment}
        environment |= {"TMPDIR": str(folder), "JOBLIB_TEMP_FOLDER": str(folder)}  # where killed runs may leave things
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix="complaints-", delete=False) as complaints:
            self._complaints = Path(complaints.name)
            self.process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env=inherited | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            )

    def complaints(self) -> str:
        return self._complaints.read_text()

    def begin(self) -> None:
        """Once the script is ready."""
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        assert self.process.stdout.readline() == "ready\n", self.complaints()
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, f"it ended too early: {self.complaints()}"
            assert time.monotonic() < deadline, self.complaints()
            time.sleep(0.005)

    def printed(self) -> str:
        """What it printed, once it has ended well, and its workers too, which hold the same pipe."""
        printed, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, self.complaints()
        return printed

    def kill(self, *, group: bool = True) -> None:
        """The main process alone, or with its workers and joblib's janitor, whose work is then done here."""
        (os.killpg if group else os.kill)(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=PATIENCE)  # workers that were left alone end by themselves
        for semaphore in Path("/dev/shm").glob(f"sem.loky-{self.process.pid}-*"):
            semaphore.unlink()


@pytest.fixture
def run() -> Iterator[Callable[..., Run]]:
    """Starts processes that end with the test."""
    started: list[Run] = []

    def start(*arguments: Any, **environment: str) -> Run:
        started.append(Run(*arguments, **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


class Study(NamedTuple):
    """A user's script, what it measures undisturbed, and the cache's key of each training that it takes."""

    script: Path
    result: dict[str, Any]
    keys: dict[tuple[int, int], str]

    def command(self, folder: Path, gate: str = "") -> list[str]:
        """It has imported everything when it is ready; its trainings wait for the file `gate`, if any."""
        return [str(self.script), str(folder / "cache"), str(folder / "log"), gate]

    def finished(self, folder: Path) -> set[str]:
        return {path.name for path in (folder / "cache").glob("*.npz")}


@pytest.fixture(scope="module")
def study(counting, tmp_path_factory) -> Study:
    script = Path(counting.__file__).with_name("study.py")
    script.write_text(STUDY)
    folder = tmp_path_factory.mktemp("undisturbed")
    asked: list[Any] = []

    def listen(trials, attacker, **options):
        asked.extend((trial, attacker) for trial in trials)
        return engine.run_trials(trials, attacker, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attacks, "run_trials", listen)
        patch.setattr(engine, "cores", lambda: 1)  # workers take longer to start than these trainings
        result = imported(script).study(folder / "cache", counting.counting(folder / "log"))
    keys = {
        (trial.seed, fitting.vocabulary(trial)[1]): f"trial-{trial_key(trial, attacker.identity)}.npz"
        for trial, attacker in asked
    }
    study = Study(script, result, keys)
    assert len(keys) == 36, "a seed and a number of words tell the trainings apart"
    assert Counter(counting.trained(folder / "log")) == Counter(dict.fromkeys(keys, 1))
    assert study.finished(folder) == set(keys.values())
    return study


# How many trainings of a run have begun, and how many are finished, when it is killed, up to 0.3 s later.
MOMENTS = [(0, 0), (1, 0), (1, 1), (1, 2), (1, 4)]


@pytest.mark.parametrize("moments", [MOMENTS[3:4], pytest.param(MOMENTS, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_numbers_and_trains_nothing_twice(
    moments, study, counting, run, tmp_path
):
    """By turns with two worker processes and with none; killed with them, or the main process alone."""
    log, known = tmp_path / "log", 0
    random = np.random.default_rng(5)
    *killed, last = (
        run(study.command(tmp_path), tmp_path, LOKY_MAX_CPU_COUNT=str(2 - number % 2))
        for number in range(len(moments) + 1)
    )
    for number, (one, (begun, done)) in enumerate(zip(killed, random.permutation(moments), strict=True)):
        finished = study.finished(tmp_path)
        wanted = known + begun, len(finished) + done
        one.begin()
        one.wait_for(lambda wanted=wanted: len(counting.trained(log)) >= wanted[0])
        one.wait_for(lambda wanted=wanted: len(study.finished(tmp_path)) >= wanted[1])
        time.sleep(random.uniform(0, 0.3))
        assert one.process.poll() is None, "it ended before it was killed"
        one.kill(group=number in (1, 2))
        trainings = counting.trained(log)[known:]
        assert {study.keys[training] for training in trainings}.isdisjoint(finished), "trained though it was finished"
        known += len(trainings)
    finished = study.finished(tmp_path)
    assert sum(done for _, done in moments) <= len(finished) < len(study.keys)

    last.begin()
    assert json.loads(last.printed()) == study.result
    trainings = [study.keys[training] for training in counting.trained(log)[known:]]
    assert sorted(trainings) == sorted(set(study.keys.values()) - finished), "what was missing, each once"
    assert known + len(trainings) <= len(study.keys) + 2 * len(MOMENTS), "a kill costs what two workers had in hand"
    assert study.finished(tmp_path) == set(study.keys.values())
    assert not list((tmp_path / "cache").glob("*.lock"))


@pytest.mark.slow
def test_two_runs_at_once_train_nothing_twice(study, counting, run, tmp_path):
    """The first one's trainings stop until the second waits for one of them."""
    gate, log = tmp_path / "gate", tmp_path / "log"
    first, second = (run(study.command(tmp_path, stop), tmp_path, LOKY_MAX_CPU_COUNT="1") for stop in (str(gate), ""))
    first.begin()
    first.wait_for(lambda: len(counting.trained(log)) == 1)
    second.begin()
    time.sleep(1)
    gate.touch()
    assert json.loads(second.printed()) == study.result
    assert json.loads(first.printed()) == study.result
    assert Counter(counting.trained(log)) == Counter(dict.fromkeys(study.keys, 1))
