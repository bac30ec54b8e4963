"""A list of words that a user typed or pasted, as a lexicon."""

from __future__ import annotations

import json
from collections.abc import Iterator

from captionbias.text import Lexicon

MAX_TEXT = 1_000_000  # characters of the whole list
MAX_VALUES = 100
MAX_WORDS = 2000  # of one value
MAX_WORD = 200  # characters of a word or value

_LINE = "write one line for each value, such as 'female: woman, lady, girl'"


def custom_lexicon(text: str, name: str) -> Lexicon:
    """The lexicon that a text describes.

    A line names a value and its words: `female: woman, lady, girl`. Two lines of one value add up, and blank lines
    count for nothing. Or the text is JSON: `{"female": ["woman", "lady"], "male": ["man"]}`. Words may be several
    words long; plurals count as separate words. Anything else in a word, such as HTML, is text.

    Raises:
        ValueError: names the line or the value, and what to write instead.

    Example:
        >>> custom_lexicon("female: woman, Lady\\n\\nmale: man", "mine").groups
        {'female': ('woman', 'lady'), 'male': ('man',)}
        >>> custom_lexicon("female woman", "mine")
        Traceback (most recent call last):
        ValueError: line 1 has no colon: write one line for each value, such as 'female: woman, lady, girl'
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"the list has {len(text):,} characters, and none may have more than {MAX_TEXT:,}: shorten it")
    groups: dict[str, dict[str, None]] = {}
    values: dict[str, str] = {}  # of each word
    for where, value, listed in _of_json(text) if text.lstrip().startswith("{") else _of_lines(text):
        _check_entry(where, value, listed)
        words = groups.setdefault(value, {})
        for word in (" ".join(word.lower().split()) for word in listed):
            if values.setdefault(word, value) != value:
                raise ValueError(
                    f"{where}: {_shown(word)} is listed under {_shown(values[word])} and {_shown(value)}: keep one"
                )
            words[word] = None
        if len(words) > MAX_WORDS:
            raise ValueError(f"{where} gives {_shown(value)} more than {MAX_WORDS:,} words: leave some out")
        if len(groups) > MAX_VALUES:
            raise ValueError(f"{where} is one value more than the {MAX_VALUES} that are allowed: leave some out")
    if not groups:
        raise ValueError(f"the list has no words: {_LINE}")
    return Lexicon(name, "<attribute>", {value: tuple(words) for value, words in groups.items()})


def _of_lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        value, colon, listed = line.partition(":")
        if not colon:
            raise ValueError(f"line {number} has no colon: {_LINE}")
        yield f"line {number}", value.strip(), [word.strip() for word in listed.split(",") if word.strip()]


def _of_json(text: str) -> Iterator[tuple[str, str, list[str]]]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is broken JSON ({error.msg}): correct it, or {_LINE}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f'the JSON is not {{"female": ["woman", "lady"], ...}}: write it so, or {_LINE}') from error
    for value, listed in content.items():
        where = f"value {_shown(value)}"
        if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
            raise ValueError(f'{where} has no list of words: write it as {{"female": ["woman", "lady"], ...}}')
        yield where, value.strip(), [word.strip() for word in listed if word.strip()]


def _check_entry(where: str, value: str, listed: list[str]) -> None:
    if not value:
        raise ValueError(f"{where} names no value before the colon: {_LINE}")
    if not listed:
        raise ValueError(f"{where} has no words for {_shown(value)}: {_LINE}")
    for text in (value, *listed):
        if len(text) > MAX_WORD:
            raise ValueError(
                f"{where} has a word of {len(text):,} characters ({_shown(text)}), and none may have more than "
                f"{MAX_WORD}: separate words with commas"
            )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
