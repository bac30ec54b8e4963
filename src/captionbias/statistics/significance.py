"""P-values, and corrections of several."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Floats
from captionbias.statistics.intervals import RESOLUTION, rounded


def p_value(estimate: float, replicates: Floats) -> float:
    """The two-sided p-value against 0: the smallest share that can be left out of `bootstrap_interval`, half on each
    side, so that it excludes 0; 1 for an estimate of 0, nan with fewer than two replicates."""
    drawn = np.sort(replicates[~np.isnan(replicates)].round(RESOLUTION))
    if len(drawn) < 2 or math.isnan(estimate):
        return float("nan")
    if rounded(estimate) == 0:
        return 1.0
    if estimate > 0:
        beyond = _level_of_0(drawn, int(np.searchsorted(drawn, 0.0, side="right")))
    else:
        beyond = 1 - _level_of_0(drawn, int(np.searchsorted(drawn, 0.0, side="left")))
    return float(min(1.0, max(2 * beyond, least_p_value(len(drawn)))))


def _level_of_0(drawn: Floats, before: int) -> float:
    """At which level the quantile, linear between replicates, is 0; `before` of them are before it."""
    if before in (0, len(drawn)):
        return float(before > 0)
    left, right = drawn[before - 1], drawn[before]
    return float((before - 1 - left / (right - left)) / (len(drawn) - 1))


def least_p_value(replicates: int) -> float:
    """The smallest two-sided p-value that so many replicates can tell: one in each direction more than there are."""
    return 2 / (1 + replicates)


def holm(p_values: npt.ArrayLike) -> Floats:
    """P-values `(tests,)` corrected for their number: the chance of any false finding stays below the level. nan stays
    nan and does not count. Source: Holm 1979, "A simple sequentially rejective multiple test procedure"."""
    values = np.asarray(p_values, np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    corrected = values.copy()
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return corrected


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """The share of false findings, of any shape, among a test's and all with a smaller p-value. Source: Benjamini and
    Hochberg 1995, "Controlling the false discovery rate"; as `scipy.stats.false_discovery_control` over all axes."""
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, axis=None)
    scaled = values.flat[order] * (values.size / np.arange(1, values.size + 1))
    shares = np.empty_like(values)
    shares.flat[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return shares
