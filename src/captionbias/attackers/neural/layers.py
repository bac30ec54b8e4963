"""Layers whose parameters have a leading trial dimension: `S` attackers in one, each drawn by its own generator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.batches import FIRST_WORD_ROW

Generators = Sequence[torch.Generator]
Module = TypeVar("Module", bound=nn.Module)
Embed = Callable[[Tensor], Tensor]  # numbers `(...)` to embeddings `(..., width)`
MOMENTUM, EPSILON = 0.1, 1e-5  # of torch's own batch normalisation
_ROW, _TIME, _FEATURE = -1640531535, -2048144777, -1028477379  # odd constants of xxHash32 (Collet 2012), as int32
_MIX = (16, -2048144789), (13, -1028477387)  # the finaliser of MurmurHash3 (Appleby 2011)


def uniform(generators: Generators, shape: Sequence[int], fan_in: int) -> nn.Parameter:
    """Within `1 / sqrt(fan_in)` of 0, as torch's own linear and recurrent layers start: shape `(S, *shape)`."""
    bound = 1 / math.sqrt(fan_in)
    return nn.Parameter(torch.stack([torch.empty(*shape).uniform_(-bound, bound, generator=g) for g in generators]))


class Embedding(nn.Module):
    """The trials' tables one below the other; padding and unknown words start at zero."""

    def __init__(self, generators: Generators, rows: Sequence[int], width: int, precision: torch.dtype) -> None:
        super().__init__()
        tables = [torch.randn(count, width, generator=g) for count, g in zip(rows, generators, strict=True)]
        for table in tables:
            table[:FIRST_WORD_ROW] = 0
        self.weight = nn.Parameter(torch.cat(tables))
        starts = torch.tensor([0, *itertools.accumulate(rows)][:-1])
        self.starts: Tensor
        self.register_buffer("starts", starts, persistent=False)
        self.rows, self.precision = rows, precision

    def forward(self, rows: Tensor) -> Tensor:
        """`(S, ...)` numbers of each trial's own table as `(S, ..., width)` in the precision of the training."""
        own = rows + self.starts.view(-1, *[1] * (rows.dim() - 1))
        return functional.embedding(own, self.weight).to(self.precision)


class Linear(nn.Module):
    def __init__(self, generators: Generators, width: int, outputs: int) -> None:
        super().__init__()
        self.weight = uniform(generators, (width, outputs), width)
        self.bias = uniform(generators, (1, outputs), width)

    def forward(self, values: Tensor) -> Tensor:
        """`(S, M, width)` to `(S, M, outputs)`."""
        return torch.baddbmm(self.bias.to(values.dtype), values, self.weight.to(values.dtype))


class MLP(nn.Module):
    """Linear layers with rectifiers between them; `hidden` may be empty."""

    def __init__(self, generators: Generators, widths: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(generators, *pair) for pair in itertools.pairwise(widths))

    def forward(self, values: Tensor) -> Tensor:
        *hidden, output = self.layers
        for layer in hidden:
            values = torch.relu(layer(values))
        result: Tensor = output(values)
        return result

    @torch.no_grad()
    def start_at(self, answers: list[Tensor]) -> None:
        """Begin with each trial's output at these logits `(1, outputs)`."""
        *_, bias = self.parameters()
        bias.copy_(torch.stack(answers))


class BatchNorm(nn.Module):
    """Batch normalisation of each trial's own rows (Ioffe and Szegedy 2015), as torch computes it."""

    def __init__(self, trials: int, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(trials, 1, width)), nn.Parameter(torch.zeros(trials, 1, width))
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("mean", torch.zeros(trials, 1, width))
        self.register_buffer("variance", torch.ones(trials, 1, width))

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """`(S, B, width)`, of which rows that are not `real` `(S, B)` are filling."""
        mean, variance = self.mean, self.variance
        if self.training:
            weight = real[..., None].to(values.dtype)
            count = weight.sum(1, keepdim=True)
            mean = (values * weight).sum(1, keepdim=True) / count
            variance = ((values - mean).square() * weight).sum(1, keepdim=True) / count
            with torch.no_grad():
                self.mean.lerp_(mean, MOMENTUM)
                self.variance.lerp_(variance * count / (count - 1).clamp(min=1), MOMENTUM)
        return (values - mean) * (variance + EPSILON).rsqrt() * self.weight + self.bias


class NormalizedMLP(nn.Module):
    """A hidden layer normalised before and after, then a leaky rectifier; LIC's head on BERT."""

    def __init__(self, generators: Generators, widths: Sequence[int]) -> None:
        super().__init__()
        width, hidden, outputs = widths
        trials = len(generators)
        self.before, self.hidden = BatchNorm(trials, width), Linear(generators, width, hidden)
        self.after, self.output = BatchNorm(trials, hidden), Linear(generators, hidden, outputs)

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """`(S, B, width)` to `(S, B, outputs)`; rows that are not `real` `(S, B)` are filling."""
        values = self.after(self.hidden(self.before(values, real)), real)
        result: Tensor = self.output(functional.leaky_relu(values))
        return result


class Dropout:
    """Drops features of one training step with probability `rate`; each call takes the next of the trials' keys.

    What is dropped is a function of trial, step, caption, token and feature: the same alone, stacked, on any device.
    `keys`: int32 of shape `(S, calls)`, drawn by each trial's own generator.
    """

    def __init__(self, rate: float, keys: Tensor) -> None:
        self.rate = rate
        self.keys = iter(keys.unbind(1))

    def __call__(self, values: Tensor, row: Tensor, time: Tensor | None = None) -> Tensor:
        """`values` of shape `(S, ..., F)`, those of caption `row` and token `time`, both of the shape in between."""
        if not self.rate:
            return values
        place = row.int() * _ROW
        if time is not None:
            place = place + time.int() * _TIME
        return values * self._scale(place[..., None], next(self.keys), values)

    def _scale(self, place: Tensor, key: Tensor, values: Tensor) -> Tensor:
        """0 for what is dropped, `1 / (1 - rate)` for the rest. One hash makes 16-bit numbers for two features."""
        features = values.shape[-1]
        feature = torch.arange((features + 1) // 2, dtype=torch.int32, device=values.device) * _FEATURE
        numbers = (place + feature) + key.view(-1, *[1] * place.dim())
        for shift, factor in _MIX:
            numbers ^= (numbers >> shift) & ((1 << (32 - shift)) - 1)
            numbers *= factor
        numbers ^= (numbers >> 16) & 0xFFFF
        threshold = round(self.rate * 65536) - 32768
        kept = numbers.view(torch.int16)[..., :features] >= threshold
        return kept.to(values.dtype).mul_(1 / (1 - self.rate))


NO_DROPOUT = Dropout(0.0, torch.empty(0, 0))


def parts(stack: Module, count: int, make: Callable[[int], Module]) -> list[Module]:
    """Each trial's part of a trained stack, in a module that `make(trial)` makes; a stack of one is its own part."""
    if count == 1:
        return [stack]
    state, made = stack.state_dict(), [make(trial) for trial in range(count)]
    for trial, part in enumerate(made):
        values = {name: value[trial : trial + 1] for name, value in state.items()}
        for name, layer in stack.named_modules():
            if isinstance(layer, Embedding):
                values[f"{name}.weight"] = torch.split(layer.weight, list(layer.rows))[trial]
        part.load_state_dict(values)
        part.requires_grad_(False).eval()
    return made
