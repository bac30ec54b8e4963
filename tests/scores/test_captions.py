"""Scores of one caption, against the papers' formulas."""

import numpy as np
import pytest

from captionbias.scores.captions import confidence, cross_entropy, leakage, lic

PROBABILITY = np.array([0.9, 0.4, 0.5, 0.2, 1.0])
CORRECT = np.array([True, False, True, True, True])


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (leakage, [1, 0, 1, 1, 1]),
        (lic, [0.9, 0, 0.5, 0.2, 1]),
        (confidence, [0.9, 0.4, 0.5, 0.2, 1]),
        (cross_entropy, [0.10536051565782628, 0.916290731874155, 0.6931471805599453, 1.6094379124341003, 0]),
    ],
)
def test_a_score_is_its_formula(score, expected):
    found = score(np.log(PROBABILITY), CORRECT)
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx(expected, rel=1e-14)
