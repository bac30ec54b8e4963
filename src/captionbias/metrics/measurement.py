"""What a metric computes, as one object, and the one bootstrap that every metric's intervals come from."""

from __future__ import annotations

import functools
import html
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.metrics import catalogue
from captionbias.metrics.notes import note
from captionbias.progress import steps_shown, told_if_long
from captionbias.statistics.intervals import (
    bootstrap_interval,
    resamples,
    rounded,
    standard_deviation,
    trial_interval,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from captionbias.attackers.registry import Attacker
    from captionbias.metrics.attack_plan import AttackPlan
    from captionbias.metrics.dbac_direction import Direction
    from captionbias.report.picture import Picture

P = ParamSpec("P")


LEAST_IMAGES = 20  # for intervals
POWERED = 2.8  # standard errors: power 80% at the level 5% (1.96 + 0.84)


class Estimate(NamedTuple):
    """A quantity's mean over trials; its 95% interval over images and trials (`low`, `high`; two replicates or more);
    its standard deviation and 95% interval over trials alone (two trials or more); how large a difference from 0 a
    95% interval would tell from it in four of five samples (`detectable`)."""

    value: float
    low: float | None = None
    high: float | None = None
    std: float | None = None
    trial_low: float | None = None
    trial_high: float | None = None
    detectable: float | None = None

    def flat(self, key: str) -> dict[str, float]:
        """The entries of a flat result: what is undefined is left out, never 0 and never nan.

        >>> Estimate(1.5, 1.0, 2.0).flat("lic")
        {'lic': 1.5, 'lic_ci_low': 1.0, 'lic_ci_high': 2.0}
        """
        return {f"{key}{end}": number for end, number in zip(ENDINGS, self, strict=True) if number is not None}


ARRAYS = ("values", "per_trial", "replicates")  # of a Sample
ENDINGS = ("", "_ci_low", "_ci_high", "_std", "_trial_ci_low", "_trial_ci_high", "_detectable")  # of an Estimate's keys


@dataclass(frozen=True, eq=False)
class Sample:
    """One quantity: what its mean and its intervals are made of.

    `values`: in each trial, `(trials,)`, nan where it is undefined; `(1,)` without trials. `per_trial`: in each trial
    with the images of each bootstrap replicate, `(trials, replicates)`. `replicates`: the mean over each replicate's
    trials, `(replicates,)`. `bounds`: the quantity's range.
    """

    values: Floats
    per_trial: Floats
    replicates: Floats
    bounds: tuple[float, float]

    def __sub__(self, other: Sample) -> Sample:
        """The difference of two quantities of the same images, trials and replicates.

        >>> sample = Sample(np.array([1.0, 3.0]), np.zeros((2, 0)), np.zeros(0), (0.0, 100.0))
        >>> (sample - sample).bounds
        (-100.0, 100.0)
        """
        (low, high), (other_low, other_high) = self.bounds, other.bounds
        return Sample(
            self.values - other.values,
            self.per_trial - other.per_trial,
            self.replicates - other.replicates,
            (low - other_high, high - other_low),
        )

    def estimate(self) -> Estimate | None:
        """The mean over trials with its spread and its intervals; None where it is undefined in every trial.

        >>> Sample(np.array([1.0]), np.zeros((1, 0)), np.zeros(0), (-100.0, 100.0)).estimate()
        Estimate(value=1.0, low=None, high=None, std=None, trial_low=None, trial_high=None, detectable=None)
        """
        known, drawn = self.values[~np.isnan(self.values)], self.replicates[~np.isnan(self.replicates)]
        if not len(known):
            return None
        value, low, high, std, trial_low, trial_high = rounded(float(known.mean())), *[None] * 5
        detectable = None
        if len(known) > 1:
            std = standard_deviation(known)
            trial_low, trial_high = np.clip(trial_interval(known), *self.bounds).tolist()
        if len(drawn) > 1:
            low, high = map(rounded, bootstrap_interval(value, drawn, self.bounds))
            detectable = POWERED * standard_deviation(drawn)
        return Estimate(value, low, high, std, trial_low, trial_high, detectable)


@dataclass(frozen=True, eq=False)
class Extreme(Sample):
    """The least or the largest of several quantities of the same images: its interval is from the least (largest) of
    their lower ends to that of their upper ends, so that it is above 0 only if all of theirs are (below, for `max`).
    Undefined where one of them is.

    >>> one, two = (Sample(np.array([value]), np.zeros((1, 0)), np.zeros(0), (0.0, 9.0)) for value in (1.0, 2.0))
    >>> Extreme.of(min, [one, two]).estimate().value
    1.0
    """

    pick: Callable[[Iterable[float]], float]
    among: tuple[Sample, ...]

    @classmethod
    def of(cls, pick: Callable[[Iterable[float]], float], samples: Iterable[Sample]) -> Extreme:
        """The extreme of samples, `pick` being `min` or `max`."""
        among = tuple(samples)
        best = np.minimum if pick is min else np.maximum

        def of_all(arrays: Iterable[Floats]) -> Floats:
            return np.asarray(best.reduce(list(arrays)))

        values, per_trial, replicates = (of_all(getattr(one, name) for one in among) for name in ARRAYS)
        return cls(values, per_trial, replicates, among[0].bounds, pick, among)

    def estimate(self) -> Estimate | None:
        known = [found for one in self.among if (found := one.estimate())]
        if len(known) < len(self.among):
            return None
        value, low, high = (
            None if None in ends else self.pick(ends) for ends in zip(*(found[:3] for found in known), strict=True)
        )
        detectable = [found.detectable for found in known if found.detectable is not None]
        return Estimate(value, low, high, detectable=max(detectable, default=None))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Measurement:
    """A metric's result on some images.

    Attributes:
        metric: its name.
        samples: every quantity that has an interval, by its key; see `captionbias.metrics.catalogue`.
        facts: what has none, by its key: counts, coverage.
        signature: everything that changes the scores.
        notes: what to know before the numbers are believed.
        details: nested tables, or None if they were not requested.
        plans: what the attackers of `lic`, or of each direction of `dbac`, were trained on.
        attacker: how these were trained.
        questions: of each direction of `dbac` what its trials compare.
        artefacts: what the metric keeps for its views, such as the images behind each cell of `sway`.

    In a notebook it shows as a table with intervals, as what a metric returns does; see `Result`.
    """

    metric: str
    samples: dict[str, Sample]
    facts: dict[str, float]
    signature: str
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] | None = None
    plans: dict[str, AttackPlan] = field(default_factory=dict)
    attacker: Attacker | None = None
    questions: dict[str, Direction] = field(default_factory=dict)
    artefacts: Any = None

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each quantity that is defined, with its intervals; of those that verdicts go by also `detectable`."""
        found = {}
        for key, sample in self.samples.items():
            estimate = sample.estimate()
            if estimate is not None:
                margin = catalogue.deciding_margin(key)
                seen = None if margin is None or estimate.detectable is None else max(margin, estimate.detectable)
                found[key] = estimate._replace(detectable=seen)
        return found

    def flat(self) -> Result:
        """The flat result as `evaluate` has it: floats, a `signature`, and `details` if they were requested."""
        result: dict[str, Any] = {}
        for key, estimate in self.estimates.items():
            result |= estimate.flat(key)
        result |= {**self.facts, "signature": self.signature}
        return Result(
            result if self.details is None else {**result, "details": {**self.details, "warnings": self.notes}}
        )

    def to_frame(self) -> DataFrame:
        """A row a score, its key the index: `score` (in words), `value`, `low`, `high` (95%), `std` over trials."""
        return _frame(self.estimates)

    def plot(self) -> Picture:
        """The main scores with their intervals, a person at 0, and with details what is behind `sway`: an SVG that a
        notebook shows, see `Picture.save`."""
        return _picture(self.estimates, self.details)

    def _repr_html_(self) -> str:
        return _table(self.estimates, self.notes, self.signature)


class Result(dict[str, Any]):
    """What a metric returns: a flat dict for `evaluate`, JSON and logs, that can show itself.

    It is made of its keys alone, so one that was read from a file is as good: `Result(json.load(file))`. What is added
    to it or merged with it is not of its making: unknown keys are left out of tables and plots.

    >>> result = Result(lic=4.5, lic_ci_low=1.0, lic_ci_high=8.0, signature="metric:lic")
    >>> result.to_frame()
        score  value  low  high  std
    lic LIC x 100  4.5  1.0  8.0  NaN
    >>> result == dict(result)
    True
    """

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Each score with its intervals."""
        return {
            key: Estimate(*(self.get(f"{key}{ending}") for ending in ENDINGS))  # type: ignore[arg-type]
            for key in self
            if key in catalogue.SCORES
        }

    def to_frame(self) -> DataFrame:
        """As `Measurement.to_frame`."""
        return _frame(self.estimates)

    def plot(self) -> Picture:
        """As `Measurement.plot`."""
        return _picture(self.estimates, self.get("details"))

    def _repr_html_(self) -> str:
        return _table(self.estimates, self.get("details", {}).get("warnings", []), self.get("signature", ""))


