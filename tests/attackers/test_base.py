"""Splits are disjoint, of the shares asked for, and the same for a seed; scores are those of their definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers import base
from captionbias.attackers.base import Examples, Trial, balanced_split, score_classes, score_tasks, stratified_split
from captionbias.text import tokenize

SPLITS = [balanced_split, stratified_split]
SEARCH = settings(deadline=None, max_examples=60)
COUNTS = st.lists(st.integers(base.SMALLEST_CLASS, 60), min_size=2, max_size=4)
SEEDS = st.integers(0, 2**32)


def test_a_class_is_scored_by_the_probability_of_the_truth():
    probabilities = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    scores = score_classes(np.log(probabilities), np.array([0, 1, 2]))
    assert np.exp(scores.log_probability) == pytest.approx([0.7, 0.2, 0.8])
    assert scores.correct.tolist() == [True, False, True]
    assert score_classes(np.log(probabilities, dtype=np.float32), np.arange(3)).log_probability.dtype == np.float64


def test_tasks_are_scored_together():
    random = np.random.default_rng(0)
    logits, present = random.normal(0, 2, size=(50, 5)), random.random((50, 5)) < 0.4
    scores = score_tasks(logits, present)
    for row in range(50):
        p = [1 / (1 + math.exp(-logit)) for logit in logits[row]]
        product = math.prod(one if here else 1 - one for one, here in zip(p, present[row], strict=True))
        assert math.exp(scores.log_probability[row]) == pytest.approx(product, rel=1e-12)
        assert scores.correct[row] == all((one > 0.5) == here for one, here in zip(p, present[row], strict=True))
    certain, truth = np.array([[2000, -2000], [2000, -2000]], np.float32), np.array([[True, False], [True, True]])
    with np.errstate(over="raise", invalid="raise"):
        sure = score_tasks(certain, truth)
    assert sure.log_probability.tolist() == [0, -2000]
    assert sure.log_probability.dtype == np.float64
    assert sure.correct.tolist() == [True, False]


@pytest.mark.parametrize(
    ("targets", "outputs", "truth"),
    [
        ([0, 0, 1, 0, 1], 2, [3 / 5, 2 / 5]),  # 2 and 1 of 3, each once more
        ([[1, 0], [1, 1], [1, 0], [1, 1], [0, 0]], 2, [4 / 5 * 2 / 5, 1 / 5 * 3 / 5]),
        ([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 1, 0]], 3, [4 / 5, 1 / 5]),  # what all show tells nothing
    ],
)
def test_base_rates_are_those_of_the_training_split(targets, outputs, truth):
    examples = Examples(tokenize(["a"] * 5), np.array(targets, bool if isinstance(targets[0], list) else int), outputs)
    trial = Trial(examples, np.arange(3), np.array([3, 4]), 0)
    assert base.base_rates(trial) == pytest.approx(np.log(truth))


def shuffled(counts: list[int]) -> np.ndarray:
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))


@SEARCH
@given(counts=COUNTS, share=st.floats(0.05, 0.5), seed=SEEDS)
def test_a_balanced_split_cuts_every_class_to_the_smallest_and_a_stratified_one_keeps_every_image(counts, share, seed):
    classes = shuffled(counts)
    train, test = balanced_split(classes, share, seed)
    tested = max(1, round(min(counts) * share))
    assert len(np.union1d(train, test)) == len(train) + len(test), "no image is on both sides or there twice"
    assert train.tolist() == sorted(train)
    assert np.bincount(classes[test]).tolist() == [tested] * len(counts)
    assert np.bincount(classes[train]).tolist() == [min(counts) - tested] * len(counts)
    train, test = stratified_split(classes, share, seed)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(classes)))
    assert np.bincount(classes[test]).tolist() == [max(1, round(count * share)) for count in counts]


@SEARCH
@given(counts=COUNTS, parts=st.integers(2, 8), seed=SEEDS)
def test_the_parts_of_a_split_test_each_image_once(counts, parts, seed):
    classes = shuffled(counts)
    for split in SPLITS:
        halves = [split(classes, 1 / parts, seed, part=part) for part in range(parts)]
        assert sorted(np.concatenate([test for _, test in halves])) == [*range(len(classes))]
        for train, test in halves:
            learnt, tested = np.bincount(classes[train]), np.bincount(classes[test])
            assert not set(train) & set(test)
            assert all(abs(tested - np.array(counts) / parts) < 1)
            rest = counts - tested
            assert learnt.tolist() == ([min(rest)] * len(counts) if split is balanced_split else [*rest])


@pytest.mark.parametrize("split", SPLITS)
def test_the_seed_alone_decides(split):
    classes = shuffled([40, 30])
    np.random.seed(1)
    once = split(classes, 0.2, 5)
    np.random.seed(2)
    again, other = split(classes, 0.2, 5), split(classes, 0.2, 6)
    assert all(np.array_equal(left, right) for left, right in zip(once, again, strict=True))
    assert not np.array_equal(once[1], other[1])


@settings(deadline=None, max_examples=50)
@given(pictures=st.permutations([*range(60)] * 3), seed=st.integers(0, 99), classes=st.integers(2, 3))
def test_copies_are_never_on_both_sides_and_classes_stay_even(pictures, seed, classes):
    copies = np.array(pictures)
    other = np.random.default_rng(seed).random(len(copies)) < 0.1
    of_image = (copies + other) % classes
    for split in (balanced_split, stratified_split):
        train, test = split(of_image, 0.3, seed, copies)
        assert not set(copies[train]) & set(copies[test])
        assert len(test) > 0
    for side in balanced_split(of_image, 0.3, seed, copies):
        assert len(set(np.bincount(of_image[side])) - {0}) == 1
