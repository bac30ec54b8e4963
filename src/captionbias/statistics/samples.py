"""A quantity's samples over trials and bootstrap replicates, the estimate made of them, and the one bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.progress import report_if_long
from captionbias.statistics.intervals import (
    LEVEL,
    bootstrap_interval,
    recentre,
    resamples,
    rounded,
    standard_deviation,
    trial_interval,
)

LEAST_IMAGES = 20  # for intervals
RULE_OF_THREE = 3  # images that can all be otherwise with a chance of 5%
POWERED = 2.8  # standard errors: power 80% at the level 5% (1.96 + 0.84)


class Estimate(NamedTuple):
    """A quantity's mean over trials; its 95% interval over images and trials (`low`, `high`; two replicates or more);
    its standard deviation and 95% interval over trials alone (two trials or more). Of a score with a verdict how large
    it must be for that to be more or less in four of five samples (`detectable`; of another quantity, to be told from
    0); how near to 0 is as good as 0 (`margin`); how far from 0 people read by chance, which no interval knows of
    (`noise`); the `verdict`, and what stands against any (`doubt`); and the `unit` that it is counted in."""

    value: float
    low: float | None = None
    high: float | None = None
    std: float | None = None
    trial_low: float | None = None
    trial_high: float | None = None
    detectable: float | None = None
    margin: float | None = None
    noise: float | None = None
    verdict: str | None = None
    doubt: str | None = None
    unit: str | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; the value where an end is not known."""
        low, high = self.low, self.high
        return self.value if low is None else low, self.value if high is None else high

    @property
    def may_be_little(self) -> bool:
        """Whether what is on one side of 0 may still be within the margin."""
        return min(map(abs, self.ends)) < (self.margin or 0.0)

    def flat(self, key: str) -> dict[str, Any]:
        """The entries of a flat result: what is undefined is left out, never 0 and never nan."""
        entries = {key: self.value, f"{key}_ci_low": self.low, f"{key}_ci_high": self.high}
        return {name: entry for name, entry in {**entries, f"{key}_verdict": self.verdict}.items() if entry is not None}

    def as_dict(self) -> dict[str, Any]:
        """Everything that is known of it, by its name."""
        return {name: known for name, known in self._asdict().items() if known is not None}


ARRAYS = ("values", "replicates")  # of a Sample
INFINITY = float("inf")


S = TypeVar("S", bound="Sample")


