"""Encoders: what turns a caption's words into its features. Each takes `S` trials' captions at a time.

`forward(embedding, tokens, lengths, drop)` gives `(S, B, outputs)` of `tokens` `(S, B, longest)`, longest first.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers.neural.layers import MLP, Dropout, Embed, Generators, Linear, uniform
from captionbias.attackers.neural.recurrent import LSTM, RNN, Steps, mirrored, pick
from captionbias.attackers.recipes import Bag, Recurrent, Transformer

CELLS = {"lstm": (LSTM, 4), "rnn": (RNN, 1)}


class Layer(nn.Module):
    """One recurrent layer, each direction a chain of its own; two biases, as torch's own layers have them."""

    def __init__(self, generators: Generators, recipe: Recurrent, width: int) -> None:
        super().__init__()
        self.cell, gates = CELLS[recipe.cell]
        directions, outputs = 2 if recipe.bidirectional else 1, gates * recipe.hidden
        self.from_input = uniform(generators, (directions, width, outputs), recipe.hidden)
        self.from_state = uniform(generators, (directions, recipe.hidden, outputs), recipe.hidden)
        self.input_bias = uniform(generators, (directions, 1, outputs), recipe.hidden)
        self.state_bias = uniform(generators, (directions, 1, outputs), recipe.hidden)

    def forward(self, values: Tensor, steps: Steps) -> tuple[Tensor, ...]:
        """Each direction's hidden states `(S, N, H)`, the second one's in the order of its reading."""
        trials, directions = self.from_input.shape[:2]
        read = torch.stack((values, mirrored(values, steps)), 1).flatten(0, 1) if directions == 2 else values
        weights = (self.from_input, self.from_state, self.input_bias + self.state_bias)
        chains = (weight.flatten(0, 1).to(values.dtype) for weight in weights)
        states: Tensor = self.cell.apply(read, *chains, steps)  # type: ignore[no-untyped-call]
        return states.view(trials, directions, *states.shape[1:]).unbind(1)


class RecurrentEncoder(nn.Module):
    """The last hidden state of each direction of an LSTM or RNN of one or more layers."""

    def __init__(self, generators: Generators, recipe: Recurrent, width: int) -> None:
        super().__init__()
        self.outputs = recipe.hidden * (2 if recipe.bidirectional else 1)
        widths = [width, *[self.outputs] * (recipe.layers - 1)]
        self.layers = nn.ModuleList(Layer(generators, recipe, width) for width in widths)

    def forward(self, embedding: Embed, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        steps = Steps.of(lengths, tokens.device)
        first, *further = self.layers
        states = first(drop(embedding(tokens[:, steps.row, steps.time]), steps.row, steps.time), steps)
        for layer in further:
            values = torch.cat((states[0], *(mirrored(back, steps) for back in states[1:])), 2)
            states = layer(drop(values, steps.row, steps.time), steps)
        return torch.cat([pick(read, steps.last) for read in states], 2)


class TransformerEncoder(nn.Module):
    """The mean over a caption's tokens after self-attention and a hidden layer (Vaswani et al. 2017).

    Each of the two is added to its input and normalised.
    """

    def __init__(self, generators: Generators, recipe: Transformer, width: int) -> None:
        super().__init__()
        self.heads, self.outputs = recipe.heads, width
        self.attention_in = Linear(generators, width, 3 * width)
        self.attention_out = Linear(generators, width, width)
        self.hidden = MLP(generators, (width, recipe.hidden, width))

    def forward(self, embedding: Embed, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        trials, captions, longest = tokens.shape
        real = _is_word(tokens, lengths)
        places = torch.meshgrid(
            torch.arange(captions, device=tokens.device), torch.arange(longest, device=tokens.device), indexing="ij"
        )
        row, place = (numbers.flatten() for numbers in places)

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


class BagEncoder(nn.Module):
    """The sum of a caption's words: for sets of labels, which have no order."""

    def __init__(self, generators: Generators, recipe: Bag, width: int) -> None:
        super().__init__()
        self.outputs = width

    def forward(self, embedding: Embed, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        features: Tensor = (embedding(tokens) * _is_word(tokens, lengths)[..., None]).sum(2)
        return features


def _is_word(tokens: Tensor, lengths: Integers) -> Tensor:
    """Which of the tokens are not padding, flags `(S, B, longest)`."""
    time = torch.arange(tokens.shape[2], device=tokens.device)
    return time < torch.as_tensor(lengths, device=tokens.device)[:, :, None]


def _normal(values: Tensor) -> Tensor:
    return functional.layer_norm(values, values.shape[-1:])


def positions(place: Tensor, width: int) -> Tensor:
    """Sines and cosines of falling frequency, `(places, width)` (Vaswani et al. 2017, section 3.5)."""
    rate = 10_000.0 ** (-torch.arange(0, width, 2, device=place.device) / width)
    angle = place[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1)[:, :width]
