"""Measurements as tables for a terminal: an interval is one cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS, QUESTIONS, SIDES, Score
from captionbias.metrics.verdicts import CANNOT_TELL, NOTHING, detectable, verdict
from captionbias.report.grid import RULE, Cell, Grid, Strong, columns, grouped
from captionbias.report.wording import fixed, interval, p_text, percent
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.compare import Comparison, Difference
    from captionbias.analysis.intersections import Intersections
    from captionbias.images.attributions import ImageAttributions
    from captionbias.metrics import Measurement

# What LIC, leakage and confidence count, and what each direction asks, as the heads of columns.
SCORES = {
    "lic": "LIC\nright, and how sure",
    "leakage": "leakage\nhow often right",
    "confidence": "confidence\nhow sure",
}
TASKS = 5  # of sway
HEADS = {name: f"{DIRECTIONS[name]}\n{text.replace(' shape', chr(10) + 'shape')}" for name, text in QUESTIONS.items()}
FORMS = {
    "DBAC, net": "_net",
    "DBAC, matched": "_matched",
    "DBAC, blind": "_blind",
    "DBAC, as published": "",
    "  its weights alone": "_prior",
}
# What an omega is made of: the fact's key and its form; None for three digits below 10.
PARTS = {
    "  attacker's mean quality": ("mean_quality", None),
    "  mean weight": ("mean_weight", None),
    "  test captions": ("test_captions", ",.0f"),
    "  effective sample": ("effective_sample", ",.0f"),
    "    when matched": ("effective_sample_matched", ",.0f"),
    "  named on both sides": ("coverage", ".0%"),
}


def measurement_table(measured: Measurement) -> Grid:
    """The table of one metric's result."""
    special = {"lic": lic_table, "dbac": dbac_table, "sway": sway_table}
    return special[measured.metric](measured) if measured.metric in special else score_table([measured])


def sway_table(measured: Measurement) -> Grid:
    """Sway with its verdicts; with details whom it names wrong beside what, and the tasks named most unequally."""
    details = measured.details or {}
    cells = [cell for cell in details.get("cells", ()) if cell["suggested"]]
    tasks = [row for row in details.get("tasks", ())[:TASKS] if "beta" in row]
    rows = score_table([measured]).rows
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


def lic_table(measured: Measurement) -> Grid:
    """LIC, leakage and confidence of each side, what chance gives, and the difference with its verdict."""
    estimates = measured.estimates
    sides = {side: name for side, name in (("m", SIDES["m"]), ("d", SIDES["h"])) if f"lic_{side}" in estimates}
    values = len(measured.artefacts.plans["lic"].classes)
    chance = 100 / values
    meaning = "An attacker infers the attribute from captions whose attribute words are masked."
    rows: list[list[Cell]] = [
        [name, *(interval(estimates.get(f"{score}_{side}"), 1) for score in SCORES)] for side, name in sides.items()
    ]
    # An attacker that learned nothing may still be sure of itself, which LIC rewards and confidence does not.
    rows.append(["chance", f"{chance / values:.1f} or more", f"{chance:.1f}", f"{chance:.1f}"])
    if len(sides) == 2:
        meaning += " A difference above 0: the captioner's captions give it away more than other people's."
        rows += [
            RULE,
            Strong(["difference", *(interval(estimates.get(score), 1) for score in SCORES)]),
            ["  verdict", *(said_of(measured, score) for score in SCORES)],
        ]
    return Grid("LIC x 100 [95% interval]", columns("", *SCORES.values()), rows, meaning)


def dbac_table(measured: Measurement) -> Grid:
    """DBAC of each direction: net with its verdict, matched, blind, published, and the parts they are made of."""
    directions, estimates = list(measured.artefacts.plans), measured.estimates
    meaning = "Omega is how confidently an attacker infers what the captions hide, each caption by its weight."
    rows: list[list[Cell]] = []
    if any(key.startswith("dbac_") for key in estimates):
        meaning = (
            "Above 0 is more bias than in other people's captions of the same images, below 0 less. As "
            "published, the score also moves with how often captions name anything at all; matched to the same naming, "
            "it does not. Blind: matched, with the words for attribute and tasks both hidden. Net: matched less blind. "
            + meaning
        )
        for label, form in FORMS.items():
            if any(f"dbac_{name}{form}" in estimates for name in directions):
                rows.append(_row(measured, label, f"dbac_{{}}{form}", directions))
            if form == "_net" and rows:
                rows[-1] = Strong(rows[-1])
                rows.append(["  verdict", *(said_of(measured, f"dbac_{name}_net") for name in directions)])
    for side, who in SIDES.items():
        if any(f"omega_{side}_{name}" in estimates for name in directions):
            rows += [RULE, _row(measured, f"omega, {who}", f"omega_{side}_{{}}", directions)]
            rows += _parts(measured.facts, side, directions)
    return Grid("DBAC [95% interval]", columns("", *(HEADS[name] for name in directions)), rows, meaning)