@dataclass(frozen=True, eq=False)
class Sample:
    """One quantity, or an array of them on leading axes: what means and intervals are made of."""

    values: Floats  # in each trial, `(..., trials)`, nan where it is undefined; `(..., 1)` without trials
    replicates: Floats  # the mean over the trials of each bootstrap replicate, `(..., replicates)`
    images: int = 0  # how many a replicate draws, 0 where that is not known
    chosen_of: int = 1  # among how many it was chosen as the largest: its interval holds for all of them (Bonferroni)
    floor: float = 0.0  # how far its interval reaches at least, either way: what three images more would change

    def __getitem__(self, place: int | tuple[int, ...]) -> Sample:
        """The quantity at this place of an array of them."""
        return replace(self, **{name: getattr(self, name)[place] for name in ARRAYS})

    def __sub__(self, other: Sample) -> Sample:
        """The difference of two quantities of the same images, trials and replicates."""
        values, replicates = (getattr(self, name) - getattr(other, name) for name in ARRAYS)
        images, floor = min(self.images, other.images), max(self.floor, other.floor)
        return Sample(values, replicates, images, max(self.chosen_of, other.chosen_of), floor)

    def recentre(self: S) -> S:
        """The same with replicates whose mean is the estimate: of what resampling moves by itself."""
        known = self.values[~np.isnan(self.values)]
        return replace(self, replicates=recentre(known.mean(), self.replicates)) if len(known) else self

    def estimate(
        self, low: float = -INFINITY, high: float = INFINITY, whole: float | None = None, level: float = LEVEL
    ) -> Estimate | None:
        """The mean over trials with its intervals, which end at `low` and `high`; None where it is undefined in every
        trial. Where all images together are a `whole`, one that was not drawn may be otherwise. Where every replicate
        is alike the interval is of three images of all (Hanley and Lippman-Hand 1983); where it reaches an end, as that
        of one to three errors does, it goes one image further on the other side."""
        known, drawn = self.values[~np.isnan(self.values)], self.replicates[~np.isnan(self.replicates)]
        if not len(known):
            return None
        value, bounds = rounded(float(known.mean())), (low, high)
        ends: tuple[float | None, float | None] = None, None
        std = trial_low = trial_high = detectable = None
        if len(known) > 1:
            std = standard_deviation(known)
            trial_low, trial_high = np.clip(trial_interval(known), *bounds).tolist()
        if len(drawn) > 1:
            each = 1 - (1 - level) / self.chosen_of
            least, most = map(rounded, bootstrap_interval(value, drawn, bounds, each))
            ends = least, most
            detectable = POWERED * standard_deviation(drawn)
            if self.images and whole:
                image = whole / self.images
                if rounded(float(np.ptp(drawn))) == 0:
                    least, most = value - RULE_OF_THREE * image, value + RULE_OF_THREE * image
                    detectable = RULE_OF_THREE * image
                else:
                    all_of_it, none_of_it = drawn.max() <= high == most, drawn.min() >= low == least
                    least, most = least - image * all_of_it, most + image * none_of_it
                ends = max(least, low), min(most, high)
            ends = min(ends[0], max(value - self.floor, low)), max(ends[1], min(value + self.floor, high))
            detectable = max(detectable, self.floor)
        return Estimate(value, *ends, std, trial_low, trial_high, detectable)


@dataclass(frozen=True, eq=False)
class ExtremeOf(Sample):
    """The least or the largest of several quantities of the same images: its interval goes from the least (largest) of
    their lower ends to that of their upper ends, and is above 0 only if all are. Undefined where one of them is."""

    pick: Callable[[Iterable[float]], float] = min
    among: tuple[Sample, ...] = ()

    @classmethod
    def of(cls, pick: Callable[[Iterable[float]], float], samples: Iterable[Sample]) -> ExtremeOf:
        """The extreme of samples, `pick` being `min` or `max`."""
        among = tuple(samples)
        best = np.minimum if pick is min else np.maximum
        values, replicates = (np.asarray(best.reduce([getattr(sample, name) for sample in among])) for name in ARRAYS)
        images = min(sample.images for sample in among)
        return cls(values, replicates, images, pick=pick, among=among).recentre()

    def estimate(
        self, low: float = -INFINITY, high: float = INFINITY, whole: float | None = None, level: float = LEVEL
    ) -> Estimate | None:
        known = [estimate for sample in self.among if (estimate := sample.estimate(low, high, whole, level))]
        if len(known) < len(self.among):
            return None
        numbers = zip(*(estimate[:3] for estimate in known), strict=True)
        value, least, most = (None if None in ends else self.pick(ends) for ends in numbers)
        detectable = [estimate.detectable for estimate in known if estimate.detectable is not None]
        return Estimate(value, least, most, detectable=max(detectable, default=None))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LargestOf(Sample):
    """That of several quantities of the same images which is furthest from 0; a difference is the largest of theirs."""

    among: tuple[Sample, ...] = ()

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> LargestOf:
        """The largest of samples. Of two it is the first: the other is its negative."""
        among = tuple(samples)
        sizes = [-1.0 if np.isnan(sample.values).all() else abs(float(np.nanmean(sample.values))) for sample in among]
        chosen = among[0 if len(among) == 2 else int(np.argmax(sizes))]
        return cls(**vars(chosen) | {"chosen_of": 1 if len(among) == 2 else len(among)}, among=among)

    def __sub__(self, other: Sample) -> Sample:
        if not isinstance(other, LargestOf):
            return super().__sub__(other)
        return LargestOf.of(one - its for one, its in zip(self.among, other.among, strict=True))


