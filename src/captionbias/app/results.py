"""What was measured, for programs and as files to download."""

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
from captionbias.report.grid import Cell, Column, Grid
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.report.matrix import sentences
from captionbias.text import Lexicon

DATA = "captions.json"
SIZE = 6_000_000  # bytes of an audit and its report, which has at most half of them


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
    """A table as its headers and rows; shares are in percent."""
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


def notes(run: Run) -> list[str]:
    """What to consider when reading the numbers."""
    of_captioners = [f"{name}: {note}" for name in run.audit.captioners for note in run.audit.notes(name)]
    return list(dict.fromkeys([*run.notes, *of_captioners, *(f"not measured: {line}" for line in run.audit.missing)]))


def overview(run: Run) -> dict[str, Any]:
    """For programs: verdicts, notes and all numbers; text is as it is, neither Markdown nor HTML."""
    found = run.audit
    directions = DIRECTIONS if "dbac" in found.comparisons else ()
    return {
        "captioners": list(found.captioners),
        "images": found.images,
        "summary": sentences(found),
        "notes": notes(run),
        "scores": frame(views.scores(found)),
        "alone": frame(views.alone(found)),
        "differences": frame(views.differences(found)),
        "sources": {
            name: {direction: frame(views.sources(found, name, direction)) for direction in directions}
            for name in found.captioners
        },
        "words": {name: frame(views.words(found, name)) for name in found.words},
        "signatures": found.signatures,
    }


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
                    first._replace(columns=(Column("captioner"), *first.columns), rows=rows),
                )
