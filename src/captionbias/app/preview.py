"""Captions with the words marked that a metric will mask, character for character as they were given."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import TypeAlias

import numpy as np
import regex

from captionbias.captions import Captions
from captionbias.text import Lexicon, find_mentions, tokenize
from captionbias.text.masking import NO_LABEL
from captionbias.text.tokens import tokenizer as tokenizer_called

ROWS = 5
MAX_SHOWN = 10  # human captions of an image

Spans: TypeAlias = list[tuple[str, str | None]]


@dataclass(frozen=True)
class PreviewRow:
    """An image with its captions in spans: `model` is None, or `human` empty, where that side is absent."""

    image: str
    attribute: str
    tasks: tuple[str, ...]
    model: Spans | None
    human: tuple[Spans, ...]


def preview(
    captions: Captions, lexicon: Lexicon, *, tokenizer: str = "words", rows: int = ROWS
) -> tuple[PreviewRow, ...]:
    """The first images, with every mention marked that a metric with this lexicon and tokenizer masks.

    LIC and A to T mask the words of the attribute lexicon, T to A those of the task lexicon.

    Args:
        captions: checked captions.
        lexicon: whose words are masked.
        tokenizer: `words` or `whitespace`, as the metric's.
        rows: number of images. Of each, up to 10 human captions are shown.

    Returns:
        A row for each image; see `mark_masked` for the spans.

    Example:
        >>> from captionbias.captions import check_captions
        >>> from captionbias.text import load_lexicon
        >>> captions = check_captions(predictions=["A Man.", "a dog"], attributes=["male", "female"])
        >>> preview(captions, load_lexicon("gender"))[0].model
        [('A ', None), ('Man', 'male'), ('.', None)]
    """
    count = min(rows, len(captions))
    model = captions.predictions[:count] if captions.predictions is not None else ()
    human = [texts[:MAX_SHOWN] for texts in captions.references[:count]] if captions.references is not None else []
    marked = mark_masked([*model, *chain.from_iterable(human)], lexicon, tokenizer=tokenizer)
    ends = list(accumulate(map(len, human), initial=len(model)))
    images = captions.image_ids if captions.image_ids is not None else [f"row {row}" for row in range(count)]
    return tuple(
        PreviewRow(
            images[row],
            captions.attributes[row],
            captions.tasks[row] if captions.tasks is not None else (),
            marked[row] if model else None,
            tuple(marked[ends[row] : ends[row + 1]]) if human else (),
        )
        for row in range(count)
    )


def mark_masked(captions: Sequence[str], lexicon: Lexicon, *, tokenizer: str = "words") -> list[Spans]:
    """Each caption as spans `(text, label)`, whose texts join to the caption; the label of what is not masked is None.

    A mention of several words is one span, blanks between its words included. A word that is masked but names no
    value has the lexicon's mask as its label.

    >>> from captionbias.text import load_lexicon
    >>> mark_masked(["Hot  DOGS, a dog"], load_lexicon("coco_objects"))
    [[('Hot  DOGS', 'hot dog'), (', a ', None), ('dog', 'dog')]]
    """
    tokens = tokenize(captions, tokenizer)
    mentions = find_mentions(tokens, lexicon, tokenizer)
    bounds = np.searchsorted(mentions.starts, tokens.offsets)
    spans = []
    for caption, offset, (first, last) in zip(captions, tokens.offsets, pairwise(bounds), strict=False):
        places = _token_places(caption, tokenizer) if first < last else []
        starts = mentions.starts[first:last] - offset
        ends = starts + mentions.lengths[first:last] - 1
        marks = [
            (places[start][0], places[end][1], lexicon.mask if label == NO_LABEL else lexicon.labels[label])
            for start, end, label in zip(starts, ends, mentions.labels[first:last], strict=True)
        ]
        spans.append(_cut(caption, marks))
    return spans


def _cut(caption: str, marks: list[tuple[int, int, str]]) -> Spans:
    spans: Spans = []
    done = 0
    for start, end, label in marks:
        spans += [(caption[done:start], None), (caption[max(start, done) : end], label)]
        done = end
    return [span for span in (*spans, (caption[done:], None)) if span[0]]


def _token_places(caption: str, tokenizer: str) -> list[tuple[int, int]]:
    """Where each token of a caption starts and ends in it."""
    folded = unicodedata.normalize("NFC", caption).lower()  # what tokenizers split: its length can differ
    place = _places_unfolded(caption, folded)
    tokens, end = [], 0
    for token in tokenizer_called(tokenizer)(caption):
        start = folded.index(token, end)
        end = start + len(token)
        tokens.append((place[start][0], place[end - 1][1]))
    return tokens


def _places_unfolded(caption: str, folded: str) -> Sequence[tuple[int, int]]:
    """For each character of the folded caption, the start and end of what it was made of."""
    if len(folded) == len(caption) and unicodedata.is_normalized("NFC", caption):
        return [(place, place + 1) for place in range(len(caption))]
    places: list[tuple[int, int]] = []
    for found in regex.finditer(r"\X", caption):  # accents join within what a reader sees as one character
        start, end = found.span()
        length = len(unicodedata.normalize("NFC", found[0]).lower())
        alike = length == end - start
        places += [(start + at, start + at + 1) if alike else (start, end) for at in range(length)]
    return places
