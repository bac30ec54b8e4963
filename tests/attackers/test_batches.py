"""Which captions a training sees when: each once an epoch, in steps that trials can share, as padded numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers import batches
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.batches import FIRST_WORD_ROW, NOTHING, PADDING_ROW, POOL, UNKNOWN_ROW
from captionbias.attackers.recipes import Schedule
from captionbias.text import tokenize
from captionbias.text.tokens import Tokens

LENGTHS = st.lists(st.integers(0, 12), min_size=1, max_size=40)
SEEDS = st.integers(0, 99)


def trial_of(lengths, train=None, test=None, words: int = 20) -> Trial:
    """Captions of these lengths; all of them are trained and tested on unless told otherwise."""
    lengths = np.asarray(lengths, np.int64)
    ids = np.random.default_rng(0).integers(words, size=lengths.sum()).astype(np.int32)
    tokens = Tokens(ids, np.concatenate(([0], np.cumsum(lengths))), tuple(f"w{word}" for word in range(words)))
    every = np.arange(len(lengths))
    targets = np.zeros(len(lengths), np.int64)
    return Trial(
        "", Examples(tokens, targets, 2), every if train is None else train, every if test is None else test, 0
    )


def schedule(batch: int, bucketed: bool) -> Schedule:
    return Schedule(1e-3, batch, 1, bucketed)


def epoch(trial: Trial, batch: int, bucketed: bool, number: int = 0, seed: int = 0) -> np.ndarray:
    return batches.epoch(trial, schedule(batch, bucketed), number, np.random.default_rng(seed))


def caption(trial: Trial, row: int) -> list[int]:
    return trial.examples.tokens.select(np.array([row])).ids.tolist()


def falls(numbers: np.ndarray) -> bool:
    return bool((np.diff(numbers) <= 0).all())


# --- vocabulary ---


def test_words_of_the_training_split_are_numbered_and_all_others_are_unknown():
    tokens = tokenize(["a zebu rides", "a man rides", "a gnu"])
    trial = Trial("", Examples(tokens, np.zeros(3, int), 2), np.array([1]), np.array([0, 2]), 0)
    numbers, rows = batches.vocabulary(trial)
    found = dict(zip(tokens.words, numbers.tolist(), strict=True))
    assert found == {
        "a": FIRST_WORD_ROW,
        "zebu": UNKNOWN_ROW,
        "rides": FIRST_WORD_ROW + 1,
        "man": FIRST_WORD_ROW + 2,
        "gnu": UNKNOWN_ROW,
    }
    assert rows == 3 + FIRST_WORD_ROW
    assert numbers.dtype == np.int32
    assert {UNKNOWN_ROW, PADDING_ROW} == set(range(FIRST_WORD_ROW))


# --- shape ---


def test_targets_of_other_kinds_are_another_shape(class_trial, task_trial):
    trials = [class_trial(), class_trial(classes=3), task_trial(tasks=2), task_trial(tasks=3)]
    assert len({batches.shape(trial, 32) for trial in trials}) == len(trials)
    assert batches.shape(class_trial(seed=1), 32) == batches.shape(class_trial(seed=2), 32)
    for n, steps in ((31, 1), (32, 1), (33, 2)):  # as many as an epoch has
        assert batches.shape(trial_of([3] * n), 32)[0] == steps == len(epoch(trial_of([3] * n), 32, False))


# --- epoch ---


@settings(deadline=None)
@given(lengths=LENGTHS, batch=st.integers(1, 9), bucketed=st.booleans(), number=st.integers(0, 3), seed=SEEDS)
def test_an_epoch_has_every_training_caption_once_and_a_step_its_longest_first(lengths, batch, bucketed, number, seed):
    train = np.random.default_rng(seed).permutation(len(lengths))[: max(1, len(lengths) * 3 // 4)]
    trial = trial_of(lengths, train)
    steps = epoch(trial, batch, bucketed, number, seed)
    assert steps.shape == (-(-len(train) // batch), batch)
    assert sorted(steps[steps != NOTHING].tolist()) == sorted(train.tolist())
    filled = [step.tolist() for step in steps if NOTHING in step]
    assert len(filled) == (len(train) % batch > 0)
    for step in steps:
        captions = step[step != NOTHING]
        assert falls(trial.examples.tokens.lengths[captions])
        assert (step[: len(captions)] != NOTHING).all(), "nothing stands before a caption"


@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 700), batch=st.integers(1, 4), number=st.integers(0, 3), seed=SEEDS)
def test_bucketed_steps_sort_a_pool_of_100_batches(n, batch, number, seed):
    lengths = np.random.default_rng(seed).integers(0, 30, size=n)
    steps = epoch(trial_of(lengths), batch, True, number, seed)
    order = np.random.default_rng(seed).permutation(n)  # the generator's first draw
    for first, start in zip(range(0, len(steps), POOL), range(0, n, POOL * batch), strict=True):
        pool = [step[step != NOTHING] for step in steps[first : first + POOL]]
        own = order[start : start + POOL * batch]
        assert sorted(np.concatenate(pool).tolist()) == sorted(own.tolist()), "a step mixes pools"
        spans = sorted((lengths[step].min(), lengths[step].max()) for step in pool)
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


def length_ranks(trial: Trial, number: int, seed: int) -> list[int]:
    """Of each step of four captions, how many steps of its epoch hold shorter ones."""
    shortest = trial.examples.tokens.lengths[epoch(trial, 4, True, number, seed)].min(axis=1)
    return np.argsort(np.argsort(shortest)).tolist()


def test_bucketed_steps_come_in_no_order_of_length_but_in_the_same_one_to_all_trials_of_a_shape():
    random = np.random.default_rng(0)
    one, other = trial_of(1 + random.permutation(400)), trial_of(50 + 2 * random.permutation(400))
    ranks = length_ranks(one, number=0, seed=0)
    assert ranks == length_ranks(other, number=0, seed=1), "captions of like length at the same time"
    assert abs(np.corrcoef(ranks, np.arange(100))[0, 1]) < 0.4
    assert ranks != length_ranks(one, number=1, seed=0), "another order each epoch"


@pytest.mark.parametrize("bucketed", [False, True])
def test_each_epoch_has_an_order_of_its_own_from_the_trial_s_generator(bucketed):
    trial, generator = trial_of(np.arange(64)), np.random.default_rng(0)
    first, second = (batches.epoch(trial, schedule(8, bucketed), number, generator) for number in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(epoch(trial, 8, bucketed), first)
    assert bucketed or not np.array_equal(epoch(trial, 8, bucketed, seed=1), first)


# --- by_length ---


# --- pad ---


def test_a_caption_without_words_and_nothing_are_one_unknown_word():
    tokens = tokenize(["a b c", "", "d e"])
    trial = Trial("", Examples(tokens, np.zeros(3, int), 2), np.arange(3), np.arange(3), 0)
    table, lengths = batches.pad([trial], [batches.vocabulary(trial)[0]], np.array([[2, 1, NOTHING]]))
    assert lengths.tolist() == [[2, 1, 1]]
    nothing = [UNKNOWN_ROW, PADDING_ROW]
    assert table[0].tolist() == [[FIRST_WORD_ROW + 3, FIRST_WORD_ROW + 4], nothing, nothing]
