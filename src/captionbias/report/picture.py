"""One picture of a captioner: whom it names wrong beside what, and how much more bias it has than people's captions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionbias.io.files import write_text
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import Score
from captionbias.metrics.measurement import Measurement, Result
from captionbias.metrics.verdicts import CANNOT_TELL, LESS, MORE, NOTHING, noise, verdict
from captionbias.report.svg import (
    box,
    document,
    line,
    mark,
    room,
    scale,
    shortened,
    text,
    tick_text,
    ticks,
    tone,
    whisker,
)
from captionbias.report.wording import fixed, interval
from captionbias.statistics.samples import Estimate

WIDTH, MIDDLE = 360.0, 180.0
ROW, LINE = 42.0, 15.0
MOST_CELLS, MOST_TASKS = 9, 5
WAYS = {  # what a row shows
    "sway_t_to_a": "{value} named follows {tasks}",
    "sway_t_to_a_lost": "{value} omitted or wrong, by {tasks}",
    "sway_a_to_t": "{tasks} named follow {attribute}",
    "dbac_a_to_t_net": "{tasks} named reveal {attribute}",
    "dbac_t_to_a_net": "{value} named reveals {tasks}",
    "lic": "wording alone reveals {attribute}",
    "imagecaptioner2": "image and caption reveal {attribute}",
}
# The least that an axis reaches to either side: a small score looks small.
REACH = {
    "sway": 5.0,
    "dbac": 0.1,
    "lic": 20.0,
    "imagecaptioner2": 20.0,
    "label_leakage": 5.0,
    "dpa": 0.1,
    "ba_mals": 0.05,
}


class Picture(str):
    """An SVG that a notebook shows and that can be saved.

    >>> picture = Picture('<svg style="max-width:100%"></svg>')
    >>> picture._repr_svg_()
    '<svg style="background:#ffffff;color:#1f2328;max-width:100%"></svg>'
    """

    def _repr_svg_(self) -> str:
        return self.replace('style="', 'style="background:#ffffff;color:#1f2328;', 1)

    def save(self, path: str | Path) -> None:
        """Write the picture as an .svg file, whole or not at all.

        Raises:
            ValueError: the path ends otherwise, or cannot be written.
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"path is {str(path)!r}: name a file that ends in .svg")
        write_text(self._repr_svg_(), Path(path))


def picture(found: Measurement | Mapping[str, Any]) -> Picture:
    """The main scores with their intervals, a person at 0, and with details what is behind `sway`: an SVG.

    Args:
        found: what a metric measured or returned, or read from a file.

    >>> picture({"lic": 20.1, "signature": "metric:lic"}).startswith("<svg")
    True
    """
    result = Result(found.flat() if isinstance(found, Measurement) else found)
    details = result.get("details") or {}
    return captioner_picture(result.estimates, sway=details if "cells" in details else None)


