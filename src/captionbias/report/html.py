"""An audit as one HTML file that needs no network: the answer first, what it is made of, and the captions behind it."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from captionbias._version import __version__
from captionbias.analysis.audit import Audit
from captionbias.io.files import write_text
from captionbias.io.formats import json_text
from captionbias.metrics.sway import questions
from captionbias.report import charts, pairs, portrait, quotes, views, wording
from captionbias.report.drawn import WIDE, naming_drawing, words_drawing
from captionbias.report.grid import cell_text
from captionbias.report.rows import rows_of
from captionbias.report.svg import STYLE, document

TOP = 30  # words and tasks on the page; all of them are in its data
WORDS = 12  # of an attribute value, before one asks for more
ARTICLES = ("a", "an", "the")


def write_report(audit: Audit, path: str | Path, **options: Any) -> None:
    """Write an audit as one HTML file, whole or not at all; `options`: of `html_report`."""
    write_text(html_report(audit, **options), Path(path))


def html_report(
    audit: Audit,
    *,
    title: str | None = None,
    data: str = "",
    command: str | None = None,
    picture_of: Callable[[str], str] | None = None,
) -> str:
    """An audit as one HTML page that loads nothing; its data, JSON by gzip in base64, are in `#audit-data`.

    `title`: of its window; `data`: what the data are called; `picture_of`: the data URL of an image, by its id, to be
    shown beside its captions; empty where there is none.
    """
    content = json_text(audit.as_dict())
    drawn = portrait.audit_portrait(audit)
    return render_template(
        _file("report.html.jinja"),
        audit=audit,
        title=title or f"{wording.listed(audit.captioners)}: {wording.named_things(audit)['attribute']} in captions",
        about=portrait.about(audit, data),
        command=command,
        picture_of=picture_of,
        portrait=portrait,
        drawn=drawn,
        named=document([naming_drawing(drawn)], WIDE, "Who is named wrong") if drawn else "",
        followed=document([words_drawing(drawn)], WIDE, "Words that follow a value") if drawn else "",
        quoted=quotes.first_quote(audit, drawn) if drawn else None,
        opened=drawn.rows[0].name if drawn else audit.captioners[0],
        scores_chart=charts.leaderboard_chart(rows_of(json.loads(content))) if not drawn else "",
        questions=questions,
        quotes=quotes,
        pairs=pairs,
        wording=wording,
        views=views,
        telling=_telling,
        **wording.named_things(audit),
        top=TOP,
        shown_words=WORDS,
        data=b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode(),
        scores_csv=json.dumps(views.scores(audit).csv()),
    )


def check_installed() -> None:
    """Raise ValueError if a package that reports are made with is missing."""
    if not find_spec("jinja2"):
        raise ValueError("reports need jinja2: pip install '.[plots]' in a clone")


def render_template(template: str, **content: Any) -> str:
    """A page from its template, with the style and the script that all pages have; every text in it is escaped."""
    check_installed()
    from jinja2 import Environment, FunctionLoader
    from markupsafe import Markup

    pages = Environment(loader=FunctionLoader(_file), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    if "scores_csv" in content:  # no text can end its script
        content["scores_csv"] = Markup(content["scores_csv"].replace("<", "\\u003c"))
    style, script = Markup(STYLE + _file("report.css")), Markup(_file("report.js"))
    return pages.from_string(template).render(
        version=__version__, style=style, script=script, cell_text=cell_text, **content
    )


def _telling(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The words that speak for a value; articles and full stops tell a reader nothing."""
    return [row for row in rows if row["mean"] > 0 and row["word"] not in ARTICLES and re.search(r"\w", row["word"])]


def _file(name: str) -> str:
    return resources.files("captionbias.report").joinpath("page", name).read_text(encoding="utf-8")
