"""The report as Markdown, parsed as Markdown: tables whole, numbers the audit's, and nobody's words run."""

from itertools import takewhile

import pytest
from markdown_it import MarkdownIt

from captionbias.report.leaderboard import audit_leaderboard, title
from captionbias.report.markdown import markdown_report
from captionbias.report.views import rows_table
from tests.report.conftest import HOSTILE

COMMAND = "captionbias report --predictions nic.parquet --title 'a b'"
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"<details>", "</details>"}


def tables(text):
    """The rows of each table as plain words."""
    found = []
    tokens = iter(PARSER.parse(text))
    for token in tokens:
        if token.type == "table_open":
            found.append([])
        if token.type == "tr_open":
            row = takewhile(lambda one: one.type != "tr_close", tokens)
            found[-1].append([plain(one) for one in row if one.type == "inline"])
    return found


def plain(token):
    return "".join(one.content for one in token.children)


def kinds(text):
    tokens = PARSER.parse(text)
    return {one.type for token in tokens for one in (token, *(token.children or ()))}


@pytest.fixture(scope="module")
def report(two):
    return markdown_report(two, command=COMMAND)


def test_the_rows_come_first_and_what_measured_it_is_at_the_end(report, two):
    items = [plain(token) for token in PARSER.parse(report) if token.type == "inline" and token.level == 3]
    board = audit_leaderboard(two)
    assert report.startswith(f"## {title(board)}")
    assert tables(report)[0][1:] == [list(row) for row in rows_table(board).texts()]
    assert [row[0] for row in tables(report)[0][1:]] == [row.name for row in board.every_row]
    assert {f"{metric}: {signature}" for metric, signature in two.signatures.items()} <= set(items)
    assert items[-1] == COMMAND
    assert COMMAND not in markdown_report(two)


def test_names_labels_and_tasks_are_shown_and_do_nothing(hostile, report):
    text = markdown_report(hostile, command=f"captionbias report --title '{HOSTILE}'")
    assert len(tables(text)) == len(tables(report))
    assert all(len(row) == len(table[0]) for table in tables(text) for row in table)
    assert kinds(text) <= kinds(report)  # no link, no image, no emphasis, no list in a list, no HTML in a line
    headings = [sum(token.type == "heading_open" for token in PARSER.parse(one)) for one in (text, report)]
    assert headings == [2, 2]  # its own, and that of the papers' scores
    blocks = [token.content for token in PARSER.parse(text) if token.type == "html_block"]
    lines = "".join(blocks).splitlines()
    assert lines.count("<details>") == lines.count("</details>") == sum(line.startswith("<summary>") for line in lines)
    assert {line for line in lines if not line.startswith("<summary>")} == OURS
    summaries = [line.removeprefix("<summary>").removesuffix("</summary>") for line in lines if line not in OURS]
    assert not any("<" in line or ">" in line for line in summaries)
    assert max(token.level for token in PARSER.parse(text)) == max(token.level for token in PARSER.parse(report))
    said = " ".join(HOSTILE.split())
    assert {said, f"- {said}"} < {row[0] for row in tables(text)[0]}
