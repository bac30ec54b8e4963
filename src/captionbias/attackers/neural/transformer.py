"""A transformer encoder of one layer, from scratch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers.neural.dropout import Drop
from captionbias.attackers.neural.layers import MLP, Embedding, Generators, Linear
from captionbias.attackers.recipes import Transformer


class TransformerEncoder(nn.Module):
    """Self-attention and a hidden layer, each added to its input and normalised (Vaswani et al. 2017)."""

    def __init__(self, generators: Generators, recipe: Transformer, width: int) -> None:
        super().__init__()
        self.heads, self.outputs = recipe.heads, width
        self.attention_in = Linear(generators, width, 3 * width)
        self.attention_out = Linear(generators, width, width)
        self.hidden = MLP(generators, (width, recipe.hidden, width))

    def forward(self, embedding: Embedding, tokens: Tensor, lengths: Integers, drop: Drop) -> Tensor:
        """The mean over the tokens of a caption, `(S, B, width)`, of `tokens` `(S, B, longest)`."""
        trials, captions, longest = tokens.shape
        time = torch.arange(longest, device=tokens.device)
        real = time < torch.as_tensor(lengths, device=tokens.device)[:, :, None]
        row, place = (
            places.flatten()
            for places in torch.meshgrid(torch.arange(captions, device=time.device), time, indexing="ij")
        )

        words = embedding(tokens.flatten(1))
        values = drop(words + positions(place, words.shape[-1]).to(words.dtype), row, place)
        heads = self.attention_in(values).view(trials * captions, longest, 3, self.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mask = real.view(trials * captions, 1, 1, longest)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = self.attention_out(attended.transpose(1, 2).reshape(values.shape))
        values = _normal(values + drop(attended, row, place))
        values = _normal(values + drop(self.hidden(values), row, place))
        kept = (values * real.flatten(1)[..., None]).view(trials, captions, longest, -1)
        return kept.sum(2) / real.sum(2, keepdim=True)


def _normal(values: Tensor) -> Tensor:
    return functional.layer_norm(values, values.shape[-1:])


def positions(place: Tensor, width: int) -> Tensor:
    """Sines and cosines of falling frequency, `(places, width)` (Vaswani et al. 2017, section 3.5)."""
    rate = 10_000.0 ** (-torch.arange(0, width, 2, device=place.device) / width)
    angle = place[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, :width]
