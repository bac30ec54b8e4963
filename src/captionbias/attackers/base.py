"""What an attacker is trained on and what it returns: the words shared by the engine, the encoders and the metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers
from captionbias.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Examples:
    """Masked, aligned captions and what the attacker must tell from them.

    `targets` holds a class number for each caption, shape `(n,)`, with `outputs` classes; or, when `multilabel`, flags
    of shape `(n, outputs)`, one Bernoulli output a task. `mask` is the word that stands for masked ones.
    """

    tokens: Tokens
    targets: Array
    outputs: int
    mask: str = ""

    @property
    def multilabel(self) -> bool:
        return self.targets.ndim == 2


@dataclass(frozen=True, eq=False)
class Trial:
    """One attacker training: rows of `examples` to learn from, rows to be scored on, the seed of all its randomness."""

    name: str
    examples: Examples
    train: Integers
    test: Integers
    seed: int


@dataclass(frozen=True, eq=False)
class TrialScores:
    """What a trained attacker says of each test caption, in the order of `Trial.test`.

    `log_probability`: natural logarithm of the probability it gives to the truth (all tasks together when multi-label).
    `correct`: whether its most likely answer is the truth (every task right when multi-label).
    """

    log_probability: Floats
    correct: Flags


Attacker = Callable[[Trial], TrialScores]


def score_classes(log_probabilities: Array, classes: Integers) -> TrialScores:
    """Scores from log-probabilities of shape `(n, classes)` and the true classes of shape `(n,)`."""
    truth = np.take_along_axis(log_probabilities, classes[:, None], axis=1)[:, 0]
    return TrialScores(truth.astype(np.float64), log_probabilities.argmax(axis=1) == classes)


def score_tasks(logits: Array, present: Flags) -> TrialScores:
    """Scores from logits of shape `(n, tasks)` and true flags of the same shape: the tasks are independent."""
    signed = np.where(present, logits, -logits).astype(np.float64)
    right: Flags = np.all(signed > 0, axis=1)
    return TrialScores(-np.logaddexp(0.0, -signed).sum(axis=1), right)
