"""Draws docs/pictures/*.svg: what each metric reads of five captioners whose bias is known, because it was planted.

python docs/pictures.py             # all ten, some minutes
python docs/pictures.py dbac lic    # these
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from captionbias.captions import CaptionBiasWarning
from captionbias.images.drawings import draw
from captionbias.metrics import catalogue, find_metric
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

FOLDER = Path(__file__).parent / "pictures"
CAPTIONERS: dict[str, dict[str, float]] = {
    "faithful to its data": {},
    "faithful, names half the tasks": {"naming": 0.5},
    "attribute sways tasks (A to T)": {"a_to_t": 0.5},
    "tasks sway attribute (T to A)": {"t_to_a": 0.5},
    "errs at random": {"a_to_t": -0.5, "t_to_a": -0.5},
}
SHOWN = {
    "sway": ("sway_a_to_t", "sway_t_to_a"),
    "dbac": ("dbac_a_to_t_net", "dbac_t_to_a_net"),
    "lic": ("lic",),
    "directional_ba": ("directional_ba_a_to_t_excess", "directional_ba_t_to_a_excess"),
    "multi_directional_ba": ("multi_directional_ba_a_to_t_excess", "multi_directional_ba_t_to_a_excess"),
    "ba_mals": ("ba_mals_excess",),
    "dpa": ("dpa_a_to_t_excess", "dpa_t_to_a_excess"),
    "label_leakage": ("label_leakage_excess",),
    "gender_error": ("error_excess",),
    "imagecaptioner2": ("imagecaptioner2",),
}
COLOURS = ("#c2410c", "#1d4ed8")  # seen on white and on black
TEXT = "#888888"
LEFT, RIGHT, TOP, ROW, WIDTH = 240, 690, 40, 34, 720


def measured(metric: str, dials: Mapping[str, float]) -> Mapping[str, Estimate]:
    """The metric of 2,000 planted images, of 300 if it trains judges on drawings of them."""
    of_images = catalogue.METRICS[metric].of_images
    planted = plant(images=300 if of_images else 2000, captions=3, **dials)
    options: dict[str, Any] = {"preset": "fast", "trials": 3}
    if of_images:
        options["images"], options["masks"] = draw(planted)
    found = find_metric(metric)
    known = found.options()
    chosen = {name: value for name, value in options.items() if name in known}
    return found.measure(**vars(planted), **chosen).estimates


def picture(metric: str, rows: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Dots with their intervals, one line a captioner, and 0 where a person is."""
    keys = SHOWN[metric]
    every = [estimates[key] for estimates in rows.values() for key in keys]
    ends = [0.0, *(end for one in every for end in (one.low, one.high, one.value) if end is not None)]
    low, high = min(ends), max(ends)

    def at(value: float) -> int:
        return round(LEFT + (RIGHT - LEFT) * (value - low) / (high - low))

    bottom = TOP + ROW * len(rows)
    lines = [
        f'<line x1="{at(0)}" y1="{TOP - 8}" x2="{at(0)}" y2="{bottom}" stroke="{TEXT}" stroke-dasharray="4 3"/>',
        f'<text x="{at(0)}" y="{bottom + 16}" text-anchor="middle">0: a person</text>',
    ]
    for number, (key, colour) in enumerate(zip(keys, COLOURS, strict=False)):
        label = escape(catalogue.SCORES[key].label.removesuffix(", beyond a person"))
        place = LEFT + number * (RIGHT - LEFT) // len(keys)
        lines.append(f'<circle cx="{place + 5}" cy="15" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{place + 16}" y="20">{label}</text>')
    for row, (name, estimates) in enumerate(rows.items()):
        middle = TOP + ROW * row + ROW // 2
        lines.append(f'<text x="{LEFT - 20}" y="{middle + 5}" text-anchor="end">{escape(name)}</text>')
        for number, (key, colour) in enumerate(zip(keys, COLOURS, strict=False)):
            one, y = estimates[key], middle + (0 if len(keys) == 1 else 10 * number - 5)
            if one.low is not None and one.high is not None:
                line = f'x1="{at(one.low)}" y1="{y}" x2="{at(one.high)}" y2="{y}"'
                lines.append(f'<line {line} stroke="{colour}" stroke-width="2"/>')
            lines.append(f'<circle cx="{at(one.value)}" cy="{y}" r="5" fill="{colour}"/>')
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 24}" role="img" '
    title = f"<title>{escape(catalogue.METRICS[metric].title)} of five planted captioners</title>"
    style = f'font-family="sans-serif" font-size="14" fill="{TEXT}">'
    return "\n".join([start + style, title, *lines, "</svg>", ""])


def main(metrics: list[str]) -> None:
    warnings.simplefilter("ignore", CaptionBiasWarning)
    for metric in metrics or SHOWN:
        rows = {name: measured(metric, dials) for name, dials in CAPTIONERS.items()}
        (FOLDER / f"{metric}.svg").write_text(picture(metric, rows), encoding="utf-8")
        for name, estimates in rows.items():
            numbers = ", ".join(f"{estimates[key].value:.3f}" for key in SHOWN[metric])
            print(f"{metric:22}{name:34}{numbers}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
