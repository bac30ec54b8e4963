"""Charts as static SVG: scores with their intervals, a panel for each. They print and need no script.

Colour is never the only sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from captionbias.bench.catalogue import YARDSTICK, Score
from captionbias.bench.verdicts import NOTHING
from captionbias.report import svg
from captionbias.report.rows import Row, bias, headlines
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate

WIDTH, LEFT, ROW, SMALL = 480.0, 8.0, 42.0, 12.0
BELOW, ABOVE = "◂ less than people", "more than people ▸"
FARES_WORSE = "◂ of two values the second fares worse", "the first ▸"


class Entry(NamedTuple):
    """A row of a panel; `estimate`: None where it is undefined."""

    name: str
    estimate: Estimate | None
    verdict: str = NOTHING


class Panel(NamedTuple):
    """Values of a score below each other."""

    title: str
    entries: list[Entry]
    score: Score
    ends: tuple[str, str] = (BELOW, ABOVE)

    @property
    def zero(self) -> bool:
        """Whether 0 is marked: there are values on both sides of it."""
        return self.score.scale.low < 0

    @property
    def band(self) -> float:
        """How far from 0 a person reads."""
        return self.score.usual_margin if self.score.noisy and self.zero else 0.0

    @property
    def unit(self) -> tuple[str, int, bool]:
        """The unit, of which all panels have the same scale."""
        return self.score.metric, self.score.digits, self.zero


def leaderboard_chart(rows: Sequence[Row]) -> svg.Picture:
    """A panel for each main score: captioners from the most biased to the best, with their intervals."""
    panels = []
    without_people = {row.metric for row in rows if row.score == YARDSTICK}
    for score in headlines(rows):
        entries = [
            Entry(row.captioner, Estimate(row.value, row.low, row.high), row.verdict)
            for row in rows
            if row.score == score.key
        ]
        ends = ("◂ less", "more ▸") if score.metric in without_people else (BELOW, ABOVE)
        panels.append(Panel(score.label, _descending(entries, score), score, ends))
    return intervals(panels, "Leaderboard")


def intervals(panels: Sequence[Panel], title: str) -> svg.Picture:
    """Panels below each other: a row for each entry, its mark and its interval."""
    parts: list[str] = []
    top = 0.0
    for panel in panels:
        alike = [other for other in panels if other.unit == panel.unit]
        estimates = [entry.estimate for other in alike for entry in other.entries if entry.estimate]
        half = max(other.band for other in alike)
        low, high = svg.reach((end for estimate in estimates for end in estimate[:3]), half)
        place = svg.scale(low, high, LEFT, WIDTH - LEFT)
        parts.append(svg.text(0, top + 16, svg.shortened(panel.title, WIDTH, 15), "strong", size=15))
        top += 24
        bottom = top + ROW * len(panel.entries)
        parts += _ground(panel, place, svg.ticks(low, high), top, bottom)
        for number, entry in enumerate(panel.entries):
            parts += _entry(entry, panel, place, top + number * ROW)
        top = bottom + 20
        if panel.score.judged or panel.score.sense == "amplification":
            below, above = FARES_WORSE if panel.score.two_sided else panel.ends
            parts.append(svg.text(LEFT, top + 9, below, "soft", size=SMALL))
            parts.append(svg.text(WIDTH - LEFT, top + 9, above, "soft", "end", SMALL))
            top += 16
        top += 18
    numbers = [
        f"{panel.title}, {entry.name}: {interval(entry.estimate, panel.score.digits)} {entry.verdict}"
        for panel in panels
        for entry in panel.entries
    ]
    return svg.document([svg.Drawing(parts, max(1.0, top - 14), "; ".join(numbers))], WIDTH, title)


def _descending(entries: Iterable[Entry], score: Score) -> list[Entry]:
    return sorted(entries, key=lambda entry: bias(entry.estimate and entry.estimate.value, score), reverse=True)


def _ground(panel: Panel, place: svg.Place, at: Sequence[float], top: float, bottom: float) -> Iterator[str]:
    """The ground of a panel, below its marks: how far from 0 a person reads, the grid with its numbers, and 0."""
    if panel.band:
        start = place(-panel.band)
        yield svg.box(start, top, place(panel.band) - start, bottom - top, "person")
    for value in at:
        yield svg.line(place(value), top, place(value), bottom, "grid")
        yield svg.text(place(value), bottom + 14, f"{value:.10g}", "soft", "middle", 11)
    if panel.zero:
        yield svg.line(place(0), top, place(0), bottom + 3, "zero", 1.5)


def _entry(entry: Entry, panel: Panel, place: svg.Place, top: float) -> Iterator[str]:
    numbers = interval(entry.estimate, panel.score.digits)
    kind = svg.tone(entry.verdict)
    name = svg.shortened(entry.name, max(WIDTH - 8 * len(numbers) - 4, 60), SMALL)
    yield svg.text(0, top + 14, name, size=SMALL)
    yield svg.text(WIDTH, top + 14, numbers, kind if kind == "unclear" else f"{kind} strong", "end", SMALL)
    if entry.estimate is not None:
        value, low, high = entry.estimate[:3]
        yield from svg.whisker(place, top + 30, low, high, kind, 3)
        yield svg.mark(place(value), top + 30, entry.verdict)
