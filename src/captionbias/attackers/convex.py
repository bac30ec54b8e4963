"""The convex attackers: logistic regression on the words of a caption, or on its words and word pairs.

No random initialisation, so a trial depends on its split alone. Classes are fitted by scikit-learn, tasks all together,
one sparse product a step: scikit-learn would fit them one after another, 80 times over the captions.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Array, Flags, Floats, Floats32, Ids, Integers
from captionbias.attackers.base import Examples, Fitted, Trial, score_classes, score_tasks
from captionbias.text.tokens import Tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# A stronger penalty holds back the side with fewer captions: at 10, faithful planted captioners read below 0.
L2 = 1.0
SOLVER, TOLERANCE = "newton-cg", 1e-12
TASK_STEPS, TASK_MEMORY = 12, 5
FIRST_STEP = 0.5  # of what the scaled slope says: words that go together share what one alone would do
OVERSHOT = 0.9  # of the slope at the start
TASK_NGRAM_COUNT = 5
# What an attacker's identity has of these.
SETTINGS = (L2, SOLVER, TOLERANCE, TASK_STEPS, TASK_MEMORY, TASK_NGRAM_COUNT)
NO_PAIR = -1
KEPT_TABLES = 4
ALL = slice(None)
SMALLEST = 1e-30
_features: WeakKeyDictionary[Examples, dict[bool, csr_array]] = WeakKeyDictionary()
_counting = Lock()
Step: TypeAlias = tuple[Floats32, Floats32, Floats32, Floats32]  # of each task, and how it changed its slope


def fit(trial: Trial, pairs: bool = True) -> FittedConvex:
    """Fit an attacker on the trial's training captions and score its test captions."""
    examples = trial.examples
    table = features(examples, pairs)
    train, known = table[trial.train], examples.targets[trial.train]
    present = np.bincount(train.indices, minlength=train.shape[1])
    columns = np.flatnonzero(present >= (TASK_NGRAM_COUNT if examples.multilabel else 1))
    tested, truth = table[trial.test][:, columns], examples.targets[trial.test]
    if examples.multilabel:
        weights, bias = fit_tasks(train[:, columns], known)
        return FittedConvex(trial, score_tasks(tested @ weights + bias, truth), columns, weights, bias, pairs)
    from sklearn.linear_model import LogisticRegression

    # The fastest solver to the optimum itself: with a tolerance of 1e-8, the sixth digit depends on the processor.
    model = LogisticRegression(C=1 / L2, solver=SOLVER, tol=TOLERANCE, max_iter=1000)
    model.fit(train[:, columns].astype(np.float64), known)
    complete = np.full((len(truth), examples.outputs), -np.inf)
    complete[:, model.classes_] = model.predict_log_proba(tested)
    return FittedConvex(trial, score_classes(complete, truth), columns, model.coef_.T, model.intercept_, pairs)


@dataclass(frozen=True, eq=False)
class FittedConvex(Fitted):
    """A logistic regression over the n-grams `columns`: `coefficients` `(columns, outputs)` and `bias` `(outputs,)`."""

    columns: Integers
    coefficients: Array
    bias: Array
    pairs: bool

    def logits(self, rows: Integers) -> Floats:
        answers: Floats = features(self.trial.examples, self.pairs)[rows] @ self.weights + self.bias
        return answers

    @cached_property
    def weights(self) -> Floats:
        """The weights `(n-grams of the examples, outputs)`; an n-gram that the attacker did not learn from weighs 0."""
        weights = np.zeros((features(self.trial.examples, self.pairs).shape[1], len(self.bias)))
        weights[self.columns] = self.coefficients
        return weights

    def contributions(self, rows: Integers, outputs: Integers) -> Floats:
        """The exact contribution of each word of the captions `rows` to outputs, beside the bias, `(words, outputs)`.
        A word has its own weight, divided among its places in the caption, and half of that of each pair that it is
        part of."""
        table = self.trial.examples.tokens
        columns, width = ngrams_of_tokens(table, self.pairs)
        columns = columns[table.positions(rows)]
        keys = np.where(columns == NO_PAIR, -1, table.select(rows).rows[:, None] * width + columns)
        _, number, times = np.unique(keys, return_inverse=True, return_counts=True)
        share = self.weights[:, outputs][columns] / times[number].reshape(*columns.shape, 1)
        share[columns == NO_PAIR] = 0
        words, pairs = share[:, 0], share[:, 1] / 2
        words += pairs
        words[1:] += pairs[:-1]  # the last word of a caption begins no pair
        return words


def features(examples: Examples, pairs: bool = True) -> csr_array:
    """The n-grams of all captions, and their pictures if they have any. The trials of one table share them, in whatever
    threads they are; those of the tables that were used last are kept."""
    with _counting:
        tables = _features.pop(examples, {})
        if pairs not in tables:
            tables[pairs] = _beside_pictures(ngrams(examples.tokens, pairs), examples.pictures)
        _features[examples] = tables
        for oldest in [*_features][:-KEPT_TABLES]:
            del _features[oldest]
        return tables[pairs]


def _beside_pictures(words: csr_array, pictures: Floats32 | None) -> csr_array:
    """The n-grams, and to their right the pictures' features, a picture as long as an average caption."""
    from scipy.sparse import csr_array, hstack

    if pictures is None:
        return words
    scale = np.float32(np.sqrt(words.nnz / max(words.shape[0], 1)))
    return csr_array(hstack([words, csr_array(pictures * scale)], format="csr"))


