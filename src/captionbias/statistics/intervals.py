"""Intervals over trials and over images, and how far attackers agree: pure functions on arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from captionbias.arrays import Floats

LEVEL, Z = 0.95, 1.959963984540054
RESOLUTION = 12  # decimals
DIGITS = 6  # of what is computed from trained attackers' answers, that are the same by every processor's kernels
_NUMBERS_AT_ONCE = 2_000_000
# Each block counts the captions anew: with blocks of a few replicates that would take time as images squared.
_LEAST_BLOCK = 32


def trial_interval(values: Floats) -> tuple[float, float]:
    """Student's 95% interval of the mean over trials, shape `(trials,)`: what another seed would change."""
    if len(values) < 2:
        return float("nan"), float("nan")
    from scipy.special import stdtrit  # Student's quantiles, without the seconds that scipy.stats takes to import

    half = stdtrit(len(values) - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def standard_deviation(values: Floats) -> float:
    """The standard deviation over trials (n - 1); nan for a single trial."""
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def multiplicities(images: int, replicates: int, seed: int) -> Iterator[Floats]:
    """Counts of how often each image is drawn in each bootstrap replicate, in blocks `(images, some replicates)`."""
    generator = np.random.default_rng([seed, 3])
    block = max(_LEAST_BLOCK, _NUMBERS_AT_ONCE // images)
    for start in range(0, replicates, block):
        width = min(block, replicates - start)
        drawn = generator.integers(images, size=(width, images))
        # Counted one replicate after the other: the counts of all of them do not fit into a processor's cache.
        counts = np.stack([np.bincount(replicate, minlength=images) for replicate in drawn])
        yield np.ascontiguousarray(counts.T, np.float64)


def trial_weights(trials: int, replicates: int, seed: int, overlap: float = 0.0) -> Floats:
    """Weights of trials in each replicate's mean over them, `(trials, replicates)`, columns sum to 1. Trials
    share most of what they train on, so their spread shows too little of what other images would change: with
    `overlap`, test images over training images, a replicate draws so few trials that the variance of their mean is (1 /
    trials + overlap) times that of a trial (Nadeau and Bengio 2003, Eq. 5)."""
    generator = np.random.default_rng([seed, 4])
    draws = max(1, round(1 / (1 / trials + overlap)))
    return generator.multinomial(draws, np.full(trials, 1 / trials), size=replicates).T / draws


def resamples(
    images: int, trials: int, replicates: int, seed: int, overlap: float = 0.0
) -> Iterator[tuple[Floats, Floats]]:
    """The bootstrap over images and trials: blocks of `multiplicities` with their `trial_weights`."""
    weights = trial_weights(trials, replicates, seed, overlap)
    done = 0
    for multiplicity in multiplicities(images, replicates, seed):
        width = multiplicity.shape[1]
        yield multiplicity, weights[:, done : done + width]
        done += width


def bootstrap_interval(
    estimate: float, replicates: Floats, bounds: tuple[float, float], level: float = LEVEL
) -> tuple[float, float]:
    """The middle 95% of the replicates, or another share, widened to hold the estimate and kept inside `bounds`."""
    drawn = replicates[~np.isnan(replicates)]
    if not len(drawn):
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    low, high = np.clip([min(low, estimate), max(high, estimate)], *bounds).tolist()
    return low, high


def share_interval(part: float, whole: float) -> tuple[float, float, float]:
    """Of 100 of a whole how many a part is, with the ends of its 95% interval, also of few (Wilson 1927).

    >>> share_interval(5, 5)
    (100.0, 56.6, 100.0)
    """
    middle, half = part + Z**2 / 2, Z * math.sqrt(part * (whole - part) / whole + Z**2 / 4)
    return 100 * part / whole, 100 * (middle - half) / (whole + Z**2), 100 * (middle + half) / (whole + Z**2)


def difference_interval(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The difference of two shares, with the ends of its 95% interval, from theirs (Newcombe 1998).

    >>> difference_interval(share_interval(56, 70), share_interval(48, 80))
    (20.0, 5.2, 33.4)
    """
    (share, low, high), (other, other_low, other_high) = first, second
    below, above = math.hypot(share - low, other_high - other), math.hypot(high - share, other - other_low)
    return share - other, share - other - below, share - other + above


def recentre(estimate: float, replicates: Floats) -> Floats:
    """The replicates with the estimate as their mean: of what resampling moves by itself. It adds to sizes, to
    variances and to the largest of several, and takes from correlations; a replicate lacks some rare sets and has
    others more often."""
    known = ~np.isnan(replicates)
    return replicates - replicates[known].mean() + estimate if known.any() else replicates


def rounded(value: float) -> float:
    """A score without its rounding error, of sums that were added in another order: -7e-18 is 0."""
    return round(value, RESOLUTION) + 0.0


def in_digits(content: Any, whole: float = 1.0) -> Any:
    """Plain content with its fractions to six significant digits of themselves or, if that is larger, of `whole`.

    >>> in_digits({"lic": 0.12345678, "trials": [123.45678, 3]}, whole=100)
    {'lic': 0.1235, 'trials': [123.457, 3]}
    """
    if isinstance(content, dict):
        return {name: in_digits(one, whole) for name, one in content.items()}
    if isinstance(content, (list, tuple)):
        return [in_digits(one, whole) for one in content]
    if not isinstance(content, float) or not math.isfinite(content):
        return content
    return round(content, max(DIGITS - math.ceil(math.log10(max(abs(content), whole))), 0)) + 0.0


def coefficient_of_variation(scores: Floats) -> Floats:
    """The spread of scores `(captioners, attackers)` over attackers (n - 1) relative to the size of their mean,
    `(captioners,)`; nan where that is 0. Source: Nair et al. 2026, section 5.3."""
    mean = np.abs(scores.mean(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(mean > 0, scores.std(axis=1, ddof=1) / mean, np.nan)
