"""One quantity over trials and bootstrap replicates, as the flat entries of a result."""

from __future__ import annotations

import numpy as np

from captionbias.statistics import Floats, bootstrap_interval, standard_deviation, trial_interval


def summarize(name: str, values: Floats, replicates: Floats, bounds: tuple[float, float]) -> dict[str, float]:
    """The mean over trials with its spread and its intervals.

    Args:
        name: the key of the mean; the others are `name` with an ending.
        values: the quantity in each trial, shape `(trials,)`; nan where it is undefined.
        replicates: its mean over trials in each bootstrap replicate, shape `(replicates,)`; may be empty.
        bounds: the quantity's range.

    Returns:
        `name`; with two trials or more `name_std`, `name_trial_ci_low`, `name_trial_ci_high`; with two replicates or
        more `name_ci_low`, `name_ci_high`. What is undefined is left out, never 0 and never nan.

    >>> summarize("lic", np.array([1.0]), np.array([]), (-100.0, 100.0))
    {'lic': 1.0}
    """
    defined, drawn = values[~np.isnan(values)], replicates[~np.isnan(replicates)]
    if not len(defined):
        return {}
    result = {name: float(defined.mean())}
    if len(defined) > 1:
        low, high = trial_interval(defined)
        result |= {
            f"{name}_std": standard_deviation(defined),
            f"{name}_trial_ci_low": low,
            f"{name}_trial_ci_high": high,
        }
    if len(drawn) > 1:
        low, high = bootstrap_interval(result[name], drawn, bounds)
        result |= {f"{name}_ci_low": low, f"{name}_ci_high": high}
    return result


def mean_over_trials(values: Floats, weights: Floats) -> Floats:
    """The mean over trials in each replicate, from values and weights of shape `(trials, replicates)`.

    A trial is left out of a replicate that drew none of its test captions: its value is nan there.
    """
    defined = weights * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values * defined, axis=0) / defined.sum(axis=0))
