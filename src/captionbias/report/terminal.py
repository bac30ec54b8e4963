"""Measurements as tables for a terminal: an interval is one cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from captionbias.analysis.compare import Comparison
from captionbias.bench.catalogue import Score
from captionbias.bench.sentence import called_in
from captionbias.metrics import Measurement, catalogue
from captionbias.report.grid import RULE, Cell, Grid, Strong, columns
from captionbias.report.leaderboard import captioner_rows, gap_title, gaps, leaderboard
from captionbias.report.views import (
    ALONE,
    bars_table,
    differences,
    scored,
    sway_cells,
    sway_chosen,
    sway_level,
    sway_tasks,
    sway_words,
)
from captionbias.report.wording import interval, verdict_text, yardstick

WORDS, OTHERS = 10, 5  # rows of sway's tables


def measurement_tables(measured: Measurement) -> Iterator[Grid]:
    """The scores of one metric; of sway also, question by question, who is named wrong or not at all, beside what, and
    the words and the tasks that follow a value most."""
    if measured.metric == "sway" and measured.details:
        yield bars_table(captioner_rows({"sway": measured.flat()}, "captioner"))
    yield score_table([measured])
    if measured.metric == "sway" and (details := measured.details):
        grids = (
            sway_level(details),
            sway_cells(details),
            sway_chosen(details),
            sway_words(details, top=WORDS),
            sway_tasks(details, top=OTHERS),
        )
        yield from (grid for grid in grids if grid.rows)


def score_table(measurements: Iterable[Measurement]) -> Grid:
    """A row for each score of each metric: its value with the interval, and the verdict where it has one."""
    results = list(measurements)
    notes = [yardstick({key: of for measured in results for key, of in measured.estimates.items()}).meaning]
    notes += [below for measured in results if (below := catalogue.METRICS[measured.metric].below)]
    rows = [row for measured in results for row in (RULE, *_scores(measured))]
    return Grid("[95% interval]", columns("", "score", "verdict"), rows, " ".join(notes))


def _scores(measured: Measurement) -> Iterator[list[Cell]]:
    headed: set[str | None] = set()
    for score in catalogue.scores_of(measured.metric):
        if score.in_tables and score.key in measured.estimates:
            row = score.row if score.direction in headed else None
            headed.add(score.direction)
            yield _score(measured, score, row or score.label)


def _score(measured: Measurement, score: Score, label: str) -> list[Cell]:
    estimate = measured.estimates[score.key]
    number, verdict = interval(estimate, score.digits), verdict_text(score.key, estimate, measured.details)
    return Strong([label, number, verdict]) if score.judged else [label, number, ""]


def comparison_tables(comparison: Comparison) -> Iterator[Grid]:
    """Of sway with details the rows, of two captioners below their difference; the captioners' scores with their
    intervals and p-values; then every difference, likewise."""
    results = {name: measured.flat() for name, measured in comparison.measurements.items()}
    if comparison.metric == "sway" and all("level" in result.get("details", {}) for result in results.values()):
        by_name = {name: [result] for name, result in results.items()}
        board = leaderboard(by_name, comparison.verdicts, called_in(next(iter(results.values()))))
        between = gaps(board, {"sway": comparison})
        yield bars_table(board, gap_title(board, between) if between else "")
    rows: list[list[Cell]] = [
        [name, catalogue.label(key), scored(measured.estimates, key), comparison.p_values[name].get(key, math.nan)]
        for name, measured in comparison.measurements.items()
        for key in comparison.scores
    ]
    heads = columns("captioner", "score", "value") + columns("p", form="p")
    yield Grid("Scores [95% interval]", heads, rows, "p: how often chance alone would bring a score this far from 0.")
    yield differences([comparison])


def intersection_tables(results: Mapping[str, Measurement], cells: Mapping[tuple[str, ...], int]) -> Iterator[Grid]:
    """The images of each intersection; the crossing's result, of sway also its words; its main scores beside each
    attribute's alone."""
    *alone, crossing = results
    images: list[list[Cell]] = [[*labels, f"{count:,}"] for labels, count in cells.items()]
    yield Grid("Images", columns(*alone, "images"), images)
    yield score_table([results[crossing]])
    words = sway_words(results[crossing].details or {}, top=WORDS)
    yield from [words] if words.rows else []
    rows = [
        _score(measured, score, f"{name}: {score.label}")
        for name, measured in results.items()
        for score in catalogue.main_scores(measured.estimates)
    ]
    yield Grid("Each attribute alone, and crossed [95% interval]", columns("", "score", "verdict"), rows, ALONE)
