"""The networks of `recipes`, of torch's own layers: embedding, encoder, head."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.neural.fitting import FIRST_WORD_ROW, PADDING_ROW
from captionbias.attackers.recipes import Bag, Recipe, Recurrent, Transformer


class Network(nn.Module):
    """The attacker of a recipe, with `words` rows in its embedding; padding and unknown words start at zero."""

    def __init__(self, recipe: Recipe, words: int, outputs: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, recipe.embedding, padding_idx=PADDING_ROW)
        self.embedding.weight.data[:FIRST_WORD_ROW] = 0
        self.encoder = ENCODERS[type(recipe.encoder)](recipe.encoder, recipe.embedding, recipe.dropout)
        self.dropout = nn.Dropout(recipe.dropout)
        self.head = mlp((self.encoder.outputs, *recipe.head, outputs))

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of `tokens` `(captions, longest)`."""
        features = self.encoder(self.embedding(tokens), lengths)
        logits: Tensor = self.head(self.dropout(features))
        return logits

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding


def mlp(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers with rectifiers between them."""
    layers = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


class RecurrentEncoder(nn.Module):
    """The last hidden state of each direction of an LSTM or RNN. Each direction has a layer of its own that reads
    padded captions, the second one from their ends: on a processor that is faster than packed ones."""

    def __init__(self, recipe: Recurrent, width: int, dropout: float) -> None:
        super().__init__()
        cell, directions = {"lstm": nn.LSTM, "rnn": nn.RNN}[recipe.cell], 2 if recipe.bidirectional else 1
        self.outputs = recipe.hidden * directions
        self.layers: Any = nn.ModuleList(
            nn.ModuleList(cell(inputs, recipe.hidden, batch_first=True) for _ in range(directions))
            for inputs in (width, *[self.outputs] * (recipe.layers - 1))
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        mirror = mirrored(values, lengths)
        for layer in self.layers:
            values = self.dropout(values)
            states = [read(at(values, mirror) if way else values)[0] for way, read in enumerate(layer)]
            values = torch.cat([at(read, mirror) if way else read for way, read in enumerate(states)], 2)
        return torch.cat([at(read, lengths[:, None] - 1)[:, 0] for read in states], 1)


def mirrored(values: Tensor, lengths: Tensor) -> Tensor:
    """The places of each caption's words from its end, `(..., B, T)`, of values `(..., B, T, F)`; padding stays."""
    time, ends = torch.arange(values.shape[-2], device=values.device), lengths[..., None]
    return torch.where(time < ends, ends - 1 - time, time)


def at(values: Tensor, places: Tensor) -> Tensor:
    """The values at these places of each caption: `(..., B, T, F)` and `(..., B, N)` give `(..., B, N, F)`."""
    return values.gather(-2, places[..., None].expand(*places.shape, values.shape[-1]))


class TransformerEncoder(nn.Module):
    """The mean over a caption's tokens after one layer of self-attention (Vaswani et al. 2017)."""

    def __init__(self, recipe: Transformer, width: int, dropout: float) -> None:
        super().__init__()
        self.outputs = width
        self.dropout = nn.Dropout(dropout)
        self.layer = nn.TransformerEncoderLayer(width, recipe.heads, recipe.hidden, dropout, batch_first=True)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(values.shape[1], device=values.device)
        padding = places >= lengths[:, None]
        read = self.layer(self.dropout(values + positions(places, values.shape[2])), src_key_padding_mask=padding)
        features: Tensor = read.masked_fill(padding[..., None], 0).sum(1) / lengths[:, None]
        return features


def positions(places: Tensor, width: int) -> Tensor:
    """Sines and cosines of falling frequency, `(places, width)` (Vaswani et al. 2017, section 3.5)."""
    rate = 10_000.0 ** (-torch.arange(0, width, 2, device=places.device) / width)
    angle = places[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, :width]


class BagEncoder(nn.Module):
    """The sum of a caption's words, of which padding is 0: for sets of labels, which have no order."""

    def __init__(self, recipe: Bag, width: int, dropout: float) -> None:
        super().__init__()
        self.outputs = width

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        return values.sum(1)


ENCODERS: dict[type, Any] = {Recurrent: RecurrentEncoder, Transformer: TransformerEncoder, Bag: BagEncoder}


def normalized_mlp(widths: Sequence[int]) -> nn.Sequential:
    """A hidden layer normalised before and after, then a leaky rectifier; LIC's head on BERT."""
    width, hidden, outputs = widths
    return nn.Sequential(
        BatchNorm(width), nn.Linear(width, hidden), BatchNorm(hidden), nn.LeakyReLU(), nn.Linear(hidden, outputs)
    )


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation by what was seen before where a step has a single caption, which torch refuses."""

    def forward(self, values: Tensor) -> Tensor:
        if len(values) > 1:
            return super().forward(values)
        return functional.batch_norm(values, self.running_mean, self.running_var, self.weight, self.bias)
