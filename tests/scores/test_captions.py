"""Scores of one caption against the papers' formulas, and counts without errors of rounding."""

import numpy as np
import pytest

from captionbias.scores.captions import confidence, cross_entropy, leakage, lic
from captionbias.scores.cooccurrence import association, mals


def test_a_score_is_its_formula():
    probability, correct = np.array([0.9, 0.4, 0.5, 0.2, 1.0]), np.array([True, False, True, True, True])
    for score, expected in (
        (leakage, [1, 0, 1, 1, 1]),
        (lic, [0.9, 0, 0.5, 0.2, 1]),
        (confidence, [0.9, 0.4, 0.5, 0.2, 1]),
        (cross_entropy, [0.10536051565782628, 0.916290731874155, 0.6931471805599453, 1.6094379124341003, 0]),
    ):
        assert score(np.log(probability), correct).tolist() == pytest.approx(expected, rel=1e-14)


def test_at_chance_the_sign_is_0_however_many_images_there_are():
    """3 of 9 women among 3,000,000."""
    third = np.array([[1_000_000.0]])
    assert association(third, 3 * third, 3 * third, 9 * third).tolist() == [[0.0]]


@pytest.mark.parametrize("values", [2, 3, 5, 6, 7, 49])
def test_a_task_that_leans_to_nobody_counts_0_whatever_the_number_of_values(values):
    """1 / 49 is no sum of halves: a share must not be above it by rounding."""
    predicted = np.ones((values, 1))
    predicted[0] = 9
    assert not mals(np.full((values, 1), 3.0), predicted).any()
