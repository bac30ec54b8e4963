"""Captions of both sides split into words, as one table over one vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from captionbias.arrays import Integers
from captionbias.text import Mentions, Tokens, mask_mentions, tokenize


@dataclass(frozen=True, eq=False)
class Words:
    """Both sides' captions as one table of tokens: the model's rows first, then every human caption, image by image.

    Attributes:
        tokens: the table.
        model_rows: number of model captions, 0 without that side.
        human_image: the image of each human caption, of shape `(human captions,)`.
    """

    tokens: Tokens
    model_rows: int
    human_image: Integers

    @property
    def model(self) -> Tokens:
        """The model's captions."""
        return self.tokens.between(0, self.model_rows)

    @property
    def human(self) -> Tokens:
        """Every human caption, image by image."""
        return self.tokens.between(self.model_rows, len(self.tokens))

    def mask(self, mentions: Mentions, mask: str) -> Words:
        """The same captions with each mention replaced by the token `mask`."""
        return replace(self, tokens=mask_mentions(self.tokens, mentions, mask))


def human_words(references: Sequence[Sequence[str]], tokenizer: str) -> Words:
    """The human captions of `n` images, split into words."""
    counts = np.fromiter(map(len, references), np.int64, len(references))
    return Words(
        tokenize(list(chain.from_iterable(references)), tokenizer), 0, np.repeat(np.arange(len(references)), counts)
    )


def with_model_words(human: Words, predictions: Sequence[str], tokenizer: str) -> Words:
    """The table of both sides: the model's captions are split, the human ones only renumbered."""
    tokens = Tokens.joined([tokenize(predictions, tokenizer), human.tokens])
    return replace(human, tokens=tokens, model_rows=len(predictions))