def captioner_picture(
    estimates: Mapping[str, Estimate],
    name: str = "",
    attribute: str = "the attribute",
    tasks: str = "tasks",
    sway: Mapping[str, Any] | None = None,
) -> Picture:
    """A captioner's main scores: whom it names wrong beside what, and gauges with people at 0.

    Gauges have a person in the middle: to the right of it is more bias than in people's captions, to the left less.
    Scores that have no such zero have a gauge that begins at 0.

    Args:
        estimates: of a `Measurement` or a `Result`; of several metrics together.
        name: of the captioner; attribute, tasks: what these are called.
        sway: the details of `sway`, for its cells and tasks.

    Returns:
        360 units wide; readable at that width in pixels.

    >>> picture = captioner_picture({"lic": Estimate(20.1, 17.3, 23.0)}, "nic", "gender")
    >>> picture[picture.index("<title>"):picture.index("<style>")]
    '<title>nic</title><desc>wording alone reveals gender: amplifies, 20.1 [17.3, 23.0]</desc>'
    """
    attribute = attribute.removeprefix("the ")
    words = {"attribute": attribute, "value": attribute, "tasks": tasks}
    scores = main_scores(estimates)
    labels = {score.key: WAYS.get(score.key, score.label).format(**words) for score in scores}
    said = {score.key: verdict(estimates, score.key) for score in scores}
    numbers = {score.key: written(estimates[score.key], score) for score in scores}
    parts, top = [], 0.0
    if name:
        parts, top = [text(0, 16, shortened(name, WIDTH, 17), "strong", size=16)], 24.0
    if sway:
        drawn, top = _cells(sway, attribute, tasks, top)
        more, top = _tasks(sway, top)
        parts += drawn + more
    with_zero = [score for score in scores if score.bounds[0] < 0]
    if with_zero:
        parts.append(text(MIDDLE, top + 11, "0: another person's captions", "soft", "middle", 12))
        top += 22
        for score in with_zero:
            reach = _reach([one for one in with_zero if one.metric == score.metric], estimates)
            found = numbers[score.key]
            if score.key in WAYS:
                found = f"{found} of 100 captions" if score.sentence else f"{score.label}: {found}"
            of_score = labels[score.key], said[score.key], found, estimates[score.key]
            parts += _gauge(top, *of_score, -reach, reach, noise(estimates, score.key), span_of(score, estimates))
            top += ROW + LINE
        top += 8
        parts.append(text(0, top + 4, "◂ less than people", "soft", size=12))
        parts.append(text(WIDTH, top + 4, "more than people ▸", "soft", "end", 12))
        top += 20
    for score in scores:
        if score not in with_zero:
            estimate = estimates[score.key]
            high = 1.2 * max(end for end in estimate[:3] if end is not None) or 1.0
            parts += _gauge(top, labels[score.key], NOTHING, numbers[score.key], estimate, 0.0, high)
            top += ROW + LINE
    if any(estimates[score.key].low is not None for score in scores):
        parts.append(text(MIDDLE, top + 6, "bars and brackets: 95% intervals", "soft", "middle", 11))
        top += 12
    told = "; ".join(
        f"{labels[key]}: {'' if said[key] == NOTHING else f'{said[key]}, '}{numbers[key]}" for key in labels
    )
    return Picture(document(parts, WIDTH, top + 4, name or "Scores", told))


def main_scores(estimates: Mapping[str, Estimate]) -> list[Score]:
    """The scores that a picture shows: those with a verdict and those of another kind; else the main ones that there
    are, else all.

    >>> [score.key for score in main_scores({"lic": Estimate(1.0), "lic_m": Estimate(40.0)})]
    ['lic']
    """
    found = [catalogue.SCORES[key] for key in catalogue.SCORES if key in estimates]
    found = [score for score in found if not catalogue.superseded(score.key, estimates)]
    judged = [score for score in found if score.judged and score.claim]
    others = [score for score in found if score.headline and score.sense != "amplification"]
    return judged + others or [one for one in found if one.headline] or [one for one in found if one.alone] or found


def written(estimate: Estimate, score: Score) -> str:
    """A score with its sign and its interval.

    >>> written(Estimate(0.0901, 0.0799, 0.1), catalogue.SCORES["dbac_a_to_t_net"])
    '+0.090 [0.080, 0.100]'
    """
    return ("+" if estimate.value > 0 and score.bounds[0] < 0 else "") + interval(estimate, score.digits)


def _cells(sway: Mapping[str, Any], attribute: str, tasks: str, top: float) -> tuple[list[str], float]:
    """How often each value is named wrong beside what suggests which, captioner above people; and where that ends."""
    cells = [cell for cell in sway["cells"] if cell["suggested"] and "captioner_wrong_of_named" in cell]
    cells = sorted(cells, key=lambda cell: -cell["captioner_wrong_of_named"])[:MOST_CELLS]
    parts = [text(0, top + 12, f"Named wrong, of 100 captions that name the {attribute}", "strong", size=12)]
    top += 18
    for cell in sorted(cells, key=lambda cell: (cell["attribute"], cell["attribute"] == cell["suggested"])):
        who = f"{cell['attribute']}, beside {tasks} that go with {cell['suggested']}"
        wrong, person = cell["captioner_wrong_of_named"], cell.get("person_wrong_of_named", 0.0)
        against = "amplifies" if cell["attribute"] != cell["suggested"] else "soft"
        parts.append(text(0, top + 12, shortened(who, WIDTH, 12), size=12))
        parts.append(box(0, top + 17, 2.4 * wrong, 7, against))
        parts.append(box(0, top + 25, 2.4 * person, 4, "person"))
        numbers = f"{fixed(wrong, 0)}; people: {fixed(person, 0)}"
        parts.append(text(WIDTH, top + 25, numbers, "strong", "end", 12))
        top += 34
    return parts, top + 8


