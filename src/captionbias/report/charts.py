"""Charts as static SVG: scores with their intervals on common scales, and curves. They print and need no script.

Each is drawn twice, for wide pages and for phones; colour is never the only sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from captionbias.analysis.sensitivity import label as choice_label
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS, Score
from captionbias.metrics.verdicts import LESS, MORE, NOTHING, verdict
from captionbias.report.matrix import matrix_of
from captionbias.report.rows import headlines
from captionbias.report.svg import (
    Place,
    box,
    document,
    line,
    mark,
    scale,
    shortened,
    text,
    tick_text,
    ticks,
    tone,
    whisker,
)
from captionbias.report.views import main_part
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.analysis.sensitivity import Sensitivity
    from captionbias.images.masking_study import MaskingStudy
    from captionbias.report.rows import Row
    from captionbias.studies.consistency import Study

WIDE, NARROW = 720.0, 360.0
NAMES, NUMBERS = 176.0, 170.0  # the columns beside a wide chart
ROW, STACKED_ROW, SMALL = 26.0, 42.0, 12.0
BAR = 220.0
BELOW, ABOVE = "◂ less than people", "more than people ▸"
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")  # lines differ by more than their name


class Chart(NamedTuple):
    """One chart as SVG for pages 720 pixels wide and more, and for narrower ones."""

    wide: str
    narrow: str


class Entry(NamedTuple):
    """A row of a panel; `estimate`: None where it is undefined."""

    name: str
    estimate: Estimate | None
    verdict: str = NOTHING


class Panel(NamedTuple):
    """Scores of one kind below each other. Panels of the same `unit` have the same scale.

    `note`: below the title; `digits`: of the numbers; `zero`: whether 0 is marked; `band`: how far from 0 a person
    reads; `ends`: what to the left and to the right of 0 means.
    """

    title: str
    entries: list[Entry]
    unit: str
    digits: int = 3
    note: str = ""
    zero: bool = True
    band: float = 0.0
    ends: tuple[str, str] = ("", "")


def leaderboard_chart(rows: Sequence[Row]) -> Chart:
    """A panel for each main score: captioners from the most biased to the best, with their intervals."""
    panels = []
    for score in headlines(rows):
        found = [row for row in rows if row.score == score.key]
        entries = [Entry(row.captioner, Estimate(row.value, row.low, row.high), row.verdict) for row in found]
        panels.append(_panel(score, _sorted(entries), score.label))
    return intervals(panels, "Leaderboard")


def masking_chart(study: MaskingStudy) -> Chart:
    """A panel for each score: each version of the images with its interval."""
    versions = list(study.captions)
    panels = []
    for found in study.comparisons.values():
        for key in found.scores:
            measured = {version: found.measurements[version].estimates for version in versions}
            score = catalogue.SCORES[key]
            panels.append(_panel(score, _entries(score, measured), score.label))
    if study.attributions:
        entries = [
            Entry(name, study.attributions[name].overall.share if name in study.attributions else None)
            for name in versions
        ]
        panels.append(Panel("attribution outside the person", entries, "share", zero=False))
    return intervals(panels, "Scores of each version of the images")


def consistency_chart(study: Study) -> Chart:
    """A panel for each score and captioner: what each encoder reads, with its interval."""
    panels = []
    for key in study.scores:
        score = catalogue.SCORES[key]
        for captioner in study.captioners:
            found = {one: study.measurements[captioner, one, score.metric].estimates for one in study.encoders}
            panels.append(_panel(score, _entries(score, found), f"{captioner}: {score.label}"))
    return intervals(panels, "Scores by encoder")


def specification_chart(found: Sensitivity, captioners: Sequence[str] = ()) -> Chart:
    """For each captioner and judged score its estimates, ascending, each with the choices that it was made with.

    Source: Simonsohn, Simmons and Nelson 2020.
    """
    scores = [key for key in found.scores if catalogue.SCORES[key].judged] or found.scores
    panels = []
    for captioner in captioners or found.captioners:
        for key in scores:
            entries = [
                Entry(found.label(one) or "base", one.estimates.get(key), one.verdicts.get(key, NOTHING))
                for one in found.of(captioner)
            ]
            varied = ", ".join(map(choice_label, found.varied))
            panel = _panel(catalogue.SCORES[key], _sorted(entries), f"{captioner}: {catalogue.label(key)}")
            panels.append(panel._replace(note=f"Varied: {varied}" if varied else ""))
    return intervals(panels, "Scores by choices", stacked=True)


def tradeoff_chart(audit: Audit) -> Chart:
    """Bias over CIDEr, a mark for each captioner: is the better captioner the more biased one?

    Source: Türk et al. 2023, whose conclusion is drawn from such a plot.
    """
    marks = {name: audit.quality[name]["cider"] for name in audit.captioners}
    panels = []
    for asked in matrix_of(audit).questions:
        key = asked.score.key
        estimates = {name: audit.measurement(asked.score.metric, name).estimates.get(key) for name in audit.captioners}
        series = [[(marks[name], one)] for name, one in estimates.items()]
        panels.append((asked.score.label, series, asked.score.bounds[0] < 0))
    return _both(lambda width: _curves(panels, audit.captioners, "CIDEr", "Bias over caption quality", width, False))


def alignment_chart(audit: Audit) -> Chart:
    """The share of contextual substitutions over delta, a panel a direction, with the elbow of each captioner."""
    masked = {"a_to_t": "Attribute words masked (A to T)", "t_to_a": "Task words masked (T to A)"}
    panels = []
    for direction in DIRECTIONS:
        found = [by_delta(audit, name, direction) for name in audit.captioners]
        if any(found):
            panels.append((masked[direction], [_line(of) if of else [] for of in found], True))
    title = "Share of replaced words that became a word and not <unk>"
    return _both(lambda width: _curves(panels, audit.captioners, "delta", title, width, True))


def pair_bar(row: Mapping[str, Any], reach: float) -> str:
    """What a row of the sources adds, as a bar from 0 with its interval, on an axis that goes so far either way."""
    key = main_part(row)
    estimate = Estimate(row.get(key, 0.0), row.get(f"{key}_ci_low"), row.get(f"{key}_ci_high"))
    return bar(estimate, reach, positive=key.startswith("omega"))


def bar(estimate: Estimate, reach: float, positive: bool = False) -> str:
    """A bar from 0 with its interval. `positive`: it has no other side."""
    place = scale(0.0 if positive else -reach, reach, 2, BAR - 2)
    kind = "unclear" if positive else tone(MORE if estimate.value > 0 else LESS)
    start, end = sorted((place(0), place(estimate.value)))
    parts = [box(start, 5, end - start, 10, kind), line(place(0), 1, place(0), 19, "zero")]
    if estimate.low is not None and estimate.high is not None:
        parts += whisker(place, 10, estimate.low, estimate.high, "zero", 1.5)
        parts += [line(place(at), 6, place(at), 14, "zero", 1.5) for at in (estimate.low, estimate.high)]
    return (
        f'<svg class="captionbias bar" viewBox="0 0 {BAR:g} 20" width="{BAR:g}" height="20" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def intervals(panels: Sequence[Panel], title: str, stacked: bool = False) -> Chart:
    """Panels below each other: a row for each entry, its mark and its interval, on one scale for each unit.

    `stacked`: names above their intervals also where there is room beside them.
    """
    return _both(lambda width: _intervals(panels, title, width, stacked or width < WIDE))


def by_delta(audit: Audit, captioner: str, direction: str) -> dict[str, Any] | None:
    """How many words alignment replaced by a word at each delta; None where it replaced none."""
    if "dbac" not in audit.comparisons:
        return None
    report = audit.details("dbac", captioner).get(direction, {}).get("alignment")
    return report["by_delta"] if report else None


def _entries(score: Score, by_name: Mapping[str, Mapping[str, Estimate]]) -> list[Entry]:
    """An entry for each name, from all of its estimates."""
    return [Entry(name, estimates.get(score.key), verdict(estimates, score.key)) for name, estimates in by_name.items()]


def _panel(score: Score, entries: list[Entry], title: str) -> Panel:
    """A panel of a score: what its unit, its zero and its sides are."""
    note = score.label if title != score.label else ""
    judged = score.judged or score.sense == "amplification"
    return Panel(
        title,
        entries,
        _unit(score),
        score.digits,
        note,
        score.bounds[0] < 0,
        score.usual_margin if score.noisy else 0.0,
        (BELOW, ABOVE) if judged else ("", ""),
    )


def _unit(score: Score) -> str:
    return f"{score.metric} {score.digits} {score.bounds[0] < 0}"


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda one: -math.inf if one.estimate is None else one.estimate.value, reverse=True)


def _both(draw: Callable[[float], str]) -> Chart:
    return Chart(draw(WIDE), draw(NARROW))


def _range(panels: Iterable[Panel]) -> tuple[float, float]:
    """From where to where the scale of these panels goes."""
    found = [
        end
        for panel in panels
        for entry in panel.entries
        if entry.estimate
        for end in entry.estimate[:3]
        if end is not None
    ]
    for panel in panels:
        found += [0.0, -2 * panel.band, 2 * panel.band] if panel.zero else [0.0]
    low, high = min(found), max(found)
    margin = 0.04 * (high - low) or 1.0
    return (low - margin if low < 0 else 0.0), high + margin


def _intervals(panels: Sequence[Panel], title: str, width: float, stacked: bool) -> str:
    ranges = {unit: _range([one for one in panels if one.unit == unit]) for unit in {one.unit for one in panels}}
    left, right = (8.0, width - 8) if stacked else (NAMES, width - NUMBERS)
    parts: list[str] = []
    told = [
        f"{panel.title}, {entry.name}: {interval(entry.estimate, panel.digits)} {entry.verdict}".removesuffix(
            f" {NOTHING}"
        )
        for panel in panels
        for entry in panel.entries
    ]
    top = 0.0
    for panel in panels:
        parts.append(text(0, top + 16, shortened(panel.title, width, 15), "strong", size=15))
        top += 24
        if panel.note:
            parts.append(text(0, top + 10, shortened(panel.note, width, SMALL), "soft", size=SMALL))
            top += 18
        low, high = ranges[panel.unit]
        place = scale(low, high, left, right)
        rows = [top + number * (STACKED_ROW if stacked else ROW) for number in range(len(panel.entries) + 1)]
        parts += _ground(panel, place, ticks(low, high, 6 if width >= WIDE else 5), top, rows[-1])
        for entry, row in zip(panel.entries, rows, strict=False):
            parts += _entry(entry, panel, place, row, width, stacked)
        top = rows[-1] + 20
        if any(panel.ends):
            less, more = (shortened(end, (width - 8) / 2, SMALL) for end in panel.ends)
            beside = not stacked and place(0) - left >= 110
            parts.append(
                text(place(0) - 6 if beside else left, top + 9, less, "soft", "end" if beside else "start", SMALL)
            )
            parts.append(
                text(place(0) + 6 if beside else right, top + 9, more, "soft", "start" if beside else "end", SMALL)
            )
            top += 16
        top += 18
    return document(parts, width, max(1.0, top - 14), title, "; ".join(told))


def _ground(panel: Panel, place: Place, at: Sequence[float], top: float, bottom: float) -> Iterator[str]:
    """What lies below the marks of a panel: how far from 0 a person reads, the grid with its numbers, and 0."""
    if panel.zero and panel.band:
        yield box(place(-panel.band), top, place(panel.band) - place(-panel.band), bottom - top, "person")
    for value in at:
        yield line(place(value), top, place(value), bottom, "grid")
        yield text(place(value), bottom + 14, tick_text(value), "soft", "middle", 11)
    if panel.zero:
        yield line(place(0), top, place(0), bottom + 3, "zero", 1.5)


def _entry(entry: Entry, panel: Panel, place: Place, top: float, width: float, stacked: bool) -> list[str]:
    """A row: its name, its numbers, its mark and its interval."""
    numbers = interval(entry.estimate, panel.digits)
    kind = tone(entry.verdict)
    weight = " strong" if kind != "unclear" else ""
    size = SMALL if stacked else 13.0
    y = top + (30 if stacked else ROW / 2)
    space = max(width - 8 * len(numbers) - 4, 60) if stacked else NAMES - 12
    baseline = top + 14 if stacked else y + 4
    parts = [text(0, baseline, shortened(entry.name, space, size), size=size)]
    parts.append(text(width, baseline, numbers, (kind + weight).strip(), "end", SMALL))
    if entry.estimate is None:
        return parts
    value, low, high = entry.estimate[:3]
    return [*parts, *whisker(place, y, low, high, kind, 3), mark(place(value), y, entry.verdict)]


Point = tuple[float, Estimate | None]


def _line(found: Mapping[str, Any]) -> list[Point]:
    """Points of a curve; the one where it bends most has an interval of no length, by which it is drawn larger."""
    pairs = zip(found["deltas"], found["shares"], strict=True)
    return [(x, Estimate(y, y if x == found["elbow"] else None)) for x, y in pairs if y is not None]


def _curves(
    panels: Sequence[tuple[str, Sequence[Sequence[Point]], bool]],
    names: Sequence[str],
    axis: str,
    title: str,
    width: float,
    joined: bool,
) -> str:
    """Panels of points with their names, or of lines, `joined`, whose larger mark is where they bend most."""
    left, right = 52.0, width - 14
    parts: list[str] = []
    top = 0.0
    for heading, series, zero in panels:
        points = [(x, one) for of in series for x, one in of if one is not None]
        if not points:
            continue
        parts.append(text(0, top + 15, shortened(heading, width, 14), "strong", size=14))
        top, bottom = top + 26, top + 246
        first, last = _widened([x for x, _ in points])
        ys = [end for _, one in points for end in one[:3] if end is not None] + [0.0] * zero
        low, high = _widened(ys)
        low = 0.0 if zero and min(ys) == 0 else low
        across, up = scale(first, last, left, right), scale(low, high, bottom, top)
        for y in ticks(low, high, 5):
            parts.append(line(left, up(y), right, up(y), "grid"))
            parts.append(text(left - 6, up(y) + 4, tick_text(y), "soft", "end", 11))
        if low < 0 and zero:
            parts.append(line(left, up(0), right, up(0), "zero", 1.5))
        for x in ticks(first, last, 6):
            parts.append(line(across(x), bottom, across(x), bottom + 4, "grid"))
            parts.append(text(across(x), bottom + 16, tick_text(x), "soft", "middle", 11))
        parts.append(text(right, bottom + 30, axis, "soft", "end", SMALL))
        for number, of in enumerate(series):
            places = [(across(x), one) for x, one in of if one is not None]
            parts += _line_of(places, up, number) if joined else _named_marks(places, up, names[number], width)
        top = bottom + 44
    for number, name in enumerate(names) if joined else ():
        parts += [_dashed(f"0,{top + 6:g} 40,{top + 6:g}", number), text(48, top + 10, shortened(name, width - 48))]
        top += 18
    return document(parts, width, top + 4, title, f"{axis} across; " + ", ".join(names))


def _widened(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis on which these values are not at its ends."""
    margin = 0.06 * (max(values) - min(values)) or 0.5
    return min(values) - margin, max(values) + margin


def _line_of(points: Sequence[tuple[float, Estimate]], up: Place, number: int) -> Iterator[str]:
    """A line with a mark where it bends most."""
    yield _dashed(" ".join(f"{x:.1f},{up(one.value):.1f}" for x, one in points), number)
    yield from (mark(x, up(one.value), NOTHING, 5) for x, one in points if one.low is not None)


def _named_marks(points: Sequence[tuple[float, Estimate]], up: Place, name: str, width: float) -> Iterator[str]:
    """Marks with their intervals and their name, on the side where there is room."""
    for x, one in points:
        if one.low is not None and one.high is not None:
            yield line(x, up(one.low), x, up(one.high), "unclear", 2)
        yield mark(x, up(one.value), NOTHING)
        left = x > width / 2
        yield text(
            x + (-9 if left else 9), up(one.value) + 4, shortened(name, width / 2), "", "end" if left else "start", 11
        )


def _dashed(places: str, number: int) -> str:
    """A line through these places, in the dashes of its number."""
    dashes = f' stroke-dasharray="{DASHES[number % len(DASHES)]}"' if number % len(DASHES) else ""
    return f'<polyline points="{places}" class="outline" stroke-width="1.5"{dashes}/>'
