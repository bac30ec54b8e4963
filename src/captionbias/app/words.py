"""The words that a user typed, and captions with the words marked that a metric will mask."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import pandas as pd

from captionbias.captions import Captions
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.marks import find_marks

_LINE = "write one line for each value, such as 'female: woman, lady, girl'"
IMAGES = 4

Spans: TypeAlias = list[tuple[str, str | None]]


def custom_lexicon(text: str, name: str) -> Lexicon:
    """The lexicon of lines such as `female: woman, lady`; two lines of a value add up."""
    groups: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        value, colon, words = (part.strip() for part in line.partition(":"))
        if line.strip() and not (value and colon):
            raise ValueError(f"line {number} has no {'value before the colon' if colon else 'colon'}: {_LINE}")
        if value:
            groups.setdefault(value, []).extend(filter(None, map(str.strip, words.split(","))))
    if not groups:
        raise ValueError(f"the list has no words: {_LINE}")
    return replace(load_lexicon({"groups": groups}), name=name, mask="<attribute>")


def preview(captions: Captions, lexicon: Lexicon) -> Spans:
    """Some images of each label with a caption of each side, in which the words that will be masked are marked."""
    spans: Spans = []
    tokenizer, labels = captions.language or "words", pd.Series(captions.attributes)
    turns = labels.groupby(labels).cumcount()  # 0 for the first image of every label, 1 for the second
    for row in turns.sort_values(kind="stable").index[:IMAGES].tolist():
        image = captions.image_ids[row] if captions.image_ids is not None else f"row {row}"
        spans.append((f"{image} ({captions.attributes[row]})\n", None))
        if captions.predictions is not None:
            spans += [("captioner: ", None), *mark_masked(captions.predictions[row], lexicon, tokenizer), ("\n", None)]
        if captions.references is not None:
            spans += [("human: ", None), *mark_masked(captions.references[row][0], lexicon, tokenizer), ("\n", None)]
        spans.append(("\n", None))
    return spans


def mark_masked(caption: str, lexicon: Lexicon, tokenizer: str = "words") -> Spans:
    """The caption as spans `(text, label)`, whose texts join to it; the label of what is not masked is None,
    of what is masked and names no value the mask."""
    spans: Spans = []
    done = 0
    for start, end, label in find_marks([caption], lexicon, tokenizer)[0]:
        spans += [(caption[done:start], None), (caption[max(start, done) : end], label or lexicon.mask)]
        done = max(done, end)
    return [span for span in (*spans, (caption[done:], None)) if span[0]]
