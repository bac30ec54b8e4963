"""An audit as one HTML file that needs no network: plots, tables, and the data they are made of."""

from __future__ import annotations

import json
from base64 import b64encode
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from captionbias import __version__
from captionbias.io.files import write_text
from captionbias.io.formats import csv_text, json_text
from captionbias.metrics.catalogue import DIRECTIONS, QUESTIONS
from captionbias.report import plots, sensitivity, views
from captionbias.report.wording import percent, verdicts

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.explain.image_attributions import ImageAttributions

TOP = 40  # rows of the sources on the page; all of them are in its data


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

    scores = views.scores(audit)
    scripts = {
        "data": json_text(audit.as_dict()),
        "scores_csv": json.dumps(csv_text([column.name for column in scores.columns], scores.rows)),
    }
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_file("report.html.jinja"))
    return page.render(
        audit=audit,
        title=title or f"Bias of {', '.join(audit.captioners)}",
        about=_about(audit),
        command=command,
        version=__version__,
        verdicts=verdicts(audit),
        aligned="dbac" in audit.comparisons
        and any(views.alignment(audit, name, "a_to_t").rows for name in audit.captioners),
        views=views,
        plots=plots,
        sensitivity=sensitivity,
        directions=DIRECTIONS,
        questions=QUESTIONS,
        top=TOP,
        style=Markup(_file("report.css")),
        script=Markup(_file("report.js")),
        plotly=Markup(get_plotlyjs()),
        **{name: Markup(text.replace("<", "\\u003c")) for name, text in scripts.items()},  # no text can end its script
    )


def write_attributions(found: ImageAttributions, path: str | Path, *, title: str) -> None:
    """Write attributions of images with their pictures as one HTML file that loads nothing, whole or not at all.

    Raises:
        ValueError: the path cannot be written, or jinja2 is missing.
    """
    check_installed()
    from jinja2 import Environment
    from markupsafe import Markup

    page = Environment(autoescape=True).from_string(_file("attributions.html.jinja"))
    pictures = [(found.shares[row], b64encode(png).decode()) for row, png in found.overlays.items()]
    text = page.render(
        found=found,
        mean=percent(found.mean),
        pictures=pictures,
        title=title,
        version=__version__,
        style=Markup(_file("report.css")),
    )
    write_text(text, Path(path))


def check_installed() -> None:
    """Raise ValueError if a package that reports are made with is missing."""
    if not find_spec("jinja2"):
        raise ValueError("reports need jinja2: pip install 'captionbias[plots]'")


def _about(audit: Audit) -> str:
    counts = ", ".join(f"{count:,} {value}" for value, count in audit.attribute_counts.items())
    attackers = {
        "fast": "quick attackers (preset fast): for numbers to publish, measure with the papers' preset too",
        "papers": "the protocols of the papers",
    }
    return f"{audit.images:,} images ({counts}), measured with {attackers[audit.settings['preset']]}."


def _file(name: str) -> str:
    return resources.files("captionbias.report").joinpath("page", name).read_text(encoding="utf-8")
