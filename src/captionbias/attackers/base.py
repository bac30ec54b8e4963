"""Trials, the attackers fitted on them, and their scores: what the engine, the attackers and the metrics share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Floats32, Integers
from captionbias.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Examples:
    """Masked, aligned captions and what the attacker must predict from them.

    `targets`: a class number a caption, `(n,)`; or, when `multilabel`, flags of tasks, `(n, outputs)`. `masks`: the
    words that replace masked ones. `pictures`: features of the picture beside each caption, `(n, width)`.
    """

    tokens: Tokens
    targets: Array
    outputs: int
    masks: tuple[str, ...] = ()
    pictures: Floats32 | None = None

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
    """How well an attacker does on each test caption, in the order of `Trial.test`.

    `log_probability`: of the truth, all tasks together. `correct`: whether its most likely answer is the truth in every
    task. `raw`: of judges that say words, the log-probability among all that they could say; `log_probability` is then
    that among the answers. `fitted`: the attacker, of trials that `run_trials` was asked to keep.
    """

    log_probability: Floats
    correct: Flags
    fitted: Fitted | None = None
    raw: Floats | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained attacker, and its scores of the trial's test captions."""

    trial: Trial
    test_scores: TrialScores


def score_classes(log_probabilities: Array, classes: Integers) -> TrialScores:
    """Scores from log-probabilities of shape `(n, classes)` and the true classes of shape `(n,)`."""
    truth = np.take_along_axis(log_probabilities, classes[:, None], axis=1)[:, 0]
    return TrialScores(truth.astype(np.float64), log_probabilities.argmax(axis=1) == classes)


def score_tasks(logits: Array, present: Flags) -> TrialScores:
    """Scores from logits of shape `(n, tasks)` and true flags of the same shape: the tasks are independent."""
    signed = np.where(present, logits, -logits).astype(np.float64)
    right: Flags = np.all(signed > 0, axis=1)
    return TrialScores(-np.logaddexp(0.0, -signed).sum(axis=1), right)