def _row(measured: Measurement, label: str, pattern: str, directions: Sequence[str]) -> list[Cell]:
    return [label, *(interval(measured.estimates.get(pattern.format(name)), 3) for name in directions)]


def _parts(facts: Mapping[str, Any], side: str, directions: Sequence[str]) -> Iterator[list[Cell]]:
    """What the omega of a side is made of."""
    for label, (key, form) in PARTS.items():
        values = [facts.get(f"{key}_{side}_{name}") for name in directions]
        if values[0] is not None:
            yield [label, *(NOTHING if value is None else _number(value, form) for value in values)]


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
    scores = [catalogue.SCORES[key] for key in comparison.scores]
    rows: dict[str, list[list[Cell]]] = {name: [] for name in comparison.measurements}
    for name, measured in comparison.measurements.items():
        for score in scores:
            p = p_text(comparison.p_values[name].get(score.key, math.nan))
            rows[name].append([score.label, interval(measured.estimates.get(score.key), score.digits), p])
    yield Grid(
        "Scores [95% interval]",
        columns("captioner", "score", "", "p"),
        grouped(([name], of_captioner) for name, of_captioner in rows.items()),
        "p: how often chance alone would bring a score this far from 0.",
    )
    count = len(comparison.differences)
    pairs = groupby(comparison.differences, lambda one: f"{one.first} - {one.second}")
    yield Grid(
        "Differences [95% interval]",
        columns("", "score", "difference", "p", "p, corrected"),
        grouped(([pair], map(_difference, differences)) for pair, differences in pairs),
        "The first captioner less the second, on the same images, splits and replicates. Corrected: by Holm's "
        f"procedure for {'the one difference' if count == 1 else f'all {count:,} differences'}. In bold: below 0.05.",
    )


def _difference(one: Difference) -> list[Cell]:
    score = catalogue.SCORES[one.score]
    kind = Strong if one.p_holm < 0.05 else list
    return kind([score.label, interval(one.estimate, score.digits), p_text(one.p), p_text(one.p_holm)])


def intersection_tables(found: Intersections) -> Iterator[Grid]:
    """How many images each intersection has; the crossing's result; its main scores beside each attribute's alone."""
    images: list[list[Cell]] = [[*labels, f"{count:,}"] for labels, count in found.cells.items()]
    yield Grid("Images", columns(*found.alone, "images"), images)
    yield measurement_table(found.crossed)
    metric = found.crossed.metric
    counts = [len(set(labels)) for labels in zip(*found.cells, strict=True)] + [sum(map(bool, found.cells.values()))]
    yield Grid(
        "Each attribute alone, and crossed [95% interval]",
        columns("attribute", "values", "score", "", "verdict"),
        grouped(
            ([name, str(values)], _main_scores(measured))
            for (name, measured), values in zip(found.measurements.items(), counts, strict=True)
        ),
        "On the same images. Each attribute alone hides its own words, the crossing those of all."
        + (" The more values, the lower is LIC of a side by chance; the difference is not." if metric == "lic" else ""),
    )


def _main_scores(measured: Measurement) -> Iterator[list[Cell]]:
    """The main scores, and those of each side that they compare."""
    metric, estimates = measured.metric, measured.estimates
    main = [key for key in catalogue.headlines(metric) if key in estimates] or catalogue.headlines_alone(metric)
    keys = {f"{key}{side}" for key in main for side in ("", "_m", "_d")}.intersection(estimates)
    for score in catalogue.scores_of(metric):
        if score.key in keys:
            yield _score(measured, score, score.label, verdict(estimates, score.key))


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


def _number(value: float, form: str | None) -> str:
    """Without a form, three digits behind the point below 10, none from 1,000 on."""
    return format(value, form or f",.{3 if value < 10 else 1 if value < 1000 else 0}f")
