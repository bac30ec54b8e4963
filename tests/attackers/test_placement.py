"""Where trials are trained changes no score: real threads, real worker processes, stacks on a processor."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from captionbias.attackers import placement
from captionbias.attackers.base import Examples, Fitted, Trial, TrialScores
from captionbias.attackers.engine import run_trials
from captionbias.attackers.placement import PLACEMENTS
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.stored_trials import trial_key
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import open_store
from captionbias.text.tokens import Tokens
from tests.patience import PATIENCE

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


@dataclass(frozen=True, eq=False)
class Said(Fitted):
    """An attacker that has learnt nothing."""

    def scores(self, rows):
        return self.test_scores

    def logits(self, rows):
        return np.zeros((len(rows), 1))


def saying(values: Callable[[Trial], Sequence[float]]) -> Attacker:
    """An attacker whose scores are these values of a trial."""

    def fit(trials: Sequence[Trial]) -> list[Fitted]:
        found = [np.array(values(trial), float) for trial in trials]
        return [
            Said(trial, TrialScores(value, np.ones(len(value), bool)))
            for trial, value in zip(trials, found, strict=True)
        ]

    return replace(find_attacker("bow"), identity="saying", fit=fit, shape=lambda trial: len(trial.train))


# --- the same scores everywhere ---


@pytest.mark.parametrize(
    ("encoder", "precision", "where"),
    [
        ("bow", None, "threads"),
        ("rnn", "fp32", "threads"),
        ("lstm-lic", "fp32", "processes"),
        ("lstm-dbac", "bf16", "processes"),
        ("transformer-5h", "fp32", "stacked"),
        ("bow", None, "stacked"),
    ],
)
def test_a_trial_gives_the_same_in_every_placement_alone_or_among_others_in_any_order(
    small_networks, mixed_trials, encoder, precision, where
):
    attacker = find_attacker(encoder, precision)
    same = alike if where == "stacked" else lambda one, other: bits(one) == bits(other)
    plain = trained_in("plain", mixed_trials, attacker)
    assert [len(scores.correct) for scores in plain] == [20, 30, 20, 10, 25, 20]
    assert same(trained_in(where, mixed_trials[::-1], attacker)[::-1], plain)
    assert same(trained_in(where, mixed_trials[1:2], attacker), plain[1:2])
    assert bits(plain[:1]) == bits(plain[-1:]), "the same trial twice"
    assert not same(plain[:1], plain[2:3]), "another seed and split"


def test_an_own_module_s_scores_are_the_same_everywhere(counting, mixed_trials, tmp_path):
    """Its random numbers are torch's own, which all threads of a process share."""
    attacker = find_attacker(counting.counting(tmp_path / "log"))
    plain = trained_in("plain", mixed_trials, attacker)
    for where in ("processes", "stacked", "threads"):
        assert bits(trained_in(where, mixed_trials, attacker)) == bits(plain), where


@pytest.mark.parametrize("where", PLACEMENTS)
def test_a_training_has_one_thread_of_blas_and_the_process_has_those_it_had(class_trial, where):
    """With more, BLAS cuts a sum of 10,000 numbers between them, and a score depends on the machine's cores."""
    torch = pytest.importorskip("torch")
    attacker = saying(lambda trial: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"])
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        for scores in trained_in(where, [class_trial(n=50, test=20, seed=seed) for seed in range(3)], attacker):
            assert set(scores.log_probability) == {1}
        trained_in(where, [class_trial(n=50, test=20)], find_attacker("dense"))
        assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


# --- which process trains ---


def test_processes_are_others_than_this_one_and_as_many_as_cores(class_trial, tmp_path, monkeypatch):
    trials = [class_trial(n=40, test=10, seed=seed) for seed in range(6)]

    def pid(trial: Trial) -> list[int]:
        (tmp_path / str(os.getpid())).touch()
        deadline = time.monotonic() + PATIENCE
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)  # until both are at it
        return [os.getpid()]

    def pids(where: str, trials: Sequence[Trial]) -> set[int]:
        return {int(scores.log_probability[0]) for scores in trained_in(where, trials, saying(pid))}

    found = pids("processes", trials)
    assert len(found) == 2
    assert os.getpid() not in found
    for where in ("plain", "threads", "stacked"):
        assert pids(where, trials) == {os.getpid()}
    assert pids("processes", trials[:1]) == {os.getpid()}, "one trial needs no worker"
    monkeypatch.setattr(placement, "cores", lambda: 1)
    assert pids("processes", trials) == {os.getpid()}


@pytest.fixture
def large_trials() -> list[Trial]:
    tokens = Tokens(np.zeros(300_000, np.int32), np.arange(30_001) * 10, ("a",))
    examples = Examples(tokens, np.arange(30_000) % 2, 2)
    return [Trial("", examples, np.arange(100), np.arange(100, 200), seed) for seed in range(4)]


