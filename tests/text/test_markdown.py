"""Somebody's words in Markdown: a parser shows them letter by letter and finds nothing else in them."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from captionbias.text.markdown import code, escaped, one_line

SEARCH = settings(deadline=None, max_examples=100)
HOSTILE = st.text(st.sampled_from("|\n\r`<>!-_*[]()\\&#~=+.:@$1 ab") | st.characters(), max_size=12) | st.sampled_from(
    ["| a |\n| b |", "<script>", "--> <b>", "`|`", "[x](javascript:y)", "a\n# b", "&lt;", "http://a.b", "**c**"]
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(text):
    """What a parser shows of it, and what else than text in a paragraph it finds."""
    tokens = PARSER.parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {one.type for one in (*tokens, *inline)}
    plain = {"paragraph_open", "inline", "paragraph_close", "text", "text_special"}
    return "".join(child.content for child in inline), kinds - plain


@SEARCH
@given(HOSTILE | st.sampled_from(["- a", "-", "--- b", "1. a", "12.", "+ a", "=== a"]))
def test_escaped_words_are_shown_and_do_nothing_else_wherever_they_are(words):
    said = one_line(words)
    assert re.sub(r"\\(.)", r"\1", escaped(words)) == said
    assert shown(escaped(words)) == (said, set())
    found, parts = shown(f"- {escaped(words)}")
    assert found == said
    assert parts == {"bullet_list_open", "list_item_open", "list_item_close", "bullet_list_close"}
    table = f"| a | c |\n| - | - |\n| {escaped(words)} | b |"
    found, parts = shown(table)
    assert found == f"ac{said}b"
    assert {part for part in parts if not re.match(r"(table|thead|tbody|tr|th|td)_", part)} == set()
    assert sum(token.type == "td_open" for token in PARSER.parse(table)) == 2


@SEARCH
@given(HOSTILE)
def test_one_line_is_one_that_prints_and_stays_as_it_is(words):
    line = one_line(words)
    assert line.isprintable()
    assert line == line.strip()
    assert "  " not in line
    assert one_line(line) == line
    line.encode("utf-8")


@SEARCH
@given(HOSTILE)
def test_code_shows_the_words_and_nothing_gets_out_of_it(words):
    found, parts = shown(f"a {code(words)} b")
    assert found == f"a {one_line(words)} b" if one_line(words) else "a `` b"
    assert parts <= {"code_inline"}
