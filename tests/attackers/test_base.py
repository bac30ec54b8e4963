"""Scores from what an attacker puts out: classes and tasks, each by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from captionbias.attackers.base import Examples, score_classes, score_tasks
from captionbias.text import tokenize


def test_a_class_is_scored_by_the_probability_of_the_truth():
    probabilities = np.array([[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    scores = score_classes(np.log(probabilities), np.array([0, 1, 2]))
    assert np.exp(scores.log_probability) == pytest.approx([0.7, 0.2, 0.8])
    assert scores.correct.tolist() == [True, False, True]


def test_tasks_are_scored_together():
    random = np.random.default_rng(0)
    logits, present = random.normal(0, 2, size=(50, 5)), random.random((50, 5)) < 0.4
    scores = score_tasks(logits, present)
    for row in range(50):
        p = [1 / (1 + math.exp(-logit)) for logit in logits[row]]
        product = math.prod(one if here else 1 - one for one, here in zip(p, present[row], strict=True))
        assert math.exp(scores.log_probability[row]) == pytest.approx(product, rel=1e-12)
        assert scores.correct[row] == all((one > 0.5) == here for one, here in zip(p, present[row], strict=True))


def test_sure_attackers_overflow_nowhere():
    present = np.array([[True, False], [True, True]])
    with np.errstate(over="raise", invalid="raise"):
        scores = score_tasks(np.array([[2000.0, -2000.0], [2000.0, -2000.0]]), present)
    assert scores.log_probability.tolist() == [0, -2000]
    assert scores.correct.tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_in_double_precision(dtype):
    for scores in (
        score_classes(np.log(np.array([[0.25, 0.75]], dtype)), np.array([1])),
        score_tasks(np.array([[0.5]], dtype), np.array([[True]])),
    ):
        assert scores.log_probability.dtype == np.float64
        assert scores.correct.dtype == bool


def test_flags_make_examples_multilabel():
    tokens = tokenize(["a", "b"])
    assert not Examples(tokens, np.array([0, 1]), 2).multilabel
    assert Examples(tokens, np.array([[True], [False]]), 1).multilabel


def test_examples_and_trials_are_told_apart_by_what_they_are_not_by_what_they_hold(class_trial):
    # They are keys of caches: comparing arrays would be slow and ambiguous.
    one, other = class_trial(n=20, test=5), class_trial(n=20, test=5)
    assert len({one, other}) == 2
    assert len({one.examples, other.examples}) == 2