@dataclass(frozen=True, eq=False)
class ExcessOver(Sample):
    """What a quantity is more than a bound that is the same beside whatever is compared: a difference is more as well.

    >>> step, other, bound = (Sample(np.array([value]), np.zeros(0)) for value in (9.0, 2.0, 3.0))
    >>> (ExcessOver.of(step, bound) - ExcessOver.of(other, bound)).values
    array([4.])
    """

    bound: Sample | None = None

    @classmethod
    def of(cls, sample: Sample, bound: Sample) -> ExcessOver:
        """What the sample is more than the bound."""
        return cls(**vars(sample - bound), bound=bound)

    def __sub__(self, other: Sample) -> Sample:
        difference = super().__sub__(other)
        return difference - self.bound if self.bound else difference


@dataclass(frozen=True, eq=False)
class LowerBound(Sample):
    """What was found of a quantity, at least: it has a lower end alone, and `seen` is how much would have been."""

    seen: float | None = None

    def estimate(
        self, low: float = -INFINITY, high: float = INFINITY, whole: float | None = None, level: float = LEVEL
    ) -> Estimate | None:
        estimate = super().estimate(low, high, whole, level)
        return estimate and estimate._replace(high=None, detectable=self.seen)


# Quantities in each trial, `(..., trials, replicates)` or `(..., 1, replicates)`, from how often each unit counts,
# `(units, replicates)`, and how much each trial does, `(trials, replicates)`; the latter is None for the estimate.
Quantities = Callable[[Floats, Floats | None], Mapping[Any, Floats]]


def bootstrap_samples(
    quantities: Quantities,
    units: int,
    trials: int,
    replicates: int,
    seed: int,
    overlap: float = 0.0,
    copies: Integers | None = None,
) -> dict[Any, Sample]:
    """The sample of every quantity, over units (images, or groups of them) and trials; `overlap` as `trial_weights`.

    `copies`: of units that are images, see `Captions.copies`; those of a picture are drawn together.

    Fewer than `LEAST_IMAGES` units have no replicates: resamples of a handful of images are too much like each other.

    >>> samples = bootstrap_samples(lambda counts, _: {"lic": counts[:1] * 2.0}, 30, trials=1, replicates=40, seed=0)
    >>> samples["lic"].values.tolist(), samples["lic"].replicates.shape
    ([2.0], (40,))
    """
    from threadpoolctl import threadpool_limits

    estimate = quantities(np.ones((units, 1)), None)
    means: dict[Any, list[Floats]] = {key: [values[..., 0, :0]] for key, values in estimate.items()}
    drawn = units if copies is None else int(copies.max()) + 1
    replicates, done = replicates if drawn >= LEAST_IMAGES else 0, 0
    # More threads wait for each other longer than they work.
    with threadpool_limits(1), report_if_long("bootstrap", "replicates") as report:
        report(done, replicates)
        for multiplicity, weights in resamples(drawn, trials, replicates, seed, overlap):
            if copies is not None:
                multiplicity = multiplicity[copies]
            for key, values in quantities(multiplicity, weights).items():
                means[key].append(values[..., 0, :] if values.shape[-2] == 1 else mean_over_trials(values, weights))
            done += multiplicity.shape[1]
            report(done, replicates)
    replicated = {key: np.concatenate(of_key, axis=-1) for key, of_key in means.items()}
    return {key: Sample(values[..., 0], replicated[key], drawn) for key, values in estimate.items()}


def mean_over_trials(values: Floats, weights: Floats) -> Floats:
    """The mean over trials in each replicate, of values `(..., trials, replicates)` and weights `(trials,
    replicates)`; nan is left out."""
    counted = weights * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values * counted, axis=-2) / counted.sum(axis=-2))


def trial_rows(seeds: Iterable[int], columns: Mapping[str, Floats]) -> list[dict[str, float]]:
    """One row a trial: its seed, and each quantity, `(trials,)`, that is defined in it."""
    return [
        {"seed": seed} | {key: float(values[number]) for key, values in columns.items() if not np.isnan(values[number])}
        for number, seed in enumerate(seeds)
    ]
