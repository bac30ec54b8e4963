"""The attackers of `recipes`: embedding, encoder, head; `S` of them in one network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial
from captionbias.attackers.neural.encoders import BagEncoder, RecurrentEncoder, TransformerEncoder
from captionbias.attackers.neural.fitting import (
    PRECISIONS,
    FittedNetwork,
    WordNetwork,
    base_rates,
    fit_and_score,
    one_thread,
    outputs,
)
from captionbias.attackers.neural.layers import MLP, NO_DROPOUT, Dropout, Embed, Embedding, Generators, parts
from captionbias.attackers.recipes import Bag, Recipe, Recurrent, Transformer

ENCODERS: dict[type, Any] = {Recurrent: RecurrentEncoder, Transformer: TransformerEncoder, Bag: BagEncoder}


class Network(WordNetwork):
    """`rows`: the rows of each trial's embedding table."""

    def __init__(
        self, generators: Generators, recipe: Recipe, rows: Sequence[int], outputs: int, precision: torch.dtype
    ) -> None:
        super().__init__()
        self.embedding = Embedding(generators, rows, recipe.embedding, precision)
        self.encoder = ENCODERS[type(recipe.encoder)](generators, recipe.encoder, recipe.embedding)
        self.head = MLP(generators, (self.encoder.outputs, *recipe.head, outputs))

    def forward(self, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        """Logits `(S, B, outputs)` of `tokens` `(S, B, longest)`, each trial's longest caption first."""
        return self._logits(self.embedding, tokens, lengths, drop)

    def embed(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.embedding.weight)

    def read(self, embedded: Tensor) -> Tensor:
        """The encoder looks each token up in an embedding; here the token's number is its place in `embedded`."""
        captions, length, width = embedded.shape
        places = torch.arange(captions * length, device=embedded.device).view(1, captions, length)
        table = embedded.reshape(-1, width)
        lengths = np.full((1, captions), length)
        return self._logits(lambda tokens: functional.embedding(tokens, table), places, lengths, NO_DROPOUT)[0]

    def _logits(self, embedding: Embed, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        features = self.encoder(embedding, tokens, lengths, drop)
        logits: Tensor = self.head(drop(features, torch.arange(features.shape[1], device=features.device)))
        return logits.float()


def fit(trials: Sequence[Trial], recipe: Recipe, precision: str, device: torch.device) -> list[FittedNetwork]:
    """Train trials of one `batches.shape` together, and score each on its test captions.

    What a trial gives does not depend on the others, but for the last bits of sums.
    """
    words, rows = zip(*map(batches.vocabulary, trials), strict=True)
    with one_thread():
        stack = _untrained(trials, recipe, rows, precision)
        scores = fit_and_score(trials, words, stack, recipe.schedule, recipe.dropout, device)

        def alone(trial: int) -> Network:
            return _untrained([trials[trial]], recipe, [rows[trial]], precision).to(device)

        networks = parts(stack, len(trials), alone)
    return [FittedNetwork(*of_trial) for of_trial in zip(trials, scores, words, networks, strict=True)]


def _untrained(trials: Sequence[Trial], recipe: Recipe, rows: Sequence[int], precision: str) -> Network:
    """The network that these trials' training starts from."""
    generators = [torch.Generator().manual_seed(trial.seed) for trial in trials]
    network = Network(generators, recipe, rows, outputs(trials[0]), PRECISIONS[precision])
    if recipe.base_rates:
        network.head.start_at(list(map(base_rates, trials)))
    return network
