"""Measurements as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS, QUESTIONS, SIDES
from captionbias.metrics.verdicts import NOTHING, UNCLEAR, detectable, verdict
from captionbias.report.wording import fixed, interval, p_text, percent
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.compare import Comparison
    from captionbias.analysis.consistency import Study
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


def measurement_table(measured: Measurement) -> Table:
    """The table of one metric's result."""
    special = {"lic": lic_table, "dbac": dbac_table, "sway": sway_table}
    return special[measured.metric](measured) if measured.metric in special else score_table([measured])


def sway_table(measured: Measurement) -> Table:
    """Sway with its verdicts; with details whom it names wrong beside what, and the tasks named most unequally."""
    table = score_table([measured])
    table.title = "Sway, captions of 100 [95% interval]"
    table.caption = (
        "\nBeyond one more person, who reads 0: T to A, how many more captions name a wrong value beside tasks that "
        "suggest another; A to T, how many more mentions of tasks go with the value, what the images show being the "
        "same. Errors that do not follow the tasks read 0."
    )
    details = measured.details or {}
    for number, cell in enumerate(cell for cell in details.get("cells", ()) if cell["suggested"]):
        if not number:
            table.add_section()
            table.add_row("named wrong, of those that name a value", "", "")
        wrong, person = (fixed(cell.get(f"{who}_wrong_of_named", math.nan), 0) for who in ("captioner", "person"))
        table.add_row(f"  {cell['attribute']}, tasks go with {cell['suggested']}", f"{wrong} (people: {person})", "")
    for number, row in enumerate(row for row in details.get("tasks", ())[:TASKS] if "beta" in row):
        if not number:
            table.add_section()
            table.add_row("named more than by people", "", "")
        estimate = Estimate(row["beta"], row.get("beta_ci_low"), row.get("beta_ci_high"))
        table.add_row(f"  {row['task']}, with {row['attribute']}", interval(estimate, 1), "")
    return table


def lic_table(measured: Measurement) -> Table:
    """LIC, leakage and confidence of each side, what chance gives, and the difference with its verdict."""
    estimates = measured.estimates
    sides = {side: name for side, name in (("m", SIDES["m"]), ("d", SIDES["h"])) if f"lic_{side}" in estimates}
    meaning = "An attacker infers the attribute from captions whose attribute words are masked."
    if len(sides) == 2:
        meaning += " A difference above 0: the captioner's captions give it away more than human ones (amplifies)."
    table = plain_table("LIC x 100 [95% interval]", "", *SCORES.values(), meaning=meaning)
    for side, name in sides.items():
        table.add_row(name, *(interval(estimates.get(f"{score}_{side}"), 1) for score in SCORES))
    values = len(measured.artefacts.plans["lic"].classes)
    chance = 100 / values
    # An attacker that learned nothing may still be sure of itself, which LIC rewards and confidence does not.
    table.add_row("chance", f"{chance / values:.1f} or more", f"{chance:.1f}", f"{chance:.1f}")
    if len(sides) == 2:
        table.add_section()
        table.add_row("difference", *(interval(estimates.get(score), 1) for score in SCORES), style="bold")
        table.add_row("  verdict", *(said_of(measured, score) for score in SCORES))
    return table


def dbac_table(measured: Measurement) -> Table:
    """DBAC of each direction: net with its verdict, matched, blind, published, and the parts they are made of."""
    directions, estimates = list(measured.artefacts.plans), measured.estimates
    both = any(key.startswith("dbac_") for key in estimates)
    meaning = "Omega is how confidently an attacker infers what the captions hide, each caption by its weight."
    if both:
        meaning = (
            "Above 0 the captioner amplifies its data's bias, below 0 it mitigates it; one more person reads 0. As "
            "published, the score also moves with how often captions name anything at all; matched to the same naming, "
            "it does not. Blind: matched, with the words for attribute and tasks both hidden. Net: matched less blind. "
            + meaning
        )
    table = plain_table("DBAC [95% interval]", "", *(HEADS[name] for name in directions), meaning=meaning)

    def cells(pattern: str) -> list[str]:
        return [interval(estimates.get(pattern.format(name)), 3) for name in directions]

    if both:
        net = any(f"dbac_{name}_net" in estimates for name in directions)
        if net:
            table.add_row("DBAC, net", *cells("dbac_{}_net"), style="bold")
            table.add_row("  verdict", *(said_of(measured, f"dbac_{name}_net") for name in directions))
        table.add_row("DBAC, matched", *cells("dbac_{}_matched"))
        if net:
            table.add_row("DBAC, blind", *cells("dbac_{}_blind"))
        table.add_row("DBAC, as published", *cells("dbac_{}"))
        table.add_row("  its weights alone", *cells("dbac_{}_prior"))
    for side, who in SIDES.items():
        if any(f"omega_{side}_{name}" in estimates for name in directions):
            table.add_section()
            table.add_row(f"omega, {who}", *cells(f"omega_{side}_{{}}"))
            for label, (key, form) in PARTS.items():
                values = [measured.facts.get(f"{key}_{side}_{name}") for name in directions]
                if values[0] is not None:
                    table.add_row(label, *(NOTHING if value is None else _number(value, form) for value in values))
    return table