def ngrams(tokens: Tokens, with_pairs: bool = True) -> csr_array:
    """The words and pairs of neighbouring words of each caption as 0 and 1, `(captions, n-grams)`."""
    from scipy.sparse import csr_array, get_index_dtype

    columns, width = ngrams_of_tokens(tokens, with_pairs)
    begins_pair = columns[:, 1] != NO_PAIR
    columns = columns[columns != NO_PAIR]
    starts = tokens.offsets + np.concatenate(([0], np.cumsum(begins_pair)))[tokens.offsets]
    starts = starts.astype(get_index_dtype(maxval=len(columns)))
    counts = csr_array((np.ones(len(columns), np.float32), columns, starts), shape=(len(tokens), width))
    counts.sum_duplicates()
    counts.data[:] = 1
    return counts


def ngrams_of_tokens(tokens: Tokens, with_pairs: bool = True) -> tuple[Ids, int]:
    """The column of each token's word and of the pair that it begins, or `NO_PAIR`, `(tokens, 2)`; how many columns."""
    from pandas import factorize

    ids, words = tokens.ids, len(tokens.words)
    begins_pair = np.ones(len(ids), bool)
    begins_pair[tokens.offsets[1:][tokens.lengths > 0] - 1] = False
    begins_pair &= with_pairs
    firsts = np.flatnonzero(begins_pair)
    pairs, distinct = factorize(ids[firsts].astype(np.int64) * words + ids[firsts + 1], sort=True)
    # Two places a token, the second for the pair that it begins: in the order of the captions, so there is no sorting.
    columns = np.full((len(ids), 2), NO_PAIR, np.int32)
    columns[:, 0], columns[firsts, 1] = ids, words + pairs
    return columns, words + len(distinct)


def fit_tasks(features: csr_array, present: Flags) -> tuple[Floats32, Floats32]:
    """Weights of shape `(n-grams, tasks)` and biases of shape `(tasks,)`: one logistic regression a task.

    L-BFGS from zero (Nocedal and Wright 2006, algorithm 7.4), each weight scaled by the curvature it has there, so that
    a few steps come within 5% of the optimum. Every task takes its own steps: its fit does not depend on the others.
    Weights are penalised by `L2 / 2` times their square, biases are not.
    """
    n, width = features.shape
    half = np.float32(0.5)
    share = np.clip(present.mean(axis=0), 0.5 / n, 1 - 0.5 / n)
    counts = np.append(features.sum(axis=0), n)[:, None]
    penalty = np.append(np.full(width, L2), 0.0)[:, None].astype(np.float32)
    scale = (1 / np.sqrt(counts * share * (1 - share) + penalty)).astype(np.float32)
    sides = np.where(present, half, -half)

    def gradient(scaled: Floats32, tasks: slice | npt.NDArray[np.intp] = ALL) -> Floats32:
        weights: Floats32 = scaled * scale[:, tasks]
        # What is wrong with the probabilities. In double precision, for that of float32 is another on other processors.
        halves = weights * half
        error: Floats32 = features @ halves[:-1]
        error += halves[-1]
        np.tanh(error, out=error, dtype=np.float64, casting="unsafe")
        error *= half
        error -= sides[:, tasks]
        # The transpose as a view: its product goes through the captions one after the other.
        weights *= penalty
        weights[:-1] += features.T @ error
        weights[-1] += error.sum(axis=0)
        weights *= scale[:, tasks]
        return weights

    at = np.zeros(scale.shape, np.float32)
    at[-1] = np.log(share / (1 - share)) / scale[-1]
    slope, steps = gradient(at), deque[Step](maxlen=TASK_MEMORY)
    for _ in range(TASK_STEPS):
        step = _direction(slope, steps)
        ahead = gradient(at + step)
        # Along a convex line: where the slope has turned and is about as steep, the lowest point lies well behind.
        down, up = -_dot(slope, step), _dot(ahead, step)
        if len(far := np.flatnonzero(up > OVERSHOT * down)):
            step[:, far] *= np.maximum(down[far], 0) / np.maximum(up[far] + down[far], SMALLEST)
            ahead[:, far] = gradient(at[:, far] + step[:, far], far)
        steps.append(_remembered(step, ahead - slope))
        at, slope = at + step, ahead
    weights = at * scale
    return weights[:-1], weights[-1]


def _direction(slope: Floats32, steps: deque[Step]) -> Floats32:
    """The direction to go in from a slope, by the last steps."""
    way, shares = -slope, []
    for step, change, weight, _ in reversed(steps):
        shares.append(weight * _dot(step, way))
        way -= shares[-1] * change
    way *= steps[-1][3] if steps else FIRST_STEP
    for (step, change, weight, _), share in zip(steps, reversed(shares), strict=True):
        way += (share - weight * _dot(change, way)) * step
    return way


def _remembered(step: Floats32, change: Floats32) -> Step:
    """The step with the inverse curvature of each task along it, and the scale of the next one."""
    curvature, length = _dot(step, change), _dot(change, change)
    # Where a task no longer moves, rounding is all that is left of them: its step is passed over.
    moved = (curvature > SMALLEST) & (length > SMALLEST)
    weight = np.where(moved, 1 / np.where(moved, curvature, 1), 0)
    return step, change, weight, np.where(moved, curvature / np.where(moved, length, 1), 1)


def _dot(left: Floats32, right: Floats32) -> Floats32:
    """The product of each task's column with its other one."""
    product: Floats32 = (left * right).sum(axis=0)  # einsum adds otherwise on other processors
    return product
