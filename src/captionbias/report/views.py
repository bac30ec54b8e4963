"""An audit as plain tables: the same rows for a page, for Markdown and for CSV."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.analysis.compare import Comparison
from captionbias.analysis.intersections import CROSSING
from captionbias.bench.catalogue import Score
from captionbias.bench.verdicts import NOTHING
from captionbias.captions import count_cells
from captionbias.metrics import catalogue
from captionbias.report.grid import NO_BREAK, Cell, Grid, GridColumn, Scored, Strong, columns
from captionbias.report.leaderboard import MOST_VALUES, SURE, Leaderboard, title
from captionbias.report.wording import Yardstick, shortened, with_doubt, yardstick_of
from captionbias.statistics.samples import Estimate

MOST_CHOSEN = 12  # columns of words
TWO_SIDED = "A gap is as bad below 0 as above it: above 0 the first of two values has more, below 0 the second."
ALONE = (
    "On the same images. Each attribute alone hides its own words, the crossing those of all. A captioner can be "
    "fair by each attribute alone and not at an intersection. LIC of one side is lower by chance the more values "
    "there are; its difference from people is not. Whether wrong names follow the tasks is asked of each attribute "
    "alone."
)
QUALITY_NAMES = {
    "bleu_4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "meteor": "METEOR",
    "meteor_without_synonyms": "METEOR without synonyms",
    "cider": "CIDEr",
}


def scores(audit: Audit, judged: bool = False) -> Grid:
    """Every score of every captioner with its interval, p-value and verdict."""
    entries = list(_scores_of(audit))
    if judged and any(score.judged for _, score in entries):
        entries = [(captioner, score) for captioner, score in entries if score.judged]
    rows: list[list[Cell]] = []
    for captioner, score in entries:
        estimates = audit.measurement(score.metric, captioner).estimates
        row: list[Cell] = [captioner, score.label, scored(estimates, score.key), None, None, None]
        if score.judged:
            p = audit.comparisons[score.metric].p_values[captioner].get(score.key, math.nan)
            verdict = _verdict(audit, captioner, score)
            detectable = estimates[score.key].detectable if score.key in estimates else None
            row[3:] = [detectable, _number(p), verdict]
        rows.append(row)
    numbers = columns("value", "detectable", form=".3f") + columns("p", form="p")
    names = columns("captioner", "score") + numbers + columns("verdict")
    return Grid(
        "Scores [95% interval]", names, rows, _scores_meaning([score for _, score in entries], yardstick_of(audit))
    )


def scored(estimates: Mapping[str, Estimate], key: str) -> Scored | None:
    """A score's estimate and digits; None where it is undefined."""
    return Scored(estimates[key], catalogue.SCORES[key].digits) if key in estimates else None


def _verdict(audit: Audit, captioner: str, score: Score) -> str:
    estimate = audit.measurement(score.metric, captioner).estimates.get(score.key)
    return with_doubt(audit.verdicts.get((captioner, score.key), NOTHING), estimate)


def _scores_of(audit: Audit) -> Iterator[tuple[str, Score]]:
    """Each captioner with each score that it has, or that was requested and is undefined."""
    for captioner in audit.captioners:
        for metric, comparison in audit.comparisons.items():
            for score in catalogue.scores_of(metric):
                defined = score.key in comparison.measurements[captioner].estimates
                if score.in_tables and (defined or score.key in comparison.scores):
                    yield captioner, score


def _scores_meaning(scores: Sequence[Score], beside: Yardstick) -> str:
    parts = ["Intervals are over images and trials."]
    if any(score.judged for score in scores):
        parts.append("Detectable: a score so far from 0 would get its verdict in four of five samples of this size.")
        parts.append(
            "p: how often chance alone would bring a score this far from 0. Verdicts are corrected for their number "
            f"(Benjamini-Hochberg); p is not. {beside.meaning}"
        )
    if any(score.two_sided for score in scores):
        parts.append(TWO_SIDED)
    if any(score.key.endswith(catalogue.EXCESS) for score in scores):
        parts.append("Beyond a person: less what one more person, describing the same images, reads.")
    below = dict.fromkeys(catalogue.METRICS[score.metric].below for score in scores)
    alone = dict.fromkeys(f"{score.label}: {score.meaning}" for score in scores if score.alone)
    return " ".join(filter(None, (*parts, *below, *alone)))


