"""Omega where it is not defined; its definition is in `tests/metrics/test_dbac_by_hand.py`."""

import numpy as np
import pytest

from captionbias.scores.omega import BLIND, MATCHED, PUBLISHED, Told, omega_forms, omega_parts


def test_nothing_in_common_is_undefined_not_zero():
    shown, image = np.array([0, 1, 0, 1]), np.arange(4)
    told = Told.of(np.zeros(4, np.int64), shown, image, np.ones(4), 4, np.full(4, 0.5))
    sums, weights = told.drawn(np.ones((4, 1))), {PUBLISHED: np.full((2, 1), 2.0), MATCHED: np.zeros((2, 1))}
    found = omega_forms(sums, weights) | omega_parts(sums, weights)
    assert np.isnan(found[MATCHED][0])
    assert found["effective_sample_matched"][0] == 0
    assert found[PUBLISHED][0] == pytest.approx(1.0)


def test_a_replicate_without_test_captions_is_undefined():
    told = Told.of(np.array([0, 1]), np.array([0, 1]), np.array([0, 3]), np.ones(2), 4, np.full(2, 0.5))
    multiplicity = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 0.0]])
    with np.errstate(all="raise"):
        sums, weights = told.drawn(multiplicity), {form: np.ones((2, 2)) for form in (PUBLISHED, MATCHED)}
        found = omega_forms(sums, weights) | omega_parts(sums, weights)
    for part in (PUBLISHED, MATCHED, "mean_quality", "mean_weight", "coverage"):
        assert np.isnan(found[part]).tolist() == [False, True], part


def test_of_an_error_the_more_there_is_the_smaller_is_every_form():
    """1 over the weighted mean of cross-entropies, published times the mean weight."""
    error, blind, weight = np.array([[1.0], [4.0]]), np.array([[2.0], [6.0]]), np.array([[1.0], [3.0]])
    sums, weights = [error, blind, np.ones((2, 1))], {PUBLISHED: weight, MATCHED: weight}
    found = {form: value for form, (value,) in omega_forms(sums, weights, inverse=True).items()}
    assert found == {PUBLISHED: pytest.approx(4 / 5), MATCHED: pytest.approx(4 / 13), BLIND: pytest.approx(4 / 20)}
