"""Sway: how much more often than a person a captioner names the wrong value where the tasks around suggest it, and the
tasks that go with a value where the picture shows the same. Pure functions on arrays; `metrics/sway` uses them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse

LEAST_SHOWN = 10  # images that show a task before its lean counts
LEAST_Z = 2.0
FOLDS, PENALTY = 5, 10.0  # of the ridge regression
MANY_FEATURES = 1000


class Leans(NamedTuple):
    """Which tasks go with which attribute values, all of shape `(tasks, values)`."""

    lean: Floats  # how much more often than overall images that show the task have the value
    goes_with: Flags  # whether that is more than chance would bring
    log_odds: Floats  # of the value where the task is shown, less those overall; 0 for tasks that too few images show


def leans_of(both: Floats, shares: Floats) -> Leans:
    """The leans of tasks, from images with each task and value `(tasks, values)` and the `shares` of values."""
    images_showing = both.sum(axis=1, keepdims=True)
    share = (both + shares) / (images_showing + 1)
    lean = share - shares
    with np.errstate(divide="ignore", invalid="ignore"):
        z = lean / np.sqrt(shares * (1 - shares) / images_showing)
        log_odds = np.log(share / (1 - share)) - np.log(shares / (1 - shares))
    often = images_showing >= LEAST_SHOWN
    return Leans(lean, often & (lean > 0) & (z >= LEAST_Z), np.where(often, log_odds, 0.0))


def suggested_values(tasks_shown: Any, both: Floats, shares: Floats, own: Floats) -> Integers:
    """The value of the largest sum of log odds of the tasks that an image shows, sparse, -1 if none goes with any, or
    with two values alike. The image itself is left out of the counts that leans are of: `own` is what it adds to
    `both`, `(images, values)`."""
    (image, task), images = tasks_shown.nonzero(), tasks_shown.shape[0]
    log_odds = leans_of(np.maximum(both[task] - own[image], 0.0), shares).log_odds
    sums = np.stack([np.bincount(image, of_value, images) for of_value in log_odds.T], axis=1)
    second, first = np.sort(sums.round(9), axis=1)[:, -2:].T
    goes = np.asarray(leans_of(both, shares).goes_with.any(axis=1))
    leaning = np.bincount(image, goes[task], images) > 0
    return np.where(leaning & (first > second), sums.argmax(axis=1), -1)


# Task to attribute. Counts of captions, of shape `(strata, 2, ...)`: beside tasks that suggest another value than the
# true one, beside tasks that suggest it.


def error_difference(captions: Floats, errors: Floats) -> Floats:
    """How much larger the share of errors is where another value is suggested, `(...)`, nan where no stratum has both:
    the Mantel-Haenszel risk difference (Greenland and Robins 1985)."""
    against, along = captions[:, 0], captions[:, 1]
    total = _filled(against + along)
    numerator = (errors[:, 0] * along - errors[:, 1] * against) / total
    weight = (against * along / total).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(weight > 0, numerator.sum(axis=0) / weight, np.nan))


def error_ratio(captions: Floats, errors: Floats) -> Floats:
    """How many times as large it is, 0.5 added to either sum: shape `(...)`."""
    total = _filled(captions[:, 0] + captions[:, 1])
    against, along = (
        (errors[:, side] * captions[:, other] / total).sum(axis=0) + 0.5 for side, other in ((0, 1), (1, 0))
    )
    return np.asarray(against / along)


def _filled(counts: Floats) -> Floats:
    return np.where(counts > 0, counts, 1.0)


# Attribute to task


def residuals(features: Any, outcomes: Any, seed: int, pictures: Integers, weight: Floats) -> Floats:
    """What cross-fitted ridge regressions on the features leave of outcomes, `(images, n)`, both sparse, images
    weighing `weight`, `(images,)`; those of one of the `pictures`, `(images,)`, are in one fold, so that none is
    predicted from its copy (Robinson 1988; Chernozhukov et al. 2018)."""
    # Each fold's products are made once and taken from the whole; scikit-learn's Ridge makes the other folds' anew.
    units = np.arange(pictures.max() + 1)
    np.random.RandomState(seed % 2**32).shuffle(units)  # as scikit-learn's KFold does
    tests = [np.flatnonzero(np.isin(pictures, test)) for test in np.array_split(units, min(FOLDS, len(units)))]
    left = np.empty(outcomes.shape)
    if features.shape[1] > max(MANY_FEATURES, features.shape[0]):
        # The same by products of images: those of features would be many times as large.
        features, outcomes, root = features.toarray(), outcomes.toarray(), np.sqrt(weight)[:, None]
        for test in tests:
            train = np.setdiff1d(np.arange(len(features)), test)
            x_mean, y_mean = (np.average(of[train], axis=0, weights=weight[train]) for of in (features, outcomes))
            x = root[train] * (features[train] - x_mean)
            duals = np.linalg.solve(x @ x.T + PENALTY * np.eye(len(x)), root[train] * (outcomes[train] - y_mean))
            left[test] = outcomes[test] - y_mean - (features[test] - x_mean) @ x.T @ duals
        return left
    sides = [(weight[test], features[test], outcomes[test]) for test in tests]
    weighted = ((w, w @ x, w @ y, x.multiply(w[:, None]).T.tocsr(), x, y) for w, x, y in sides)
    sums = [(w.sum(), x_sum, y_sum, (of @ x).toarray(), (of @ y).toarray()) for w, x_sum, y_sum, of, x, y in weighted]
    whole = [np.sum(of_folds, axis=0) for of_folds in zip(*sums, strict=True)]
    for test, (_, x, y), of_fold in zip(tests, sides, sums, strict=True):
        mass, x_sum, y_sum, square, product = (total - part for total, part in zip(whole, of_fold, strict=True))
        x_mean, y_mean = x_sum / mass, y_sum / mass
        square -= np.outer(x_sum, x_mean) - PENALTY * np.eye(len(x_sum))
        slopes = np.linalg.solve(square, product - np.outer(x_sum, y_mean))
        left[test] = y.toarray() - (y_mean - x_mean @ slopes) - x @ slopes
    return left


def within_scenes(outcomes: Floats, scene: Integers, weight: Floats) -> Floats:
    """What the mean of the images of its scene leaves of each image's outcomes, `(images, n)`: of the same contents."""
    together = sparse(weight, (scene, np.arange(len(scene))), (int(scene.max()) + 1, len(scene)))
    return np.asarray(outcomes - (together @ outcomes / together.sum(axis=1)[:, None])[scene])


def naming_rates(captioner: Floats, person: Floats) -> Floats:
    """How often the captioner names a task for each time that the person does; 0 where the person never does."""
    return np.divide(captioner, person, out=np.zeros_like(captioner), where=person > 0)
