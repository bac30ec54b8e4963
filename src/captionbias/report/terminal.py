"""Measurements as tables for a terminal: an interval is one cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import Score
from captionbias.metrics.verdicts import CANNOT_TELL, detectable, verdict
from captionbias.report.grid import RULE, Cell, Grid, Strong, columns
from captionbias.report.matrix import main_scores
from captionbias.report.views import ALONE, differences, scored
from captionbias.report.wording import fixed, interval, percent
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.compare import Comparison
    from captionbias.analysis.intersections import Intersections
    from captionbias.images.attributions import ImageAttributions
    from captionbias.metrics import Measurement

TASKS = 5  # of sway


def measurement_table(measured: Measurement) -> Grid:
    """The scores of one metric; of sway with details also who is named wrong beside what, and the tasks named most
    unequally."""
    table, details = score_table([measured]), measured.details or {}
    if measured.metric != "sway":
        return table
    cells = [cell for cell in details.get("cells", ()) if cell["suggested"]]
    tasks = [row for row in details.get("tasks", ())[:TASKS] if "beta" in row]
    rows = table.rows
    if cells:
        rows += [RULE, ["named wrong, of those that name a value", "", ""]]
    for cell in cells:
        wrong, person = (fixed(cell.get(f"{who}_wrong_of_named", math.nan), 0) for who in ("captioner", "person"))
        rows.append([f"  {cell['attribute']}, tasks go with {cell['suggested']}", f"{wrong} (people: {person})", ""])
    if tasks:
        rows += [RULE, ["named more than by people", "", ""]]
    for row in tasks:
        estimate = Estimate(row["beta"], row.get("beta_ci_low"), row.get("beta_ci_high"))
        rows.append([f"  {row['task']}, with {row['attribute']}", interval(estimate, 1), ""])
    return Grid(
        "Sway, captions of 100 [95% interval]",
        columns("", "score", "verdict"),
        rows,
        "Beyond one more person, who reads 0: T to A, how many more captions name a wrong value beside tasks that "
        "suggest another; A to T, how many more mentions of tasks go with the value, what the images show being the "
        "same. Errors that do not follow the tasks read 0.",
    )


def score_table(measurements: Iterable[Measurement]) -> Grid:
    """A row for each score of each metric: its value with the interval, and the verdict where it has one."""
    return Grid(
        "[95% interval]",
        columns("", "score", "verdict"),
        [row for measured in measurements for row in (RULE, *_scores(measured))],
        "More than people: than in another person's captions of the same images. DBAC as published "
        "and directional BA also move with how often captions name anything at all, matched DBAC with any word that "
        "goes with the attribute, so they get no verdict.",
    )


def _scores(measured: Measurement) -> Iterator[list[Cell]]:
    headed: set[str | None] = set()
    for score in catalogue.scores_of(measured.metric):
        if score.in_tables and score.key in measured.estimates:
            label = score.row if score.direction in headed else None
            headed.add(score.direction)
            yield _score(measured, score, label or score.label, said_of(measured, score.key))


def _score(measured: Measurement, score: Score, label: str, said: str) -> list[Cell]:
    """A score's row, in bold with its verdict if it is judged."""
    number = interval(measured.estimates[score.key], score.digits)
    return Strong([label, number, said]) if score.judged else [label, number, ""]


def said_of(measured: Measurement, key: str) -> str:
    """A score's verdict; where we cannot tell also what would have been seen."""
    said, size = verdict(measured.estimates, key), detectable(measured.estimates, key)
    return f"{said} (would see {fixed(size, catalogue.SCORES[key].digits)})" if said == CANNOT_TELL and size else said


def comparison_tables(comparison: Comparison) -> Iterator[Grid]:
    """The captioners' scores with their intervals and p-values; then every difference, likewise."""
    yield Grid(
        "Scores [95% interval]",
        columns("captioner", "score", "value") + columns("p", form="p"),
        [
            [
                name,
                score.label,
                scored(measured.estimates, score.key),
                comparison.p_values[name].get(score.key, math.nan),
            ]
            for name, measured in comparison.measurements.items()
            for score in map(catalogue.SCORES.__getitem__, comparison.scores)
        ],
        "p: how often chance alone would bring a score this far from 0.",
    )
    yield differences([comparison])


def intersection_tables(found: Intersections) -> Iterator[Grid]:
    """How many images each intersection has; the crossing's result; its main scores beside each attribute's alone."""
    images: list[list[Cell]] = [[*labels, f"{count:,}"] for labels, count in found.cells.items()]
    yield Grid("Images", columns(*found.alone, "images"), images)
    yield measurement_table(found.crossed)
    rows = [
        _score(measured, score, f"{name}: {score.label}", verdict(measured.estimates, score.key))
        for name, measured in found.measurements.items()
        for score in main_scores(measured.estimates)
    ]
    yield Grid("Each attribute alone, and crossed [95% interval]", columns("", "score", "verdict"), rows, ALONE)


def attribution_table(found: ImageAttributions, of: str = "") -> Grid:
    """What share of what speaks for the words is outside the person, by label; `of`: which images."""
    occluded = found.method == "occlusion"
    meaning = "Area: of the pictures, outside the person; what the share would be if every place counted alike."
    if occluded:
        meaning += (
            " Where either would do, each has half. Gain: what the picture adds to the log-odds of the word, in nats."
        )
    rows: list[list[Cell]] = [
        [label, percent(part.share), f"{part.area:.1%}", *[f"{part.gain:.2f}"] * occluded, f"{part.words:,}"]
        for label, part in (*found.by_label.items(), ("all", found.overall))
    ]
    return Grid(
        f"Attribution outside the person{f', {of}' if of else ''} [95% interval]",
        columns("", "share", "area", *["gain"] * occluded, "words"),
        [*rows[:-1], RULE, rows[-1]],
        meaning,
    )
