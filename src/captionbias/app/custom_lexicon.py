"""A list of words that a user typed or pasted, as a lexicon."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from captionbias.text import Lexicon, load_lexicon

MAX_TEXT = 1_000_000  # characters of the whole list
MAX_VALUES = 100

_LINE = "write one line for each value, such as 'female: woman, lady, girl'"


def custom_lexicon(text: str, name: str) -> Lexicon:
    """The lexicon of lines, `female: woman, lady`, of which two of one value add up, or of JSON as `load_lexicon` takes
    it.

    >>> custom_lexicon("female: woman, Lady\\n\\nmale: man", "mine").groups
    {'female': ('woman', 'lady'), 'male': ('man',)}
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"the list has {len(text):,} characters, and none may have more than {MAX_TEXT:,}: shorten it")
    is_json = text.lstrip().startswith("{")
    content = _of_json(text) if is_json else _of_lines(text)
    if not content:
        raise ValueError(f"the list has no words: {_LINE}")
    lexicon = load_lexicon(content if is_json else {"groups": content})
    if len(lexicon.groups) > MAX_VALUES:
        raise ValueError(f"the list has {len(lexicon.groups):,} values; the limit is {MAX_VALUES}: leave some out")
    return replace(lexicon, name=name, mask="<attribute>")


def _of_lines(text: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        value, colon, words = (part.strip() for part in line.partition(":"))
        if line.strip() and not (value and colon):
            raise ValueError(f"line {number} has no {'value before the colon' if colon else 'colon'}: {_LINE}")
        if value:
            groups.setdefault(value, []).extend(filter(None, map(str.strip, words.split(","))))
    return groups


def _of_json(text: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is broken JSON ({error.msg}): correct it, or {_LINE}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f'the JSON is not {{"female": ["woman", "lady"], ...}}: write it so, or {_LINE}') from error
    return content
