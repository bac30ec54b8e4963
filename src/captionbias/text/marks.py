"""Words in captions as people wrote them, character for character: what pages mark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex

from captionbias.text.languages import load_language
from captionbias.text.lexicon import Lexicon
from captionbias.text.masking import NO_LABEL, find_mentions
from captionbias.text.tokens import ASCII_WORDS, folded, split_words, tokenize

Mark = tuple[int, int, str | None]  # from this character up to that one; the label that is named there


def token_places(caption: str, tokenizer: str = "words") -> list[tuple[int, int]]:
    """The start and end in the caption of each word that the tokenizer `words`, or a language's, finds."""
    if caption.isascii() and tokenizer == "words":
        return [match.span() for match in ASCII_WORDS.finditer(caption)]
    places: list[tuple[int, int]] = []  # of each character that tokenizers split: what they fold has another length
    for match in regex.finditer(r"\X", caption):  # accents join within what a reader sees as one character
        start, end = match.span()
        length = len(folded(match[0]))
        places += [(at, at + 1) for at in range(start, end)] if length == end - start else [(start, end)] * length
    whole, end = folded(caption), 0
    tokens = []
    for token in split_words(caption) if tokenizer == "words" else load_language(tokenizer).written(caption):
        start = whole.index(token, end)
        end = start + len(token)
        tokens.append((places[start][0], places[end - 1][1]))
    return tokens


def find_marks(captions: Sequence[str], lexicon: Lexicon, tokenizer: str = "words") -> list[list[Mark]]:
    """The mentions of a lexicon's words in each caption, in order; of a crossing those of each part. One of several
    words is one mark, blanks between them included; what is masked but names no value has no label."""
    tokens = tokenize(captions, tokenizer)
    places: dict[int, list[tuple[int, int]]] = {}
    marks: list[list[Mark]] = [[] for _ in captions]
    for part in lexicon.parts or (lexicon,):
        mentions = find_mentions(tokens, part, tokenizer)
        rows = np.searchsorted(tokens.offsets, mentions.starts, side="right") - 1
        firsts = mentions.starts - tokens.offsets[rows]
        columns = (rows, firsts, firsts + mentions.lengths - 1, mentions.labels)
        for row, first, last, label in zip(*(column.tolist() for column in columns), strict=True):
            if row not in places:
                places[row] = token_places(captions[row], tokenizer)
            named = None if label == NO_LABEL else part.labels[label]
            marks[row].append((places[row][first][0], places[row][last][1], named))
    return [sorted(placed, key=lambda mark: mark[:2]) for placed in marks]
