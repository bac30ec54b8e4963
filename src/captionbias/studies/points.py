"""A chart of points by two numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from captionbias.report import svg

WIDTH, HEIGHT, SMALL = 480.0, 280.0, 12.0


def points_chart(series: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str, title: str) -> svg.Picture:
    """Points by two numbers, of which several of one name are joined; each name stands beside its last point."""
    points = [point for of_name in series.values() for point in of_name]
    ends = [svg.reach(numbers) for numbers in zip(*points, strict=True)]
    x, y = svg.scale(*ends[0], 40, WIDTH - 90), svg.scale(*ends[1], HEIGHT, 24)
    parts = [svg.text(0, 12, up, "soft", size=SMALL), svg.text(WIDTH - 90, HEIGHT + 32, across, "soft", "end", SMALL)]
    for value in svg.ticks(*ends[0]):
        parts.append(svg.text(x(value), HEIGHT + 15, f"{value:.10g}", "soft", "middle", 11))
    for value in svg.ticks(*ends[1]):
        parts += [svg.line(40, y(value), WIDTH - 90, y(value), "grid")]
        parts.append(svg.text(34, y(value) + 4, f"{value:.10g}", "soft", "end", 11))
    lowest = -math.inf  # of names: none is written over another
    for name, of_name in sorted(series.items(), key=lambda item: -item[1][-1][1]):
        places = [(x(across), y(up)) for across, up in of_name]
        parts += [svg.line(*start, *end, "less", 1.5) for start, end in pairwise(places)]
        parts += [svg.dot(*place, "less", size=4) for place in places]
        lowest = max(lowest + 14, places[-1][1] + 4)
        parts.append(svg.text(places[-1][0] + 8, lowest, svg.shortened(name, 82, SMALL), size=SMALL))
    told = "; ".join(f"{name}: {', '.join(f'{a:.4g} {b:.4g}' for a, b in of_name)}" for name, of_name in series.items())
    return svg.document([svg.Drawing(parts, HEIGHT + 40, told)], WIDTH, title)
