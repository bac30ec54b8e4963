"""The engine: trials in, scores and attackers out; nothing is trained twice, and where changes no score."""

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from captionbias.attackers.base import Fitted, Trial, TrialScores
from captionbias.attackers.engine import PLACEMENTS, run_trials
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.stored_trials import trial_key
from captionbias.attackers.workers import threads
from captionbias.io.store import open_store
from tests.attackers.conftest import Counting, bits

pytestmark = pytest.mark.usefixtures("two_workers")


@pytest.fixture
def seeded(class_trial) -> list[Trial]:
    return [class_trial(n=60, test=20, seed=seed) for seed in range(4)]


@pytest.fixture
def mixed_trials(class_trial, task_trial) -> list[Trial]:
    """Of both kinds, of different sizes, two of one seed, and one twice."""
    first = class_trial(n=70, test=20, seed=1)
    return [
        first,
        task_trial(n=80, test=30, seed=1),
        replace(first, train=first.train[10:], seed=2),
        class_trial(n=60, classes=3, test=10, seed=3),
        class_trial(n=72, test=25, seed=4),
        first,
    ]


@pytest.mark.parametrize("where", ["plain", "processes"])
def test_nothing_is_trained_twice_but_attackers_that_are_kept_and_those_gave_the_scores(counted, seeded, where):
    attacker = replace(counted.attacker, placement=where)
    first = run_trials(seeded[1:3], attacker)
    assert sorted(counted.seeds()) == [1, 2]
    assert bits(*run_trials(seeded[2:0:-1], attacker)) == bits(*first[::-1])
    assert sorted(counted.seeds()) == []
    bare = run_trials(seeded[:3], attacker)
    assert sorted(counted.seeds()) == [0], "the new one alone"
    kept = run_trials(seeded, attacker, keep=seeded[1:3])
    assert sorted(counted.seeds()) == [1, 2, 3], "the cache holds no attackers; the others are not trained again"
    assert bits(*kept[:3]) == bits(*bare)
    assert [scores.fitted is not None for scores in kept] == [False, True, True, False]
    for trial, scores in zip(seeded[1:3], kept[1:3], strict=True):
        assert scores.fitted.trial.seed == trial.seed
        assert bits(scores.fitted.test_scores) == bits(scores)
    assert sorted(counted.seeds()) == []
    assert bits(*kept) == bits(*run_trials(seeded, replace(attacker, placement="plain"), cache=False))


@pytest.mark.parametrize(("encoder", "where"), [("bow", "threads"), ("lstm-dbac", "processes"), ("rnn", "plain")])
def test_kept_attackers_answer_wherever_they_were_trained(small_networks, mixed_trials, encoder, where):
    attacker = find_attacker(encoder, None if encoder == "bow" else "fp32")
    kept = run_trials(mixed_trials, replace(attacker, placement=where), keep=mixed_trials, cache=False)
    for trial, scores in zip(mixed_trials, kept, strict=True):
        alone = attacker.fit(trial)
        np.testing.assert_allclose(scores.fitted.logits(trial.train), alone.logits(trial.train), atol=1e-4)


@pytest.mark.parametrize("encoder", ["lstm-lic", "lstm-dbac", "birnn", "dense", "transformer-1h"])
def test_stacked_trials_give_the_scores_and_attackers_that_they_give_alone(
    small_networks, mixed_trials, seeded, encoder
):
    """Of one shape, of others among them, with as many and with other words, of classes and of tasks."""
    attacker = find_attacker(encoder, "fp32")
    trials = [*mixed_trials, *seeded, *(replace(trial, seed=9) for trial in mixed_trials[1:4])]
    alone = trained_in("plain", trials, attacker)
    stacked = run_trials(trials, replace(attacker, placement="stacked"), keep=trials[1:8], cache=False)
    for trial, one, other in zip(trials, alone, stacked, strict=True):
        np.testing.assert_allclose(other.log_probability, one.log_probability, atol=1e-5)
        assert (other.fitted is not None) == (trial in trials[1:8])
        if other.fitted:
            assert bits(other.fitted.learner.scores(trial.test)) == bits(other)
    assert not np.allclose(stacked[1].log_probability, stacked[-3].log_probability), "another seed"


class Stopped(Exception):
    """What a caller's function raises: it wants two arguments, so it could not travel between processes."""

    def __init__(self, finished: int, total: int) -> None:
        super().__init__(f"{finished} of {total}")


