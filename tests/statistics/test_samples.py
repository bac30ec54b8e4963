"""The bootstrap of an array of quantities is that of each of them, and its intervals hold what they are to hold."""

import numpy as np
import pytest

from captionbias.statistics.intervals import multiplicities
from captionbias.statistics.samples import ExtremeOf, Sample, bootstrap_samples


@pytest.mark.parametrize("trials", [1, 3])
def test_an_array_of_quantities_has_the_samples_of_each(trials):
    says = np.random.default_rng(0).random((2, 4, trials, 30))
    says[1, 2, -1] = np.nan

    def shares(multiplicity, _):
        return {"all": says @ multiplicity}

    whole = bootstrap_samples(shares, 30, trials, 40, seed=0)["all"]
    for place in np.ndindex(2, 4):

        def alone(*drawn, place=place):
            return {"one": shares(*drawn)["all"][place]}

        own = bootstrap_samples(alone, 30, trials, 40, seed=0)["one"]
        for name in ("values", "replicates"):
            assert np.array_equal(getattr(whole[place], name), getattr(own, name), equal_nan=True)
        assert whole[place].estimate() == own.estimate()


RATES = (0.005, 0.01, 0.02, 0.03)  # of errors
RUNS = 400


def held(values, weight, drawn, truth, bounds):
    """In how many runs the interval holds the truth. `values`: what each image counts in each, `(runs, images)`;
    `weight`: `(images, strata)`, whose means are added; `drawn`: how often a replicate draws each image."""
    means = [100 * (values * of).sum(axis=1) / abs(of).sum() for of in weight.T]
    replicates = [100 * ((values * of) @ drawn) / (abs(of) @ drawn) for of in weight.T]
    samples = zip(sum(means), sum(replicates), strict=True)
    estimates = [Sample(np.array([mean]), of, len(drawn)).estimate(*bounds, whole=100) for mean, of in samples]
    return np.mean([found.low - 1e-9 <= truth <= found.high + 1e-9 for found in estimates])


@pytest.mark.parametrize("images", [100, 200, 300, 500])
def test_intervals_of_rare_errors_hold_the_truth(images):
    """A share of errors; that of a captioner less that of a person who errs as often; and the difference of two strata
    in this. Percentiles moved to the estimate hold 0 in 74% of the rarest."""
    random = np.random.default_rng(images)
    [drawn] = multiplicities(images, 300, seed=0)
    every, first = np.ones((images, 1)), np.arange(images) < images // 4
    strata = np.stack((first, -1.0 * ~first), axis=1)
    shares = []
    for rate in RATES:
        captioner, person = random.random((2, RUNS, images)) < rate
        beyond = captioner - person.astype(np.float64)
        shares += [
            held(captioner, every, drawn, 100 * rate, (0, 100)),
            held(beyond, every, drawn, 0, (-100, 100)),
            held(beyond, strata, drawn, 0, (-200, 200)),
        ]
    assert min(shares) > 0.9  # with so many runs, 0.93 reads between 0.905 and 0.955
    assert np.mean(shares) > 0.95


def of(values, replicates):
    return Sample(np.array(values, np.float64), np.array(replicates, np.float64), 100)


def test_what_resampling_moves_is_moved_back():
    moved = of([1.0, 3.0, np.nan], [5.0, np.nan, 6.0, 10.0]).recentre()
    assert moved.replicates == pytest.approx([0, np.nan, 1, 5], nan_ok=True)
    assert moved.estimate()[:3] == (2, *np.quantile([0, 1, 5], [0.025, 0.975]).round(12))
    undefined = of([np.nan], [np.nan] * 3)
    assert undefined.recentre() is undefined
    # The least of two is less in a replicate than in the data.
    least = ExtremeOf.of(min, [of([0], [-1, 1]), of([0], [1, -1])])
    assert least.replicates.tolist() == [0, 0]


def test_one_image_that_was_not_drawn_may_be_otherwise():
    one_error = of([1.0], [0.0] * 40 + [1.0] * 40 + [3.0] * 20)
    assert one_error.estimate(0, 100, whole=100)[:3] == (1, 0, 4)
    assert one_error.estimate(-100, 100, whole=100)[:3] == (1, 0, 3)
    assert one_error.estimate(0, 100)[:3] == (1, 0, 3)
    assert of([0.0], [0.0] * 9).estimate(0, 100, whole=100)[:3] == (0, 0, 3)
    assert of([99.0], [100.0] * 50 + [97.0] * 50).estimate(0, 100, whole=100)[:3] == (99, 96, 100)