def papers(audit: Audit) -> Grid:
    """The papers' scores beside sway's questions, a line each: of DBAC the net score and the published one. Empty
    where sway is not measured: they are the questions then."""
    answered = {"sway", "quality_gaps"} if "sway" in audit.comparisons else audit.comparisons
    others = [metric for metric in audit.comparisons if metric not in answered]
    first = audit.captioners[0]
    keys = dict.fromkeys(key for metric in others for key in audit.measurement(metric, first).estimates)
    rows: list[list[Cell]] = []
    for score, name in product(catalogue.main_scores_by_metric(keys, others), audit.captioners):
        if score.judged:
            estimates, plain = audit.measurement(score.metric, name).estimates, f"{score.metric}_{score.direction}"
            published = scored(estimates, plain) if plain != score.key else None
            row: list[Cell] = [score.label, name, scored(estimates, score.key), published, _verdict(audit, name, score)]
            rows.append(row)
    return Grid(
        "The papers' scores [95% interval]",
        columns("score", "captioner") + columns("value", "as published", form=".3f") + columns("verdict"),
        rows,
        "DBAC (Nair et al. 2026): how much surer a small program tells the tasks from the attribute, or the attribute "
        "from the tasks, than with people's captions; net of what the wording tells it anyway. LIC (Hirota et al. "
        "2022): how much surer it guesses the attribute from captions whose words for it are hidden. 0 is like people.",
    )


def cells(audit: Audit) -> Grid:
    """How many images each intersection of crossed attributes has."""
    labels = list(Counter(audit.attribute_counts).elements())
    counts = count_cells(labels, len(audit.alone)) if audit.alone else {}
    heads = (*columns(*audit.alone), GridColumn("images", ",d"))
    return Grid("Images at each intersection", heads, [[*cell, count] for cell, count in counts.items()])


def alone(audit: Audit) -> Grid:
    """The main scores by each of crossed attributes alone, beside those of their crossing."""
    by_attribute = {**audit.alone, CROSSING.join(audit.alone): audit.comparisons} if audit.alone else {}
    rows: list[list[Cell]] = []
    for captioner, metric in product(audit.captioners, audit.comparisons):
        of_metric = {name: by_metric[metric] for name, by_metric in by_attribute.items() if metric in by_metric}
        keys = dict.fromkeys(key for comparison in of_metric.values() for key in comparison.scores)
        for key, (name, comparison) in product(keys, of_metric.items()):
            if estimate := comparison.measurements[captioner].estimates.get(key):
                score = catalogue.SCORES[key]
                verdict = with_doubt(estimate.verdict or NOTHING, estimate) if score.judged else None
                rows.append([captioner, score.label, name, Scored(estimate, score.digits), verdict])
    names = columns("captioner", "score", "attribute") + columns("value", form=".3f") + columns("verdict")
    return Grid("Each attribute alone, and crossed [95% interval]", names, rows, ALONE)


def differences(comparisons: Iterable[Comparison]) -> Grid:
    """Differences between captioners on the same images, in bold where they are more than chance."""
    rows: list[list[Cell]] = []
    for tested in chain.from_iterable(comparison.differences for comparison in comparisons):
        kind = Strong if tested.p_holm < SURE else list
        score = catalogue.SCORES[tested.score]
        difference = Scored(tested.estimate, score.digits)
        rows.append(
            kind([tested.first, tested.second, score.label, difference, _number(tested.p), _number(tested.p_holm)])
        )
    return Grid(
        "Differences [95% interval]",
        columns("first", "second", "score")
        + columns("first less second", form=".3f")
        + columns("p", "p, corrected", form="p"),
        rows,
        "On the same images, splits and bootstrap replicates. Corrected: by Holm's procedure, within each "
        f"metric, for the number of differences. On a terminal in bold: below {SURE}.",
    )


def rows_table(board: Leaderboard) -> Grid:
    """The rows as a table of numbers with their intervals."""
    rows: list[list[Cell]] = []
    for row in board.every_row:
        numbers = [
            Scored(bar.estimate, column.digits) if bar.estimate else bar.text
            for column, bar in zip(board.columns, row.bars, strict=True)
        ]
        rows.append([row.name, *numbers, " ".join(filter(None, (row.verdict, row.said))) or None])
    heads = columns(*(f"{column.title}, {column.unit}" for column in board.columns))
    return Grid("", (*columns("captioner"), *heads, *columns("verdict")), rows, board.yardstick.meaning)


BLOCKS, BLOCK_WIDTH = " ▏▎▍▌▋▊▉█", 6


