"""Pairs of an attribute value and a task: how often they are true and predicted together, and what that amplifies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.checks import no_tasks
from captionbias.bench.counted import Columns, Sums, sums_of_rows
from captionbias.bench.reading import ATTRIBUTES, TASKS, Reading, Side
from captionbias.scores.cooccurrence import association, change
from captionbias.scores.omega import number_sets
from captionbias.statistics.groups import UNIT, NamedUnits
from captionbias.warnings import note

Expand = Callable[[Flags], Flags]  # flags `(rows, tasks)` of those of the rows' own tasks
KNOWN, PREDICTED = "known", "predicted"
SETS, UNDIRECTED = "sets", ""  # tables of sets, and what goes by no image's own value or tasks
CONDITIONS = {"a_to_t": np.s_[:-1, -1:], "t_to_a": np.s_[-1:, :-1]}  # where what is conditioned on has its totals

ROWS_AT_ONCE = 10_000


def in_parts(rows: int, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Slices that cover so many rows, a part at a time: products of all rows would not fit into memory."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, max(rows, 1), at_once))


def pair_columns(side: Side, tasks: int, expand: Expand = np.asarray, with_totals: bool = False) -> Columns:
    """A column for each pair of a value and one of so many tasks; `with_totals`: also for a last value of rows with
    anything, and a last task of all rows."""
    shape, parts = (side.values.shape[1] + with_totals, tasks + with_totals), []
    for part in in_parts(len(side.image)):
        values, named = side.values[part], expand(side.tasks[part])
        if with_totals:
            anything = values.any(axis=1) | named.any(axis=1)
            values, named = np.column_stack((values, anything)), np.column_stack((named, np.ones(len(named), bool)))
        row, task = np.nonzero(named)
        value, pair = np.nonzero(values[row].T)
        parts.append((part.start + row[pair], value * shape[1] + task[pair]))
    rows, cells = map(np.concatenate, zip(*parts, strict=True))
    return Columns(side, sparse(np.ones(len(rows)), (rows, cells), (len(side.image), int(np.prod(shape)))))


def known_and_predicted(reading: Reading, tasks: int, expand: Expand = np.asarray) -> dict[str, Columns]:
    """Pairs in the training data, else the data, and in predictions."""
    known = pair_columns(reading.training or compared_side(reading, UNDIRECTED, KNOWN), tasks, expand)
    return {
        KNOWN: known._replace(resampled=reading.training is None),
        PREDICTED: pair_columns(compared_side(reading, UNDIRECTED, PREDICTED), tasks, expand),
    }


def compared_side(reading: Reading, direction: str, kind: str) -> Side:
    """The data or the predictions: from A to T an image's value with the tasks named, from T to A the value named with
    the image's tasks, undirected what is named."""
    sets = reading.counted[0].get((SETS, direction, kind)) if reading.counted else None
    if sets is not None:
        return _side_of_sets(sets, len(reading.values), len(reading.tasks))
    # From captions, the data are what people name, each human caption a row; from labels, what images show.
    side, truth = reading.predictions if kind == PREDICTED else reading.human or reading.truth, reading.truth
    if direction == "a_to_t":
        return replace(side, values=truth.values[side.image])
    return replace(side, tasks=truth.tasks[side.image]) if direction == "t_to_a" else side


def directions(predicted: Collection[str]) -> list[str]:
    """Those of which there are predictions; `predicted`: see `Reading`."""
    labels_of = {"a_to_t": TASKS, "t_to_a": ATTRIBUTES}
    return [direction for direction, labels in labels_of.items() if labels in predicted]


def set_columns(side: Side) -> Columns:
    """A column for each set of values and tasks."""
    numbers, sets = number_sets(np.column_stack((side.values, side.tasks)))
    counts = sparse(np.ones(len(numbers)), (np.arange(len(numbers)), numbers), (len(numbers), len(sets)))
    return Columns(side, counts, names=[row.tobytes().hex() for row in np.packbits(sets, axis=1)])


def _side_of_sets(sets: NamedUnits, values: int, tasks: int) -> Side:
    """Rows that count as much as all of a set in a group, which is their image."""
    table = sets.units.tocoo()
    column, group = table.coords
    packed = np.frombuffer(bytes.fromhex("".join(sets.names)), np.uint8).reshape(len(sets.names), -1)
    flags = np.unpackbits(packed, axis=1, count=values + tasks).astype(bool)[column]
    return Side(group, flags[:, :values], flags[:, values:], table.data / UNIT, np.zeros(len(group), np.uint64))


