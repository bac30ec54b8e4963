"""Which images an attacker learns from and which it is scored on; every draw comes from the trial's own generator."""

from __future__ import annotations

import numpy as np

from captionbias.arrays import Integers

SMALLEST_CLASS = 10


def balanced_split(
    classes: Integers, test_share: float, seed: int, copies: Integers | None = None
) -> tuple[Integers, Integers]:
    """LIC's split: every class cut to the size of the smallest, `test_share` of each to test; all copies of a picture
    on one side. Gives the numbers of training and test images, sorted."""
    train, test, generator = _split(classes, test_share, seed, True, copies)
    return _cut(train, classes, generator), _cut(test, classes, generator)


def stratified_split(
    classes: Integers, test_share: float, seed: int, copies: Integers | None = None
) -> tuple[Integers, Integers]:
    """DBAC's split: `test_share` of the images of each class to test, the rest to train; as `balanced_split`."""
    train, test, _ = _split(classes, test_share, seed, False, copies)
    return train, test


def _split(
    classes: Integers, test_share: float, seed: int, balanced: bool, copies: Integers | None
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
        count = max(1, round(len(members) * test_share))
        test.append(members[:count])
        train.append(members[count:])
    learnt, scored = (np.flatnonzero(np.isin(pictures, pictures[np.concatenate(side)])) for side in (train, test))
    return learnt, scored, generator


def _cut(images: Integers, classes: Integers, generator: np.random.Generator) -> Integers:
    """The images with every class cut to the size of the smallest: copies may have left them uneven."""
    if not len(images):
        return images
    of_class = [images[classes[images] == value] for value in np.unique(classes[images])]
    least = min(map(len, of_class))
    return np.sort(np.concatenate([generator.permutation(members)[:least] for members in of_class]))
