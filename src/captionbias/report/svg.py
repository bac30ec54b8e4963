"""The pieces that pictures are drawn with: SVG as text, every text in it escaped.

Pictures take their colours from the page that holds them (the CSS variables `--more`, `--less`, `--soft`, `--ground`,
`--person`, and the colour of its text), and have their own where there is none.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from captionbias.bench.verdicts import CANNOT_TELL, DIFFERS, LESS, MORE
from captionbias.io.files import check_ending, write_text

# Okabe and Ito's vermilion and blue, darkened until text in them can be read on white.
COLOURS = {"more": "#b34700", "less": "#00639c", "unclear": "#656d76", "soft": "#656d76", "person": "#8b949e"}
STYLE = (
    ".captionbias{font-family:system-ui,sans-serif;font-size:13px;fill:currentColor}"
    + "".join(f".captionbias .{name}{{fill:var(--{name},{colour})}}" for name, colour in COLOURS.items())
    + ".captionbias .person{fill-opacity:.25}"
    ".captionbias .hollow{fill:var(--ground,#ffffff);stroke:var(--unclear,#656d76);stroke-width:2}"
    ".captionbias .raised{fill:var(--raised,#f3f4f6)}"
    ".captionbias .ring{fill:var(--ground,#ffffff);stroke-width:2}"
    ".captionbias .grid{stroke:var(--soft,#656d76);stroke-opacity:.3}"
    ".captionbias .zero{stroke:currentColor;stroke-opacity:.7}"
    ".captionbias .strong{font-weight:600}"
)
TONES = {MORE: "more", DIFFERS: "more", LESS: "less"}
CHARACTER = 0.6  # the width of a character, by the size of its font, on average


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


class Drawing(NamedTuple):
    """The parts of a picture, its height, and what it shows in words."""

    parts: list[str]
    height: float
    description: str


def tone(verdict: str) -> str:
    """The class whose colour a verdict has."""
    return TONES.get(verdict, "unclear")


def document(drawings: Sequence[Drawing], width: float, title: str) -> Picture:
    """A picture of these drawings below each other, as wide as its page lets it be, with a text for those who cannot
    see it."""
    name, description = (
        html.escape(title),
        html.escape(" ".join(filter(None, (drawing.description for drawing in drawings)))),
    )
    parts, height = [], 0.0
    for drawing in drawings:
        content = "".join(drawing.parts)
        parts.append(f'<g transform="translate(0,{_number(height)})">{content}</g>' if height else content)
        height += drawing.height
    described = f"<desc>{description}</desc>" if description else ""
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="captionbias" viewBox="0 0 {_number(width)} {_number(height)}" '
        f'width="{_number(width)}" role="img" aria-label="{name}. {description}" '
        f'style="max-width:100%;height:auto"><title>{name}</title>{described}<style>{STYLE}</style>{"".join(parts)}</svg>'
    )


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start", size: float | None = None) -> str:
    """Text whose baseline begins, is centred ("middle") or ends at a place."""
    more = f' class="{kind}"' if kind else ""
    more += "" if anchor == "start" else f' text-anchor="{anchor}"'
    more += f' font-size="{_number(size)}"' if size else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{more}>{html.escape(content, quote=False)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "zero", width: float = 1) -> str:
    """A straight line; `kind` colours it: `grid`, `zero` or a class that is a tone."""
    ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
    stroke = f' class="{kind}"' if kind in ("grid", "zero") else f' style="stroke:var(--{kind},{COLOURS[kind]})"'
    return f'<line {ends}{stroke} stroke-width="{_number(width)}"/>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    sides = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    return f'<rect {sides} class="{kind}"/>'


def dot(x: float, y: float, kind: str, hollow: bool = False, size: float = 5) -> str:
    """A dot, or a ring."""
    ring = f' class="ring" style="stroke:var(--{kind},{COLOURS[kind]})"' if hollow else f' class="{kind}"'
    return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(size)}"{ring}/>'


def mark(x: float, y: float, verdict: str) -> str:
    """A mark whose shape says the verdict too: up for more, down for less, else round, hollow where we cannot tell."""
    if verdict not in TONES:
        return dot(x, y, "hollow" if verdict == CANNOT_TELL else "unclear")
    up = 5 if verdict == LESS else -5
    corners = [(x, y + 1.3 * up), (x - 6, y - up), (x + 6, y - up)]
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)
    return f'<polygon points="{points}" class="{TONES[verdict]}"/>'


Place = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Place:
    """Where a number is on an axis from `start` to `end`; one beyond the axis is at its end."""
    size = (high - low) or 1
    return lambda value: start + (end - start) * (min(high, max(low, value)) - low) / size


def whisker(place: Place, y: float, low: float | None, high: float | None, kind: str, width: float) -> list[str]:
    """An interval as a line at a height, without an upper end to that of the axis; nothing where there is none."""
    return [] if low is None else [line(place(low), y, place(math.inf if high is None else high), y, kind, width)]


def reach(numbers: Iterable[float | None], half: float = 0.0) -> tuple[float, float]:
    """The ends of an axis with room for these numbers, for 0, and for the band twice as far as it goes."""
    ends = [0.0, -2 * half, 2 * half, *(number for number in numbers if number is not None)]
    low, high = min(ends), max(ends)
    room = 0.04 * (high - low) or 1.0
    return (low - room if low < 0 else 0.0), high + room


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from `low` to `high`, at most so many; 0 is one of them if it lies between."""
    if not high > low:
        return [low]
    least = (high - low) / most
    size = 10.0 ** math.floor(math.log10(least))
    step = next(size * times for times in (1, 2, 5, 10, 20) if size * times * most >= high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(step * number, digits) + 0.0 for number in range(first, last + 1)]


def shortened(content: str, width: float, size: float = 13) -> str:
    """A text that fits, its end left out if need be."""
    fitting = max(1, int(width / (size * CHARACTER)))
    return content if len(content) <= fitting else f"{content[: fitting - 1]}…"


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
