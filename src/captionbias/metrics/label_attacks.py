"""What attackers read labels from: labels as captions, and labels made as often wrong as a model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import Attacker
from captionbias.metrics.attacks import AttackScores
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


def both_sides(
    name: str,
    examples: Callable[[Flags], Examples],
    truth: Flags,
    predicted: Flags,
    splits: Mapping[int, tuple[Integers, Integers]],
    equalize: bool,
) -> dict[str, list[Trial]]:
    """Trials of attackers on what is predicted, `m...`, and on what is true, `d...`, which is made as often wrong if
    they are to be equalized; `splits`: training and test images, by seed."""
    if not predicted.any():
        raise ValueError(
            f"{name}: nothing is predicted for any image; give the words that these captions use as lexicons"
        )
    model, data = examples(predicted), examples(truth)
    trials: dict[str, list[Trial]] = {"m": [], "d": []}
    for seed, (train, test) in splits.items():
        if equalize:
            data = examples(as_wrong_as(truth, predicted, seed))
        for side, of_side in (("m", model), ("d", data)):
            trials[side].append(Trial(of_side, train, test, seed))
    return trials


def as_tokens(flags: Flags) -> Tokens:
    """Each image's labels as a caption of as many words."""
    _, labels = np.nonzero(flags)
    offsets = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
    return Tokens(labels.astype(np.int32), offsets.astype(np.int64), tuple(map(str, range(flags.shape[1]))))


def as_wrong_as(truth: Flags, predicted: Flags, seed: int) -> Flags:
    """True labels made wrong as often as predictions are, on images drawn at random: quality equalisation.

    For each label, what is predicted for the images that have it is shuffled among them, and likewise for those that
    have it not. So presence and absence are each mistaken as often as by the model, but for no reason.

    Source: Tokas, Nair and Kerner 2025 flip as many labels as the model gets wrong, whether present or absent; that
    would add a rare label to as many images as the model misses it in.
    """
    generator = np.random.default_rng([seed, 6])
    result = predicted.copy()
    for label in range(truth.shape[1]):
        for members in (np.flatnonzero(truth[:, label]), np.flatnonzero(~truth[:, label])):
            result[members, label] = predicted[generator.permutation(members), label]
    return result
