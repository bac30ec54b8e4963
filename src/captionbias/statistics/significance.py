"""How certain a score is and why: the parts of its variance, p-values, Holm's correction, and how many images it takes.

A score is a mean over trials. Each trial draws a split of the images, trains an attacker on one part and scores the
captions of the other. So the mean could have come out otherwise for two reasons: other trials, or other images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Floats
from captionbias.statistics.intervals import RESOLUTION, rounded

Z = 1.959963984540054  # the 0.975 quantile of the normal distribution: intervals are of 95%


@dataclass(frozen=True)
class VarianceParts:
    """The parts of a score's variance, in squared units of the score; nan where unknown. `trial`: of one
    trial's score on these very images: `split`, as it scores some of them, and `training`, the rest. `images`: of the
    mean of all possible trials if other images were scored. `bootstrap`: of the replicates of the reported interval, in
    which `split / trials` counts up to three times, about as much as other images to learn from would: it is close to
    the true variance (`benchmarks/significance.py`), and `standard_error`**2 a lower bound."""

    trials: int
    trial: float
    split: float
    training: float
    images: float
    bootstrap: float

    @property
    def standard_error(self) -> float:
        """The standard error of the reported mean, the root of `images + trial / trials`: a lower bound."""
        return math.sqrt(self.images + self._trial_part)

    @property
    def share_of_trials(self) -> float:
        """The part of the reported mean's variance that more trials would lessen, in [0, 1]."""
        total = self.images + self._trial_part
        return self._trial_part / total if total > 0 else float("nan")

    @property
    def _trial_part(self) -> float:
        return self.trial / self.trials if self.trials else float("nan")


def variance_parts(values: Floats, per_trial: Floats, replicates: Floats, folded: bool = False) -> VarianceParts:
    """The parts from the arrays of a `Sample`; nan with fewer than two trials or replicates, and 0 where an estimate is
    below. With `v` the mean variance of one trial over replicates and `c` the mean covariance of two, `images` is `c`
    and `split` is `v - c`: two trials have only the images in common. Trials that are `folded` have none: as much of
    their spread as `v` is of the images, and only the rest is of the trials."""
    known = ~np.isnan(values)
    drawn = per_trial[known]
    drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
    whole = replicates[~np.isnan(replicates)]
    trials = int(known.sum())
    nan = float("nan")
    trial = float(values[known].var(ddof=1)) if trials > 1 else nan
    bootstrap = float(whole.var(ddof=1)) if len(whole) > 1 else nan
    if trials < 2 or drawn.shape[1] < 2:
        return VarianceParts(trials, trial, nan, nan, nan, bootstrap)
    fixed = float(drawn.mean(axis=0).var(ddof=1))
    single = float(drawn.var(axis=1, ddof=1).mean())
    if folded:
        training = max(0.0, trial - single)
        return VarianceParts(trials, training, 0.0, training, fixed, bootstrap)
    shared = max(0.0, (fixed - single / trials) / (1 - 1 / trials))
    split = max(0.0, single - shared)
    return VarianceParts(trials, trial, split, max(0.0, trial - split), shared, bootstrap)


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