def _frame(estimates: Mapping[str, Estimate]) -> DataFrame:
    from pandas import DataFrame

    frame = DataFrame.from_dict(
        {key: estimate[:4] for key, estimate in estimates.items()},
        orient="index",
        columns=["value", "low", "high", "std"],
        dtype=np.float64,
    )
    frame.insert(0, "score", [catalogue.label(key) for key in frame.index])
    return frame


def _picture(estimates: Mapping[str, Estimate], details: Mapping[str, Any] | None) -> Picture:
    from captionbias.report.picture import captioner_picture

    return captioner_picture(estimates, sway=details if details and "cells" in details else None)


def _table(estimates: Mapping[str, Estimate], notes: Iterable[str], signature: str) -> str:
    table = _frame(estimates).to_html(float_format="{:.3f}".format, na_rep="", border=0)
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"{table}<ul>{listed}</ul><code>{html.escape(signature)}</code>"


class Metric(Generic[P]):
    """A metric as a function: called, it returns the flat `Result`; `measure` takes the same and returns the
    `Measurement`."""

    def __init__(self, measure: Callable[P, Measurement]) -> None:
        functools.update_wrapper(self, measure)
        self._measure = measure
        self._parameters = inspect.signature(measure).parameters
        self.name = measure.__name__

    def measure(self, *args: P.args, **kwargs: P.kwargs) -> Measurement:
        for name, value in kwargs.items():
            kinds = str(self._parameters[name].annotation).split(" | ") if name in self._parameters else []
            if kinds[:1] == ["bool"] and len(kinds) < 3 and not isinstance(value, (bool, np.bool_, type(None))):
                raise ValueError(f"{name} must be True or False, not {value!r}")
        usual = self._parameters["progress"].default if "progress" in self._parameters else None
        with steps_shown(kwargs.get("progress", usual)):  # type: ignore[arg-type]
            measured = self._measure(*args, **kwargs)
        if kwargs.get("bootstrap", 1) and not any(len(sample.replicates) for sample in measured.samples.values()):
            note(measured.notes, f"no interval: it takes {LEAST_IMAGES} images, and two trials of trained judges")
        return measured

    def options(self) -> frozenset[str]:
        """The names of its keyword arguments."""
        return frozenset(self._parameters) - {"captions"}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        return self.measure(*args, **kwargs).flat()

    def __reduce__(self) -> str:
        return self.name  # pickled by its name, as functions are


