"""Bias amplification from counts of attribute values and tasks that occur together: pure functions on arrays.

`together` has the shape `(values, tasks, ...)`, counts of either `(values, 1, ...)` and `(1, tasks, ...)`; the last
axis may hold bootstrap replicates. What a count does not define is nan.
"""

from __future__ import annotations

import numpy as np

from captionbias.arrays import Floats


def association(together: Floats, attributes: Floats, tasks: Floats, images: Floats) -> Floats:
    """1 where a value and a task occur together more often than by chance, -1 where less often, else 0 (Wang and
    Russakovsky 2021, section 3: the sign of `P(a, t) - P(a) P(t)`)."""
    return np.sign(together * images - attributes * tasks)


def change(predicted: Floats, predicted_given: Floats, together: Floats, given: Floats) -> Floats:
    """`Delta = P(predicted | given) - P(true | given)` of each pair (Wang and Russakovsky 2021, Eq. 1)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        defined = (given > 0) & (predicted_given > 0)
        return np.where(defined, predicted / predicted_given - together / given, np.nan)


def shares(together: Floats) -> Floats:
    """`b(a, t)`: the share of value `a` in the images with task `t` and any value (Zhao et al. 2017, Eq. 1)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / together.sum(axis=0, keepdims=True))


def mals(training: Floats, predicted: Floats) -> Floats:
    """Each pair's share in BA (MALS): `b_predicted - b_training` where the value is the task's likelier one,
    `b_training > 1 / |A|`, else 0; nan where the task does not occur on both sides (Zhao et al. 2017, Eq. 2)."""
    known, change = shares(training), shares(predicted) - shares(training)
    return np.where((known > 1 / len(training)) | np.isnan(change), change, 0.0)


def mean_of_defined(values: Floats) -> Floats:
    """The mean over pairs, those that are nan left out: shape `(...)`; nan where none is defined."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, values, 0.0).sum(axis=(0, 1)) / defined.sum(axis=(0, 1)))