def is_mapped(trial: Trial) -> list[int]:
    return [isinstance(trial.examples.tokens.ids, np.memmap), os.getpid()]


def test_workers_read_captions_from_one_file_and_leave_attackers_where_they_are_wanted(large_trials):
    found = run_trials(large_trials, saying(is_mapped), keep=large_trials[:1], cache=False, placement="processes")
    assert all(scores.log_probability[0] for scores in found)
    assert found[0].fitted.trial is large_trials[0]
    assert [scores.fitted for scores in found[1:]] == [None] * 3


@pytest.mark.skipif(os.name != "posix", reason="how this system refuses is not known here")
def test_without_room_for_the_captions_one_process_trains_alone(large_trials):
    """The system itself stops the write after 20 kB, as a full disk would."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.warns(CaptionBiasWarning, match=r"cannot travel to worker.*File too large.* alone\. .*TMPDIR"):
            found = run_trials(large_trials, saying(is_mapped), cache=False, placement="processes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [scores.log_probability.tolist() for scores in found] == [[False, os.getpid()]] * 4


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


def test_an_error_of_a_training_arrives_and_what_was_finished_is_kept(counting, class_trial, tmp_path):
    class AttackerError(Exception):
        pass

    def fail(seed: int) -> None:
        if seed == 3:
            deadline = time.monotonic() + PATIENCE
            while len(open_store(True).keys("trial")) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            raise AttackerError("no such word")

    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(5)]
    attacker = find_attacker(counting.counting(tmp_path / "log", fail))
    with pytest.raises(AttackerError, match=r"^no such word$"):
        run_trials(trials, attacker, placement="threads")
    assert kept(trials, attacker)[:3] == [0, 1, 2]
    keys = [trial_key(trial, attacker.identity) for trial in trials]
    assert open_store(True).held("trial", keys) == 0, "claims are given back"


# --- stacks ---


def stand_in(most: int = 10**9, stacks: list[list[int]] | None = None) -> Attacker:
    """An attacker that is out of memory with more than `most` trials together, and notes the seeds of every stack."""
    torch = pytest.importorskip("torch")
    attacker = saying(lambda trial: [-trial.seed] * len(trial.test))

    def fit(trials: Sequence[Trial]) -> Sequence[Fitted]:
        if len(trials) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if stacks is not None:
            stacks.append([trial.seed for trial in trials])
        return attacker.fit(trials)

    return replace(attacker, fit=fit)


def seeds_of(scores: Sequence[TrialScores]) -> list[float]:
    return [-of_trial.log_probability[0] for of_trial in scores]


def test_trials_of_one_shape_are_stacked_and_no_others_up_to_a_largest_size(class_trial, monkeypatch):
    monkeypatch.setattr(placement, "LARGEST_STACK", 3)
    stacks: list[list[int]] = []
    trials = [class_trial(n=50 + 10 * (seed % 2), test=20, seed=seed) for seed in range(8)]
    assert seeds_of(run_trials(trials, stand_in(stacks=stacks), placement="stacked")) == list(range(8))
    assert sorted(stacks) == [[0, 2, 4], [1, 3, 5], [6], [7]]
    stacks.clear()
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(10)]
    run_trials(trials, stand_in(stacks=stacks), placement="stacked", keep=trials[:1])
    assert stacks == [[0, 1, 3], [5, 7, 8], [9]], "new ones, of which three were longer before, and those to be kept"


@pytest.mark.parametrize("most", [1, 3])
def test_when_memory_is_short_stacks_are_smaller(class_trial, most):
    stacks: list[list[int]] = []
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(9)]
    assert seeds_of(run_trials(trials, stand_in(most, stacks), placement="stacked")) == list(range(9))
    assert sorted(seed for stack in stacks for seed in stack) == list(range(9)), "each trained once"
    assert max(map(len, stacks)) <= most
    with pytest.raises(RuntimeError, match="out of memory"):  # not even one alone
        run_trials(trials, stand_in(0), placement="stacked", cache=False)


def test_a_smaller_stack_that_is_finished_is_kept(class_trial):
    """An hour's work, if the next one is killed."""
    trials = [class_trial(n=50, test=20, seed=seed) for seed in range(8)]
    attacker = stand_in(most=4)
    fit = attacker.fit

    def interrupted(stack: Sequence[Trial]) -> Sequence[Fitted]:
        if len(stack) <= 4 and stack[0].seed == 4:
            raise KeyboardInterrupt
        return fit(stack)

    attacker = replace(attacker, fit=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trials(trials, attacker, placement="stacked")
    assert kept(trials, attacker) == [0, 1, 2, 3]
