"""The sum of a caption's words: an encoder for sets of labels, which have no order."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from captionbias.arrays import Integers
from captionbias.attackers.neural.dropout import Drop
from captionbias.attackers.neural.layers import Embedding, Generators
from captionbias.attackers.recipes import Bag


class BagEncoder(nn.Module):
    def __init__(self, generators: Generators, recipe: Bag, width: int) -> None:
        super().__init__()
        self.outputs = width

    def forward(self, embedding: Embedding, tokens: Tensor, lengths: Integers, drop: Drop) -> Tensor:
        """The sum of each caption's embeddings, `(S, B, width)`, of `tokens` `(S, B, longest)`."""
        time = torch.arange(tokens.shape[2], device=tokens.device)
        real = time < torch.as_tensor(lengths, device=tokens.device)[:, :, None]
        features: Tensor = (embedding(tokens) * real[..., None]).sum(2)
        return features
