"""One quantity over trials and bootstrap replicates, as the flat entries of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Floats
from captionbias.statistics.intervals import bootstrap_interval, standard_deviation, trial_interval

_kept: ContextVar[dict[str, Sample] | None] = ContextVar("kept", default=None)


@dataclass(frozen=True, eq=False)
class Sample:
    """One quantity as it was measured: what its mean and its intervals are made of.

    `values`: in each trial, `(trials,)`, nan where it is undefined. `per_trial`: in each trial with the images of each
    bootstrap replicate, `(trials, replicates)`. `replicates`: the mean over each replicate's trials, `(replicates,)`.
    `bounds`: the quantity's range.
    """

    values: Floats
    per_trial: Floats
    replicates: Floats
    bounds: tuple[float, float]


def difference(first: Sample, second: Sample) -> Sample:
    """`first` less `second`, which were measured on the same images, in the same trials and replicates.

    >>> sample = Sample(np.array([1.0, 3.0]), np.zeros((2, 0)), np.zeros(0), (0.0, 100.0))
    >>> difference(sample, sample).bounds
    (-100.0, 100.0)
    """
    (low, high), (other_low, other_high) = first.bounds, second.bounds
    return Sample(
        first.values - second.values,
        first.per_trial - second.per_trial,
        first.replicates - second.replicates,
        (low - other_high, high - other_low),
    )


@contextmanager
def kept_samples() -> Iterator[dict[str, Sample]]:
    """Every sample that metrics summarize meanwhile, by the key of its mean: their results tell intervals alone.

    >>> sample = Sample(np.array([1.0, 3.0]), np.zeros((2, 0)), np.zeros(0), (-100.0, 100.0))
    >>> with kept_samples() as samples:
    ...     summary = summarize_sample("lic", sample)
    >>> samples["lic"] is sample, summary["lic"]
    (True, 2.0)
    """
    samples: dict[str, Sample] = {}
    token = _kept.set(samples)
    try:
        yield samples
    finally:
        _kept.reset(token)


def summarize_sample(name: str, sample: Sample) -> dict[str, float]:
    """`summarize`, seen by `kept_samples`."""
    samples = _kept.get()
    if samples is not None:
        samples[name] = sample
    return summarize(name, sample.values, sample.replicates, sample.bounds)


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
