"""What every caption metric does first: split both sides' captions into words, mask them, align them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import load_vectors
from captionbias.arrays import Integers
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import CaptionBiasWarning, Captions
from captionbias.text import Lexicon, Mentions, Tokens, find_mentions, mask_mentions, tokenize

FEW_IMAGES = 100


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides' captions as one table of tokens: the model's rows first, then every human caption, image by image.

    `model_rows`: number of model captions (0 when that side is absent). `human_image`: the image of each human caption.
    """

    tokens: Tokens
    model_rows: int
    human_image: Integers

    @property
    def model(self) -> Tokens:
        return self.tokens.between(0, self.model_rows)

    @property
    def human(self) -> Tokens:
        return self.tokens.between(self.model_rows, len(self.tokens))

    def mask(self, mentions: Mentions, mask: str) -> Sides:
        return replace(self, tokens=mask_mentions(self.tokens, mentions, mask))


def split_into_words(captions: Captions, tokenizer: str) -> Sides:
    """All captions of both sides over one vocabulary."""
    predictions, references = captions.predictions or (), captions.references or ()
    counts = np.fromiter(map(len, references), np.int64, len(references))
    texts = list(itertools.chain(predictions, itertools.chain.from_iterable(references)))
    return Sides(tokenize(texts, tokenizer), len(predictions), np.repeat(np.arange(len(references)), counts))


def mentions_of(sides: Sides, lexicon: Lexicon, tokenizer: str) -> Mentions:
    """Where the lexicon's words stand, over the table of both sides."""
    return find_mentions(sides.tokens, lexicon, tokenizer)


def note_nothing_masked(mentions: Mentions, lexicon: Lexicon, notes: list[str]) -> None:
    """Captions in another language than the lexicon's, say."""
    if not len(mentions.starts):
        note(notes, f"lexicon {lexicon.name!r}: none of its words occurs in any caption, so nothing is masked")


def align_human(
    sides: Sides, mask: str, chosen: Mapping[str, Any], vectors: Any
) -> tuple[Tokens, AlignmentReport | None]:
    """The masked human captions in the model's words; as they are when there is no model side."""
    human = sides.human
    if not sides.model_rows or not len(human):
        return human, None
    return align(human, sides.model.present(), frozenset([mask]), vectors, chosen["delta"])


def alignment_vectors(sides: Sides, masked: Iterable[Sides], chosen: Mapping[str, Any]) -> Any:
    """The word vectors that contextual alignment of any of the `masked` captions needs; None if it needs none.

    Vectors trained on the captions have one seed of their own, as a file's have: a trial must not depend on the others.
    """
    foreign = any((table.human.present() & ~table.model.present()).any() for table in masked)
    if chosen["alignment"] == "constant" or not sides.model_rows or not foreign:
        return None
    return load_vectors(chosen["vectors"], sides.tokens)


def number_classes(captions: Captions, notes: list[str]) -> tuple[list[str], Integers]:
    """The attribute's values, sorted, and the number of each image's.

    Raises:
        ValueError: a class is too small to split.
    """
    values, classes, counts = np.unique(captions.attributes, return_inverse=True, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if count < SMALLEST_CLASS:
            raise ValueError(
                f"attributes: {value!r} has {count} images; an attacker needs at least {SMALLEST_CLASS} a value. "
                "Add images, or leave that value out"
            )
        if count < FEW_IMAGES:
            note(notes, f"attributes: {value!r} has only {count} images; its scores are uncertain")
    return [str(value) for value in values], classes.reshape(-1).astype(np.int64)


def note(notes: list[str], message: str) -> None:
    """A weakness that the user must see: a warning, kept for the details."""
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)
