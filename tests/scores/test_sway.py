"""The parts of sway, on counts small enough to check by hand."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from captionbias.scores.sway import (
    Leans,
    Naming,
    error_difference,
    error_ratio,
    leans_of,
    residuals,
    suggested_by_others,
    suggested_values,
)


def test_a_lean_is_the_share_beyond_that_of_all_images_one_image_at_chance_added():
    """30 of 40 images where 60% have the first value: (30 + 0.6) / 41."""
    leans = leans_of(np.array([[30.0, 10.0]]), np.array([0.6, 0.4]))
    share = 30.6 / 41
    assert leans.lean[0] == pytest.approx([share - 0.6, 0.6 - share])
    assert leans.log_odds[0, 0] == pytest.approx(log(share / (1 - share)) - log(0.6 / 0.4))
    assert leans.log_odds[0, 1] == pytest.approx(-leans.log_odds[0, 0])
    assert (share - 0.6) / sqrt(0.6 * 0.4 / 40) < 2
    assert not leans.goes_with.any()


@pytest.mark.parametrize(
    ("counts", "goes_with", "counted"),
    [
        ([9, 1], [True, False], True),
        ([1, 9], [False, True], True),
        ([8, 2], [False, False], True),  # z = 0.27 / sqrt(0.025) = 1.7
        ([9, 0], [False, False], False),  # 9 images are too few
        ([0, 0], [False, False], False),
    ],
)
def test_a_task_goes_with_a_value_beyond_chance_on_ten_images(counts, goes_with, counted):
    leans = leans_of(np.array([counts], float), np.array([0.5, 0.5]))
    assert leans.goes_with[0].tolist() == goes_with
    assert leans.log_odds.any() == counted


def test_the_tasks_of_an_image_suggest_the_value_of_the_largest_sum():
    """Tasks that go with no value take part in the sum, but alone suggest nothing."""
    odds = np.array([[1.0, -1.0], [-0.4, 0.4], [-0.7, 0.7], [-1.0, 1.0]])
    goes_with = np.array([[True, False], [False, False], [False, False], [False, True]])
    leans = Leans(odds / 10, goes_with, odds)
    shown = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]], bool)
    first_of_equals = 0
    assert suggested_values(shown, leans).tolist() == [0, 0, 1, -1, -1, first_of_equals]


def test_own_leans_leave_out_the_image_that_they_are_of():
    generator = np.random.default_rng(0)
    value = np.arange(60) % 3
    shown = (
        generator.random((60, 4)) < np.array([[0.7, 0.3, 0.2, 0.17], [0.2, 0.6, 0.3, 0.1], [0.2, 0.2, 0.5, 0.1]])[value]
    )
    both = np.stack([shown[value == number].sum(axis=0) for number in range(3)], axis=1).astype(float)
    shares = np.full(3, 1 / 3)
    leaning = leans_of(both, shares).goes_with.any(axis=1)
    expected = []
    for image in range(60):
        without = both.copy()
        without[shown[image], value[image]] -= 1
        odds = leans_of(without, shares).log_odds[shown[image]].sum(axis=0)
        expected.append(int(odds.argmax()) if (shown[image] & leaning).any() else -1)
    found = suggested_by_others(shown, value, both, shares)
    assert found.tolist() == expected
    assert found.tolist() != suggested_values(shown, leans_of(both, shares)).tolist()


# Captions and errors of three strata: beside tasks that suggest another value, beside tasks that suggest the true one.
CAPTIONS = [(10, 20), (5, 0), (8, 2)]
ERRORS = [(4, 2), (5, 0), (2, 1)]


def test_the_difference_of_errors_is_that_of_mantel_and_haenszel():
    parts = [
        (Fraction(n1 * n0, n1 + n0), Fraction(e1, n1) - Fraction(e0, n0))
        for (n1, n0), (e1, e0) in zip(CAPTIONS, ERRORS, strict=True)
        if n1 and n0
    ]
    expected = sum(weight * difference for weight, difference in parts) / sum(weight for weight, _ in parts)
    found = error_difference(np.array(CAPTIONS, float), np.array(ERRORS, float))
    assert float(found) == pytest.approx(float(expected))


def test_the_ratio_of_errors_is_that_of_mantel_and_haenszel_with_half_an_error_more():
    against = sum(Fraction(e1 * n0, n1 + n0) for (n1, n0), (e1, _) in zip(CAPTIONS, ERRORS, strict=True))
    along = sum(Fraction(e0 * n1, n1 + n0) for (n1, n0), (_, e0) in zip(CAPTIONS, ERRORS, strict=True))
    found = error_ratio(np.array(CAPTIONS, float), np.array(ERRORS, float))
    assert float(found) == pytest.approx(float((against + Fraction(1, 2)) / (along + Fraction(1, 2))))
    assert float(error_ratio(np.array(CAPTIONS, float), np.zeros((3, 2)))) == 1


def test_replicates_are_computed_on_their_own_and_without_a_pair_of_groups_nothing_is_known():
    captions = np.stack([np.array(CAPTIONS, float), np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])], axis=-1)
    errors = np.stack([np.array(ERRORS, float), np.zeros((3, 2))], axis=-1)
    found = error_difference(captions, errors)
    assert found[0] == float(error_difference(captions[..., 0], errors[..., 0]))
    assert np.isnan(found[1])


@pytest.mark.parametrize(("images", "seed"), [(203, 0), (203, 7), (203, 2**32 + 7), (4, 0)])
def test_residuals_are_those_of_cross_fitted_ridge_regressions(images, seed):
    generator = np.random.default_rng(1)
    features = (generator.random((images, 6)) < 0.3).astype(float)
    features[:, 3] += features[:, 0] / 4  # not independent of each other
    outcomes = features @ generator.normal(size=(6, 3)) + generator.normal(size=(images, 3))
    expected = np.empty_like(outcomes)
    for training, test in KFold(min(5, images), shuffle=True, random_state=seed % 2**32).split(features):
        fitted = Ridge(alpha=10).fit(features[training], outcomes[training])
        expected[test] = outcomes[test] - fitted.predict(features[test])
    assert residuals(features, outcomes, seed) == pytest.approx(expected, abs=1e-10)


def test_the_range_is_from_all_made_up_to_all_there():
    """The captioner names the task 0.9 more for the value; a person 0.2 where it is shown and 0.1 elsewhere."""
    naming = Naming(*(np.array([number]) for number in (0.9, 0.2, 0.1, 2.0, 3.0)))
    assert naming.swayed() == pytest.approx(0.9 - 2 * (0.2 + 0.1))
    assert naming.made_up() == pytest.approx(0.9 - 2 * 0.2)
    assert naming.all_there() == pytest.approx(0.9 - 2 * 0.2 - 3 * 0.1)