# Each quantity in each trial, `(trials, replicates)` or `(1, replicates)`, from how often each unit counts, `(units,
# replicates)`, and how much each trial does, `(trials, replicates)`; the latter is None for the estimate itself.
Quantities = Callable[[Floats, Floats | None], Mapping[str, Floats]]


def bootstrap_samples(
    quantities: Quantities,
    units: int,
    trials: int,
    replicates: int,
    seed: int,
    overlap: float = 0.0,
    copies: Integers | None = None,
) -> dict[str, Sample]:
    """The sample of every quantity, over units (images, or groups of them) and trials; `overlap` as `trial_weights`.

    `copies`: of units that are images, see `Captions.copies`; those of a picture are drawn together.

    Fewer than `LEAST_IMAGES` units have no replicates: resamples of a handful of images are too much like each other.

    >>> samples = bootstrap_samples(lambda counts, _: {"lic": counts[:1] * 2.0}, 30, trials=1, replicates=40, seed=0)
    >>> samples["lic"].values.tolist(), samples["lic"].replicates.shape
    ([2.0], (40,))
    """
    estimate = quantities(np.ones((units, 1)), None)
    per_trial: dict[str, list[Floats]] = {key: [np.zeros((len(values), 0))] for key, values in estimate.items()}
    means: dict[str, list[Floats]] = {key: [np.zeros(0)] for key in estimate}
    drawn = units if copies is None else int(copies.max()) + 1
    replicates, done = replicates if drawn >= LEAST_IMAGES else 0, 0
    with told_if_long("bootstrap", "replicates") as report:
        report(done, replicates)
        for multiplicity, weights in resamples(drawn, trials, replicates, seed, overlap):
            if copies is not None:
                multiplicity = multiplicity[copies]
            for key, values in quantities(multiplicity, weights).items():
                per_trial[key].append(values)
                means[key].append(mean_over_trials(values, weights) if len(values) > 1 else values[0])
            done += multiplicity.shape[1]
            report(done, replicates)
    return {
        key: Sample(
            values[:, 0], np.concatenate(per_trial[key], axis=1), np.concatenate(means[key]), catalogue.bounds(key)
        )
        for key, values in estimate.items()
    }


def mean_over_trials(values: Floats, weights: Floats) -> Floats:
    """The mean over trials in each replicate, from values and weights of shape `(trials, replicates)`.

    A trial is left out of a replicate that drew none of its test captions: its value is nan there.
    """
    counted = weights * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values * counted, axis=0) / counted.sum(axis=0))


def known_means(values: Mapping[str, Floats]) -> dict[str, float]:
    """The mean over those trials in which each quantity, `(trials,)`, is defined; none where it is in no trial.

    >>> known_means({"lic_m": np.array([1.0, np.nan, 2.0]), "lic_d": np.array([np.nan])})
    {'lic_m': 1.5}
    """
    known = {name: of_trials[~np.isnan(of_trials)] for name, of_trials in values.items()}
    return {name: rounded(float(of_trials.mean())) for name, of_trials in known.items() if len(of_trials)}


def trial_rows(seeds: Iterable[int], columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """One row a trial: its seed, and each quantity, `(trials,)`, that is defined in it.

    >>> trial_rows([3], {"lic": np.array([1.0]), "leakage": np.array([np.nan])})
    [{'seed': 3, 'lic': 1.0}]
    """
    return [
        {"seed": seed} | {name: float(of[number]) for name, of in columns.items() if not np.isnan(of[number])}
        for number, seed in enumerate(seeds)
    ]
