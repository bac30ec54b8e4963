"""What was measured, as values for the page's components and as files to download."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.io.files import write_text
from captionbias.io.formats import csv_text, json_text
from captionbias.metrics.catalogue import DIRECTIONS
from captionbias.report import views
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.report.views import Cell, Grid
from captionbias.report.wording import verdicts
from captionbias.text import Lexicon
from captionbias.text.markdown import escaped

DATA = "captions.json"
SIZE = 6_000_000  # bytes of an audit and its report, which has at most half of them
WEAK, STRONG = 0.1, 0.5
CONTRIBUTIONS = {"strongly for": "#d55e00", "for": "#f0b083", "against": "#85c1e2", "strongly against": "#0072b2"}


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: the audit, warnings of its input, how to repeat it, custom words, and the folder with its files.

    The folder is deleted with the run. `data`: what was measured, as JSON, if the uploaded files are not it.
    """

    audit: Audit
    notes: tuple[str, ...]
    command: str | None
    python: str
    custom: tuple[Lexicon, ...]
    folder: TemporaryDirectory[str]
    data: str | None = None

    @cached_property
    def report(self) -> str:
        """The self-contained page."""
        return html_report(self.audit, command=self.command)

    @property
    def size(self) -> int:
        """Bytes of memory, about."""
        return SIZE + len(self.data or "")


def frame(grid: Grid) -> dict[str, Any]:
    """A table for `gr.Dataframe`: numbers stay numbers, so that it is sorted by their size."""
    headers = [f"{column.name} (%)" if column.form.endswith("%") else column.name for column in grid.columns]
    rows = [[_cell(cell, column.form) for cell, column in zip(row, grid.columns, strict=True)] for row in grid.rows]
    return {"headers": headers, "data": rows}


def _cell(cell: Cell, form: str) -> Cell:
    if cell is None:
        return ""
    if isinstance(cell, str) or not form:
        return cell
    digits = re.search(r"\.(\d)", form)
    places = int(digits[1]) if digits else 0
    number = round(100 * cell if form.endswith("%") else cell, places) + 0
    return number if places else int(number)


def summary(run: Run) -> str:
    """The verdicts as Markdown; users' texts are escaped."""
    lines = [f"- {escaped(said.text)}" for said in verdicts(run.audit)]
    fast = "Measured with a quick attacker (preset fast); numbers to publish need the papers' preset too."
    return "\n".join([*lines, "", fast] if run.audit.settings["preset"] == "fast" else lines)


def notes(run: Run) -> str:
    """The notes as Markdown; empty if there are none."""
    of_captioners = [f"{name}: {note}" for name in run.audit.captioners for note in run.audit.notes(name)]
    lines = dict.fromkeys([*run.notes, *of_captioners, *(f"not measured: {line}" for line in run.audit.missing)])
    return "\n".join(f"- {escaped(line)}" for line in lines)


def coloured(audit: Audit, captioner: str) -> list[tuple[str, str | None]]:
    """Captions with the contribution of each word, for `gr.HighlightedText`; see `CONTRIBUTIONS`."""
    spans: list[tuple[str, str | None]] = []
    for caption in audit.words[captioner]["captions"]:
        label = caption["attribute"]
        values = caption["values"][label]
        largest = max(map(abs, values), default=0) or 1.0
        spans.append((f"{label}, {100 * caption['scores'][label]:.0f}% sure: ", None))
        for word, value in zip(caption["words"], values, strict=True):
            spans += [(word, _contribution(value / largest)), (" ", None)]
        spans.append(("\n", None))
    return spans


def _contribution(share: float) -> str | None:
    """How a word's value is called, by its share of the caption's largest.

    >>> _contribution(0.9), _contribution(-0.2), _contribution(0.01)
    ('strongly for', 'against', None)
    """
    if abs(share) < WEAK:
        return None
    return ("strongly " if abs(share) >= STRONG else "") + ("for" if share > 0 else "against")


def files(run: Run) -> list[str]:
    """Write the files to download: the report, everything as JSON, the tables as CSV, custom words as JSON."""
    texts = {
        "report.html": run.report,
        "report.md": markdown_report(run.audit, command=run.command),
        "everything.json": json_text(run.audit.as_dict(), indent=2),
    }
    for name, grid in _tables(run.audit):
        texts[f"{name}.csv"] = csv_text([column.name for column in grid.columns], grid.rows)
    for lexicon in run.custom:
        texts[f"{lexicon.name}.json"] = json_text({"groups": lexicon.groups, "mask": lexicon.mask}, indent=2)
    if run.data:
        texts[DATA] = run.data
    for name, text in texts.items():
        write_text(text, Path(run.folder.name, name))
    return [str(Path(run.folder.name, name)) for name in texts]


def _tables(audit: Audit) -> Iterator[tuple[str, Grid]]:
    yield "scores", views.scores(audit)
    if audit.alone:
        yield "alone", views.alone(audit)
        yield "intersections", views.cells(audit)
    if len(audit.captioners) > 1:
        yield "differences", views.differences(audit)
    if "dbac" in audit.comparisons:
        for direction in DIRECTIONS:
            found = {name: views.sources(audit, name, direction) for name in audit.captioners}
            rows = [[name, *row] for name, grid in found.items() for row in grid.rows]
            if rows:
                first = found[audit.captioners[0]]
                yield (
                    f"sources-{direction.replace('_', '-')}",
                    first._replace(columns=(views.Column("captioner"), *first.columns), rows=rows),
                )
