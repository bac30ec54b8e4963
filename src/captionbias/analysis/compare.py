"""Captioners on the same images: which differences between their scores are more than chance?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from captionbias.bench.catalogue import EXCESS
from captionbias.bench.measurement import Counted
from captionbias.bench.verdicts import BEYOND, CANNOT_TELL, LESS, least_beyond, stable, verdict_p_value
from captionbias.captions import Captions, check_captioners
from captionbias.compat import told_of
from captionbias.errors import InputError, within
from captionbias.metrics import Measurement, catalogue, find_metric
from captionbias.progress import Watch
from captionbias.statistics.samples import Estimate, ExtremeOf, LowerBound, Sample
from captionbias.statistics.significance import benjamini_hochberg, holm, least_p_value, p_value
from captionbias.warnings import warn

REPLICATES, PER_TEST = 1000, 40  # of the bootstrap, and for each difference that is tested
LEVEL = 0.05  # of false verdicts among those that are more or less


@dataclass(frozen=True)
class Difference:
    """One score of `first` less that of `second`, its 95% interval, and its p-value before and after correction: the
    largest of all that decide the score's verdict, so an interval may leave 0 that alone does not tell two apart."""

    first: str
    second: str
    score: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float

    @property
    def estimate(self) -> Estimate:
        low, high = (None if math.isnan(end) else end for end in (self.ci_low, self.ci_high))
        return Estimate(self.difference, low, high)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Captioners measured on the same images: each one's measurement, its main scores (`scores`), and the differences
    of every pair in those with a verdict, or in the scores that were named."""

    metric: str
    scores: list[str]
    measurements: dict[str, Measurement]
    differences: list[Difference]

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], str]:
        """The verdict of each captioner and score that has one; see `corrected`."""
        return corrected(self.measurements.items())

    @cached_property
    def p_values(self) -> dict[str, dict[str, float]]:
        """The p-value against 0, uncorrected, of each captioner and score that can be on either side of it."""
        return {
            name: {
                score: p_value(measured.estimates[score].value, measured.samples[score].replicates)
                for score in self.scores
                if score in measured.estimates and catalogue.SCORES[score].scale.low < 0
            }
            for name, measured in self.measurements.items()
        }

    @property
    def signature(self) -> str:
        """Everything that changes the scores; what differs between captioners, such as their captions, of each."""
        first, *others = self.measurements.values()
        of_all = {
            name: ",".join(dict.fromkeys(str(one.settings.get(name, value)) for one in (first, *others)))
            for name, value in first.settings.items()
            if name != "margins"
        }
        signature = replace(first, settings=first.settings | of_all).signature
        return (f"paired:holm,{len(self.differences)}|" if self.differences else "") + signature

    def as_dict(self, verdicts: Mapping[tuple[str, str], str] | None = None) -> dict[str, Any]:
        """As plain data; `verdicts`: those corrected for the number of more than these."""
        words: dict[str, dict[str, str]] = {name: {} for name in self.measurements}
        for name, key in self.verdicts:
            words[name][key] = (verdicts or self.verdicts)[name, key]
        return {
            "metric": self.metric,
            "scores": self.scores,
            "results": {
                name: measured.flat().with_verdicts(words[name]) for name, measured in self.measurements.items()
            },
            "p_values": self.p_values,
            "verdicts": words,
            "differences": list(map(asdict, self.differences)),
            "signature": self.signature,
        }


def corrected(measurements: Iterable[tuple[str, Measurement]]) -> dict[tuple[str, str], str]:
    """The verdict of each captioner and score with a claim of its own (LIC, not leakage beside it), corrected for their
    number: `more` and `less` that could be expected among so many by chance become `cannot tell`.

    Source: Benjamini and Hochberg 1995; at most 5% of the verdicts `more` and `less` are expected to be false.
    """
    words: dict[tuple[str, str], str] = {}
    p_values: dict[tuple[str, str], float] = {}
    for captioner, measured in measurements:
        for score in catalogue.scores_of(measured.metric):
            estimate = measured.estimates.get(score.key) if score.claim else None
            if estimate and estimate.verdict:
                words[captioner, score.key] = estimate.verdict
                side = 1 if estimate.value > 0 else -1  # on which it is no further by chance
                chance = least_beyond(score.key, estimate)
                p_values[captioner, score.key] = verdict_p_value(measured.samples, score.key, side, chance)
    adjusted = benjamini_hochberg(list(p_values.values()))
    return {
        named: CANNOT_TELL if word in (*BEYOND, LESS) and p >= LEVEL else word
        for (named, word), p in zip(words.items(), adjusted, strict=True)
    }


def compare(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    trust_rows: bool = False,
    metric: str = "sway",
    *,
    scene: Any = None,
    scores: Sequence[str] | None = None,
    against: str | None = None,
    bootstrap: int | None = None,
    margins: Mapping[str, float] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Comparison:
    """Measure two or more captioners on the same images, and test every difference between their scores.

    All captioners have the same splits, seeds and bootstrap replicates of images and trials, so what an easy split or
    an odd image does to all of them drops out of their differences. A difference needs what the verdict on one
    captioner needs: every value for T to A, both ends for A to T, and more than the margin for gaps and words. P-values
    are corrected for the number of pairs and scores, by Holm's procedure. Finished trials are kept: one more captioner
    trains only its attackers.

    Args:
        captioners: each captioner's name and its `n` captions, its `Captions`, or what `read_counts` gives.
        references, attributes, tasks, trust_rows, scene: for the same images, as the metrics take them; leave them out
            with `Captions`.
        metric: any metric of `captionbias.metrics`.
        scores: keys of the metric's result that have an interval; by default its main scores. Differences are tested in
            those that can have a verdict (for DBAC, net in each direction).
        against: compare each captioner with this one only, instead of all pairs.
        bootstrap: number of bootstrap replicates, which cannot tell p-values below `2 / (1 + bootstrap)`; when None
            1,000, or more if there are many differences.
        margins: how near to 0 a score counts as 0, by its key, instead of the usual margins.
        watch: called before each measurement with the captioner and the share of the work that is done, in [0, 1].
        options: options of the metric, such as `preset`, `trials`, `seed` or `cache`.

    >>> from captionbias.synthetic import plant
    >>> people = vars(plant(200))
    >>> captioners = {"faithful": people.pop("predictions"), "biased": plant(200, a_to_t=0.9).predictions}
    >>> found = compare(captioners, **people, metric="lic", preset="fast", trials=2)
    >>> [(one.first, one.second, one.score, one.p_holm < 0.05) for one in found.differences]
    [('faithful', 'biased', 'lic', True)]
    """
    if len(captioners) < 2:
        raise ValueError(f"captioners has {len(captioners)}: a comparison needs two or more")
    people = {
        "references": references,
        "attributes": attributes,
        "tasks": tasks,
        "trust_rows": trust_rows,
        "scene": scene,
    }
    counted = any(isinstance(of, Counted) for of in captioners.values())
    checked = check_counts(captioners) if counted else check_captioners(captioners, **people)
    margins_by_metric(margins, [metric])
    replicates = replicates_for([metric], len(captioners), against, scores) if bootstrap is None else bootstrap
    return measure_together(
        checked, metric, scores=scores, against=against, margins=margins, bootstrap=replicates, watch=watch, **options
    )


def check_counts(captioners: Mapping[str, Counted]) -> Mapping[str, Counted]:
    """The counts; InputError if they are of different images."""
    if len({counts.image_set for counts in captioners.values()}) > 1:
        raise InputError("captioners", "are counts of different images: count the same")
    return captioners


def replicates_for(
    metrics: Sequence[str],
    captioners: int,
    against: str | None = None,
    scores: Sequence[str] | None = None,
    values: int = 0,
) -> int:
    """The replicates with which each difference can have a p-value below 0.05 after correction, at least 1,000; and
    each verdict, of the largest gap of so many `values`."""
    pairs = captioners - 1 if against else math.comb(captioners, 2)
    usual = (_tested(metric, keys) for metric in metrics for keys in _defaults(metric))
    return max(REPLICATES, PER_TEST * max(pairs, captioners * values) * (len(scores or ()) or max(map(len, usual))))


def margins_by_metric(margins: Mapping[str, float] | None, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    by_metric: dict[str, dict[str, float]] = {metric: {} for metric in metrics}
    for key, margin in (margins or {}).items():
        if gone := told_of(key):
            raise InputError("margins", f": {key} {gone}")
        judged = [score.key for metric in metrics for score in catalogue.scores_of(metric) if score.judged]
        if key not in judged:
            raise InputError("margins", f"names {key!r}, which has no verdict here; choose from {', '.join(judged)}")
        by_metric[catalogue.SCORES[key].metric][key] = margin
    return by_metric


def measure_together(
    captioners: Mapping[str, Captions | Counted],
    metric: str,
    *,
    scores: Sequence[str] | None = None,
    against: str | None = None,
    margins: Mapping[str, float] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Comparison:
    """Measure and compare one captioner or more, already checked; a single one has no differences."""
    names = list(captioners)
    _check_scores(scores or (), [score.key for score in catalogue.scores_of(metric)], f"{metric} does not have")
    if against is not None and against not in names:
        raise InputError("against", f"is {against!r}, which is not a captioner; choose one of {', '.join(names)}")
    others = [name for name in names if name != against]
    pairs = [(name, against) for name in others] if against else list(itertools.combinations(names, 2))
    measurements: dict[str, Measurement] = {}
    for number, name in enumerate(names):
        if watch:
            watch(name, number / len(names))
        try:
            measured = find_metric(metric).measure(captioners[name], **options)
            measurements[name] = measured.with_margins(margins or {})
        except ValueError as error:
            raise within(name, error) from error
        if not number:  # before the others are measured
            samples = measurements[name].samples
            _check_scores(scores or (), samples, "is not measured here")
            usual = next((keys for keys in _defaults(metric) if not samples.keys().isdisjoint(keys)), [])
            most = len(scores or _tested(metric, [key for key in usual if key in samples]))
            bootstrap, tests = options.get("bootstrap", REPLICATES), len(pairs) * most
            if bootstrap and tests and least_p_value(bootstrap) * tests >= 0.05:
                text = f"bootstrap={bootstrap} is too few for {tests} differences: after correction none can have a "
                text += f"p-value below 0.05; take {PER_TEST * tests:,} or more"
                warn(text)
    of_any = {key for measured in measurements.values() for key in measured.samples}
    chosen = list(dict.fromkeys(scores or [key for key in usual if key in of_any]))
    tested = chosen if scores else _tested(metric, chosen)
    defined = list(filter(None, (_difference(*pair, score, measurements) for pair in pairs for score in tested)))
    p_values = holm([difference.p for difference in defined]).tolist()
    differences = [replace(difference, p_holm=p) for difference, p in zip(defined, p_values, strict=True)]
    return Comparison(metric, chosen, measurements, differences)


def _defaults(metric: str) -> tuple[list[str], ...]:
    """The scores that are compared by default: with two human captions of an image or more, with one, with none."""
    main = catalogue.headlines(metric)
    return main, [key for key in main if not key.endswith(EXCESS)], catalogue.headlines_alone(metric)


def _tested(metric: str, chosen: Sequence[str]) -> list[str]:
    """The chosen scores that a verdict goes by, or all of them where none does."""
    judged = [score.key for score in catalogue.scores_of(metric) if score.judged and score.key in chosen]
    return [key for key in judged if not catalogue.superseded(key, chosen)] or list(chosen)


def _check_scores(scores: Sequence[str], known: Collection[str], where: str) -> None:
    for key in scores:
        if key not in known:
            raise InputError("scores", f"names {key!r}, which {where}; choose from {', '.join(known)}")


def _difference(first: str, second: str, key: str, measured: Mapping[str, Measurement]) -> Difference | None:
    """The difference of two captioners' scores; None where that is undefined in every trial of one of them."""
    one, other = measured[first], measured[second]
    if key not in one.estimates or key not in other.estimates:
        return None
    between = replace(one.samples[key] - other.samples[key], images=0)
    estimate = between.estimate(*catalogue.SCORES[key].scale.difference()[:2])
    if estimate is None:
        return None
    estimate = stable(key, estimate)
    low, high = (math.nan if end is None else end for end in (estimate.low, estimate.high))
    more, less = (one, other) if estimate.value > 0 else (other, one)
    p = math.nan if estimate.low is None else _p_of_more(more, less, key)
    return Difference(first, second, key, estimate.value, low, high, p, p)


def _p_of_more(more: Measurement, less: Measurement, key: str) -> float:
    """The p-value of one captioner having no more than another: what decides of one is each time their difference.

    What people read by chance of attackers is beside both, and is not asked of their difference.
    """
    score, samples = catalogue.SCORES[key], {}
    confirmed_by = () if isinstance(more.samples[key], LowerBound) else score.confirmed_by
    for name in (*score.deciding(1), *score.or_above, *confirmed_by):
        if name in more.samples and name in less.samples:
            samples[name] = _less(more.samples[name], less.samples[name])
    return verdict_p_value(samples, key, 1, least_beyond(key, more.estimates[key]) if score.beyond_margin else 0.0)


def _less(sample: Sample, other: Sample) -> Sample:
    """The difference; that of two extremes goes by each that they were chosen among."""
    if isinstance(sample, ExtremeOf) and isinstance(other, ExtremeOf):
        return ExtremeOf.of(sample.pick, (one - its for one, its in zip(sample.among, other.among, strict=True)))
    return sample - other
