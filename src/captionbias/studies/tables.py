"""Studies as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from captionbias.metrics import catalogue
from captionbias.metrics.verdicts import NOTHING
from captionbias.report.grid import Cell, Grid, columns
from captionbias.report.wording import fixed, interval
from captionbias.studies.consistency import Study
from captionbias.studies.power import Power


def power_table(found: Power) -> Grid:
    """From which share of captions on each bias is seen, and what is read there."""
    rows: list[list[Cell]] = []
    for one in found.seen:
        score = catalogue.SCORES[one.score]
        seen = f"not at {_percent(one.possible)}" if one.share is None else _percent(one.share)
        rows.append([one.bias, score.label, seen, interval(one.estimate, score.digits)])
    return Grid(
        "What would sway have seen on these images? [95% interval]",
        columns("put into people's captions", "score", "seen from", "reads there"),
        rows,
        "One human caption of each image stands in the captioner's place and is changed. Seen from: the "
        "smallest share of captions changed, of those tried, that gets a verdict. Not at: as many as can be changed.",
    )


def _percent(share: float) -> str:
    return f"{fixed(100 * share, 1)}%"


def consistency_tables(study: Study) -> Iterator[Grid]:
    """For each score the captioners by encoders, each encoder's ranking in parentheses; then how far encoders agree."""
    agreement = study.consistency()
    for key, values in study.scores.items():
        ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable") + 1
        digits, variations = catalogue.SCORES[key].digits, agreement[key]["coefficient_of_variation"]
        rows: list[list[Cell]] = [
            [
                captioner,
                *(_defined(value, f"{fixed(value, digits)} ({rank})") for value, rank in zip(*of_row, strict=True)),
                _defined(variations[captioner], "{:.2f}"),
            ]
            for captioner, *of_row in zip(study.captioners, values.tolist(), ranks.tolist(), strict=True)
        ]
        yield Grid(
            catalogue.label(key), columns("captioner", *study.encoders, "variation"), rows, "(rank, 1: least bias)"
        )
    forms = {"mean_coefficient_of_variation": "{:.2f}", "conflict_score": "{:.0%}", "ranking_consistency": "{:.2f}"}
    yield Grid(
        "Do encoders agree?",
        columns("score", "coefficient of\nvariation", "conflicts", "correlation"),
        [
            [catalogue.label(key), *(_defined(found[part], form) for part, form in forms.items())]
            for key, found in agreement.items()
        ],
        "Coefficient of variation: the spread over encoders relative to the mean, averaged over captioners. "
        "Conflicts: how often two encoders disagree on the side of 0. Correlation: Pearson's, of two encoders' scores.",
    )


def _defined(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else form.format(value)
