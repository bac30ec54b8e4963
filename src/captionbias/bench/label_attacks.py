"""What attackers read labels from: labels as captions, and labels made as often wrong as a model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import Attacker
from captionbias.bench.attacks import AttackScores
from captionbias.bench.label_inputs import ImageLabels
from captionbias.errors import InputError
from captionbias.scores.captions import Quality
from captionbias.text import Tokens

TEST_SHARE = 0.2


def attack_labels(
    labels: ImageLabels,
    groups: Integers,
    questions: Mapping[str, tuple[Callable[[Flags], Examples], Flags, Flags | None]],
    split: Callable[..., tuple[Integers, Integers]],
    quality: Quality,
    seeds: range,
    equalize: bool,
    attacker: Attacker,
    **engine: Any,
) -> dict[tuple[str, str], AttackScores]:
    """Each question's scores of what is predicted, `m`, and of what is true, `d`, made as often wrong if they are to be
    equalized. `questions`: how examples are made of labels, the true labels, and those predicted, if they are. `split`:
    of the images into training and test, by seed. `engine`: options of `run_trials`."""
    classes = labels.classes()
    splits = {seed: split(classes, TEST_SHARE, seed, labels.copies) for seed in seeds}
    plans: dict[tuple[str, str], list[Trial]] = {}
    for name, (examples, truth, predicted) in questions.items():
        if predicted is None:
            continue
        if not predicted.any():
            raise InputError("unnamed", name).says(
                ": nothing is predicted for any image", "give the captions' words as lexicons"
            )
        model, data = examples(predicted), examples(truth)
        model_trials, data_trials = plans["m", name], plans["d", name] = [], []
        for seed, sides in splits.items():
            if equalize:
                data = examples(as_wrong_as(truth, predicted, seed))
            model_trials.append(Trial(model, *sides, seed))
            data_trials.append(Trial(data, *sides, seed))
    queue = [trial for trials in plans.values() for trial in trials]
    answers = dict(zip(queue, run_trials(queue, attacker, **engine), strict=True))
    return {side: AttackScores.of([trials], answers, {"": quality}, groups) for side, trials in plans.items()}


def as_tokens(flags: Flags) -> Tokens:
    """Each image's labels as a caption of as many words."""
    _, labels = np.nonzero(flags)
    offsets = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
    return Tokens(labels.astype(np.int32), offsets.astype(np.int64), tuple(map(str, range(flags.shape[1]))))


def as_wrong_as(truth: Flags, predicted: Flags, seed: int) -> Flags:
    """True labels made wrong as often as predictions are, on images drawn at random: of each label what is predicted is
    shuffled among the images that have it, and among those that do not. Tokas, Nair and Kerner 2025 flip as many labels
    as the model gets wrong, present or absent, which would add a rare label to as many images as the model misses it
    in."""
    generator = np.random.default_rng([seed, 6])
    result = predicted.copy()
    for label in range(truth.shape[1]):
        for members in (np.flatnonzero(truth[:, label]), np.flatnonzero(~truth[:, label])):
            result[members, label] = predicted[generator.permutation(members), label]
    return result
