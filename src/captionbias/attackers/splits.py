"""Which images an attacker learns from and which it is scored on; every draw comes from the trial's own generator."""

from __future__ import annotations

import numpy as np

from captionbias.arrays import Integers

SMALLEST_CLASS = 10


def balanced_split(classes: Integers, test_share: float, seed: int) -> tuple[Integers, Integers]:
    """LIC's split: every class cut to the size of the smallest, `test_share` of each to test.

    `classes` of shape `(n images,)`; returns the numbers of the training and of the test images, sorted.
    """
    return _split(classes, test_share, seed, limit=int(np.bincount(classes).min()))


def stratified_split(classes: Integers, test_share: float, seed: int) -> tuple[Integers, Integers]:
    """DBAC's split: `test_share` of the images of each class to test, the rest to train."""
    return _split(classes, test_share, seed, limit=None)


def _split(classes: Integers, test_share: float, seed: int, limit: int | None) -> tuple[Integers, Integers]:
    generator = np.random.default_rng([seed, 1])
    train, test = [], []
    for value in range(int(classes.max()) + 1):
        members = generator.permutation(np.flatnonzero(classes == value))[:limit]
        count = max(1, round(len(members) * test_share))
        test.append(members[:count])
        train.append(members[count:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
