"""A list of words that a user typed or pasted, as a lexicon."""

from __future__ import annotations

from dataclasses import replace

from captionbias.text import Lexicon, load_lexicon

MAX_TEXT = 1_000_000  # characters of the whole list
MAX_VALUES = 100

_LINE = "write one line for each value, such as 'female: woman, lady, girl'"


def custom_lexicon(text: str, name: str) -> Lexicon:
    """The lexicon of lines, `female: woman, lady`, of which two of one value add up."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"the list has {len(text):,} characters, and none may have more than {MAX_TEXT:,}: shorten it")
    groups: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        value, colon, words = (part.strip() for part in line.partition(":"))
        if line.strip() and not (value and colon):
            raise ValueError(f"line {number} has no {'value before the colon' if colon else 'colon'}: {_LINE}")
        if value:
            groups.setdefault(value, []).extend(filter(None, map(str.strip, words.split(","))))
    if not groups:
        raise ValueError(f"the list has no words: {_LINE}")
    if len(groups) > MAX_VALUES:
        raise ValueError(f"the list has {len(groups):,} values; the limit is {MAX_VALUES}: leave some out")
    return replace(load_lexicon({"groups": groups}), name=name, mask="<attribute>")
