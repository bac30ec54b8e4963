"""Bias amplification from counts: pure functions on arrays of shape `(attributes, tasks, ...)`.

What a count does not define is nan. The last axis of each argument may hold bootstrap replicates.
"""

from __future__ import annotations

import numpy as np

from captionbias.arrays import Floats


def association(together: Floats, attributes: Floats, tasks: Floats, images: Floats) -> Floats:
    """1 where an attribute value and a task occur together more often than by chance, -1 where less often, else 0.

    Args:
        together: images with both, `(A, T, ...)`. `attributes`, `tasks`: with either, `(A, 1, ...)` and `(1, T, ...)`.
        images: those with any attribute value or task, `(1, 1, ...)`.

    Source: Wang and Russakovsky 2021, section 3: the sign of `P(a, t) - P(a) P(t)`.

    >>> association(np.array([[3.0, 1.0]]), np.array([[4.0]]), np.array([[4.0, 4.0]]), np.array([[8.0]])).tolist()
    [[1.0, -1.0]]
    """
    return np.sign(together * images - attributes * tasks)


def change(predicted: Floats, predicted_given: Floats, together: Floats, given: Floats) -> Floats:
    """What predictions change of each pair: `Delta = P(predicted | given) - P(true | given)`.

    Args:
        predicted: predictions that have both, `(A, T, ...)`. `predicted_given`: those that have what is given, `(A, 1,
            ...)` from A to T, `(1, T, ...)` from T to A.
        together: what is true of both, and of what is `given`, likewise.

    Source: Wang and Russakovsky 2021, Eq. 1.

    >>> six, five, ten = (np.array([[number]]) for number in (6.0, 5.0, 10.0))
    >>> change(six, ten, five, ten).round(6).tolist()
    [[0.1]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        defined = (given > 0) & (predicted_given > 0)
        return np.where(defined, predicted / predicted_given - together / given, np.nan)


def shares(together: Floats) -> Floats:
    """`b(a, t)`: of the images with task `t` and any attribute value, those with value `a` (Zhao et al. 2017, Eq. 1).

    >>> shares(np.array([[3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.75, nan], [0.25, nan]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / together.sum(axis=0, keepdims=True))


def mals(training: Floats, predicted: Floats) -> Floats:
    """Each pair's share in BA (MALS): `b_predicted - b_training` where the value is the task's likelier one, else 0.

    nan for all pairs of a task that does not occur in the training data or in the predictions.

    Args:
        training: counts of pairs in the training data, `(A, T, ...)`. `predicted`: in the predictions.

    Source: Zhao et al. 2017, Eq. 2: pairs with `b_training > 1 / |A|`.

    >>> mals(np.array([[3.0], [1.0]]), np.array([[9.0], [1.0]])).round(6).tolist()
    [[0.15], [0.0]]
    """
    known, change = shares(training), shares(predicted) - shares(training)
    return np.where((known > 1 / len(training)) | np.isnan(change), change, 0.0)


def mean_of_defined(values: Floats) -> Floats:
    """The mean over pairs, those that are nan left out: shape `(...)`; nan where none is defined.

    >>> float(mean_of_defined(np.array([[1.0, np.nan], [0.0, 2.0]])))
    1.0
    """
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, values, 0.0).sum(axis=(0, 1)) / defined.sum(axis=(0, 1)))
