"""Where trials are trained changes no score: real threads, real worker processes, stacks on a processor."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import captionbias
from captionbias.attackers import placement
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.engine import run_trials
from captionbias.attackers.placement import PLACEMENTS
from captionbias.attackers.recipes import RECIPES
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.stored_trials import trial_key
from captionbias.attackers.workers import in_workers
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import open_store
from tests.patience import PATIENCE

SOURCE = str(Path(captionbias.__file__).parents[1])
SAME = 1e-4  # natural logarithms; a stack adds up in another order

pytestmark = pytest.mark.usefixtures("two_workers")


def bits(scores: Sequence[TrialScores]) -> list[tuple[bytes, bytes]]:
    return [(each.log_probability.tobytes(), each.correct.tobytes()) for each in scores]


def alike(one: Sequence[TrialScores], other: Sequence[TrialScores]) -> bool:
    return len(one) == len(other) and all(
        np.allclose(left.log_probability, right.log_probability, rtol=0, atol=SAME)
        for left, right in zip(one, other, strict=True)
    )


def trained_in(where: str, trials: Sequence[Trial], attacker: Attacker) -> list[TrialScores]:
    return run_trials(trials, attacker, cache=False, placement=where)


# --- the same scores everywhere ---


@pytest.mark.parametrize("encoder", [*RECIPES, "bow"])
def test_every_placement_gives_the_same_scores(small_networks, mixed_trials, encoder):
    attacker = find_attacker(encoder, None if encoder == "bow" else "fp32")
    plain = trained_in("plain", mixed_trials, attacker)
    assert [len(scores.correct) for scores in plain] == [20, 30, 20, 10, 25, 20]
    assert bits(trained_in("threads", mixed_trials, attacker)) == bits(plain)
    assert bits(trained_in("processes", mixed_trials, attacker)) == bits(plain)
    assert alike(trained_in("stacked", mixed_trials, attacker), plain)


@pytest.mark.parametrize("encoder", ["lstm", "transformer-1h"])
def test_half_precision_is_the_same_in_worker_processes(small_networks, mixed_trials, encoder):
    single, half = (find_attacker(encoder, precision) for precision in ("fp32", "bf16"))
    plain = trained_in("plain", mixed_trials, half)
    assert bits(trained_in("processes", mixed_trials, half)) == bits(plain)
    assert bits(trained_in("plain", mixed_trials, single)) != bits(plain)


def test_an_own_module_s_scores_are_the_same_everywhere(counting, mixed_trials, tmp_path):
    """Its random numbers are torch's own, which all threads of a process share."""
    attacker = find_attacker(counting.counting(tmp_path / "log"))
    plain = trained_in("plain", mixed_trials, attacker)
    for where in ("processes", "stacked", "threads"):
        assert bits(trained_in(where, mixed_trials, attacker)) == bits(plain), where


@pytest.mark.parametrize("where", PLACEMENTS)
@pytest.mark.parametrize("encoder", ["rnn", "lstm", "transformer-5h", "bow"])
def test_a_trial_alone_is_the_trial_among_others_in_any_order(small_networks, mixed_trials, encoder, where):
    attacker = find_attacker(encoder, None if encoder == "bow" else "fp32")

    def same(one: Sequence[TrialScores], other: Sequence[TrialScores]) -> bool:
        return alike(one, other) if where == "stacked" else bits(one) == bits(other)

    together = trained_in(where, mixed_trials, attacker)
    for number in (0, 1, 3):
        assert same(trained_in(where, mixed_trials[number : number + 1], attacker), together[number : number + 1])
    assert same(trained_in(where, mixed_trials[::-1], attacker), together[::-1])
    assert same(together[:1], together[-1:]), "the same trial twice"
    assert not same(together[:1], together[2:3]), "another seed and split"