# What an omega is made of: the fact's key and its form; None for three digits below 10.
PARTS = {
    "  attacker's mean quality": ("mean_quality", None),
    "  mean weight": ("mean_weight", None),
    "  test captions": ("test_captions", ",.0f"),
    "  effective sample": ("effective_sample", ",.0f"),
    "    when matched": ("effective_sample_matched", ",.0f"),
    "  named on both sides": ("coverage", ".0%"),
}


def score_table(measurements: list[Measurement]) -> Table:
    """A row for each score of each metric: its value with the interval, and the verdict where it has one."""
    table = plain_table(
        "[95% interval]",
        "",
        "score",
        "verdict",
        meaning="Amplifies: the captioner makes its data's bias worse than one more person would. DBAC as published "
        "and directional BA also move with how often captions name anything at all, matched DBAC with any word that "
        "goes with the attribute, so they get no verdict.",
    )
    for measured in measurements:
        table.add_section()
        headed: set[str | None] = set()
        for score in catalogue.scores_of(measured.metric):
            if score.in_tables and score.key in measured.estimates:
                below = score.row if score.direction in headed else None
                headed.add(score.direction)
                table.add_row(
                    below or score.label,
                    interval(measured.estimates[score.key], score.digits),
                    said_of(measured, score.key) if score.judged else "",
                    style="bold" if score.judged else None,
                )
    return table


def said_of(measured: Measurement, key: str) -> str:
    """A score's verdict; of an unclear one also what would have been seen."""
    said, size = verdict(measured.estimates, key), detectable(measured.estimates, key)
    return f"{said} (sees {fixed(size, catalogue.SCORES[key].digits)})" if said == UNCLEAR and size else said


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The captioners' scores with their intervals and p-values; then every difference, likewise."""
    scores = [catalogue.SCORES[key] for key in comparison.scores]
    table = plain_table(
        "Scores [95% interval]",
        "captioner",
        "score",
        "",
        "p",
        meaning="p: how often chance alone would bring a score this far from 0.",
    )
    for name, measured in comparison.measurements.items():
        table.add_section()
        for number, score in enumerate(scores):
            p = comparison.p_values[name].get(score.key)
            table.add_row(
                "" if number else name,
                score.label,
                interval(measured.estimates.get(score.key), score.digits),
                NOTHING if p is None else p_text(p),
            )
    yield table
    count = len(comparison.differences)
    table = plain_table(
        "Differences [95% interval]",
        "",
        "score",
        "difference",
        "p",
        "p, corrected",
        meaning="The first captioner less the second, on the same images, splits and replicates. Corrected: by Holm's "
        f"procedure for {'the one difference' if count == 1 else f'all {count:,} differences'}. In bold: below 0.05.",
    )
    for pair, differences in groupby(comparison.differences, lambda one: f"{one.first} - {one.second}"):
        table.add_section()
        for number, one in enumerate(differences):
            score = catalogue.SCORES[one.score]
            table.add_row(
                "" if number else pair,
                score.label,
                interval(one.estimate, score.digits),
                p_text(one.p),
                p_text(one.p_holm),
                style="bold" if one.p_holm < 0.05 else None,
            )
    yield table


def intersection_tables(found: Intersections) -> Iterator[Table]:
    """How many images each intersection has; the crossing's result; its main scores beside each attribute's alone."""
    table = plain_table("Images", *found.alone, "images", meaning="")
    for labels, count in found.cells.items():
        table.add_row(*labels, f"{count:,}")
    yield table
    yield measurement_table(found.crossed)
    metric = found.crossed.metric
    table = plain_table(
        "Each attribute alone, and crossed [95% interval]",
        *("attribute", "values", "score", "", "verdict"),
        meaning="On the same images. Each attribute alone hides its own words, the crossing those of all."
        + (" The more values, the lower is LIC of a side by chance; the difference is not." if metric == "lic" else ""),
    )
    counts = [len(set(labels)) for labels in zip(*found.cells, strict=True)] + [sum(map(bool, found.cells.values()))]
    for (name, measured), values in zip(found.measurements.items(), counts, strict=True):
        table.add_section()
        estimates, heading = measured.estimates, (name, str(values))
        main = [key for key in catalogue.headlines(metric) if key in estimates] or catalogue.headlines_alone(metric)
        shown = {f"{key}{side}" for key in main for side in ("", "_m", "_d")}.intersection(estimates)
        for score in catalogue.scores_of(metric):
            if score.key in shown:
                table.add_row(
                    *heading,
                    score.label,
                    interval(estimates[score.key], score.digits),
                    verdict(measured.estimates, score.key) if score.judged else "",
                    style="bold" if score.judged else None,
                )
                heading = "", ""
    yield table


