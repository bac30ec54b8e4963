"""What attackers read labels from: labels as captions, and labels made as often wrong as a model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import Attacker
from captionbias.metrics.attack_scores import AttackScores
from captionbias.scores.captions import Quality
from captionbias.text import Tokens

TEST_SHARE = 0.2


def attack_labels(
    plans: Mapping[str, Sequence[Trial]], attacker: Attacker, quality: Quality, groups: Integers, **engine: Any
) -> dict[str, AttackScores]:
    """Train an attacker for each trial and score it, as `quality`; `engine`: options of `run_trials`."""
    queue = [trial for trials in plans.values() for trial in trials]
    answers = dict(zip(queue, run_trials(queue, attacker, **engine), strict=True))
    return {name: AttackScores.of([trials], answers, {"": quality}, groups) for name, trials in plans.items()}


def as_tokens(flags: Flags) -> Tokens:
    """Each image's labels as a caption of as many words.

    >>> as_tokens(np.array([[True, False], [True, True]])).texts()
    ['0', '0 1']
    """
    _, labels = np.nonzero(flags)
    offsets = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
    return Tokens(labels.astype(np.int32), offsets.astype(np.int64), tuple(map(str, range(flags.shape[1]))))


def as_wrong_as(truth: Flags, predicted: Flags, seed: int) -> Flags:
    """True labels made wrong as often as predictions are, on images drawn at random: quality equalisation.

    For each label, what is predicted for the images that have it is shuffled among them, and likewise for those that
    have it not. So presence and absence are each mistaken as often as by the model, but for no reason.

    Source: Tokas, Nair and Kerner 2025 flip as many labels as the model gets wrong, whether present or absent; that
    would add a rare label to as many images as the model misses it in.

    >>> truth = np.array([[True], [True], [False], [False]])
    >>> as_wrong_as(truth, np.array([[True], [True], [True], [True]]), seed=0).T.tolist()
    [[True, True, True, True]]
    """
    generator = np.random.default_rng([seed, 6])
    result = predicted.copy()
    for label in range(truth.shape[1]):
        for members in (np.flatnonzero(truth[:, label]), np.flatnonzero(~truth[:, label])):
            result[members, label] = predicted[generator.permutation(members), label]
    return result
