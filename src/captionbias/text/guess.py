"""Which language captions are in, by the words that are known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice

import regex

from captionbias.text.languages import COVERED, ENGLISH, function_words, language_data, languages
from captionbias.text.lexicon import load_lexicon
from captionbias.text.tokens import folded

SAMPLE = 1000  # captions
_WORDS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]|\w+")  # letters where no blanks set words apart


def guess_language(captions: Iterable[str]) -> str:
    """The language whose function words and lexicons have most words of the first captions, if that is half of them;
    else "". It needs no library of the language.

    >>> guess_language(["Eine Frau mit einem Hund"]), guess_language(["Kobieta z psem"])
    ('de', '')
    """
    counts = Counter(_words(islice(captions, SAMPLE)))
    covered = {name: sum(counts[word] for word in _known(name)) for name in languages()}
    best = max(covered, key=covered.__getitem__)
    return best if covered[best] > COVERED * counts.total() else ""


def _words(texts: Iterable[str]) -> list[str]:
    words: list[str] = _WORDS.findall(folded(" ".join(texts)))
    return words


def _known(language: str) -> set[str]:
    """The words that are known of a language, in the forms that its file has."""
    if language == ENGLISH:
        lexicons = [load_lexicon(name) for name in ("gender", "coco_objects")]
        return {*function_words(ENGLISH), *_words(chain(*(lexicon.words for lexicon in lexicons)))}
    data = language_data(language)
    groups = ([*lexicon["groups"].values(), lexicon.get("masked_only", ())] for lexicon in data["lexicons"].values())
    forms = ((word, *alike) for word, alike in data.get("forms", {}).items())
    return {*_words(chain(function_words(language), *forms, *chain.from_iterable(groups)))}
