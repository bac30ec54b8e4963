"""Heads on the embeddings of a frozen encoder; `S` of them in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.batches import FIRST_WORD_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.dropout import Drop
from captionbias.attackers.neural.fitting import fit_and_score, one_thread, outputs
from captionbias.attackers.neural.layers import MLP, Generators, Linear
from captionbias.attackers.neural.training import base_rates
from captionbias.attackers.pretrained.distinct_texts import Texts, as_texts
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.attackers.pretrained.encoding import encoder, special_tokens
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.recipes import Frozen
from captionbias.io.store import Store

MOMENTUM, EPSILON = 0.1, 1e-5  # torch's own


def train(
    trials: Sequence[Trial], recipe: Frozen, model: Model, precision: str, device: torch.device, store: Store | None
) -> list[TrialScores]:
    """Train the heads of trials of one `batches.shape` together, and score each on its test captions.

    Each distinct caption is encoded once; with a `store`, once for good.
    """
    texts, table = embedded(trials, recipe, model, precision, device, store)
    return fit_heads(texts.trials, table, recipe, device)[1]


def embedded(
    trials: Sequence[Trial], recipe: Frozen, model: Model, precision: str, device: torch.device, store: Store | None
) -> tuple[Texts, Tensor]:
    """The captions of trials as texts, and a table with the embedding of text `i` in row `FIRST_WORD_ROW + i`."""
    mask, unknown = special_tokens(model)
    texts = as_texts(trials, mask, unknown)
    identity = f"{model.identity} {recipe.pooling} {precision} {device.type} {mask} {unknown}"
    embeddings = embed(texts.distinct, encoder(model, recipe.pooling, precision, device), store, identity)
    return texts, torch.from_numpy(np.pad(embeddings, ((FIRST_WORD_ROW, 0), (0, 0))))


def fit_heads(
    trials: Sequence[Trial], table: Tensor, recipe: Frozen, device: torch.device
) -> tuple[OnTable, list[TrialScores]]:
    """Train the heads of trials whose captions are numbers of texts, all in one network, which is returned as well."""
    numbers = np.arange(FIRST_WORD_ROW, len(table), dtype=np.int32)
    with one_thread():
        generators = [torch.Generator().manual_seed(trial.seed) for trial in trials]
        widths = (table.shape[1], *recipe.head, outputs(trials[0]))
        head = NormalizedMLP(generators, widths) if recipe.normalized else MLP(generators, widths)
        if recipe.base_rates and isinstance(head, MLP):
            with torch.no_grad():
                head.output_bias.copy_(torch.stack([base_rates(trial) for trial in trials]))
        network, words = OnTable(table, head), [numbers] * len(trials)
        return network, fit_and_score(trials, words, network, recipe.schedule, 0.0, device)


class OnTable(nn.Module):
    """A head on the embeddings of captions, each of which is one number."""

    def __init__(self, table: Tensor, head: nn.Module) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)
        self.head = head

    def forward(self, tokens: Tensor, lengths: Integers, drop: Drop) -> Tensor:
        """Logits `(S, B, outputs)` of `tokens` `(S, B, 1)`."""
        numbers = tokens[:, :, 0]
        features = functional.embedding(numbers, self.table).float()
        logits: Tensor = self.head(features, numbers != UNKNOWN_ROW) if self.normalized else self.head(features)
        return logits

    @property
    def normalized(self) -> bool:
        return isinstance(self.head, NormalizedMLP)


class NormalizedMLP(nn.Module):
    """Each hidden layer normalised before and after, then a leaky rectifier; `LIC`'s head on BERT."""

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