def bars_table(board: Leaderboard, sentence: str = "") -> Grid:
    """The rows below a sentence, their title when empty, with bars of blocks, for a terminal of 60 columns or more; the
    verdict is its mark."""
    rows: list[list[Cell]] = []
    for row in board.every_row:
        cells: list[Cell] = [f"{row.mark or ' '} {shortened(row.name, 14)}".replace(" ", NO_BREAK)]
        for column, bar in zip(board.columns, row.bars, strict=True):
            size = bar.estimate.value if bar.estimate else 0.0
            eighths = round(8 * BLOCK_WIDTH * abs(column.at(size) - column.at(0.0)) / 100)
            blocks = BLOCKS[-1] * (eighths // 8) + BLOCKS[eighths % 8].strip()
            cells.append(f"{bar.text:>4} {blocks}".rstrip().replace(" ", NO_BREAK) if bar.estimate else bar.text)
        rows.append(cells)
    marks = dict.fromkeys(f"{row.mark} {row.words}" for row in board.rows if row.mark)
    heads = columns("", *(f"{column.title}, {column.unit}" for column in board.columns))
    return Grid(sentence or title(board), heads, rows, ". ".join(filter(None, (*marks, board.yardstick.short))))


def sway_level(details: Mapping[str, Any]) -> Grid:
    """How often each value is named wrong, and not named, captioner beside people."""
    level = details.get("level", ())
    who = _sides(level, "wrong_person")
    kinds = [kind + "_person" * (side == "person") for kind in ("wrong", "unnamed") for side in who]
    rows: list[list[Cell]] = [[row["attribute"], *(_with_ends(row, kind) for kind in kinds)] for row in level]
    names = [f"{kind}, {whose}" for kind in ("wrong", "unnamed") for whose in who.values()]
    return Grid(
        "Each value named wrong, and not named [95% interval]",
        columns("images of") + columns(*names, form=".1f"),
        rows,
        "Of 100 captions. Wrong: another value alone is named. Unnamed: no value is, or several are.",
    )


def _sides(rows: Sequence[Mapping[str, Any]], key: str, captioner: str = "captioner") -> dict[str, str]:
    """What the sides are called, in rows that have this key of a person's."""
    people = {"person": "people"} if any(key in row for row in rows) else {}
    return {"captioner": captioner, **people}


def sway_words(details: Mapping[str, Any], captioner: str = "captioner", top: int | None = None) -> Grid:
    """The words that follow a value more than in people's captions."""
    listed = [row for row in details.get("words", ()) if row["kind"] == "more"][:top]
    sides = _sides(listed, "uses_person", captioner)
    uses, shares_of = _by_value(listed, "uses", sides)
    people = len(sides) > 1
    rows: list[list[Cell]] = []
    for row in listed:
        goes_with = f"not {row['attribute']}" if row["captioner"] < 0 else row["attribute"]  # of more than two values
        scaled = ["yes" if row["scaled"] else "no"] * people
        rows.append([row["word"].replace("|", " or "), goes_with, _with_ends(row, "beyond"), *shares_of(row), *scaled])
    return Grid(
        "Words that follow a value more than in people's captions [95% interval]"
        if people
        else "Words that differ [95% interval]",
        columns("word", "goes with")
        + columns("beyond people" if people else "more", *uses, form=".1f")
        + columns(*["not only said more"] * people),
        rows,
        "In how many more of 100 captions"
        + (" than people's the word goes with the value, what the image shows being the same" if people else "")
        + ("" if people else " the word is used of this value than of another")
        + ". Then, of 100 captions of each value's images, those that use it"
        + ("; and whether it is more than saying the word more often explains." if people else "."),
    )


def sway_chosen(details: Mapping[str, Any]) -> Grid:
    """What the score of words is of: by value, the words that one half of the images chose and the other counted."""

    def told(column: Mapping[str, Any]) -> str:
        people = f" ({column['uses_person']:.1f})" if "uses_person" in column else ""
        return f"{column['words'].replace('|', ' or ')} {column['uses_captioner']:.1f}{people}"

    chosen = [row for row in details.get("words_chosen", ()) if row["columns"] and "sway_words_ci_low" in row]
    people = any("uses_person" in column for row in chosen for column in row["columns"])
    rows: list[list[Cell]] = [
        [
            row["attribute"],
            f"{row['sway_words']:.1f}, at least {row['sway_words_ci_low']:.1f}",
            ", ".join(map(told, row["columns"][:MOST_CHOSEN])),
        ]
        for row in chosen
    ]
    return Grid(
        "Captions that use any word that follows their value",
        columns("images of", "beyond people" if people else "more", "words"),
        rows,
        "Of 100 captions. Words are chosen by one half of the images and counted in the other; of 100 captions of the "
        "value, those that use each" + ", in brackets people's" * people + ".",
    )


def _by_value(
    rows: Sequence[Mapping[str, Any]], what: str, sides: Mapping[str, str]
) -> tuple[list[str], Callable[[Mapping[str, Any]], list[float]]]:
    """Columns of a share of each value's captions on each side, and what a row has in them; of many values its own and
    the mean of the others."""
    values = list(rows[0][f"{what}_captioner"]) if rows else []
    few = len(values) <= MOST_VALUES

    def shares(row: Mapping[str, Any]) -> list[float]:
        own, of_sides = row["attribute"], [row[f"{what}_{side}"] for side in sides]
        if few:
            return [of[value] for value in values for of in of_sides]
        others = [sum(of[value] for value in values if value != own) / (len(values) - 1) for of in of_sides]
        return [*(of[own] for of in of_sides), *others]

    return [f"of {of}: {who}" for of in (values if few else ("it", "the others")) for who in sides.values()], shares


def _with_ends(row: Mapping[str, Any], key: str) -> Scored | None:
    """A number of a row of details, of 100, with its interval; None where it is undefined."""
    return Scored(Estimate(row[key], row.get(f"{key}_ci_low"), row.get(f"{key}_ci_high")), 1) if key in row else None


def sway_tasks(details: Mapping[str, Any], captioner: str = "captioner", top: int | None = None) -> Grid:
    """The tasks whose naming differs most by value, the contents of the picture being the same."""
    tasks = details.get("tasks", ())[:top]
    sides = _sides(tasks, "named_person", captioner)
    heads, shares_of = _by_value(tasks, "named", sides)
    rows: list[list[Cell]] = [
        [row["task"], row["attribute"], _with_ends(row, "beta"), *shares_of(row)] for row in tasks
    ]
    return Grid(
        "Tasks that are named more for one value [95% interval]",
        columns("task", "goes with") + columns("named more", *heads, form=".1f"),
        rows,
        "Named more: how many more mentions in 100 captions where the image has the value"
        + (", than by a person who names it as often" if len(sides) > 1 else "")
        + ", what the image shows being the same. Then, of 100 captions of each value's images, those that name it.",
    )


def sway_cells(details: Mapping[str, Any]) -> Grid:
    """How each value is named beside tasks that suggest each value, captioner beside person."""
    kinds = [(kind, who) for kind in ("wrong", "none") for who in _sides(details.get("cells", ()), "person_wrong")]
    rows: list[list[Cell]] = [
        [cell["attribute"], cell["suggested"] or "neither", cell["images"]]
        + [cell.get(f"{who}_{kind}") for kind, who in kinds]
        for cell in details.get("cells", ())
    ]
    heads = [f"{kind}, {who}".replace("person", "people") for kind, who in kinds]
    return Grid(
        "True value by what the tasks suggest",
        columns("images of", "tasks suggest") + columns("images", form=",.0f") + columns(*heads, form=".1f"),
        rows,
        "Of 100 captions. None: no value is named, or several are; the rest are right.",
    )


def quality(audit: Audit) -> Grid:
    """How good the captions are, beside the main scores: is the better captioner the more biased one?

    Source: Türk et al. 2023, who ask so.
    """
    names = [name for name in QUALITY_NAMES if any(name in measured for measured in audit.quality.values())]
    keys = [key for comparison in audit.comparisons.values() for key in comparison.scores]
    main = catalogue.main_scores_by_metric(keys, list(audit.comparisons)[:1])
    rows: list[list[Cell]] = []
    for captioner, measured in audit.quality.items():
        estimates = {
            key: of for each in audit.comparisons.values() for key, of in each.measurements[captioner].estimates.items()
        }
        biases = (estimates[score.key].value if score.key in estimates else None for score in main)
        rows.append([captioner, *map(measured.get, names), *biases])
    return Grid(
        "Caption quality",
        (
            GridColumn("captioner"),
            *columns(*(QUALITY_NAMES[name] for name in names), form=".3f"),
            *(GridColumn(score.label, f".{score.digits}f") for score in main),
        ),
        rows,
        "How close the captions are to human captions, the higher the better; then the main scores of bias.",
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
