"""Intervals cover what they promise, p-values agree with them, and corrections with the books."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control

from captionbias.statistics import intervals as statistics
from captionbias.statistics.intervals import (
    bootstrap_interval,
    coefficient_of_variation,
    multiplicities,
    trial_interval,
    trial_weights,
)
from captionbias.statistics.significance import benjamini_hochberg, holm, p_value

UNBOUNDED = (-np.inf, np.inf)


def test_the_trial_interval_covers_the_truth_in_95_of_100_runs():
    found = map(trial_interval, np.random.default_rng(0).normal(7.0, 2.0, size=(1500, 4)))
    # A normal quantile in place of Student's would cover 0.86 with four trials; chance moves this by 0.006.
    assert np.mean([low <= 7.0 <= high for low, high in found]) == pytest.approx(0.95, abs=0.02)


@settings(deadline=None, max_examples=40)
@given(images=st.integers(1, 40), replicates=st.integers(0, 30), seed=st.integers(0, 2**31), block=st.integers(1, 500))
def test_each_replicate_draws_as_many_images_as_there_are(images, replicates, seed, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_NUMBERS_AT_ONCE", block)
        blocks = list(multiplicities(images, replicates, seed))
    assert sum(part.shape[1] for part in blocks) == replicates
    for part in blocks:
        assert (part.shape[0], part.dtype) == (images, np.float64)
        assert part.size <= max(block, 32 * images)
        assert ((part >= 0) & (part == part.round())).all()
        assert (part.sum(axis=0) == images).all()


@pytest.mark.parametrize(("trials", "overlap", "draws"), [(10, 0.25, 3), (3, 0.25, 2), (1, 0.25, 1), (10, 0.0, 10)])
def test_trials_of_overlapping_splits_spread_the_mean_further(trials, overlap, draws):
    weights = trial_weights(trials, 20_000, seed=0, overlap=overlap)
    values = np.random.default_rng(1).normal(size=trials)
    assert np.allclose(weights.sum(axis=0), 1)
    assert (values @ weights).var() == pytest.approx(values.var() / draws, rel=0.05)


def test_the_bootstrap_interval_covers_the_truth():
    random = np.random.default_rng(2)
    (drawn,) = multiplicities(60, 500, seed=0)
    covered = 0
    for values in random.exponential(1.0, size=(600, 60)):
        low, high = bootstrap_interval(values.mean(), values @ drawn / 60, UNBOUNDED)
        covered += low <= 1.0 <= high
    assert covered / 600 == pytest.approx(0.93, abs=0.03)  # skewed values at n = 60: a little under 0.95


def test_the_bootstrap_interval_is_the_middle_95_percent_of_the_replicates():
    replicates = np.random.default_rng(3).normal(0.2, 0.05, size=1000)
    low, high = bootstrap_interval(0.2, replicates, UNBOUNDED)
    assert np.mean(low > replicates) == np.mean(high < replicates) == 0.025


def test_the_coefficients_of_the_papers_come_out():
    # Nair et al. 2026, Tables 10 and 11, of Att2In; 0.78 and 2.23 in its Table 5.
    published = np.array([[590, 778, 540, 620, 1109, 2669], [1, 64, -119, -294, -5, 4]]) / 10_000
    assert coefficient_of_variation(published).round(2).tolist() == [0.78, 2.23]
    assert np.isnan(coefficient_of_variation(np.array([[0.5, -0.5]]))[0])


@given(
    replicates=arrays(np.float64, st.integers(1, 60), elements=st.floats(-1, 1)), estimate=st.floats(-1, 1, width=16)
)
def test_an_interval_holds_its_estimate(replicates, estimate):
    low, high = bootstrap_interval(estimate, replicates, (-1.0, 1.0))
    assert low <= estimate <= high
    assert bootstrap_interval(0.1, np.array([0.0] * 99 + [100.0]), UNBOUNDED)[1] == 0.1  # the mean is outside


replicate_arrays = arrays(
    np.float64, st.integers(40, 400), elements=st.floats(-2, 2, width=32) | st.integers(-2, 2).map(float)
)


@settings(deadline=None, max_examples=60)
@given(estimate=st.floats(-3, 3), replicates=replicate_arrays)
def test_p_is_below_5_percent_exactly_when_the_interval_excludes_0(estimate, replicates):
    low, high = bootstrap_interval(estimate, replicates, UNBOUNDED)
    assume(not any(0 < abs(end) < 1e-9 for end in (low, high)))  # decided by rounding
    assert (p_value(estimate, replicates) < 0.05) == (low > 0 or high < 0)


@given(arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1)))
def test_holm_rejects_what_the_step_down_procedure_does(p_values):
    """Holm's own words: while the smallest that is left is at most alpha over how many are left, reject it."""
    by_r = [0.05, 0.08, 0.09, 0.09, 0.09]  # p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx(by_r)
    corrected = holm(p_values)
    for alpha in (0.01, 0.05, 0.2):
        rejected = np.zeros(len(p_values), bool)
        for left, number in zip(range(len(p_values), 0, -1), np.argsort(p_values, kind="stable"), strict=True):
            if p_values[number] * left > alpha:
                break
            rejected[number] = True
        assert np.array_equal(corrected <= alpha, rejected)
    assert (corrected >= p_values).all()
    assert (corrected <= 1).all()


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(0, 8)), elements=st.floats(0, 1)))
def test_benjamini_and_hochberg_s_shares_are_scipy_s_to_the_last_bit(p_values):
    expected = false_discovery_control(p_values, axis=None).reshape(p_values.shape) if p_values.size else p_values
    assert np.array_equal(benjamini_hochberg(p_values), expected)
