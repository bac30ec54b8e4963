"""An audit as Markdown, short enough for a pull request."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from captionbias.analysis.audit import Audit
from captionbias.report import leaderboard, views
from captionbias.report.doubts import doubts
from captionbias.report.wording import grouped_notes, plain
from captionbias.text.markdown import code, escaped, one_line


def markdown_report(audit: Audit, *, data: str = "", command: str | None = None) -> str:
    """An audit as Markdown for a pull request: the rows, and tables of the scores. `data`:
    what the data are called."""
    return "\n".join(_lines(audit, data, command)) + "\n"


def _lines(audit: Audit, data: str, command: str | None) -> Iterator[str]:
    board = leaderboard.audit_leaderboard(audit)
    yield from (f"## {escaped(leaderboard.title(board))}", "")
    if (most := next(leaderboard.most_swayed(board), None)) and board.wrong:
        yield from (escaped(leaderboard.beside_tasks(board, *most)), "")
    yield from views.rows_table(board).markdown()
    yield from (escaped(leaderboard.about(board, audit, data)), "")
    if quality := leaderboard.quality_leaderboard(audit):
        yield from (f"### {escaped(leaderboard.QUALITY_TITLE.format(**quality.called))}", "")
        yield from views.rows_table(quality).markdown()
    yield from (f"- {escaped(line)}" for line in doubts(audit))
    yield ""
    papers = views.papers(audit)
    if papers.rows:
        yield from (f"### {papers.title}", "", *papers.markdown())
    grids = [views.scores(audit, judged=True), views.alone(audit), views.cells(audit)]
    grids += [views.differences(audit.comparisons.values()), views.quality(audit)]
    for grid in grids:
        if grid.rows:
            yield from _details(grid.title, grid.markdown())
    notes = [f"{', '.join(captioners)}: {note}" for note, captioners in grouped_notes(audit).items()]
    missing = [f"Not included: {plain(line)}" for line in audit.missing]
    yield from _details("Notes", [f"- {escaped(note)}" for note in (*notes, *missing)])
    again = [f"- {metric}: {code(signature)}" for metric, signature in audit.signatures.items()]
    yield from _details("Measured with", [*again, *([f"- {code(command)}"] if command else [])])


def _details(title: str, lines: Iterable[str]) -> Iterator[str]:
    if lines := list(lines):
        summary = html.escape(one_line(title))  # this block is HTML, where a backslash escapes nothing
        yield from ("<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>", "")
