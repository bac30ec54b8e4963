"""Which captions a training sees in which step, and those captions as padded numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from captionbias.arrays import Ids, Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.recipes import Schedule

UNKNOWN_ROW, PADDING_ROW, FIRST_WORD_ROW = 0, 1, 2
POOL = 100


def vocabulary(trial: Trial) -> tuple[Ids, int]:
    """The embedding row of each word, those that the training split lacks unknown; and the number of embedding rows."""
    present = trial.examples.tokens.select(trial.train).present()
    numbers = np.where(present, np.cumsum(present) - 1 + FIRST_WORD_ROW, UNKNOWN_ROW).astype(np.int32)
    return numbers, int(present.sum()) + FIRST_WORD_ROW


def epochs(trial: Trial, schedule: Schedule) -> Iterator[Integers]:
    """The training rows of each step of a whole training."""
    generator = np.random.default_rng([trial.seed, 2])
    for _ in range(schedule.epochs):
        yield from epoch(trial, schedule, generator)


def epoch(trial: Trial, schedule: Schedule, generator: np.random.Generator) -> list[Integers]:
    """The training rows of each step of an epoch, the longest caption of a step first.

    Bucketed steps hold captions of like length: pools of 100 batches are sorted, and their batches shuffled.
    """
    rows = generator.permutation(trial.train)
    if not schedule.bucketed:
        return [step[by_length(trial, step)] for step in steps(rows, schedule.batch)]
    order = []
    for pool in steps(rows, schedule.batch * POOL):
        pool_batches = steps(pool[by_length(trial, pool)], schedule.batch)
        order += [pool_batches[number] for number in generator.permutation(len(pool_batches))]
    return order


def by_length(trial: Trial, rows: Integers) -> Integers:
    """The places of these rows, the longest caption first."""
    return np.argsort(-trial.examples.tokens.lengths[rows], kind="stable")


def steps(rows: Integers, size: int) -> list[Integers]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def pad(trial: Trial, numbers: Ids, rows: Integers) -> tuple[Integers, Integers]:
    """The captions `rows` as embedding rows `(captions, longest)`, and their lengths; one without words is an unknown
    word."""
    tokens = trial.examples.tokens.select(rows)
    lengths = np.maximum(tokens.lengths, 1)
    table = np.full((len(rows), int(lengths.max(initial=1))), PADDING_ROW, np.int64)
    table[:, 0] = UNKNOWN_ROW
    table[np.arange(table.shape[1]) < tokens.lengths[:, None]] = numbers[tokens.ids]
    return table, lengths
