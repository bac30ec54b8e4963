"""How much hangs on choices, as tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from captionbias.analysis.sensitivity import Sensitivity, label
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS
from captionbias.report.grid import Cell, Column, Grid, columns

if TYPE_CHECKING:
    from captionbias.analysis.sensitivity import Move


def specifications(found: Sensitivity, captioner: str) -> Grid:
    """Every score of a captioner with every set of choices."""
    rows: list[list[Cell]] = [
        [
            catalogue.label(score),
            found.label(one),
            *(one.estimates.get(score) or (None, None, None))[:3],
            one.verdicts.get(score),
        ]
        for score in found.scores
        for one in found.of(captioner)
    ]
    return Grid(
        "Scores by choices",
        columns("score", captioner) + columns("value", "low", "high", form=".3f") + columns("verdict"),
        rows,
        f"low, high: 95% interval over images and trials. The base: {_base(found)}.",
    )


def moves(found: Sensitivity) -> Grid:
    """How far each choice moves each captioner's scores, and which verdicts it changes."""
    by_choice: dict[tuple[str, str], dict[str, Move]] = {}
    for one in found.moves:
        by_choice.setdefault((one.captioner, one.choice), {})[one.score] = one
    rows: list[list[Cell]] = []
    for (captioner, choice), by_score in by_choice.items():
        changed = [catalogue.SCORES[score].direction for score, one in by_score.items() if one.verdict_changes]
        changes = [by_score[score].change if score in by_score else None for score in found.scores]
        rows.append(
            [captioner, label(choice), *changes, ", ".join(DIRECTIONS[name] for name in changed if name) or None]
        )
    return Grid(
        "How far each choice moves DBAC",
        (
            Column("captioner"),
            Column("choice"),
            *(Column(catalogue.label(score).removeprefix("DBAC "), ".3f") for score in found.scores),
            Column("verdict changes"),
        ),
        rows,
        "The largest difference between two measurements that differ in this choice alone, and the directions in which "
        "two of them have different verdicts. A seed decides which human captions are drawn and how images are split: "
        f"how far seeds move a score is how far chance does. The base: {_base(found)}.",
    )


def _base(found: Sensitivity) -> str:
    return ", ".join(f"{label(choice)} {value}" for choice, value in found.base.items() if value is not None)
