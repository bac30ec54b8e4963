"""Scores on numbers small enough to check by hand: of one caption, omega, and the parts of sway."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from captionbias.scores import sway
from captionbias.scores.captions import confidence, cross_entropy, leakage, lic
from captionbias.scores.cooccurrence import association, mals
from captionbias.scores.omega import BLIND, MATCHED, PUBLISHED, PairSums, omega_forms, omega_parts
from captionbias.scores.sway import error_ratio, leans_of, suggested_values


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


def test_nothing_in_common_is_undefined_not_zero():
    shown, image = np.array([0, 1, 0, 1]), np.arange(4)
    told = PairSums.of(np.zeros(4, np.int64), shown, image, np.ones(4), 4, np.full(4, 0.5))
    sums, weights = told.resample(np.ones((4, 1))), {PUBLISHED: np.full((2, 1), 2.0), MATCHED: np.zeros((2, 1))}
    found = omega_forms(sums, weights) | omega_parts(sums, weights)
    assert np.isnan(found[MATCHED][0])
    assert found["effective_sample_matched"][0] == 0
    assert found[PUBLISHED][0] == pytest.approx(1.0)


def test_a_replicate_without_test_captions_is_undefined():
    told = PairSums.of(np.array([0, 1]), np.array([0, 1]), np.array([0, 3]), np.ones(2), 4, np.full(2, 0.5))
    multiplicity = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 0.0]])
    with np.errstate(all="raise"):
        sums, weights = told.resample(multiplicity), {form: np.ones((2, 2)) for form in (PUBLISHED, MATCHED)}
        found = omega_forms(sums, weights) | omega_parts(sums, weights)
    for part in (PUBLISHED, MATCHED, "mean_quality", "mean_weight", "coverage"):
        assert np.isnan(found[part]).tolist() == [False, True], part


def test_of_an_error_the_more_there_is_the_smaller_is_every_form():
    """1 over the weighted mean of cross-entropies, published times the mean weight."""
    error, blind, weight = np.array([[1.0], [4.0]]), np.array([[2.0], [6.0]]), np.array([[1.0], [3.0]])
    sums, weights = [error, blind, np.ones((2, 1))], {PUBLISHED: weight, MATCHED: weight}
    found = {form: value for form, (value,) in omega_forms(sums, weights, inverse=True).items()}
    assert found == {PUBLISHED: pytest.approx(4 / 5), MATCHED: pytest.approx(4 / 13), BLIND: pytest.approx(4 / 20)}


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


def test_tasks_of_two_values_alike_suggest_neither():
    """Two of one against one of another suggest the one; one against one neither, as a task of none."""
    both, shares = np.array([[50.0, 0], [50, 0], [0, 50], [25, 25]]), np.array([0.5, 0.5])
    shown = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]], bool)
    assert suggested_values(shown, both, shares, np.zeros((5, 2))).tolist() == [0, -1, -1, -1, 1]


# Captions and errors of three strata: beside tasks that suggest another value, beside tasks that suggest the true one.
CAPTIONS = [(10, 20), (5, 0), (8, 2)]
ERRORS = [(4, 2), (5, 0), (2, 1)]


def test_the_ratio_of_errors_is_that_of_mantel_and_haenszel_with_half_an_error_more():
    against = sum(Fraction(e1 * n0, n1 + n0) for (n1, n0), (e1, _) in zip(CAPTIONS, ERRORS, strict=True))
    along = sum(Fraction(e0 * n1, n1 + n0) for (n1, n0), (_, e0) in zip(CAPTIONS, ERRORS, strict=True))
    found = error_ratio(np.array(CAPTIONS, float), np.array(ERRORS, float))
    assert float(found) == pytest.approx(float((against + Fraction(1, 2)) / (along + Fraction(1, 2))))
    assert float(error_ratio(np.array(CAPTIONS, float), np.zeros((3, 2)))) == 1


@pytest.mark.parametrize("units", [2, 5, 11, 43])
def test_the_folds_are_those_of_scikit_learn(units):
    """Of features that say nothing, what is left of an outcome is what the mean of the other folds leaves."""
    pictures, outcomes = np.arange(2 * units) // 2, np.random.default_rng(0).random((2 * units, 1))
    found = sway.residuals(csr_array((2 * units, 1)), csr_array(outcomes), units, pictures, np.ones(2 * units))
    folds = KFold(min(5, units), shuffle=True, random_state=units).split(np.arange(units))
    for train, test in folds:
        rows = np.isin(pictures, test)
        expected = outcomes[rows] - outcomes[np.isin(pictures, train)].mean()
        np.testing.assert_allclose(found[rows], expected, rtol=0, atol=1e-15)


def test_of_more_features_than_images_products_of_images_leave_the_same(monkeypatch):
    random = np.random.default_rng(0)
    features, outcomes = csr_array((random.random((40, 60)) < 0.3).astype(float)), csr_array(random.random((40, 3)))
    pictures, weight = np.arange(40) // 2, random.random(40) + 0.5
    by_features = sway.residuals(features, outcomes, 1, pictures, weight)
    monkeypatch.setattr(sway, "MANY_FEATURES", 50)
    by_images = sway.residuals(features, outcomes, 1, pictures, weight)
    assert not np.array_equal(by_images, by_features)  # another way
    np.testing.assert_allclose(by_images, by_features, rtol=0, atol=1e-12)
