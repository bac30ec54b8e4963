"""An audit as one HTML file that needs no network: plots, tables, and the data they are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias import __version__
from captionbias.io.files import write_text
from captionbias.io.formats import csv_text, json_text
from captionbias.metrics.catalogue import DIRECTIONS, QUESTIONS
from captionbias.report import plots, views
from captionbias.report.views import Grid, shown
from captionbias.report.wording import verdicts

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

Part = dict[str, Any]

TOP = 40  # rows of the sources on the page; all of them are in its data
SPEAKS_FOR, SPEAKS_AGAINST = "213,94,0", "0,114,178"


def write_report(audit: Audit, path: str | Path, *, title: str | None = None, command: str | None = None) -> None:
    """Write an audit as one HTML file, whole or not at all; see `html_report`.

    Raises:
        ValueError: the path cannot be written, or plotly or jinja2 is missing.
    """
    write_text(html_report(audit, title=title, command=command), Path(path))


def html_report(audit: Audit, *, title: str | None = None, command: str | None = None) -> str:
    """An audit as one HTML page: verdicts, plots, tables, and all its data as JSON in `<script id="audit-data">`.

    It loads nothing, and its content security policy forbids it to.

    Args:
        audit: from `captionbias.analysis.audit.audit`.
        title: of the page.
        command: the command that reproduces it, to be shown.

    Raises:
        ValueError: plotly or jinja2 is missing.

    >>> from captionbias.analysis.audit import audit
    >>> from captionbias.synthetic import plant
    >>> people = vars(plant(200))
    >>> found = audit({"faithful": people.pop("predictions")}, **people, metrics=["lic"], trials=2)
    >>> "LIC x 100" in html_report(found)
    True
    """
    check_installed()
    from jinja2 import Environment
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    figures: list[Any] = []
    scores = views.scores(audit)
    sections = [_section(name, parts, figures) for name, parts in _sections(audit, command)]
    scripts = {
        "data": json_text(audit.as_dict()),
        "scores": json.dumps(csv_text([column.name for column in scores.columns], scores.rows)),
        "figures": f"[{','.join(figure.to_json() for figure in figures)}]",
    }
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_file("report.html.jinja"))
    return page.render(
        title=title or f"Bias of {', '.join(audit.captioners)}",
        about=_about(audit),
        version=__version__,
        sections=[section for section in sections if section["parts"]],
        style=Markup(_file("report.css")),
        script=Markup(_file("report.js")),
        plotly=Markup(get_plotlyjs()),
        **{name: Markup(text.replace("<", "\\u003c")) for name, text in scripts.items()},  # no text can end its script
    )


def check_installed() -> None:
    """Raise ValueError if a package that reports are made with is missing."""
    if not find_spec("jinja2"):
        raise ValueError("reports need jinja2: pip install 'captionbias[plots]'")


def _about(audit: Audit) -> str:
    counts = ", ".join(f"{count:,} {value}" for value, count in audit.attribute_counts.items())
    attackers = {
        "fast": "a quick, convex attacker (preset fast): for numbers to publish, measure with the papers' preset too",
        "papers": "the protocols of the papers",
    }
    return f"{audit.images:,} images ({counts}), measured with {attackers[audit.settings['preset']]}."


def _sections(audit: Audit, command: str | None) -> Iterator[tuple[str, list[Part]]]:
    yield "In plain words", list(_verdicts(audit))
    yield "Scores", [_plot(plots.scores_plot(audit), "Scores with their intervals"), _table(views.scores(audit))]
    yield "Differences", [_table(views.differences(audit))]
    if "dbac" in audit.comparisons:
        yield "Where it comes from", [_of_captioner(audit, name, _sources(audit, name)) for name in audit.captioners]
    yield "Words", [_of_captioner(audit, name, list(_words(audit, name))) for name in audit.words]
    if audit.quality:
        plot = _plot(plots.tradeoff_plot(audit), "Bias over caption quality")
        yield "Quality and bias", [_table(views.quality(audit)), plot]
    if "dbac" in audit.comparisons and any(views.alignment(audit, name, "a_to_t").rows for name in audit.captioners):
        title = "Share of replaced words that became a word and not <unk>"
        folds = [_of_captioner(audit, name, _alignment(audit, name), opened=False) for name in audit.captioners]
        plot = _plot(plots.alignment_plot(audit), f"{title}, over delta", title)
        yield "Alignment", [plot, _table(views.meteors(audit), titled=True), *folds]
    yield "Seen in training", [_table(views.leaks(audit))]
    yield "How sure", [_table(views.certainty(audit))]
    yield "Notes", list(_notes(audit))
    yield "Reproduce", list(_reproduce(audit, command))


def _section(name: str, parts: list[Part], figures: list[Any]) -> dict[str, Any]:
    """With the number of each plot: the place of its data in the list of figures."""

    def numbered(part: Part) -> Part:
        if part["kind"] == "fold":
            return {**part, "parts": [numbered(inner) for inner in part["parts"]]}
        if part["kind"] != "plot":
            return part
        figures.append(part["figure"])
        return {**part, "number": len(figures) - 1, "height": part["figure"].layout.height}

    kept = [part for part in parts if part["kind"] != "table" or part["grid"]["rows"]]
    return {"title": name, "anchor": name.lower().replace(" ", "-"), "parts": [numbered(part) for part in kept]}


def _verdicts(audit: Audit) -> Iterator[Part]:
    lines = [
        {"text": said.text, "said": said.verdict if said.verdict in ("amplifies", "mitigates") else "unclear"}
        for said in verdicts(audit)
    ]
    if lines:
        yield {"kind": "sentences", "lines": lines}


def _of_captioner(audit: Audit, name: str, parts: list[Part], opened: bool = True) -> Part:
    """Parts of one captioner; of several captioners the first is open."""
    return {"kind": "fold", "title": name, "parts": parts, "open": opened and name == audit.captioners[0]}


def _sources(audit: Audit, captioner: str) -> list[Part]:
    parts: list[Part] = []
    for direction, rows in audit.details("dbac", captioner)["sources"].items():
        if rows:
            question = f"{DIRECTIONS[direction]}: {QUESTIONS[direction]}"
            parts.append(_plot(plots.sources_plot(rows), f"{question} {captioner}", question))
            parts.append(_table(views.sources(audit, captioner, direction, TOP)))
    return parts


def _words(audit: Audit, captioner: str) -> Iterator[Part]:
    found = audit.words[captioner]
    yield _table(views.words(audit, captioner))
    yield {"kind": "captions", "captions": [_coloured(caption) for caption in found["captions"]]}


def _coloured(caption: Mapping[str, Any]) -> dict[str, Any]:
    values = caption["values"][caption["attribute"]]
    largest = max(map(abs, values), default=0) or 1
    return {
        "attribute": caption["attribute"],
        "score": caption["scores"][caption["attribute"]],
        "words": [
            {
                "text": word,
                "title": f"{value:+.2f}",
                "colour": f"rgba({SPEAKS_FOR if value > 0 else SPEAKS_AGAINST},{0.5 * abs(value) / largest:.2f})",
            }
            for word, value in zip(caption["words"], values, strict=True)
        ],
    }


def _alignment(audit: Audit, captioner: str) -> list[Part]:
    return [_table(views.alignment(audit, captioner, direction), titled=True) for direction in DIRECTIONS]


def _notes(audit: Audit) -> Iterator[Part]:
    for name in audit.captioners:
        if notes := audit.notes(name):
            yield {"kind": "fold", "title": name, "parts": [{"kind": "list", "lines": notes}], "open": True}
    if audit.missing:
        yield {"kind": "list", "lines": [f"Not included: {line}" for line in audit.missing]}


def _reproduce(audit: Audit, command: str | None) -> Iterator[Part]:
    if command:
        yield {"kind": "code", "text": command}
    yield {"kind": "text", "text": "The same input and signature give the same scores."}
    for metric, signature in audit.signatures.items():
        yield {"kind": "code", "text": f"{metric}: {signature}"}


def _table(grid: Grid, titled: bool = False) -> Part:
    cells = [
        [
            {"text": shown(cell, column.form), "value": "" if cell is None else cell, "form": column.form}
            for cell, column in zip(row, grid.columns, strict=True)
        ]
        for row in grid.rows
    ]
    content = {"title": grid.title, "columns": grid.columns, "rows": grid.rows, "shown": cells, "meaning": grid.meaning}
    return {"kind": "table", "grid": content, "titled": titled}


def _plot(figure: Any, label: str, title: str | None = None) -> Part:
    return {"kind": "plot", "figure": figure, "label": label, "title": title}


def _file(name: str) -> str:
    return resources.files("captionbias.report").joinpath("page", name).read_text(encoding="utf-8")
