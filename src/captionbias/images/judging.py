"""What every judge is: its training, and the scores of its answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.attackers.base import Fitted, Trial, TrialScores, score_classes, stratified_split
from captionbias.attackers.recipes import Schedule

if TYPE_CHECKING:
    from torch import nn

VALIDATION_SHARE = 1 / 8  # of the training images: 10% of all


@dataclass(frozen=True, eq=False)
class Judged(Fitted):
    """A judge of one trial. `answer`: the log-probability of each answer, `(rows, answers)`, before normalisation."""

    answer: Callable[[Integers], Floats]


def judged(trial: Trial, answer: Callable[[Integers], Floats]) -> Judged:
    """A trained judge with its scores of the trial's test rows."""
    return Judged(trial, scores_of(answer(trial.test), trial.examples.targets[trial.test]), answer)


def scores_of(answered: Floats, classes: Integers) -> TrialScores:
    """Scores of the true answers, with probabilities that add up to 1 over the answers; `raw` has them as they were."""
    normalised = answered - np.logaddexp.reduce(answered, axis=1, keepdims=True)
    raw = np.take_along_axis(answered, classes[:, None], axis=1)[:, 0]
    return replace(score_classes(normalised, classes), raw=raw)


def train(
    trial: Trial,
    network: nn.Module,
    backward: Callable[[Integers], None],
    answer: Callable[[Integers], Floats],
    schedule: Schedule,
) -> None:
    """Train with Adam, and keep the weights after the epoch that answers best on the validation images.

    `backward` makes the gradients of the loss on rows; `answer` is that of `Judged`.
    """
    import torch

    classes = trial.examples.targets
    train, valid = (trial.train[rows] for rows in stratified_split(classes[trial.train], VALIDATION_SHARE, trial.seed))
    generator = np.random.default_rng([trial.seed, 2])
    optimizer = torch.optim.Adam(network.parameters(), lr=schedule.learning_rate, fused=True)
    least, best = np.inf, {}
    for _ in range(schedule.epochs):
        network.train()
        order = generator.permutation(train)
        for start in range(0, len(order), schedule.batch):
            optimizer.zero_grad()
            backward(order[start : start + schedule.batch])
            optimizer.step()
        network.eval()
        loss = -float(scores_of(answer(valid), classes[valid]).log_probability.mean())
        if loss < least:
            least = loss
            best = {name: value.cpu().clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    network.zero_grad()
    network.requires_grad_(False).eval()
