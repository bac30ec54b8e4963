"""How much hangs on choices, and what would have been seen, as tables: for a terminal, for a page and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from captionbias.analysis.sensitivity import Sensitivity, label
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS
from captionbias.metrics.verdicts import NOTHING
from captionbias.report.grid import RULE, Cell, Column, Grid, Strong, columns
from captionbias.report.wording import fixed, interval

if TYPE_CHECKING:
    from captionbias.analysis.power import Power
    from captionbias.analysis.sensitivity import Move


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


def sensitivity_tables(found: Sensitivity) -> Iterator[Grid]:
    """For each captioner its scores with each set of choices; then what each choice moves."""
    yield from (specifications(found, captioner) for captioner in found.captioners)
    yield moves(found)


def specifications(found: Sensitivity, captioner: str) -> Grid:
    """For each score of a captioner the interval and the verdict with each set of choices."""
    rows: list[list[Cell]] = []
    for key in found.scores:
        score = catalogue.SCORES[key]
        rows += [RULE, Strong([score.label, "", ""])]
        for one in found.of(captioner):
            said = one.verdicts.get(key, NOTHING) if score.judged else ""
            rows.append([f"  {found.label(one)}", interval(one.estimates.get(key), score.digits), said])
    title = "Scores by choices [95% interval]"
    return Grid(title, columns(captioner, "score", "verdict"), rows, f"The base: {_base(found)}.")


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


def _base(found: Sensitivity) -> str:
    return ", ".join(f"{label(choice)} {value}" for choice, value in found.base.items() if value is not None)
