"""Where trials are trained changes no score: real threads, real worker processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from captionbias.attackers.base import Fitted, Trial, TrialScores
from captionbias.attackers.engine import PLACEMENTS, run_trials
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.stored_trials import trial_key
from captionbias.io.store import open_store
from tests.attackers.conftest import Counting
from tests.attackers.scored import bits

pytestmark = pytest.mark.usefixtures("two_workers")


def trained_in(where: str, trials: Sequence[Trial], attacker: Attacker) -> list[TrialScores]:
    return run_trials(trials, replace(attacker, placement=where), cache=False)


def saying(values: Callable[[Trial], Sequence[float]]) -> Attacker:
    """An attacker whose scores are these values of a trial."""

    def fit(trial: Trial) -> Fitted:
        found = np.array(values(trial), float)
        return Fitted(trial, TrialScores(found, np.ones(len(found), bool)))

    return replace(find_attacker("bow"), identity="saying", fit=fit)


# --- the same scores everywhere ---


@pytest.mark.parametrize(
    ("encoder", "precision", "where"),
    [
        ("bow", None, "threads"),
        ("rnn", "fp32", "threads"),
        ("lstm-lic", "fp32", "processes"),
        ("lstm-dbac", "bf16", "processes"),
        ("transformer-5h", "fp32", "processes"),
    ],
)
def test_a_trial_gives_the_same_bits_in_every_placement_alone_or_among_others_in_any_order(
    small_networks, mixed_trials, encoder, precision, where
):
    attacker = find_attacker(encoder, precision)
    plain = trained_in("plain", mixed_trials, attacker)
    assert [len(scores.correct) for scores in plain] == [20, 30, 20, 10, 25, 20]
    assert bits(*trained_in(where, mixed_trials[::-1], attacker)[::-1]) == bits(*plain)
    assert bits(*trained_in(where, mixed_trials[1:2], attacker)) == bits(*plain[1:2])
    assert bits(*plain[:1]) == bits(*plain[-1:]), "the same trial twice"
    assert bits(*plain[:1]) != bits(*plain[2:3]), "another seed and split"


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


# --- what goes wrong ---


def kept(trials: Sequence[Trial], attacker: Attacker) -> list[int]:
    """The seeds of the trials that are in the usual cache."""
    keys = open_store(True).keys("trial")
    return [trial.seed for trial in trials if trial_key(trial, attacker.identity) in keys]


def test_a_killed_worker_is_told_in_plain_words_and_the_next_call_goes_on(small_networks, class_trial, tmp_path):
    main, killed = os.getpid(), tmp_path / "killed"

    def kill_once(seed: int) -> None:
        if seed == 4 and not killed.exists() and os.getpid() != main:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(8)]
    counted = Counting(tmp_path / "log", kill_once)
    attacker = counted.attacker
    with pytest.raises(RuntimeError, match=r"worker process was killed.*memory.*make the same call again to go on"):
        run_trials(trials, attacker)
    counted.seeds()
    finished = kept(trials, attacker)
    assert len(finished) >= 3
    assert 4 not in finished

    again = run_trials(trials, attacker)
    newly = counted.seeds()
    assert len(newly) == len(set(newly))
    assert set(newly).isdisjoint(finished)
    assert 4 in newly
    assert bits(*again) == bits(*trained_in("plain", trials, attacker))
