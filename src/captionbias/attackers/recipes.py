"""The neural attackers as data: the network and its training."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Recurrent:
    """An LSTM (`cell="lstm"`) or a tanh RNN (`cell="rnn"`); a caption's features are its last hidden states."""

    cell: str
    hidden: int
    layers: int = 1
    bidirectional: bool = False


@dataclass(frozen=True)
class Transformer:
    """One self-attention layer of `heads` heads over the embedding; features are the mean over a caption's tokens."""

    heads: int
    hidden: int


@dataclass(frozen=True)
class Bag:
    """A bag of words: a caption's features are the sum of its words' embeddings. For sets of labels."""


@dataclass(frozen=True)
class Schedule:
    """Training with Adam. `bucketed`: batches hold captions of like length. `least_steps`: a set that is too small for
    so many in these epochs is gone over in more."""

    learning_rate: float
    batch: int
    epochs: int
    bucketed: bool = False
    least_steps: int = 0

    def epochs_of(self, captions: int) -> int:
        """How often a training goes over so many captions."""
        return max(self.epochs, math.ceil(self.least_steps / math.ceil(captions / self.batch)))


@dataclass(frozen=True)
class Recipe:
    """A network and its training. `head`: the widths of the head's hidden layers, none for one linear output, two for a
    3-layer MLP. `base_rates`: the output starts at the shares of the training set."""

    encoder: Recurrent | Transformer | Bag
    embedding: int
    head: tuple[int, ...]
    dropout: float
    base_rates: bool
    schedule: Schedule


@dataclass(frozen=True)
class Frozen:
    """A pretrained encoder that is not trained, under a head that is. `pooling`: how tokens become a caption's
    features, the model's own way when None. `normalized`: batch normalisation around a hidden layer with leaky
    rectifiers."""

    pooling: str | None
    head: tuple[int, ...]
    normalized: bool
    base_rates: bool
    schedule: Schedule


@dataclass(frozen=True)
class FineTuned:
    """A pretrained encoder that is trained with a normalised head on its first token's last state, by AdamW, whose
    `decay`, `betas` and `epsilon` these are."""

    head: tuple[int, ...]
    schedule: Schedule
    decay: float
    betas: tuple[float, float]
    epsilon: float


# Where epochs are ours, the least steps are those that 6,000 images give: after a third of them little is learnt.
# The DBAC paper gives the head (3-layer MLP), the rest is ours. LIC's own: Hirota et al. 2022.
SENTENCES = Frozen(None, (64, 64), False, True, Schedule(1e-3, batch=128, epochs=6, least_steps=250))
BERT_FROZEN = Frozen("cls", (256,), True, False, Schedule(5e-5, batch=64, epochs=20))
BERT_FINETUNED = FineTuned((256,), Schedule(1e-5, batch=64, epochs=5), decay=0.1, betas=(0.9, 0.98), epsilon=1e-6)


def _dbac(encoder: Recurrent | Transformer, learning_rate: float) -> Recipe:
    """DBAC's paper gives the encoder, the head (3-layer MLP) and 50 dimensions; the rest is ours."""
    return Recipe(encoder, 50, (64, 64), 0.1, True, Schedule(learning_rate, batch=128, epochs=3, least_steps=125))


# "lstm-lic": as published by Hirota et al. 2022 and its reproduction. "dense": Tokas et al. 2025 ask for a small dense
# network over labels, no more. The others: Nair et al. 2026, section 5.1.
RECIPES: dict[str, Recipe] = {
    "lstm-dbac": _dbac(Recurrent("lstm", 64), 5e-3),
    "bilstm": _dbac(Recurrent("lstm", 64, bidirectional=True), 5e-3),
    "rnn": _dbac(Recurrent("rnn", 64), 2e-3),
    "birnn": _dbac(Recurrent("rnn", 64, bidirectional=True), 2e-3),
    "transformer-1h": _dbac(Transformer(1, 200), 2e-3),
    "transformer-5h": _dbac(Transformer(5, 200), 2e-3),
    "dense": Recipe(Bag(), 64, (64,), 0.0, True, Schedule(2e-3, batch=128, epochs=10, least_steps=250)),
    "lstm-lic": Recipe(
        Recurrent("lstm", 256, layers=2, bidirectional=True), 100, (), 0.5, False, Schedule(5e-5, 64, 20, bucketed=True)
    ),
}
