"""A trained attacker as a function of the embeddings of what it reads: what integrated gradients need of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from captionbias.arrays import Floats, Ids, Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial

if TYPE_CHECKING:
    from torch import Tensor


CAPTIONS_AT_ONCE = 512
NO_WORD = -1


@dataclass(frozen=True, eq=False)
class Reader(ABC):
    """A trained neural attacker, in fp32 whatever the precision of its training.

    It reads a caption as pieces: words, or parts of them and marks of its own. Two classes have one output, the second
    class's log-odds; of more classes the outputs add up to 0, which changes no probability. A task has an output.
    """

    trial: Trial
    outputs: int

    paths_at_once: ClassVar[int] = 512  # how many captions it reads at a time with gradients
    roughness: ClassVar[int] = 1  # how many times the usual steps the integrals begin with

    def pieces(self, rows: Integers) -> Integers:
        """How many pieces each of the captions `rows` has; a caption without words is one unknown word."""
        return np.maximum(self.trial.examples.tokens.lengths[rows], 1)

    def word_of_piece(self, rows: Integers) -> Integers:
        """The place in its caption of the word that each piece is of, `NO_WORD` for none: `(captions, pieces)`.

        Here and below, the captions `rows` have equally many pieces.
        """
        return np.tile(np.arange(self.pieces(rows[:1])[0]), (len(rows), 1))

    @abstractmethod
    def embedded(self, rows: Integers) -> Tensor:
        """Embeddings of the captions `rows`, `(captions, pieces, width)`."""

    @abstractmethod
    def start(self, rows: Integers) -> Tensor:
        """What integrals to these captions start from, in the shape of `embedded`: captions that say nothing."""

    @abstractmethod
    def read(self, embedded: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of captions that are given as embeddings."""

    def logits(self, rows: Integers) -> Floats:
        """`(captions, outputs)` of the captions `rows` of the trial's examples."""
        import torch

        found = np.empty((len(rows), self.outputs))
        with torch.no_grad():
            for places in of_equal_length(self.pieces(rows), min(CAPTIONS_AT_ONCE, self.paths_at_once)):
                found[places] = self.read(self.embedded(rows[places])).cpu().numpy()
        return found

    def centred(self, logits: Tensor) -> Tensor:
        """Logits of three or more classes less their mean; others as they are."""
        one_of_many = not self.trial.examples.multilabel and logits.shape[1] > 1
        return logits - logits.mean(1, keepdim=True) if one_of_many else logits


@dataclass(frozen=True, eq=False)
class WordReader(Reader):
    """A reader with an embedding of each word; `words`: the embedding row of each."""

    words: Ids

    @abstractmethod
    def look_up(self, tokens: Integers) -> Tensor:
        """The embeddings `(captions, length, width)` of embedding rows `(captions, length)`."""

    def embedded(self, rows: Integers) -> Tensor:
        """Embeddings `(captions, words, width)` of the captions `rows`, which are of equal length."""
        tokens, _ = batches.pad([self.trial], [self.words], rows[None])
        return self.look_up(tokens[0])

    def padding(self) -> Tensor:
        """The embedding `(width,)` of padding."""
        return self.look_up(np.full((1, 1), batches.PADDING_ROW))[0, 0]

    def start(self, rows: Integers) -> Tensor:
        """Captions of padding alone."""
        return self.padding().expand(len(rows), int(self.pieces(rows[:1])[0]), -1)


def of_equal_length(lengths: Integers, most: int) -> list[Integers]:
    """Places of captions of one length each, at most `most` together."""
    order = np.argsort(lengths, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [part for group in groups for part in np.split(group, range(most, len(group), most)) if len(part)]