def as_pairs(sums: Floats, values: int) -> Floats:
    """The sums of columns of pairs as `(values, tasks, replicates)`."""
    return sums.reshape(values, -1, sums.shape[1])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a value and a task in the data and in predictions, of each direction that has predictions. A row is an
    image or a caption: from A to T its image's value with the task named, from T to A the value named with its image's
    task. The last row and column of each table are totals."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    columns: dict[tuple[str, str], Columns]  # by direction, known and predicted
    training: Floats | None  # the pairs that say what goes together, if not the data's
    indices: tuple[Integers, Integers]  # the rows and columns of values and tasks that count
    values: int  # of the columns, totals included

    @classmethod
    def of(cls, reading: Reading, tasks: tuple[str, ...], expand: Expand = np.asarray) -> Pairs:
        """Count them; `tasks`: the names of those that `expand` makes of the reading's own."""
        count = partial(pair_columns, tasks=len(tasks), expand=expand, with_totals=True)
        columns = {
            (direction, kind): count(compared_side(reading, direction, kind))
            for direction in directions(reading.predicted)
            for kind in (KNOWN, PREDICTED)
        }
        shows_task = reading.shown[1] > 0 if expand is np.asarray else np.zeros(len(tasks), bool)
        if expand is not np.asarray:
            _, sets = number_sets(compared_side(reading, "t_to_a", KNOWN).tasks)
            for part in in_parts(len(sets)):
                shows_task |= expand(sets[part]).any(axis=0)
        # A lexicon has words for more than these images show.
        values_kept, tasks_kept = (
            np.flatnonzero(shown | (not reading.from_captions)) for shown in (reading.shown[0] > 0, shows_task)
        )
        if not len(tasks_kept) and not reading.part:
            raise no_tasks()
        rows = len(reading.values) + 1
        training = {KNOWN: count(reading.training)} if reading.training else {}
        return cls(
            tuple(reading.values[number] for number in values_kept),
            tuple(tasks[number] for number in tasks_kept),
            columns,
            as_pairs(sums_of_rows(training)[KNOWN], rows) if training else None,
            (values_kept, tasks_kept),
            rows,
        )

    def amplification(self, sums: Sums) -> dict[str, Floats]:
        """Each direction's `y * Delta` of each pair: shape `(values, tasks, replicates)`, nan where undefined."""
        parts = {}
        for direction, delta in self.changes(sums).items():
            known = self._table(sums, direction, KNOWN) if self.training is None else self.training
            parts[direction] = association(known[:-1, :-1], known[:-1, -1:], known[-1:, :-1], known[-1:, -1:]) * delta
        return parts

    def changes(self, sums: Sums) -> dict[str, Floats]:
        """Each direction's `Delta` of each pair, likewise."""
        deltas = {}
        for direction in dict.fromkeys(direction for direction, _ in self.columns):
            data, predicted = (self._table(sums, direction, kind) for kind in (KNOWN, PREDICTED))
            condition = CONDITIONS[direction]
            deltas[direction] = change(predicted[:-1, :-1], predicted[condition], data[:-1, :-1], data[condition])
        return deltas

    def table(self, parts: Mapping[str, Floats], sums: Sums) -> dict[str, list[dict[str, Any]]]:
        """One row a pair in each direction, of `amplification()` or `changes()`, the largest shares first."""
        tables = {}
        for direction, amplified in parts.items():
            shares = amplified[:, :, 0] / np.count_nonzero(~np.isnan(amplified))
            columns = {"share": shares, **self._cells(sums, direction)}
            tables[direction] = pair_rows(self.attributes, self.tasks, columns)
        return tables

    def _cells(self, sums: Sums, direction: str) -> dict[str, Any]:
        """How often what is given occurs, how often both of a pair do, and the share of these in those."""
        columns: dict[str, Any] = {}
        for name, kind in (("", KNOWN), ("predicted_", PREDICTED)):
            table = whole(self._table(sums, direction, kind)[:, :, 0])
            both = table[:-1, :-1]
            occurrences = np.broadcast_to(table[CONDITIONS[direction]], both.shape)
            with np.errstate(invalid="ignore", divide="ignore"):
                columns |= {f"{name}given": occurrences, f"{name}both": both, f"{name}probability": both / occurrences}
        return columns

    def note_silence(self, sums: Sums, notes: list[str]) -> None:
        """Predictions that name nothing, in another language than the lexicons', say."""
        for direction, what in (("a_to_t", "task"), ("t_to_a", "attribute value")):
            table = sums.get((direction, PREDICTED))
            if table is not None and not as_pairs(table, self.values)[:-1, :-1].any():
                note(notes, f"no {what} is predicted for any image, so every pair counts as lost", about="predictions")

    def _table(self, sums: Sums, direction: str, kind: str) -> Floats:
        table = as_pairs(sums[direction, kind], self.values)
        return np.asarray(table[np.ix_(*(np.append(numbers, -1) for numbers in self.indices))])


def pair_rows(attributes: Sequence[str], tasks: Sequence[str], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a pair, of columns `(values, tasks)`, the largest `share` first; what is undefined is None."""
    shares = columns["share"]
    order = np.argsort(-np.nan_to_num(np.abs(shares), nan=-1.0), axis=None, kind="stable")
    return [
        {"attribute": attributes[value], "task": tasks[task]}
        | {name: None if np.isnan(cells[value, task]) else cells[value, task].item() for name, cells in columns.items()}
        for value, task in zip(*np.unravel_index(order, shares.shape), strict=True)
    ]


def whole(counts: Floats) -> Any:
    """Counts as whole numbers, if they are."""
    return counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
