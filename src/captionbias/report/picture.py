"""One picture of a captioner: the answer to each question beside people's captions, and whom it names wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionbias.bench.measurement import Measurement, Result
from captionbias.bench.verdicts import verdict
from captionbias.io.files import check_ending, write_text
from captionbias.report.matrix import answer, axis, bar, ground, main_scores, question, questions_first
from captionbias.report.svg import CHARACTER, box, document, scale, shortened, text, tone
from captionbias.report.wording import fixed, group, words_of
from captionbias.statistics.samples import Estimate

WIDTH, SMALL, MOST_CELLS = 360.0, 12.0, 9


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
        check_ending(Path(path), ".svg")
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
    """A captioner's answer to each question with its interval, and with the details of sway whom it names wrong."""
    words = words_of(attribute, tasks)
    parts, top = [], 0.0
    if name:
        parts, top = [text(0, 16, shortened(name, WIDTH, 17), "strong", size=16)], 24.0
    told = []
    scores = questions_first(main_scores(estimates), estimates)
    for score in scores:
        cell = answer(estimates, score, verdict(estimates, score.key), words)
        if cell is None:
            continue
        asked = question(score, words, [estimates], [cell])
        told.append(f"{asked.title} {cell.text}")
        place = scale(asked.low, asked.high, 8, WIDTH - 8)
        lines = {asked.title: "strong", asked.unit: "soft", cell.text: f"{tone(cell.verdict)} strong"}
        for content, kind in lines.items():
            for line in textwrap.wrap(content, int(WIDTH / SMALL / CHARACTER) + 8):
                parts.append(text(0, top + 12, line, kind, size=SMALL))
                top += 16
        parts += ground(asked, place, top + 2, top + 24) + bar(cell, place, top + 13) + axis(asked, place, top + 35)
        top += 50
    if any(score.scale.low < 0 for score in scores):
        parts.append(text(0, top + 4, "0: like another person's captions; lines: 95% intervals", "soft", size=SMALL))
        top += 16
    if sway:
        drawn, top = _cells(sway, words, top + 8)
        parts += drawn
    return Picture(document(parts, WIDTH, top + 4, name or "Scores", "; ".join(told)))


def _cells(sway: Mapping[str, Any], words: Mapping[str, str], top: float) -> tuple[list[str], float]:
    """How often each value is named wrong beside what suggests which, captioner above people; and where that ends."""
    cells = [cell for cell in sway["cells"] if cell["suggested"] and "captioner_wrong_of_named" in cell]
    cells = sorted(cells, key=lambda cell: -cell["captioner_wrong_of_named"])[:MOST_CELLS]
    parts = [text(0, top + 12, f"Named wrong, of 100 captions that name the {words['value']}", "strong", size=SMALL)]
    top += 18
    for cell in sorted(cells, key=lambda cell: (cell["attribute"], cell["attribute"] == cell["suggested"])):
        who = f"{group(cell['attribute'])} beside {words['tasks']} that go with {group(cell['suggested'])}"
        wrong, person = cell["captioner_wrong_of_named"], cell.get("person_wrong_of_named", 0.0)
        parts.append(text(0, top + 12, shortened(who, WIDTH, SMALL), size=SMALL))
        parts.append(box(0, top + 17, 2.4 * wrong, 7, "more" if cell["attribute"] != cell["suggested"] else "soft"))
        parts.append(box(0, top + 25, 2.4 * person, 4, "person"))
        numbers = f"{fixed(wrong, 0)}; people: {fixed(person, 0)}"
        parts.append(text(WIDTH, top + 25, numbers, "strong", "end", SMALL))
        top += 34
    return parts, top
