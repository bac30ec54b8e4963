"""The rows as a picture: static SVG, every text in it escaped, that prints and needs no script.

It takes its colours from the page that holds it (the CSS variables `--more`, `--less`, `--unclear`, `--soft`, and the
colour of its text), and has its own where there is none. Colour is never the only sign.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.bench.catalogue import SCORES
from captionbias.bench.measurement import Measurement
from captionbias.bench.verdicts import BEYOND, LESS
from captionbias.errors import InputError
from captionbias.io.files import check_ending, write_text
from captionbias.report.leaderboard import Bar, Column, Leaderboard, audit_leaderboard, captioner_rows, title
from captionbias.report.wording import interval, shortened

# Okabe and Ito's vermilion and blue, darkened until text in them can be read on white.
COLOURS = {"more": "#b34700", "less": "#00639c", "unclear": "#656d76", "soft": "#656d76"}
STYLE = (
    ".captionbias{font-family:system-ui,sans-serif;font-size:13px;fill:currentColor}"
    + "".join(f".captionbias .{name}{{fill:var(--{name},{colour})}}" for name, colour in COLOURS.items())
    + ".captionbias rect.unclear{fill-opacity:.45}"
    ".captionbias line{stroke:currentColor;stroke-opacity:.75}.captionbias line.grid{stroke-opacity:.25}"
    ".captionbias line.person{stroke:var(--soft,#656d76);stroke-opacity:1}.captionbias .strong{font-weight:600}"
)
WIDE, NAME, VERDICT, GAP, NUMBER, ROW, LINE, SMALL = 1000, 140, 150, 22, 44, 34, 15, 12
CHARACTER = 0.56  # the width of a character, by the size of its font, on average


class Picture(str):
    """An SVG that a notebook shows and that can be saved.

    >>> picture = Picture('<svg style="max-width:100%"></svg>')
    >>> picture._repr_svg_()
    '<svg style="background:#ffffff;color:#1f2328;max-width:100%"></svg>'
    """

    def _repr_svg_(self) -> str:
        return self.replace('style="', 'style="background:#ffffff;color:#1f2328;', 1)

    def save(self, path: str | Path) -> None:
        """Write the picture as an .svg file, whole or not at all."""
        check_ending(Path(path), ".svg")
        write_text(self._repr_svg_(), Path(path))


def tone(verdict: str) -> str:
    """The class whose colour a verdict has."""
    return "more" if verdict in BEYOND else "less" if verdict == LESS else "unclear"


def picture(measured: Audit | Measurement | Mapping[str, Any], name: str = "captioner") -> Picture:
    """Captioners as rows, by `sway` with details; of any other result by the main scores, with their intervals.

    Args:
        measured: an audit, or what a metric measured or returned, or read from a file.
        name: of the captioner, where there is one alone.

    >>> picture({"lic": 20.1, "signature": "metric:lic"}).startswith("<svg")
    True
    """
    if isinstance(measured, Audit):
        return drawn(audit_leaderboard(measured))
    if not isinstance(measured, (Measurement, Mapping)):
        raise InputError(
            "measured", f"is of type {type(measured).__name__}: measure it first, as in picture(sway(...))"
        )
    result = measured.flat() if isinstance(measured, Measurement) else measured
    metric = next((SCORES[key].metric for key in result if key in SCORES), None)
    return captioner_picture({metric: result} if metric else {}, name)


def captioner_picture(results: Mapping[str, Mapping[str, Any]], name: str) -> Picture:
    return drawn(captioner_rows(results, name))


def drawn(board: Leaderboard, sentence: str = "") -> Picture:
    """The rows as wide as their page lets them be, below a sentence, their title when empty, with a text for those who
    cannot see them."""
    sentence = sentence or title(board)
    each = (WIDE - NAME - VERDICT) / max(1, len(board.columns))
    width = each - GAP
    fitting = max(8, int(width / (SMALL * CHARACTER)))
    heads = [
        (
            textwrap.wrap(column.title, fitting),
            textwrap.wrap(": ".join(filter(None, (column.unit, column.example))), fitting),
        )
        for column in board.columns
    ]
    parts = [text(0, 20, sentence, "strong", size=18)]
    top = 46
    for number, (named, unit) in enumerate(heads):
        kinds = ["strong"] * len(named) + ["soft"] * len(unit)
        parts += [
            text(NAME + number * each, top + LINE * place, words, kind)
            for place, (words, kind) in enumerate(zip(named + unit, kinds, strict=True))
        ]
    top += LINE * max(len(named) + len(unit) for named, unit in heads)
    for row in board.every_row:
        middle = top + ROW / 2
        parts.append(line(0, top, WIDE, top, "grid"))
        parts.append(text(0, middle + 5, shortened(row.name, 18), "strong" if row.verdict else "", size=13))
        for number, (column, bar) in enumerate(zip(board.columns, row.bars, strict=True)):
            people = board.people.bars[number] if board.people and row is not board.people else None
            parts += _bar(column, bar, people, NAME + number * each, width - NUMBER, middle)
        said = [f"{row.mark} {row.words}" if row.mark else "", row.said]
        parts += [
            text(WIDE - VERDICT, middle + 5 + 7 * step, words, kind)
            for words, kind, step in zip(said, (f"{tone(row.verdict)} strong", "soft"), (-1, 1), strict=True)
            if words
        ]
        top += ROW
    parts += [line(0, top, WIDE, top, "grid"), text(0, top + 20, board.legend, "soft")]
    return document(parts, WIDE, top + 30, sentence, in_words(board))


def document(parts: Iterable[str], width: float, height: float, title: str, description: str) -> Picture:
    """These parts as a picture, with a text for those who cannot see them."""
    name = html.escape(title)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="captionbias" viewBox="0 0 {_number(width)} {_number(height)}" '
        f'width="{_number(width)}" role="img" aria-label="{name}" style="max-width:100%;height:auto">'
        f"<title>{name}</title><desc>{html.escape(description)}</desc><style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def in_words(board: Leaderboard) -> str:
    """Every number with its interval, for those who cannot see the bars."""
    return "; ".join(
        f"{row.name}: {', '.join(filter(None, [*map(_told, board.columns, row.bars), row.verdict]))}"
        for row in board.every_row
    )


def _told(column: Column, bar: Bar) -> str:
    size = interval(bar.estimate, column.digits) if bar.estimate else bar.text
    return f"{column.title} {size}"


def _bar(column: Column, bar: Bar, people: Bar | None, left: float, width: float, middle: float) -> Iterator[str]:
    """A bar from 0 with its interval and its number, and people's line."""

    def at(value: float) -> float:
        return left + width * column.at(value) / 100

    yield line(at(0.0), middle - 11, at(0.0), middle + 11, "grid")
    if bar.estimate is None:
        yield text(at(0.0) + 6, middle + 4, bar.text, "soft")
        return
    start, end = sorted((at(0.0), at(bar.estimate.value)))
    place, size = f'x="{_number(start)}" y="{_number(middle - 6)}"', f'width="{_number(end - start)}" height="12"'
    yield f'<rect {place} {size} class="{tone(bar.verdict)}"/>'
    if bar.estimate.low is not None:
        low, high = (at(value) for value in (bar.estimate.low, bar.estimate.ends[1]))
        yield line(low, middle, high, middle)
    if people:
        person = at(people.estimate.value if people.estimate else 0.0)
        yield line(person, middle - 11, person, middle + 11, "person", 2)
    yield text(left + width + 8, middle + 4, bar.text, "strong", size=13)


def text(x: float, y: float, content: str, kind: str = "", size: int = SMALL, anchor: str = "start") -> str:
    place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"'
    return f'<text {place} class="{kind}" font-size="{size}">{html.escape(content, quote=False)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "", width: float = 1) -> str:
    ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
    return f'<line {ends} class="{kind}" stroke-width="{width}"/>'


def dot(x: float, y: float, kind: str) -> str:
    return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="5" class="{kind}"/>'


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
