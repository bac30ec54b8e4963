"""Do attackers agree? Captioners by encoders by metrics, and how far the scores depend on the encoder."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Floats
from captionbias.attackers.registry import find_attacker
from captionbias.bench.verdicts import NOTHING
from captionbias.captions import Captions, check_captions
from captionbias.errors import InputError
from captionbias.metrics import Measurement, catalogue, find_metric
from captionbias.progress import Watch
from captionbias.report.grid import Cell, Grid, columns
from captionbias.report.wording import fixed
from captionbias.statistics.intervals import coefficient_of_variation, conflict_score, ranking_consistency


@dataclass(frozen=True, eq=False)
class Study:
    """Captioners measured with several encoders. `scores`: each score's values, `(captioners, encoders)`, nan where
    undefined; `measurements`: by captioner, encoder and metric."""

    captioners: list[str]
    encoders: list[str]
    scores: dict[str, Floats]
    measurements: dict[tuple[str, str, str], Measurement]

    def consistency(self) -> dict[str, dict[str, Any]]:
        """The coefficient of variation of each captioner and their mean, conflicts, and correlation, by score, of
        captioners with a score from every encoder.
        """
        summary = {}
        for name, values in self.scores.items():
            whole = ~np.isnan(values).any(axis=1)
            variation = np.full(len(values), np.nan)
            variation[whole] = coefficient_of_variation(values[whole])
            known = variation[~np.isnan(variation)]
            summary[name] = {
                "captioners": int(whole.sum()),
                "coefficient_of_variation": dict(zip(self.captioners, variation.tolist(), strict=True)),
                "mean_coefficient_of_variation": float(known.mean()) if len(known) else float("nan"),
                "conflict_score": conflict_score(values[whole]) if whole.any() else float("nan"),
                "ranking_consistency": ranking_consistency(values[whole]),
            }
        return summary

    def as_dict(self) -> dict[str, Any]:
        """The measurements and what follows from them, for a JSON file."""
        return {
            "captioners": self.captioners,
            "encoders": self.encoders,
            "scores": {
                name: {
                    captioner: dict(zip(self.encoders, row, strict=True))
                    for captioner, row in zip(self.captioners, values.tolist(), strict=True)
                }
                for name, values in self.scores.items()
            },
            "consistency": self.consistency(),
            "results": [
                {"captioner": captioner, "encoder": encoder, "metric": metric, "scores": measured.flat()}
                for (captioner, encoder, metric), measured in self.measurements.items()
            ],
        }


def consistency(
    captioners: Mapping[str, Captions | Mapping[str, Any]],
    encoders: Mapping[str, str] | Sequence[str],
    *,
    metrics: Sequence[str] = ("lic", "dbac"),
    directions: Sequence[str] = ("a_to_t", "t_to_a"),
    watch: Watch | None = None,
    **options: Any,
) -> Study:
    """Measure every captioner with every encoder, and compare.

    Finished trials are kept: a study that was interrupted goes on where it stopped.

    Args:
        captioners: their names, and for each its `Captions`, or the arguments `predictions`, `references`, `attributes`
            and, if there are any, `tasks`.
        encoders: names as `dbac` takes them, or other names mapped to those; of `imagecaptioner2` its judges.
        metrics: those that train attackers: `lic`, `dbac`, `dpa`, `label_leakage`; or `imagecaptioner2`.
        directions: of `dbac`.
        watch: called before each measurement with what it is and the share of the work that is done, in [0, 1].
        options: of the metrics, such as `trials`, `vectors`, `images`, `seed` or `cache`.

    Source: Nair et al. 2026, section 5.3; ImageCaptioner2, "Conflict score" and "Ranking consistency".

    >>> from captionbias.synthetic import plant
    >>> captioners = {name: vars(plant(200, a_to_t=dial)) for name, dial in (("faithful", 0.0), ("biased", 0.9))}
    >>> study = consistency(captioners, ["bow", "linear"], metrics=["lic"], trials=2, bootstrap=0)
    >>> study.scores["lic"].shape
    (2, 2)
    """
    named = dict(encoders) if isinstance(encoders, Mapping) else {name: name for name in encoders}
    if len(named) < 2 or not captioners:
        raise ValueError("encoders and captioners: give two encoders or more, and at least one captioner")
    chosen = {name: find_metric(name) for name in metrics}
    for name, metric in chosen.items():
        if not metric.options() & {"encoder", "judge"}:
            raise InputError("metrics", f": {name} does not train attackers, so encoders do not affect it")
    for encoder in named.values() if any("encoder" in metric.options() for metric in chosen.values()) else ():
        find_attacker(encoder)  # an unknown one is refused before hours of training
    checked = {
        key: given if isinstance(given, Captions) else check_captions(**given) for key, given in captioners.items()
    }
    cells = list(itertools.product(captioners, named, chosen))
    measurements: dict[tuple[str, str, str], Measurement] = {}
    for number, cell in enumerate(cells):
        captioner, encoder, name = cell
        if watch:
            watch(f"{name} of {captioner} by {encoder}", number / len(cells))
        own: dict[str, Any] = {"directions": list(directions), **dict.fromkeys(("encoder", "judge"), named[encoder])}
        if name != "dbac" and options.get("alignment") != "contextual":
            own["vectors"] = None
        accepted = chosen[name].accepted({**options, **own})
        measurements[cell] = chosen[name].measure(checked[captioner], **accepted)

    def value(key: str, captioner: str, encoder: str) -> float:
        estimate = measurements[captioner, encoder, catalogue.SCORES[key].metric].estimates.get(key)
        return estimate.value if estimate else math.nan

    scores = {
        key: np.array([[value(key, captioner, encoder) for encoder in named] for captioner in captioners])
        for name in chosen
        for key in catalogue.headlines(name)
        if catalogue.SCORES[key].direction in (None, *directions)
    }
    return Study(list(captioners), list(named), scores, measurements)


def consistency_tables(study: Study) -> Iterator[Grid]:
    """Tables of each score, captioners by encoders, with each encoder's ranking; then of how far encoders agree."""
    agreement = study.consistency()
    for key, values in study.scores.items():
        ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable") + 1
        digits, variations = catalogue.SCORES[key].digits, agreement[key]["coefficient_of_variation"]
        rows: list[list[Cell]] = [
            [
                captioner,
                *(_defined(value, f"{fixed(value, digits)} ({rank})") for value, rank in zip(*cells, strict=True)),
                _defined(variations[captioner], "{:.2f}"),
            ]
            for captioner, *cells in zip(study.captioners, values.tolist(), ranks.tolist(), strict=True)
        ]
        yield Grid(
            catalogue.label(key), columns("captioner", *study.encoders, "variation"), rows, "(rank, 1: least bias)"
        )
    forms = {"mean_coefficient_of_variation": "{:.2f}", "conflict_score": "{:.0%}", "ranking_consistency": "{:.2f}"}
    yield Grid(
        "Do encoders agree?",
        columns("score", "coefficient of\nvariation", "conflicts", "correlation"),
        [
            [catalogue.label(key), *(_defined(summary[part], form) for part, form in forms.items())]
            for key, summary in agreement.items()
        ],
        "Coefficient of variation: the spread over encoders relative to the mean, averaged over captioners. "
        "Conflicts: how often two encoders disagree on the side of 0. Correlation: Pearson's, of two encoders' scores.",
    )


def _defined(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else form.format(value)
