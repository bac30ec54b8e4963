"""Captions as a pretrained encoder reads them: each distinct one once, masked words as its own mask token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from captionbias.attackers.base import Examples, Trial
from captionbias.text.tokens import UNKNOWN, Tokens


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct captions over all examples of a run, as text, and trials whose captions are numbers of them."""

    distinct: list[str]
    trials: list[Trial]


def as_texts(trials: Sequence[Trial], mask: str, unknown: str) -> Texts:
    """`mask` and `unknown`: the tokens that stand for masked words and for words without a counterpart."""
    numbers: dict[str, int] = {}
    numbered: dict[Examples, Examples] = {}
    for trial in trials:
        if trial.examples not in numbered:
            numbered[trial.examples] = _as_numbers(trial.examples, numbers, mask, unknown)
    return Texts(list(numbers), [replace(trial, examples=numbered[trial.examples]) for trial in trials])


def _as_numbers(examples: Examples, numbers: dict[str, int], mask: str, unknown: str) -> Examples:
    """Each caption as one word: the number of its text, of which new ones are added to `numbers`."""
    tokens = examples.tokens
    special = {examples.mask: mask, UNKNOWN: unknown}
    words = tuple(special.get(word, word) for word in tokens.words)
    _, first, same = np.unique(tokens.fingerprints(), return_index=True, return_inverse=True)
    texts = replace(tokens.select(first), words=words).texts()
    ids = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32)
    one_each = Tokens(ids[same.reshape(-1)], np.arange(len(tokens) + 1), ())
    return replace(examples, tokens=one_each)