@pytest.mark.parametrize("where", PLACEMENTS)
def test_a_trial_twice_in_a_list_with_a_cache(small_networks, mixed_trials, where):
    """Two workers meet the same key: one trains it, the other waits for its scores."""
    attacker = find_attacker("rnn", "fp32")
    wanted = trained_in("plain", mixed_trials, attacker)
    twice = run_trials([*mixed_trials, *mixed_trials], attacker, placement=where)
    assert alike(twice, [*wanted, *wanted])


@pytest.mark.parametrize("where", PLACEMENTS)
def test_a_training_has_one_thread_of_blas(class_trial, where):
    """With more, BLAS cuts a sum of 10,000 numbers between them, and a score depends on the machine's cores."""

    def train(trials: Sequence[Trial]) -> list[TrialScores]:
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return [TrialScores(np.array(threads, float), np.ones(len(threads), bool)) for _ in trials]

    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(3)]
    with threadpool_limits(2):
        for scores in trained_in(where, trials, replace(find_attacker("bow"), train=train, shape=lambda trial: 0)):
            assert len(scores.log_probability) >= 1
            assert set(scores.log_probability) == {1}


def test_trainings_leave_the_threads_of_the_process_as_they_were(small_networks, mixed_trials):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        for where in PLACEMENTS:
            trained_in(where, mixed_trials, find_attacker("rnn"))
            assert torch.get_num_threads() == 2, where
    torch.set_num_threads(before)


# --- which process trains ---


def of_processes(where: str, trials: Sequence[Trial], counting, log: Path, together: int = 1) -> set[int]:
    """The processes that trained; nobody goes on before so many of them are at it."""
    pids = log.with_suffix(".pids")

    def tell_process(seed: int) -> None:
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        deadline = time.monotonic() + PATIENCE
        while len(set(pids.read_text().splitlines())) < together and time.monotonic() < deadline:
            time.sleep(0.01)

    trained_in(where, trials, find_attacker(counting.counting(log, tell_process)))
    assert len(counting.trained(log)) == len(trials)
    return set(map(int, pids.read_text().split()))


def test_processes_are_others_than_this_one_and_as_many_as_cores(counting, class_trial, tmp_path):
    trials = [class_trial(n=40, test=10, seed=seed) for seed in range(6)]
    found = of_processes("processes", trials, counting, tmp_path / "log", together=2)
    assert len(found) == 2
    assert os.getpid() not in found


@pytest.mark.parametrize("where", ["plain", "threads", "stacked"])
def test_other_placements_stay_in_this_process(counting, class_trial, tmp_path, where):
    trials = [class_trial(n=40, test=10, seed=seed) for seed in range(3)]
    assert of_processes(where, trials, counting, tmp_path / "log") == {os.getpid()}


def test_one_trial_or_one_core_needs_no_worker(counting, class_trial, tmp_path, monkeypatch):
    trials = [class_trial(n=40, test=10, seed=seed) for seed in range(3)]
    assert of_processes("processes", trials[:1], counting, tmp_path / "one") == {os.getpid()}
    monkeypatch.setattr(placement, "cores", lambda: 1)
    assert of_processes("processes", trials, counting, tmp_path / "three") == {os.getpid()}


def test_the_longest_trainings_begin_first(small_networks, class_trial, monkeypatch):
    sent: list[int] = []

    def listen(task, items, workers):
        sent.extend(len(item.train) for item in items)
        return in_workers(task, items, workers)

    monkeypatch.setattr(placement, "in_workers", listen)
    trials = [class_trial(n=20 + n, test=20, seed=n) for n in (40, 80, 200, 20, 160, 120)]
    trained_in("processes", trials, find_attacker("rnn"))
    assert sent == [200, 160, 120, 80, 40, 20]


# --- what goes wrong ---


def kept(trials: Sequence[Trial], attacker: Attacker) -> list[int]:
    """The seeds of the trials that are in the usual cache."""
    keys = open_store(True).keys("trial")
    return [trial.seed for trial in trials if trial_key(trial, attacker.identity) in keys]


