"""A trained network as a function of the embeddings of what it reads: all that integrated gradients need."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.attackers.base import Fitted, Trial

if TYPE_CHECKING:
    from torch import Tensor

NO_WORD = -1


@dataclass(frozen=True, eq=False)
class Reader(Fitted):
    """A trained network that reads a caption as pieces: words, or parts of words and marks of its own. Embeddings and
    logits have 32 bits."""

    internal_batch_size: ClassVar[int] = 512  # how many captions are read at a time with gradients
    # What integrals begin with: with 4, sums are right for 98% of captions, but single words still off by 0.1.
    n_steps: ClassVar[int] = 8

    def pieces(self, rows: Integers) -> Integers:
        """How many pieces each of the captions `rows` has; a caption without words is one unknown word."""
        return np.maximum(self.trial.examples.tokens.lengths[rows], 1)

    def word_of_piece(self, rows: Integers) -> Integers:
        """The position in its caption of each piece's word, `NO_WORD` for none: `(captions, pieces)`. Here and below,
        the captions `rows` have equally many pieces."""
        return np.tile(np.arange(self.pieces(rows[:1])[0]), (len(rows), 1))

    @abstractmethod
    def embedded(self, rows: Integers) -> Tensor:
        """Embeddings of the captions `rows`, `(captions, pieces, width)`."""

    @abstractmethod
    def baselines(self, rows: Integers) -> Tensor:
        """Where integrals to these captions start, in the shape of `embedded`: captions that say nothing."""

    @abstractmethod
    def read(self, embedded: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of captions that are given as embeddings."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the network does not answer to embeddings as it does to captions."""

    def logits(self, rows: Integers) -> Floats:
        """Log-odds `(captions, outputs)` of the captions `rows`: of two classes the second's, of more they add up to 0,
        of tasks one each."""
        import torch

        groups = of_equal_length(self.pieces(rows), self.internal_batch_size)
        with torch.no_grad():
            parts = [self.read(self.embedded(rows[places])).cpu().double().numpy() for places in groups]
        return np.concatenate(parts)[np.argsort(np.concatenate(groups))]


def centred(trial: Trial, logits: Tensor) -> Tensor:
    """Logits of three or more classes less their mean, which changes no probability; others as they are."""
    one_of_many = not trial.examples.multilabel and logits.shape[1] > 1
    return logits - logits.mean(1, keepdim=True) if one_of_many else logits


def of_equal_length(lengths: Integers, most: int) -> list[Integers]:
    """Positions of captions of one length each, at most `most` together."""
    order = np.argsort(lengths, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [part for group in groups for part in np.split(group, range(most, len(group), most)) if len(part)]