@pytest.mark.parametrize(
    ("encoder", "where", "last"),
    [("bow", "threads", 3), ("rnn", "processes", 3), ("rnn", "plain", 3), ("rnn", "plain", 0)],
)
def test_an_exception_of_the_function_ends_the_run_and_the_next_call_goes_on_telling_of_what_is_kept_too(
    small_networks, class_trial, encoder, where, last
):
    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(8)]
    attacker, before, told = find_attacker(encoder), set(threading.enumerate()), []

    def tell(finished: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((finished, total))
        if finished == last:
            raise Stopped(finished, total)

    with pytest.raises(Stopped, match=rf"^{last} of 8$"):
        run_trials(trials, replace(attacker, placement=where), progress=tell)
    assert told == [(finished, 8) for finished in range(last + 1)]
    assert not {thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name} - before
    kept = len(open_store(True).keys("trial"))
    assert kept >= last if last else not kept
    for some in (trials, []):
        told.clear()
        run_trials(some, replace(attacker, placement=where), progress=lambda *numbers: told.append(numbers))
        assert told == [(finished, len(some)) for finished in range(len(some) + 1)]


def test_without_a_cache_nothing_is_kept_or_read_and_a_folder_of_ones_own_is_the_only_one(
    counted, seeded, own_cache, tmp_path
):
    first = run_trials(seeded, counted.attacker, cache=False)
    run_trials(seeded, counted.attacker, cache=tmp_path / "mine")
    assert sorted(counted.seeds()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert bits(*run_trials(seeded, counted.attacker, cache=str(tmp_path / "mine"))) == bits(*first)
    assert sorted(counted.seeds()) == []
    assert len(list((tmp_path / "mine").iterdir())) == 4, "entries alone: no locks, no parts"
    assert not own_cache.exists()


def trained_in(where: str, trials: Sequence[Trial], attacker: Attacker) -> list[TrialScores]:
    return run_trials(trials, replace(attacker, placement=where), cache=False)


@pytest.mark.parametrize(
    ("encoder", "precision", "where"),
    [
        ("bow", None, "threads"),
        ("rnn", "fp32", "threads"),
        ("lstm-lic", "fp32", "processes"),
        ("lstm-dbac", "bf16", "processes"),
        ("birnn", "bf16", "plain"),
        ("transformer-5h", "fp32", "processes"),
    ],
)
def test_a_trial_gives_the_same_bits_in_every_placement_alone_or_among_others_in_any_order(
    small_networks, mixed_trials, encoder, precision, where
):
    attacker = find_attacker(encoder, precision)
    plain = trained_in("plain", mixed_trials, attacker)
    with threads(2):  # whatever a script has set torch and numpy to
        torch.manual_seed(123)
        np.random.seed(123)
        assert bits(*trained_in("plain", mixed_trials[2:3], attacker)) == bits(*plain[2:3])
    assert [len(scores.correct) for scores in plain] == [20, 30, 20, 10, 25, 20]
    assert bits(*trained_in(where, mixed_trials[::-1], attacker)[::-1]) == bits(*plain)
    assert bits(*trained_in(where, mixed_trials[1:2], attacker)) == bits(*plain[1:2])
    assert bits(*plain[:1]) == bits(*plain[-1:]), "the same trial twice"
    assert bits(*plain[:1]) != bits(*plain[2:3]), "another seed and split"


@pytest.mark.parametrize("where", PLACEMENTS)
def test_a_training_has_one_thread_of_blas_and_the_process_has_those_it_had(class_trial, where):
    """With more, BLAS cuts a sum of 10,000 numbers between them, and a score depends on the machine's cores."""

    def count(trial: Trial) -> Fitted:
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return Fitted(trial, TrialScores(np.array(pools, float), np.ones(len(pools), bool)))

    attacker = replace(find_attacker("bow"), identity="counting threads", fit=count)
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        for scores in trained_in(where, [class_trial(n=50, test=20, seed=seed) for seed in range(3)], attacker):
            assert set(scores.log_probability) == {1}
        trained_in(where, [class_trial(n=50, test=20)], find_attacker("dense"))
        assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_a_killed_worker_is_told_in_plain_words_and_the_next_call_goes_on(small_networks, class_trial, tmp_path):
    main, killed = os.getpid(), tmp_path / "killed"

    def kill_once(seed: int) -> None:
        if seed == 4 and not killed.exists() and os.getpid() != main:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    trials = [class_trial(n=60, test=20, seed=seed) for seed in range(8)]
    counted = Counting(tmp_path / "log", kill_once)
    attacker = counted.attacker
    with pytest.raises(RuntimeError, match=r"worker process was killed.*memory.*make the same call again to continue"):
        run_trials(trials, attacker)
    counted.seeds()
    keys = open_store(True).keys("trial")
    finished = [trial.seed for trial in trials if trial_key(trial, attacker.identity) in keys]
    assert len(finished) >= 3
    assert 4 not in finished

    again = run_trials(trials, attacker)
    newly = counted.seeds()
    assert len(newly) == len(set(newly))
    assert set(newly).isdisjoint(finished)
    assert 4 in newly
    assert bits(*again) == bits(*trained_in("plain", trials, attacker))
