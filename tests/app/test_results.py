"""Tables keep numbers as numbers; nobody's words do anything in them or in the Markdown beside."""

from __future__ import annotations

from captionbias.app.results import datatypes, frame
from captionbias.report.views import Column, Grid

COLUMNS = (Column("task"), Column("share", ".1%"), Column("images", ",.0f"))
GRID = Grid("t", COLUMNS, [["<b>", 0.1256, 3.0], ["x", None, 0]])


def test_shares_are_percent_and_what_is_undefined_is_blank():
    assert frame(GRID) == {"headers": ["task", "share (%)", "images"], "data": [["<b>", 12.6, 3], ["x", "", 0]]}


def test_text_is_never_html_or_markdown():
    assert datatypes(GRID) == ["str", "number", "number"]
