"""LSTM and RNN encoders, one or more layers, one direction or both."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from captionbias.arrays import Integers
from captionbias.attackers.neural.dropout import Drop
from captionbias.attackers.neural.layers import Embedding, Generators, uniform
from captionbias.attackers.neural.lstm import LSTM
from captionbias.attackers.neural.rnn import RNN
from captionbias.attackers.neural.time_steps import Steps, mirrored, pick
from captionbias.attackers.recipes import Recurrent

CELLS = {"lstm": (LSTM, 4), "rnn": (RNN, 1)}


class Layer(nn.Module):
    """One layer, each direction a chain of its own; two biases, as torch's own layers have them."""

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
    def __init__(self, generators: Generators, recipe: Recurrent, width: int) -> None:
        super().__init__()
        self.outputs = recipe.hidden * (2 if recipe.bidirectional else 1)
        widths = [width, *[self.outputs] * (recipe.layers - 1)]
        self.layers = nn.ModuleList(Layer(generators, recipe, width) for width in widths)

    def forward(self, embedding: Embedding, tokens: Tensor, lengths: Integers, drop: Drop) -> Tensor:
        """The last hidden state of each direction, `(S, B, outputs)`, of `tokens` `(S, B, longest)`, longest first."""
        steps = Steps.of(lengths, tokens.device)
        first, *further = self.layers
        states = first(drop(embedding(tokens[:, steps.row, steps.time]), steps.row, steps.time), steps)
        for layer in further:
            values = torch.cat((states[0], *(mirrored(back, steps) for back in states[1:])), 2)
            states = layer(drop(values, steps.row, steps.time), steps)
        return torch.cat([pick(read, steps.last) for read in states], 2)
