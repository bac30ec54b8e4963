"""How much hangs on choices, as tables of a report."""

from __future__ import annotations

from captionbias.analysis.sensitivity import Move, Sensitivity, label
from captionbias.bench.catalogue import DIRECTIONS
from captionbias.bench.verdicts import NOTHING
from captionbias.metrics import catalogue
from captionbias.report.grid import RULE, Cell, Grid, Strong, columns
from captionbias.report.wording import interval


def moves(found: Sensitivity) -> Grid:
    """How far each choice moves each captioner's scores, and which verdicts it changes."""
    by_choice: dict[tuple[str, str], dict[str, Move]] = {}
    for move in found.moves:
        by_choice.setdefault((move.captioner, move.choice), {})[move.score] = move
    rows: list[list[Cell]] = []
    for (captioner, choice), by_score in by_choice.items():
        changed = [catalogue.SCORES[score].direction for score, move in by_score.items() if move.verdict_changes]
        changes = [by_score[score].change if score in by_score else None for score in found.scores]
        directions = ", ".join(DIRECTIONS[name] for name in changed if name)
        rows.append([captioner, label(choice), *changes, directions or None])
    return Grid(
        "How far each choice moves DBAC",
        columns("captioner", "choice")
        + columns(*(catalogue.label(score).removeprefix("DBAC ") for score in found.scores), form=".3f")
        + columns("verdict changes"),
        rows,
        "The largest difference between two measurements that differ in this choice alone, and the directions in which "
        "two of them have different verdicts. A seed decides which human captions are drawn and how images are split: "
        f"how far seeds move a score is how far chance does. The base: {_base(found)}.",
    )


def specifications(found: Sensitivity, captioner: str) -> Grid:
    """The interval and the verdict of each of a captioner's scores with each set of choices."""
    rows: list[list[Cell]] = []
    for key in found.scores:
        score = catalogue.SCORES[key]
        rows += [RULE, Strong([score.label, "", ""])]
        for each in found.of(captioner):
            said = each.verdicts.get(key, NOTHING) if score.judged else ""
            rows.append([f"  {each.label}", interval(each.estimates.get(key), score.digits), said])
    title = "Scores by choices [95% interval]"
    return Grid(title, columns(captioner, "score", "verdict"), rows, f"The base: {_base(found)}.")


def _base(found: Sensitivity) -> str:
    return ", ".join(f"{label(choice)} {value}" for choice, value in found.base.items())
