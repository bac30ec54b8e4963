"""Captioners on the same images: which differences between their scores are more than chance?"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from captionbias.analysis.consistency import METRICS, SCORES
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.metrics.measurement import Sample, difference, kept_samples, summarize
from captionbias.statistics.significance import VarianceParts, holm, least_p_value, p_value, variance_parts

# What is compared when there are no human captions to measure amplification against.
ALONE = {"lic": ("lic_m",), "dbac": ("omega_m_a_to_t", "omega_m_t_to_a")}


@dataclass(frozen=True)
class Difference:
    """One score of `first` less that of `second`, its 95% interval, and its p-value before and after correction."""

    first: str
    second: str
    score: str
    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Captioners measured on the same images.

    `results`: each captioner's result, as its metric gives it. `p_values`: of each captioner, each score's p-value
    against 0, uncorrected. `parts`: the parts of each score's variance. `differences`: of every pair and score.
    """

    metric: str
    scores: list[str]
    results: dict[str, dict[str, Any]]
    p_values: dict[str, dict[str, float]]
    parts: dict[str, dict[str, VarianceParts]]
    differences: list[Difference]
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """For a file: everything that was measured and what follows from it."""
        return {
            "metric": self.metric,
            "scores": self.scores,
            "results": self.results,
            "p_values": self.p_values,
            "variance": {
                captioner: {
                    score: {
                        **asdict(found),
                        "standard_error": found.standard_error,
                        "share_of_trials": found.share_of_trials,
                    }
                    for score, found in of_captioner.items()
                }
                for captioner, of_captioner in self.parts.items()
            },
            "differences": [asdict(found) for found in self.differences],
            "signature": self.signature,
        }


def compare(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    metric: str = "dbac",
    *,
    scores: Sequence[str] | None = None,
    bootstrap: int = 1000,
    watch: Callable[[Sequence[str]], None] | None = None,
    **options: Any,
) -> Comparison:
    """Measure two or more captioners on the same images, and test every difference between their scores.

    All captioners have the same splits, the same seeds and the same bootstrap replicates of images and trials, so what
    an easy split or an odd image does to all of them drops out of their differences. P-values are corrected for the
    number of pairs and scores, by Holm's procedure.

    Finished trials are kept: one more captioner trains only its own.

    Args:
        captioners: each captioner's name and its `n` captions.
        references, attributes, tasks: of the same images, as the metrics take them.
        metric: `lic` or `dbac`.
        scores: keys of the metric's result that have an interval; by default LIC, or DBAC of each direction as
            published and matched. Without references: LIC or omega of the captioners' captions.
        bootstrap: replicates of the bootstrap. They cannot tell p-values below `2 / (1 + bootstrap)`.
        watch: called before each measurement with the captioners that are left, this one first.
        options: of the metric, such as `preset`, `trials`, `seed` or `cache`.

    Returns:
        Scores, differences, intervals and p-values.

    Raises:
        ValueError: fewer than two captioners, an unknown metric or score, or what the metric refuses.

    >>> from captionbias.synthetic import plant
    >>> people = vars(plant(200))
    >>> captioners = {"faithful": people.pop("predictions"), "biased": plant(200, a_to_t=0.9).predictions}
    >>> found = compare(captioners, **people, metric="lic", preset="fast", trials=2)
    >>> [(one.first, one.second, one.score, one.p_holm < 0.05) for one in found.differences]
    [('faithful', 'biased', 'lic', True)]
    """
    if len(captioners) < 2:
        raise ValueError(f"captioners: {len(captioners)} given; a comparison needs two or more")
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    people = {"references": references, "attributes": attributes, "tasks": tasks}
    return measured_together(captioners, people, metric, scores=scores, bootstrap=bootstrap, watch=watch, **options)


def measured_together(
    captioners: Mapping[str, Any],
    people: Mapping[str, Any],
    metric: str,
    *,
    scores: Sequence[str] | None = None,
    bootstrap: int = 1000,
    watch: Callable[[Sequence[str]], None] | None = None,
    **options: Any,
) -> Comparison:
    """`compare` of one captioner or more; of one there are no differences. `people`: arguments of the metric."""
    results: dict[str, dict[str, Any]] = {}
    samples: dict[str, dict[str, Sample]] = {}
    chosen: list[str] = []
    names = list(captioners)
    pairs = list(itertools.combinations(names, 2))
    for name in names:  # all of them before hours of training
        with errors_of(name):
            check_captions(predictions=captioners[name], **people)
    for number, name in enumerate(names):
        if watch:
            watch(names[number:])
        with errors_of(name), kept_samples() as samples[name]:
            results[name] = METRICS[metric](**people, predictions=captioners[name], bootstrap=bootstrap, **options)
        if not chosen:
            chosen = _scores(metric, scores, samples[name])
            _warn_of_few_replicates(bootstrap, len(pairs) * len(chosen))

    found = [
        one
        for first, second in pairs
        for score in chosen
        if (one := _difference(first, second, score, samples)) is not None
    ]
    corrected = holm([one.p for one in found]).tolist()
    return Comparison(
        metric,
        chosen,
        results,
        {name: _against_zero(chosen, samples[name], results[name]) for name in names},
        {
            name: {
                score: variance_parts(sample.values, sample.per_trial, sample.replicates)
                for score in chosen
                if (sample := samples[name].get(score)) is not None
            }
            for name in names
        },
        [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)],
        (f"paired:holm,{len(found)}|" if found else "") + results[names[0]]["signature"],
    )


@contextmanager
def errors_of(captioner: str) -> Iterator[None]:
    """Errors say which captioner they are of."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{captioner}: {error}") from error


def _warn_of_few_replicates(bootstrap: int, tests: int) -> None:
    if bootstrap and tests and least_p_value(bootstrap) * tests >= 0.05:
        warnings.warn(
            f"bootstrap={bootstrap} is too few for {tests} differences: after correction none can have a p-value "
            f"below 0.05; take {40 * tests:,} or more",
            CaptionBiasWarning,
            stacklevel=3,
        )


def _scores(metric: str, scores: Sequence[str] | None, measured: Mapping[str, Sample]) -> list[str]:
    if scores is None:
        return [key for key in SCORES[metric] if key in measured] or [key for key in ALONE[metric] if key in measured]
    listed = [scores] if isinstance(scores, str) else list(scores)
    unknown = [key for key in listed if key not in measured]
    if unknown or not listed:
        raise ValueError(
            f"scores names {unknown[0]!r}, which is none of what is measured here: {', '.join(measured)}"
            if unknown
            else "scores is empty: name a score, or leave it out"
        )
    return list(dict.fromkeys(listed))


def _difference(first: str, second: str, score: str, samples: Mapping[str, Mapping[str, Sample]]) -> Difference | None:
    """None where the score is undefined in every trial of one of them."""
    between = difference(samples[first][score], samples[second][score])
    flat = summarize("d", between.values, between.replicates, between.bounds)
    if not flat:
        return None
    nan = float("nan")
    p = p_value(flat["d"], between.replicates)
    return Difference(first, second, score, flat["d"], flat.get("d_ci_low", nan), flat.get("d_ci_high", nan), p, p)


def _against_zero(scores: Sequence[str], samples: Mapping[str, Sample], result: Mapping[str, Any]) -> dict[str, float]:
    """Where a score can lie on either side of 0."""
    return {
        score: p_value(result[score], samples[score].replicates)
        for score in scores
        if score in result and samples[score].bounds[0] < 0
    }