def test_a_killed_worker_is_told_in_plain_words_and_the_next_call_goes_on(counting, class_trial, tmp_path):
    main, killed = os.getpid(), tmp_path / "killed"

    def kill_once(seed: int) -> None:
        if seed == 4 and not killed.exists() and os.getpid() != main:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(8)]
    attacker = find_attacker(counting.counting(tmp_path / "log", kill_once))
    with pytest.raises(RuntimeError, match=r"worker process was killed.*memory.*make the same call again to go on"):
        run_trials(trials, attacker)
    before = counting.trained(tmp_path / "log")
    finished = kept(trials, attacker)
    assert len(finished) >= 3
    assert 4 not in finished

    again = run_trials(trials, attacker)
    newly = [seed for seed, _ in counting.trained(tmp_path / "log")[len(before) :]]
    assert len(newly) == len(set(newly))
    assert set(newly).isdisjoint(finished)
    assert 4 in newly
    assert bits(again) == bits(trained_in("plain", trials, attacker))


@pytest.mark.parametrize("where", ["plain", "threads", "stacked"])
def test_an_error_of_a_training_arrives_and_what_was_finished_is_kept(counting, class_trial, tmp_path, where):
    class AttackerError(Exception):
        pass

    def fail(seed: int) -> None:
        if seed == 3:
            deadline = time.monotonic() + PATIENCE
            while open_store(True).contents().trials < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            raise AttackerError("no such word")

    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(5)]
    attacker = find_attacker(counting.counting(tmp_path / "log", fail))
    with pytest.raises(AttackerError, match=r"^no such word$"):
        run_trials(trials, attacker, placement=where)
    assert kept(trials, attacker)[:3] == [0, 1, 2]
    keys = [trial_key(trial, attacker.identity) for trial in trials]
    assert open_store(True).held("trial", keys) == 0, "claims are given back"


TABLE = """
import resource, warnings
import numpy as np
from captionbias.attackers import placement
from captionbias.attackers.registry import find_attacker
from captionbias.attackers.engine import run_trials
from captionbias.attackers.base import Examples, Trial
from captionbias.text import tokenize

placement.cores = lambda: 2
random = np.random.default_rng(0)
words = random.integers(25, size=(3000, 10))
examples = Examples(tokenize([" ".join(f"w{word}" for word in row) for row in words]), words[:, 0] % 2, 2)
trials = [Trial("", examples, np.arange(100, 3000), np.arange(100), seed) for seed in range(3)]
bow = find_attacker("bow")
before = run_trials(trials, bow, cache=False, placement="plain")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    after = run_trials(trials, bow, cache=False, placement="processes")
print([one.log_probability.tobytes() for one in before] == [one.log_probability.tobytes() for one in after])
print(*(f"{warning.category.__name__}: {warning.message}" for warning in told), sep="\\n")
"""


@pytest.mark.skipif(os.name != "posix", reason="how this system refuses is not known here")
def test_without_room_for_the_captions_training_goes_on_in_one_process(tmp_path):
    """The system itself stops the write after 20 kB, as a full disk would."""
    done = subprocess.run(
        [sys.executable, "-c", TABLE],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE, "TMPDIR": str(tmp_path)},
    )
    right, *told = done.stdout.splitlines()
    assert (right, done.stderr) == ("True", "")
    assert len(told) == 1
    refused = r"CaptionBiasWarning: the captions cannot be written.+\(File too large\).+ alone\. .+TMPDIR"
    assert re.match(refused, told[0])
    assert not list(tmp_path.glob("captionbias-*"))


def test_without_any_temporary_folder_training_goes_on_in_one_process(small_networks, mixed_trials, monkeypatch):
    attacker = find_attacker("rnn")
    plain = trained_in("plain", mixed_trials, attacker)
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/folder")
    with pytest.warns(CaptionBiasWarning, match=r"captions cannot be written.*No such file.*alone.*TMPDIR"):
        assert bits(trained_in("processes", mixed_trials, attacker)) == bits(plain)


