"""A pretrained encoder that is trained with its head.

Accelerate's `Accelerator` is not used: it would couple the processes that share the trials step by step, and fix the
precision of one that the script makes later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.neural import fitting
from captionbias.attackers.neural.fitting import FittedNetwork, Learner, own_random_numbers
from captionbias.attackers.neural.networks import normalized_mlp
from captionbias.attackers.neural.pieces import AT_ONCE, in_pieces, keep_rows, places_of_pieces
from captionbias.attackers.pretrained.encoding import read_model
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.recipes import FineTuned, Schedule
from captionbias.attackers.workers import threads


def fit(trial: Trial, recipe: FineTuned, model: Model, precision: str, device: torch.device) -> FittedNetwork:
    """Train an encoder and its head on a trial, and score it on the trial's test captions."""
    pieces = replace(trial, examples=replace(trial.examples, tokens=in_pieces(trial.examples, model)))
    with threads(1), own_random_numbers(trial.seed, device):
        encoder = _encoder(model)
        rows = keep_rows(encoder, pieces.examples.tokens, model)
        network = Classifier(encoder, recipe, trial.examples).to(device)
        learner = Learner(pieces, rows, network, precision)
        learner.train(_optimizer(network, recipe), _steps(pieces, recipe.schedule))
        places = partial(places_of_pieces, trial.examples, model)
        return FittedNetwork(trial, learner.scores(trial.test), learner, places, AT_ONCE)


def _steps(trial: Trial, schedule: Schedule) -> Iterator[Integers]:
    """The captions of each step; epochs and steps have their own random numbers."""
    every = chain.from_iterable(
        fitting.epoch(trial, schedule, np.random.default_rng([trial.seed, 2, number]))
        for number in range(schedule.epochs_of(len(trial.train)))
    )
    for number, rows in enumerate(every):
        torch.manual_seed(int(np.random.SeedSequence([trial.seed, 3, number]).generate_state(1, np.uint64)[0]))
        yield rows


def _encoder(model: Model) -> Any:
    from transformers import AutoModel

    return read_model(AutoModel, model)[0].float()  # whatever the weights are kept in


class Classifier(nn.Module):
    """The encoder's last state of a caption's first token, and the head on it."""

    def __init__(self, encoder: Any, recipe: FineTuned, examples: Examples) -> None:
        super().__init__()
        self.encoder, self.binary = encoder, examples.outputs == 2 and not examples.multilabel
        self.head = normalized_mlp((encoder.config.hidden_size, *recipe.head, examples.outputs))

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of word pieces `(captions, longest)`."""
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        states = self.encoder(input_ids=tokens, attention_mask=real.long()).last_hidden_state
        logits: Tensor = self.head(states[:, 0].float()).float()
        return logits[:, 1:] - logits[:, :1] if self.binary else logits  # as published, two classes have two outputs

    def get_input_embeddings(self) -> nn.Embedding:
        embedding: nn.Embedding = self.encoder.get_input_embeddings()
        return embedding


def _optimizer(network: Classifier, recipe: FineTuned) -> torch.optim.Optimizer:
    """AdamW with decay for matrices alone: biases and the scales of normalisation have none."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in network.named_parameters():
        scale = name.endswith("bias") or parameter.numel() == parameter.shape[-1]
        (others if scale else matrices).append(parameter)
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, recipe.schedule.learning_rate, recipe.betas, recipe.epsilon, fused=True)