def _tasks(sway: Mapping[str, Any], top: float) -> tuple[list[str], float]:
    """The tasks whose naming differs most by value; and where that ends."""
    rows = [row for row in sway["tasks"] if "beta" in row][:MOST_TASKS]
    if not rows:
        return [], top
    found = [Estimate(row["beta"], row.get("beta_ci_low"), row.get("beta_ci_high")) for row in rows]
    reach = 1.15 * max(abs(end) for one in found for end in one[:3] if end is not None) or 1.0
    parts = [text(0, top + 12, "Named more than by people, the pictures being alike,", "strong", size=12)]
    parts.append(text(0, top + 26, "in mentions of 100 captions", "strong", size=12))
    top += 32
    for row, estimate in zip(rows, found, strict=True):
        ends = estimate.low or 0.0, estimate.high or 0.0
        said = MORE if ends[0] > 0 else LESS if ends[1] < 0 else CANNOT_TELL
        more = "+" * (estimate.value > 0) + interval(estimate, 1)
        parts += _gauge(
            top, f"{row['task']}, with {row['attribute']}: {more}", said, "", estimate, -reach, reach, shown=False
        )
        top += ROW - 8
    return parts, top + 10


def _gauge(
    y: float,
    label: str,
    said: str,
    numbers: str,
    estimate: Estimate,
    low: float,
    high: float,
    band: float = 0.0,
    span: tuple[float | None, float | None] = (None, None),
    shown: bool = True,
) -> list[str]:
    """A row: what it shows, the verdict and the numbers above an axis with the mark, its interval and a person at 0.

    `band`: how far from 0 a person's captions read by chance. `span`: from where to where the score may be, for all
    that captions tell. `shown`: whether the verdict and the axis have words and numbers.
    """
    place, kind = scale(low, high, 6, WIDTH - 6), tone(said)
    parts = [text(0, y + 10, shortened(label, WIDTH - shown * (room(said, 12) + 10), 12), size=12)]
    if shown and said != NOTHING:
        parts.append(text(WIDTH, y + 10, said, f"{kind} strong", "end", 12))
    if numbers:
        y += LINE
        parts.append(text(0, y + 10, numbers, f"{kind} strong", size=12))
    axis = y + 23
    marks = [value for value in ticks(low, high, 4) if value or low]
    if band:
        parts.append(box(place(-band), axis - 9, place(band) - place(-band), 18, "person"))
    parts.append(line(6, axis, WIDTH - 6, axis, "grid"))
    parts += [line(place(value), axis - 3, place(value), axis + 3, "grid") for value in marks]
    if shown:
        parts.append(text(place(marks[-1]), axis + 15, tick_text(marks[-1]), "soft", "middle", 10))
    parts.append(line(place(0), axis - 9, place(0), axis + 9, "zero"))
    parts += whisker(place, axis, *span, kind, 2, dashed=True)
    parts += whisker(place, axis, estimate.low, estimate.high, kind, 4)
    return [*parts, mark(place(estimate.value), axis, said)]


def span_of(score: Score, estimates: Mapping[str, Estimate]) -> tuple[float | None, float | None]:
    """From where to where a score with a range may be, intervals included."""
    low, high = (estimates.get(f"{score.key}{end}") for end in ("_low", "_high"))
    return (low.low, high.high) if low and high else (None, None)


def _reach(scores: list[Score], estimates: Mapping[str, Estimate]) -> float:
    """How far the axis of these scores, of one unit, goes to either side."""
    keys = [f"{score.key}{end}" for score in scores for end in ("", "_low", "_high")]
    ends = [abs(end) for key in keys if key in estimates for end in estimates[key][:3] if end is not None]
    return 1.15 * max(*ends, REACH.get(scores[0].metric, 0.0)) or 1.0