# --- stacks ---


def untrained(trial: Trial) -> TrialScores:
    return TrialScores(np.full(len(trial.test), -float(1 + trial.seed)), np.zeros(len(trial.test), bool))


def stand_in(most: int = 10**9, stacks: list[list[int]] | None = None) -> Attacker:
    """An attacker that is out of memory with more than `most` trials together, and notes the seeds of every stack."""
    torch = pytest.importorskip("torch")

    def train(trials: Sequence[Trial]) -> list[TrialScores]:
        if len(trials) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if stacks is not None:
            stacks.append([trial.seed for trial in trials])
        return list(map(untrained, trials))

    return replace(find_attacker("lstm"), identity="a stand-in", train=train, shape=lambda trial: len(trial.train))


def seeds_of(scores: Sequence[TrialScores]) -> list[float]:
    return [-scores_of_one.log_probability[0] - 1 for scores_of_one in scores]


def test_trials_of_one_shape_are_stacked_and_no_others(class_trial):
    stacks: list[list[int]] = []
    trials = [class_trial(n=50 + 10 * (seed % 3), test=20, seed=seed) for seed in range(8)]
    found = run_trials(trials, stand_in(stacks=stacks), placement="stacked")
    assert seeds_of(found) == list(range(8))
    assert sorted(stacks) == [[0, 3, 6], [1, 4, 7], [2, 5]]


def test_a_stack_has_a_largest_size(class_trial, monkeypatch):
    monkeypatch.setattr(placement, "LARGEST_STACK", 3)
    stacks: list[list[int]] = []
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(8)]
    assert seeds_of(run_trials(trials, stand_in(stacks=stacks), placement="stacked")) == list(range(8))
    assert list(map(len, stacks)) == [3, 3, 2]


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_when_memory_is_short_stacks_are_smaller(class_trial, most):
    stacks: list[list[int]] = []
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(9)]
    assert seeds_of(run_trials(trials, stand_in(most, stacks), placement="stacked")) == list(range(9))
    assert sorted(seed for stack in stacks for seed in stack) == list(range(9)), "each trained once"
    assert max(map(len, stacks)) <= most


def test_a_trial_that_does_not_fit_alone_is_an_error(class_trial):
    torch = pytest.importorskip("torch")
    with pytest.raises(torch.OutOfMemoryError):
        run_trials([class_trial(n=50, test=20, seed=seed) for seed in range(3)], stand_in(0), placement="stacked")


def test_a_smaller_stack_that_is_finished_is_kept(class_trial):
    """An hour's work, if the next one is killed."""
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(8)]
    attacker = stand_in(most=4)
    train = attacker.train

    def interrupted(stack: Sequence[Trial]) -> list[TrialScores]:
        if len(stack) <= 4 and stack[0].seed == 4:
            raise KeyboardInterrupt
        return train(stack)

    attacker = replace(attacker, train=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trials(trials, attacker, placement="stacked")
    assert kept(trials, attacker) == [0, 1, 2, 3]


def test_stacks_are_kept_and_only_new_trials_are_stacked(class_trial):
    stacks: list[list[int]] = []
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(6)]
    run_trials(trials[1:5], stand_in(stacks=stacks), placement="stacked")
    assert seeds_of(run_trials(trials, stand_in(stacks=stacks), placement="stacked")) == list(range(6))
    assert stacks == [[1, 2, 3, 4], [0, 5]]


def test_an_iterator_that_is_closed_early_has_trained_no_more_than_it_gave(class_trial):
    stacks: list[list[int]] = []
    jobs = [placement.Job(seed, class_trial(n=50, test=20, seed=seed), str(seed)) for seed in range(3)]
    with closing(placement.plain(jobs, stand_in(stacks=stacks), None)) as finished:
        assert next(finished)[0].number == 0
    assert stacks == [[0]]
