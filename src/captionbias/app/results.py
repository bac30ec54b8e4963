"""What was measured, for programs and as files to download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.analysis.compare import corrected
from captionbias.io.files import write_text
from captionbias.io.formats import csv_text, json_text
from captionbias.metrics import Measurement
from captionbias.metrics.catalogue import DIRECTIONS
from captionbias.report import views
from captionbias.report.grid import Column, Grid
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.text import Lexicon

DATA = "captions.json"
SIZE = 6_000_000  # bytes of an audit and its report, which has at most half of them


@dataclass(frozen=True, eq=False)
class Run:
    """What was measured, warnings of its input, how to repeat it, and custom words. `folder` is deleted with it;
    `data`: what was measured, as JSON, if the uploaded files are not it; `whole`: whether all that was asked for is in
    it."""

    audit: Audit
    notes: tuple[str, ...]
    command: str | None
    python: str
    custom: tuple[Lexicon, ...]
    folder: TemporaryDirectory[str]
    data: str | None = None
    whole: bool = True

    @cached_property
    def report(self) -> str:
        """The self-contained page."""
        return html_report(self.audit, command=self.command)

    @property
    def size(self) -> int:
        """Bytes of memory, about."""
        return SIZE + len(self.data or "")


def notes(run: Run) -> list[str]:
    """What to consider when reading the numbers."""
    of_metrics = [f"{name}: {note}" for name in run.audit.captioners for note in run.audit.notes(name)]
    return list(dict.fromkeys([*run.notes, *of_metrics, *(f"not measured: {line}" for line in run.audit.missing)]))


def overview(run: Run) -> dict[str, Any]:
    """For programs: verdicts and scores by captioner and by the keys that metrics return; text is as it is."""
    comparisons = run.audit.comparisons.values()
    verdicts = corrected(pair for comparison in comparisons for pair in comparison.measurements.items())
    return {
        "captioners": list(run.audit.captioners),
        "images": run.audit.images,
        "verdicts": {
            name: {key: word for (captioner, key), word in verdicts.items() if captioner == name}
            for name in run.audit.captioners
        },
        "scores": {
            name: {key: value for one in comparisons for key, value in _scores(one.measurements[name]).items()}
            for name in run.audit.captioners
        },
        "notes": notes(run),
        "signatures": run.audit.signatures,
    }


def _scores(measured: Measurement) -> dict[str, float]:
    return {key: value for key, value in measured.flat().items() if isinstance(value, float)}


def files(run: Run) -> list[str]:
    """Write the files to download: the report, everything as JSON, Python, the tables as CSV, custom words as JSON."""
    texts = {
        "report.html": run.report,
        "report.md": markdown_report(run.audit, command=run.command),
        "everything.json": json_text(run.audit.as_dict(), indent=2),
        "again.py": run.python,
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
            grids = {name: views.sources(audit, name, direction) for name in audit.captioners}
            rows = [[name, *row] for name, grid in grids.items() for row in grid.rows]
            if rows:
                first = grids[audit.captioners[0]]
                yield (
                    f"sources-{direction.replace('_', '-')}",
                    first._replace(columns=(Column("captioner"), *first.columns), rows=rows),
                )
