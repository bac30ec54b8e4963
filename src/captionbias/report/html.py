"""An audit as one HTML file that needs no network: the answer first, what it is made of, and the captions behind it."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from captionbias._version import __version__
from captionbias.analysis.audit import Audit
from captionbias.io.files import write_text
from captionbias.io.formats import json_text
from captionbias.report import leaderboard, quotes, views, wording
from captionbias.report.doubts import doubts
from captionbias.report.grid import cell_text, latex_text
from captionbias.report.svg import drawn, tone

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
    compared: bool = False,
) -> str:
    """An audit as one HTML page that loads nothing; its data, JSON by gzip in base64, are in `#audit-data`.

    `title`: of its window; `data`: what the data are called; `picture_of`: the data URL of an image, by its id, to be
    shown beside its captions; empty where there is none; `compared`: whether the title is of the
    difference of two captioners.
    """
    content = json_text(audit.as_dict())
    board = leaderboard.audit_leaderboard(audit)
    between = leaderboard.gaps(board, audit.comparisons)
    sentence = leaderboard.gap_title(board, between) if compared and between else leaderboard.title(board)
    about, rows = leaderboard.about(board, audit, data), views.rows_table(board)
    signature = "; ".join(f"{metric}: {signature}" for metric, signature in audit.signatures.items())
    cited = f"@software{{captionbias,\n  title = {{captionbias}},\n  version = {{{__version__}}},\n"
    files = {
        "captionbias.svg": drawn(board, sentence)._repr_svg_(),
        "captionbias.csv": views.scores(audit).csv(),
        "rows.csv": rows.csv(),
        "rows.tex": "\n".join(rows.latex()),
        "captionbias.bib": f"{cited}  note = {{{latex_text(f'{sentence} {about} Signature {signature}')}}}\n}}\n",
    }
    check_installed()
    from jinja2 import Environment
    from markupsafe import Markup

    pages = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return pages.from_string(_file("report.html.jinja")).render(
        version=__version__,
        style=Markup(_file("report.css")),
        script=Markup(_file("report.js")),
        cell_text=cell_text,
        audit=audit,
        title=title or f"{wording.listed(audit.captioners)}: {wording.named_things(audit)['attribute']} in captions",
        sentence=sentence,
        about=about,
        command=command,
        picture_of=picture_of,
        board=board,
        between=between,
        quality=leaderboard.quality_leaderboard(audit),
        leaderboard=leaderboard,
        lead=next(leaderboard.most_swayed(board), None),
        examples=list(quotes.examples(audit, board)),
        quotes=quotes,
        wording=wording,
        views=views,
        doubts=doubts,
        tone=tone,
        telling=_telling,
        **wording.named_things(audit),
        top=TOP,
        shown_words=WORDS,
        made=f"captionbias {__version__}, {date.today().isoformat()}",
        data=b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode(),
        files=Markup(json.dumps(files).replace("<", "\\u003c")),  # no text can end its script
    )


def check_installed() -> None:
    """Raise ValueError if a package that reports are made with is missing."""
    if not find_spec("jinja2"):
        raise ValueError("reports need jinja2: pip install '.[plots]' in a clone")


def _telling(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The words that speak for a value; articles and full stops tell a reader nothing."""
    return [row for row in rows if row["mean"] > 0 and row["word"] not in ARTICLES and re.search(r"\w", row["word"])]


def _file(name: str) -> str:
    return resources.files("captionbias.report").joinpath("page", name).read_text(encoding="utf-8")
