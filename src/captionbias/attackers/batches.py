"""Which captions a training sees in which step, and those captions as padded numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from captionbias.arrays import Ids, Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.recipes import Schedule

UNKNOWN_ROW, PADDING_ROW, FIRST_WORD_ROW = 0, 1, 2
NOTHING = -1
POOL = 100
_ROWS_AT_ONCE = 100_000


def shape(trial: Trial, batch: int) -> tuple[int, int, bool]:
    """Trials of equal shape can be trained in one model: as many steps, targets of one kind."""
    return -(-len(trial.train) // batch), trial.examples.outputs, trial.examples.multilabel


def vocabulary(trial: Trial) -> tuple[Ids, int]:
    """The embedding row of each word, those that the training split lacks unknown; and the number of embedding rows."""
    tokens = trial.examples.tokens
    present = np.zeros(len(tokens.words), bool)
    for start in range(0, len(trial.train), _ROWS_AT_ONCE):
        present |= tokens.select(trial.train[start : start + _ROWS_AT_ONCE]).present()
    numbers = np.where(present, np.cumsum(present) - 1 + FIRST_WORD_ROW, UNKNOWN_ROW).astype(np.int32)
    return numbers, int(present.sum()) + FIRST_WORD_ROW


def epoch(trial: Trial, schedule: Schedule, number: int, generator: np.random.Generator) -> Integers:
    """The training rows of each step of an epoch, shape `(steps, batch)`, the longest caption of a step first.

    The step with the rest is filled up with `NOTHING`. Bucketed steps hold captions of like length: pools of 100
    batches are sorted. The order of a pool's batches depends on their count and the epoch alone, so that trials that
    are trained together meet captions of like length at the same time.
    """
    order = generator.permutation(len(trial.train))
    lengths = trial.examples.tokens.lengths[trial.train]
    if schedule.bucketed:
        pool = np.arange(len(order)) // (schedule.batch * POOL)
        order = order[np.lexsort((lengths[order], pool))]
    steps = _in_steps(order, schedule.batch)
    if schedule.bucketed:
        shared = np.random.default_rng([number, len(steps)])
        pools = np.split(np.arange(len(steps)), range(POOL, len(steps), POOL))
        steps = steps[np.concatenate([shared.permutation(members) for members in pools])]
    places = _longest_first(lengths, steps)
    return np.where(places == NOTHING, NOTHING, trial.train[places])


def by_length(trial: Trial, batch: int) -> Integers:
    """Places in `trial.test` in steps of like length, shape `(steps, batch)`, filled up with `NOTHING`."""
    lengths = trial.examples.tokens.lengths[trial.test]
    return _longest_first(lengths, _in_steps(np.argsort(lengths, kind="stable"), batch))


def _in_steps(order: Integers, batch: int) -> Integers:
    missing = -len(order) % batch
    return np.concatenate((order, np.full(missing, NOTHING))).reshape(-1, batch)


def _longest_first(lengths: Integers, steps: Integers) -> Integers:
    keys = np.where(steps == NOTHING, NOTHING, lengths[steps])
    return np.take_along_axis(steps, np.argsort(-keys, axis=1, kind="stable"), axis=1)


def pad(trials: Sequence[Trial], numbers: Sequence[Ids], rows: Integers) -> tuple[Integers, Integers]:
    """The captions `rows` of shape `(trials, batch)` as embedding rows `(trials, batch, longest)`, and their lengths.

    A caption without words is one unknown word, and so is the row `NOTHING`.
    """
    chosen = [
        trial.examples.tokens.select(of_trial[of_trial != NOTHING])
        for trial, of_trial in zip(trials, rows, strict=True)
    ]
    words = np.zeros(rows.shape, np.int64)
    words[rows != NOTHING] = np.concatenate([tokens.lengths for tokens in chosen])
    table = np.full((*rows.shape, int(words.max(initial=1))), PADDING_ROW, np.int64)
    table[words == 0, 0] = UNKNOWN_ROW
    taken = np.arange(table.shape[2]) < words[..., None]
    table[taken] = np.concatenate([own[tokens.ids] for own, tokens in zip(numbers, chosen, strict=True)])
    return table, np.maximum(words, 1)
