"""Captions of both sides, split into words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from captionbias.arrays import Integers
from captionbias.hashes import Hashes
from captionbias.text import Mentions, Tokens, mask_mentions


@dataclass(frozen=True, eq=False)
class Words:
    """Both sides' captions as one table of tokens: the model's, image by image, of the images `model_image`, `(model
    captions,)`, then every human caption, likewise of the images `human_image`. `keys`: a number for each caption, by
    which one of an image is drawn.
    """

    tokens: Tokens
    model_image: Integers
    human_image: Integers
    keys: Hashes

    @property
    def model_rows(self) -> int:
        """The number of the model's captions."""
        return len(self.model_image)

    @property
    def keys_by_side(self) -> tuple[Hashes, Hashes]:
        """The keys of the model's captions, and of human ones."""
        return self.keys[: self.model_rows], self.keys[self.model_rows :]

    @property
    def model(self) -> Tokens:
        """The model's captions."""
        return self.tokens.between(0, self.model_rows)

    @property
    def human(self) -> Tokens:
        """Every human caption, image by image."""
        return self.tokens.between(self.model_rows, len(self.tokens))

    def lacking(self) -> bool:
        """Whether the model's captions lack a word of the human ones."""
        return bool((self.human.present() & ~self.model.present()).any())

    def mask(self, *hidden: tuple[Mentions, str]) -> Words:
        """The same captions with each mention replaced by a token; see `mask_mentions`."""
        return replace(self, tokens=mask_mentions(self.tokens, *hidden))
