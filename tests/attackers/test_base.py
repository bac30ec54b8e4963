"""Scores from what an attacker puts out: classes and tasks, each by its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from captionbias.attackers.base import score_classes, score_tasks


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
    with np.errstate(over="raise", invalid="raise"):
        sure = score_tasks(
            np.array([[2000, -2000], [2000, -2000]], np.float32), np.array([[True, False], [True, True]])
        )
    assert sure.log_probability.tolist() == [0, -2000]
    assert sure.log_probability.dtype == np.float64
    assert sure.correct.tolist() == [True, False]
