"""A typed list of words is the lexicon it says, or is refused at the line that is wrong."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from captionbias.app.custom_lexicon import custom_lexicon
from captionbias.text import Lexicon, find_mentions, named_labels, tokenize

WORDS = st.text(st.characters(exclude_characters=",:", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12).map(
    lambda word: " ".join(word.lower().split())
)


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
        ('\n{"a": ["X "], "b": ["y, z"]}', {"a": ("x",), "b": ("y, z",)}),
        ("<b>: <script>alert(1)</script>", {"<b>": ("<script>alert(1)</script>",)}),
    ],
)
def test_lines_and_json_give_the_words_of_each_value(text, groups):
    assert lexicon(text).groups == groups


def test_the_words_are_found_in_captions():
    words = lexicon("old: elderly man, pensioner\nyoung: kid")
    tokens = tokenize(["An Elderly man.", "a man and a KID"])
    assert named_labels(tokens, find_mentions(tokens, words), 2).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: x\n\nfemale woman", "line 3 has no colon: write one line for each value, such as 'female: woman, lady"),
        ("a: x\n: y", "line 2 has no value before the colon: write one line"),
        ("a: x\nb: ,", "lexicon 'custom', label 'b': no word names it"),
        ("a: x\nb: y\nb: X", "lexicon 'custom': 'x' is listed under 'a' and 'b'; keep one"),
        ("\n".join(f"a{n}: x{n}" for n in range(101)), "the list has 101 values; the limit is 100: leave some out"),
        ("x" * 1_000_001, "the list has 1,000,001 characters, and none may have more than 1,000,000: shorten it"),
        ('{"a":\n ["x"', "line 2 is broken JSON (Expecting ',' delimiter): correct it, or write one line"),
        ('{"a": "x"}', "lexicon 'custom', label 'a': give a list of words"),
        ('{"a": [1]}', "lexicon 'custom', label 'a': 1 is not a word"),
        ('{"a": ' + "[" * 400_000, "the JSON is not {"),
        ('{"a": ' + "9" * 10_000 + "}", "the JSON is not {"),
        ("{}", "the list has no words: write one line for each value"),
        (" \n\t", "the list has no words"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message):
    with pytest.raises(ValueError, match=r".") as raised:
        lexicon(text)
    assert str(raised.value).startswith(message)


@example({"extends": ["a"], "mask": ["b"]})  # which mean something else as keys of JSON
@given(st.dictionaries(WORDS.filter(bool), st.lists(WORDS.filter(bool), min_size=1, max_size=4), min_size=1))
def test_lines_and_json_of_the_same_words_are_the_same_lexicon(words):
    words = {value: [f"{number} {word}" for word in listed] for number, (value, listed) in enumerate(words.items())}
    lines = "\n".join(f"{value}: {', '.join(listed)}" for value, listed in words.items())
    if not lines.startswith("{"):
        assert lexicon(lines) == lexicon(json.dumps({"groups": words}))


@given(st.text())
def test_any_text_is_a_lexicon_or_a_value_error(text):
    with suppress(ValueError):
        assert any(lexicon(text).groups.values())
