"""A whole attacker: embedding, encoder, head; `S` of them in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from captionbias.arrays import Integers
from captionbias.attackers.neural.bag import BagEncoder
from captionbias.attackers.neural.dropout import Drop
from captionbias.attackers.neural.layers import MLP, Embedding, Generators
from captionbias.attackers.neural.recurrent import RecurrentEncoder
from captionbias.attackers.neural.transformer import TransformerEncoder
from captionbias.attackers.recipes import Bag, Recipe, Recurrent, Transformer

ENCODERS: dict[type, Any] = {Recurrent: RecurrentEncoder, Transformer: TransformerEncoder, Bag: BagEncoder}


class Network(nn.Module):
    """`rows`: the rows of each trial's embedding table."""

    def __init__(
        self, generators: Generators, recipe: Recipe, rows: Sequence[int], outputs: int, precision: torch.dtype
    ) -> None:
        super().__init__()
        self.embedding = Embedding(generators, rows, recipe.embedding, precision)
        self.encoder = ENCODERS[type(recipe.encoder)](generators, recipe.encoder, recipe.embedding)
        self.head = MLP(generators, (self.encoder.outputs, *recipe.head, outputs))

    def forward(self, tokens: Tensor, lengths: Integers, drop: Drop) -> Tensor:
        """Logits `(S, B, outputs)` of `tokens` `(S, B, longest)`, each trial's longest caption first."""
        features = self.encoder(self.embedding, tokens, lengths, drop)
        logits: Tensor = self.head(drop(features, torch.arange(features.shape[1], device=features.device)))
        return logits.float()

    @property
    def output_bias(self) -> Tensor:
        """`(S, 1, outputs)`."""
        return self.head.output_bias
