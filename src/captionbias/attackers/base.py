"""Trials, their splits, the attackers fitted on them, and their scores: what engine, attackers and metrics share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Floats32, Integers
from captionbias.errors import InputError
from captionbias.text.tokens import Tokens

SMALLEST_CLASS = 10


@dataclass(frozen=True, eq=False)
class Examples:
    """Masked, aligned captions and the targets that the attacker must predict from them.

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

    examples: Examples
    train: Integers
    test: Integers
    seed: int


@dataclass(frozen=True, eq=False)
class TrialScores:
    """The scores of an attacker on each test caption, in the order of `Trial.test`.

    `log_probability`: of the truth, all tasks together. `correct`: whether its most likely answer is the truth in every
    task. `fitted`: the attacker, of trials that `run_trials` was asked to keep.
    """

    log_probability: Floats
    correct: Flags
    fitted: Fitted | None = None


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


def base_rates(trial: Trial) -> Floats:
    """The log-probability of the truth of each test caption for who knows its training split's targets alone, each
    counted once more: of an attribute's value its share, of tasks all together theirs, but for what is the same in all
    images."""
    targets, outputs = trial.examples.targets, trial.examples.outputs
    learnt, truth = targets[trial.train], targets[trial.test]
    if trial.examples.multilabel:
        shares = (learnt.astype(bool).sum(axis=0) + 1) / (len(learnt) + 2)
        informative = np.ptp(np.concatenate((learnt, truth)).astype(int), axis=0) > 0
        return np.asarray(np.where(truth, np.log(shares), np.log1p(-shares))[:, informative].sum(axis=1))
    counts = np.bincount(learnt, minlength=outputs) + 1
    return np.asarray(np.log(counts / counts.sum())[truth])


def balanced_split(
    classes: Integers, test_share: float, seed: int, copies: Integers | None = None, part: int | None = None
) -> tuple[Integers, Integers]:
    """LIC's split: every class cut to the size of the smallest, `test_share` of each to test; all copies of a picture
    on one side. Gives the numbers of training and test images, sorted. A `part` of the images, of those that seeds cut
    them into, is tested whole: only what is trained on is cut to the smallest class."""
    train, test, generator = _split(classes, test_share, seed, part is None, copies, part or 0)
    return _cut(train, classes, generator), _cut(test, classes, generator) if part is None else test


def stratified_split(
    classes: Integers, test_share: float, seed: int, copies: Integers | None = None, part: int | None = None
) -> tuple[Integers, Integers]:
    """DBAC's split: `test_share` of the images of each class to test, the rest to train; as `balanced_split`."""
    train, test, _ = _split(classes, test_share, seed, False, copies, part or 0)
    return train, test


def _split(
    classes: Integers, test_share: float, seed: int, balanced: bool, copies: Integers | None, part: int
) -> tuple[Integers, Integers, np.random.Generator]:
    generator = np.random.default_rng([seed, 1])
    pictures = np.arange(len(classes)) if copies is None else copies
    # A picture stands in the split for the rarest class of its copies.
    rarest = np.argsort(np.bincount(classes)[classes], kind="stable")
    firsts = np.sort(rarest[np.unique(pictures[rarest], return_index=True)[1]])
    class_of = classes[firsts]
    limit = int(np.unique(class_of, return_counts=True)[1].min()) if balanced else None
    train, test = [], []
    for value in np.unique(class_of):
        members = generator.permutation(firsts[class_of == value])[:limit]
        start = round(part * len(members) * test_share)
        end = max(start + 1, round((part + 1) * len(members) * test_share))
        test.append(members[start:end])
        train += [members[:start], members[end:]]
    if not any(map(len, train)):
        raise InputError("scene", ": each value has one picture, and attackers learn from others; give more scenes")
    learnt, scored = (np.flatnonzero(np.isin(pictures, pictures[np.concatenate(side)])) for side in (train, test))
    return learnt, scored, generator


def _cut(images: Integers, classes: Integers, generator: np.random.Generator) -> Integers:
    """The images with every class cut to the size of the smallest: copies may have left them uneven."""
    if not len(images):
        return images
    members_of = [images[classes[images] == value] for value in np.unique(classes[images])]
    least = min(map(len, members_of))
    return np.sort(np.concatenate([generator.permutation(members)[:least] for members in members_of]))