def consistency_tables(study: Study) -> Iterator[Table]:
    """For each score the captioners by encoders, each encoder's ranking in parentheses; then how far encoders agree."""
    agreement = study.consistency()
    for name, values in study.scores.items():
        columns = (*study.encoders, "variation")
        table = plain_table(catalogue.label(name), "captioner", *columns, meaning="(rank, 1: least bias)")
        ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable") + 1
        digits = catalogue.SCORES[name].digits
        for row, captioner in enumerate(study.captioners):
            variation = agreement[name]["coefficient_of_variation"][captioner]
            cells = (
                NOTHING if math.isnan(value) else f"{fixed(value, digits)} ({rank})"
                for value, rank in zip(values[row].tolist(), ranks[row].tolist(), strict=True)
            )
            table.add_row(captioner, *cells, NOTHING if math.isnan(variation) else f"{variation:.2f}")
        yield table
    yield _variation_table(study, agreement)
    table = plain_table(
        "Do encoders agree?",
        "score",
        "coefficient of\nvariation",
        "conflicts",
        "correlation",
        meaning="Coefficient of variation: the spread over encoders relative to the mean, averaged over captioners. "
        "Conflicts: how often two encoders disagree on who amplifies. Correlation: Pearson's, of two encoders' scores.",
    )
    for name, found in agreement.items():
        table.add_row(
            catalogue.label(name),
            _defined(found["mean_coefficient_of_variation"], "{:.2f}"),
            _defined(found["conflict_score"], "{:.0%}"),
            _defined(found["ranking_consistency"], "{:.2f}"),
        )
    yield table


def _variation_table(study: Study, agreement: Mapping[str, Mapping[str, Any]]) -> Table:
    """The coefficient of variation of each captioner and score, and how much smaller than LIC's it is."""
    beside = [name for name in agreement if name != "lic"] if "lic" in agreement else []
    table = plain_table(
        "Coefficient of variation over encoders (below: percent less than LIC's)"
        if beside
        else "Coefficient of variation",
        "captioner",
        *(catalogue.label(name).replace(", ", ",\n") for name in agreement),
        meaning="",
    )
    rows = {
        name: {**found["coefficient_of_variation"], "mean": found["mean_coefficient_of_variation"]}
        for name, found in agreement.items()
    }
    for captioner in (*study.captioners, "mean"):
        cells = []
        for name, values in rows.items():
            cells.append(_defined(values[captioner], "{:.2f}"))
            if name in beside and (of_lic := rows["lic"][captioner]):
                cells[-1] += f"\n{_defined(100 * (1 - values[captioner] / of_lic), '{:.0f}%')}"
        table.add_row(captioner, *cells)
    return table


def _defined(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else form.format(value)


def attribution_table(found: ImageAttributions, of: str = "") -> Table:
    """What share of what speaks for the words is outside the person, by label; `of`: which images."""
    gain = ["gain"] if found.method == "occlusion" else []
    table = plain_table(
        f"Attribution outside the person{f', {of}' if of else ''} [95% interval]",
        *("", "share", "area", *gain, "words"),
        meaning="Area: of the pictures, outside the person; what the share would be if every place counted alike."
        + (
            " Where either would do, each has half. Gain: what the picture adds to the log-odds of the word, in nats."
            if gain
            else ""
        ),
    )
    for label, shares in [*found.by_label.items(), ("all", found.overall)]:
        if label == "all":
            table.add_section()
        gained = [f"{shares.gain:.2f}"] if gain else []
        table.add_row(label, percent(shares.share), f"{shares.area:.1%}", *gained, f"{shares.words:,}")
    return table


def plain_table(title: str, *columns: str, meaning: str) -> Table:
    """A table that fits 80 columns where one with frames would fold its intervals; `meaning` is written below it."""
    return Table(
        *columns,
        title=title,
        title_justify="left",
        caption=f"\n{meaning}" if meaning else None,
        caption_justify="left",
        caption_style="none",
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _number(value: float, form: str | None) -> str:
    """Without a form, three digits behind the point below 10, none from 1,000 on."""
    return format(value, form or f",.{3 if value < 10 else 1 if value < 1000 else 0}f")
