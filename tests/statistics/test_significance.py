"""Parts of a variance come out as they were put in, p-values agree with intervals, and corrections with the books."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from captionbias.statistics.intervals import bootstrap_interval, resamples
from captionbias.statistics.samples import mean_over_trials
from captionbias.statistics.significance import holm, p_value, variance_parts

UNBOUNDED = (-np.inf, np.inf)


# The parts of the variance


def measured(scores, tested, of_training, replicates, seed):
    """What a metric would keep: trial `t` is the mean of the images it tests, and something of its own."""
    images, trials = len(scores), len(tested)

    def in_trials(multiplicity):
        counts = tested @ multiplicity
        return (tested * scores) @ multiplicity / counts + of_training[:, None]

    blocks = [(in_trials(images), weights) for images, weights in resamples(images, trials, replicates, seed)]
    return (
        in_trials(np.ones((images, 1)))[:, 0],
        np.concatenate([values for values, _ in blocks], axis=1),
        np.concatenate([mean_over_trials(*block) for block in blocks]),
    )


def simulated(runs, images, trials, share, spread, of_training, seed=0):
    """Many studies, each with images, splits and attackers of its own: their reported means and their parts."""
    random = np.random.default_rng(seed)
    means, parts = [], []
    for run in range(runs):
        tested = np.zeros((trials, images))
        for row in tested:
            row[random.choice(images, size=round(share * images), replace=False)] = 1
        noise = random.normal(0, of_training, size=trials)
        study = measured(random.normal(0, spread, size=images), tested, noise, 200, seed=run)
        means.append(study[0].mean())
        parts.append(variance_parts(*study))
    return np.array(means), parts


@pytest.mark.parametrize(("share", "of_training"), [(0.1, 0.0), (0.2, 0.3), (0.5, 0.1)])
def test_each_part_is_as_large_as_it_was_made(share, of_training):
    images, trials, spread = 200, 5, 2.0
    means, parts = simulated(400, images, trials, share, spread, of_training)

    def mean(name):
        return np.mean([getattr(part, name) for part in parts])

    of_images = spread**2 / images
    of_split = of_images * (1 - share) / share  # a sample without repetition from these images
    assert mean("images") == pytest.approx(of_images, rel=0.12)
    assert mean("split") == pytest.approx(of_split, rel=0.05)
    assert mean("trial") == pytest.approx(of_split + of_training**2, rel=0.1)
    true_variance = of_images + (of_split + of_training**2) / trials
    assert np.mean([part.standard_error**2 for part in parts]) == pytest.approx(true_variance, rel=0.1)
    assert means.var() == pytest.approx(true_variance, rel=0.2)  # what the formula says is what happens
    # The bootstrap counts the split more than once.
    assert mean("bootstrap") > 0.95 * true_variance


def test_of_trials_that_test_each_image_once_more_would_lessen_what_training_makes_alone():
    random, tested, of_training = np.random.default_rng(0), np.kron(np.eye(5), np.ones(40)), 1.0
    parts = []
    for run in range(300):
        scores, own = random.normal(0, 2.0, size=200), random.normal(0, of_training, size=5)
        parts.append(variance_parts(*measured(scores, tested, own, 100, seed=run), folded=True))
    assert np.mean([part.images for part in parts]) == pytest.approx(2.0**2 / 200, rel=0.1)
    assert np.mean([part.trial for part in parts]) == pytest.approx(of_training**2, rel=0.1)
    shares = [part.share_of_trials for part in parts]
    assert np.median(shares) == pytest.approx((1 / 5) / (1 / 5 + 2.0**2 / 200), rel=0.1)


def test_what_cannot_be_told_apart_is_nan():
    drawn = np.random.default_rng(0).normal(size=(1, 50))
    alone = variance_parts(np.array([1.0]), drawn, drawn[0])
    assert math.isnan(alone.trial)
    assert math.isnan(alone.images)
    without = variance_parts(np.array([1.0, 2.0]), np.zeros((2, 0)), np.zeros(0))
    assert without.trial == 0.5
    assert math.isnan(without.images)
    assert math.isnan(without.standard_error)
    nothing = variance_parts(np.array([np.nan]), drawn, np.full(50, np.nan))
    assert nothing.trials == 0
    assert math.isnan(nothing.standard_error)
    assert math.isnan(nothing.share_of_trials)


# p-values

estimates = st.floats(-3, 3)
replicate_arrays = arrays(
    np.float64, st.integers(40, 400), elements=st.floats(-2, 2, width=32) | st.integers(-2, 2).map(float)
)


@settings(deadline=None, max_examples=60)
@given(estimate=estimates, replicates=replicate_arrays)
def test_p_is_below_5_percent_exactly_when_the_interval_excludes_0(estimate, replicates):
    low, high = bootstrap_interval(estimate, replicates, UNBOUNDED)
    assume(not any(0 < abs(end) < 1e-9 for end in (low, high)))  # decided by rounding
    assert (p_value(estimate, replicates) < 0.05) == (low > 0 or high < 0)


# Holm


def test_the_numbers_that_r_prints():
    # p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") of R.
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])


@given(arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1)))
def test_holm_rejects_what_the_step_down_procedure_does(p_values):
    """Holm's own words: while the smallest that is left is at most alpha over how many are left, reject it."""
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
