"""Naming: whether captions of one value name it wrong, or not at all, more often than captions of the others, beyond a
drawn person. Pure functions on arrays; the first question of the portrait.

Tables count captions by true value, stratum, side (the captioner, the drawn person) and kind (all, those that name a
single value, those that name the true one): `(values, strata, 2 sides, 3 kinds, replicates)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.scores.sway import error_difference

SIDES = "captioner", "person"
ALL, NAMED, RIGHT = NAME_KINDS = range(3)
KINDS = "wrong", "unnamed"


def composition(value: Integers, scene: Integers, weight: Floats) -> tuple[Floats, Integers]:
    """The strata of images of scenes, which are how much the images of each value weigh in one, `(strata, values)`, and
    that of each image. Scenes of one composition, pooled, differ by as much as images within each do on average: the
    weights of Mantel and Haenszel are the same."""
    weights = np.zeros((int(scene.max()) + 1, int(value.max()) + 1))
    np.add.at(weights, (scene, value), weight)
    shares = (weights / weights.sum(axis=1, keepdims=True)).round(9)
    strata, number = np.unique(shares, axis=0, return_inverse=True)
    return strata, number.reshape(-1)[scene].astype(np.int64)


def naming_levels(table: Floats) -> Floats:
    """Of 100 captions of each value, those that name another value alone, and those that name none or several: `(2
    kinds, 2 sides, values, replicates)`; nan for a value without captions. Facts: the gap is the bias."""
    captions, errors = _errors(table)
    return np.asarray(100 * share_of(errors.sum(axis=3), captions.sum(axis=2)))


def naming_gaps(table: Floats) -> Floats:
    """How many more of 100 captions of each value than of the others, on average, the captioner names wrong, and does
    not name, beyond the person: `(2 kinds, values, replicates)`; nan where nothing can be compared.

    Values are compared in pairs within strata, with the weights of Mantel and Haenszel, so that those are compared who
    are as hard to see. A captioner that errs less than people has less room for a gap, so the person's is scaled: to
    the captioner's share of wrong names, if that is lower; to its share of unnamed, or of named, whichever is lower.
    """
    captions, errors = _errors(table)
    shares = share_of(errors.sum(axis=(2, 3)), captions.sum(axis=(1, 2)))
    (wrong, person_wrong), (unnamed, person_unnamed) = shares
    by_named = np.minimum(_ratio(unnamed, person_unnamed), _ratio(1 - unnamed, 1 - person_unnamed))
    scale = np.stack((_ratio(wrong, person_wrong), by_named))
    # (2 kinds, 2 sides, values, values, strata, replicates): of each pair its captions and errors
    first, second = np.broadcast_arrays(captions[:, :, None], captions[:, None])
    of_first, of_second = np.broadcast_arrays(errors[:, :, :, None], errors[:, :, None])
    pairs, errors_of_pairs = np.stack((first, second), axis=3), np.stack((of_first, of_second), axis=4)
    gaps = np.stack([[_difference(pairs[side], of_kind[side]) for side in range(2)] for of_kind in errors_of_pairs])
    beyond = gaps[:, 0] - scale[:, None, None] * gaps[:, 1]
    known = ~np.isnan(beyond) & ~np.eye(len(table), dtype=bool)[:, :, None]
    return np.asarray(100 * share_of(np.where(known, beyond, 0.0).sum(axis=2), known.sum(axis=2)))


def _errors(table: Floats) -> tuple[Floats, Floats]:
    """All captions, `(2 sides, values, strata, replicates)`, and errors, `(2 kinds, 2 sides, values, strata, ...)`."""
    everyone, named, right = np.moveaxis(table, (2, 3), (1, 0))
    return everyone, np.stack((named - right, everyone - named))


def _difference(captions: Floats, errors: Floats) -> Floats:
    """Of each pair of values, `(values, values, 2, strata, replicates)`, how much larger the first's share of errors
    is."""
    captions, errors = (np.moveaxis(table, (3, 2), (0, 1)) for table in (captions, errors))
    return error_difference(captions, errors)


def share_of(part: Any, whole: Any) -> Any:
    """The part of the whole, nan where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(part, whole)


def _ratio(captioner: Floats, person: Floats) -> Floats:
    """The captioner's share over the person's, 1 at most."""
    return np.divide(captioner, person, out=np.ones_like(captioner), where=person > captioner)
