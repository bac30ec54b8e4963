"""One quantity over trials and bootstrap replicates, as the flat entries of a result."""

from __future__ import annotations

from collections.abc import Mapping

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
    known, drawn = values[~np.isnan(values)], replicates[~np.isnan(replicates)]
    if not len(known):
        return {}
    result = {name: float(known.mean())}
    if len(known) > 1:
        low, high = np.clip(trial_interval(known), *bounds).tolist()
        result |= {
            f"{name}_std": standard_deviation(known),
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
    counted = weights * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values * counted, axis=0) / counted.sum(axis=0))


def defined(values: Mapping[str, float]) -> dict[str, float]:
    """The values that are not nan, as Python's floats.

    >>> defined({"lic": np.float64(1.0), "leakage": np.nan})
    {'lic': 1.0}
    """
    return {name: float(value) for name, value in values.items() if not np.isnan(value)}
