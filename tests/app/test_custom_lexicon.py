"""A typed list of words is the lexicon it says, or is refused at the line that is wrong."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionbias.app.words import custom_lexicon
from captionbias.text import Lexicon


def lexicon(text: str) -> Lexicon:
    return custom_lexicon(text, "mine")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (
            "female: woman, Lady ,  young   girl\nmale: man",
            {"female": ("woman", "lady", "young girl"), "male": ("man",)},
        ),
        ("\n a : x,,y, \r\n\r\na: z\n", {"a": ("x", "y", "z")}),
        ("time: 10:30, noon", {"time": ("10:30", "noon")}),
        ("<b>: <script>alert(1)</script>", {"<b>": ("<script>alert(1)</script>",)}),
    ],
)
def test_lines_give_the_words_of_each_value(text, groups):
    assert lexicon(text).groups == groups


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: x\n\nfemale woman", "line 3 has no colon: write one line for each value, such as 'female: woman, lady"),
        ("a: x\n: y", "line 2 has no value before the colon: write one line"),
        ("a: x\nb: ,", "lexicon 'custom', label 'b': no word names it"),
        ("a: x\nb: y\nb: X", "lexicon 'custom': 'x' is listed under 'a' and 'b'; keep one"),
        ("\n".join(f"a{n}: x{n}" for n in range(101)), "the list has 101 values; the limit is 100: leave some out"),
        ("x" * 1_000_001, "the list has 1,000,001 characters, and none may have more than 1,000,000: shorten it"),
        (" \n\t", "the list has no words"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message):
    with pytest.raises(ValueError, match=r".") as raised:
        lexicon(text)
    assert str(raised.value).startswith(message)


@given(st.text())
def test_any_text_is_a_lexicon_or_a_value_error(text):
    with suppress(ValueError):
        assert any(lexicon(text).groups.values())
