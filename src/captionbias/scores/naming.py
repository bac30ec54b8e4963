"""Naming: whether captions of one value name it wrong, or not at all, more often than captions of the others, beyond a
drawn person. Pure functions on arrays; the first question of the portrait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Floats, Integers, sparse
from captionbias.scores.sway import error_difference

NO_VALUE = -1
MARGIN = 1.0  # of 100 captions: a gap within it is as good as none
LEVEL = 0.95
KINDS = ("wrong", "unnamed")


class NamingCounts(NamedTuple):
    """Captions by true value, stratum and kind (all; those of the captioner that name a wrong value, and none; those of
    the person likewise): sums by group of images, `(cells, groups)`, linear in how often each group counts."""

    sums: Any
    shape: tuple[int, int, int]

    def table(self, multiplicity: Floats | None = None) -> Floats:
        """The counts of each replicate, `(values, strata, 5, replicates)`; `multiplicity`: `(groups, replicates)`."""
        flat = self.sums.sum(axis=1)[:, None] if multiplicity is None else self.sums @ multiplicity
        return np.asarray(flat, np.float64).reshape(*self.shape, -1)


def naming_errors(value: Integers, named: Integers, image: Integers | None = None) -> Floats:
    """The shares of each image's captions that name another value alone, and none or several: `(images, 2)`.

    `value`: the number of each image's, `(images,)`. `named`: that of the value which each caption names alone, -1 for
    none, `(captions,)`; `image`: the image of each caption, if there is not one an image.
    """
    image = np.arange(len(value)) if image is None else image
    unnamed = named == NO_VALUE
    errors = np.stack([~unnamed & (named != value[image]), unnamed], axis=1)
    captions = np.bincount(image, minlength=len(value))
    return np.stack([np.bincount(image, kind, len(value)) / np.maximum(captions, 1) for kind in errors.T], axis=1)


def visibility(seen: Integers, others: Integers) -> Integers:
    """The stratum of each image, which is how plainly its value can be seen: how many of how many other human captions
    name it, both `(images,)`."""
    return np.unique(others * (others.max() + 1) + seen, return_inverse=True)[1].astype(np.int64)


def count_naming(
    value: Integers,
    captioner: Floats,
    person: Floats,
    stratum: Integers,
    groups: Integers,
    weights: Floats | None = None,
    values: int | None = None,
) -> NamingCounts:
    """The counts of what `naming_errors` gives of the captioner and of the drawn person.

    `stratum`, `groups`: numbers of each image's. `weights`: how many images each counts as. `values`: how many there
    are; those that occur when None.
    """
    kinds = np.concatenate([np.ones((len(value), 1)), captioner, person], axis=1)
    shape = values or int(value.max()) + 1, int(stratum.max()) + 1, kinds.shape[1]
    image, kind = np.nonzero(kinds)
    counted = kinds[image, kind] * (1.0 if weights is None else weights[image])
    cell = (value * shape[1] + stratum)[image] * shape[2] + kind
    return NamingCounts(sparse(counted, (cell, groups[image]), (int(np.prod(shape)), int(groups.max()) + 1)), shape)


def naming_levels(table: Floats) -> Floats:
    """Of 100 captions of each value, those that the captioner and people name wrong and those that they do not name:
    `(2 sides, 2 kinds, values, replicates)`; nan for a value without captions. Facts: the gap is the bias."""
    everyone, errors = _split(table)
    return 100 * _shares(errors.sum(axis=3), everyone.sum(axis=1))


def naming_gaps(table: Floats) -> Floats:
    """How many more of 100 captions of each value than of the others, on average, the captioner names wrong, and does
    not name, beyond the person: `(2 kinds, values, replicates)`; nan where nothing can be compared.

    Values are compared in pairs within strata, with the weights of Mantel and Haenszel, so that those are compared who
    are as hard to see. A captioner that errs less than people has less room for a gap, so the person's is scaled: to
    the captioner's share of wrong names, if that is lower; to its share of unnamed, or of named, whichever is lower.
    """
    everyone, errors = _split(table)
    shares = _shares(errors.sum(axis=(2, 3)), everyone.sum(axis=(0, 1)))
    (wrong, unnamed), (person_wrong, person_unnamed) = shares
    scale = np.stack(
        [
            _ratio(wrong, person_wrong),
            np.minimum(_ratio(unnamed, person_unnamed), _ratio(1 - unnamed, 1 - person_unnamed)),
        ]
    )
    values = len(table)
    gaps = np.full((values, values, *errors.shape[:2], table.shape[-1]), np.nan)
    for first in range(values):
        for second in range(first):
            captions = everyone[[first, second]].swapaxes(0, 1)
            for side in range(2):
                for kind in range(2):
                    wrongly = errors[side, kind][[first, second]].swapaxes(0, 1)
                    gaps[first, second, side, kind] = error_difference(captions, wrongly)
            gaps[second, first] = -gaps[first, second]
    beyond = gaps[:, :, 0] - scale * gaps[:, :, 1]
    known = ~np.isnan(beyond)
    mean = _shares(np.where(known, beyond, 0.0).sum(axis=1), known.sum(axis=1))
    return 100 * mean.swapaxes(0, 1)


def largest_gap(gaps: Floats) -> tuple[int, float]:
    """The value whose gap, `(values,)`, is the score, and the level of its interval. Of two values it is the first: the
    other's is its negative. Of more it is the largest, its interval simultaneous with those of the others
    (Bonferroni)."""
    if len(gaps) == 2:
        return 0, LEVEL
    return int(np.nanargmax(np.abs(gaps))), 1 - (1 - LEVEL) / len(gaps)


def _split(table: Floats) -> tuple[Floats, Floats]:
    """All captions, `(values, strata, replicates)`, and errors, `(2 sides, 2 kinds, values, strata, replicates)`."""
    errors = np.moveaxis(table[:, :, 1:], 2, 0)
    return table[:, :, 0], errors.reshape(2, 2, *errors.shape[1:])


def _shares(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / whole)


def _ratio(captioner: Floats, person: Floats) -> Floats:
    """The captioner's share over the person's, 1 at most."""
    return np.divide(captioner, person, out=np.ones_like(captioner), where=person > captioner)
