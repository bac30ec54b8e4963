"""Pairs of an attribute value and a task: how often they are true and predicted together, and what that amplifies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.inputs import NO_TASKS
from captionbias.bench.label_inputs import ImageLabels, Named
from captionbias.scores.cooccurrence import association, change
from captionbias.warnings import note

Expand = Callable[[Flags], Flags]
CONDITIONS = {"a_to_t": np.s_[:-1, -1:], "t_to_a": np.s_[-1:, :-1]}  # where what is conditioned on has its totals

ROWS_AT_ONCE = 10_000


def in_parts(rows: int, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Slices that cover so many rows, a part at a time: products of all rows would not fit into memory."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once))


class PairCounts:
    """Rows with each pair of a label on the left and one on the right, by the group of the row's image."""

    def __init__(self, groups: Integers, left: int, right: int) -> None:
        self._group = groups
        self._shape = left, right
        self._cells: list[Integers] = []
        self._groups: list[Integers] = []

    def add(self, image: Integers, left: Flags, right: Flags) -> None:
        """Count rows: the image of each, `(rows,)`, and its labels, `(rows, left)` and `(rows, right)`."""
        row, column = np.nonzero(right)
        for label, flags in enumerate(left.T):
            both = flags[row]
            self._cells.append(label * self._shape[1] + column[both])
            self._groups.append(self._group[image[row[both]]])

    @cached_property
    def _counts(self) -> Any:
        """How often each group has each pair: sparse, `(pairs, groups)`."""
        cells, groups = np.concatenate(self._cells), np.concatenate(self._groups)
        return sparse(np.ones(len(cells)), (cells, groups), (int(np.prod(self._shape)), int(self._group.max()) + 1))

    def of(self, multiplicity: Floats | None = None) -> Floats:
        """The counts with group `g` drawn `multiplicity[g, r]` times (None: once): `(left, right, replicates)`."""
        flat = self._counts.sum(axis=1)[:, None] if multiplicity is None else self._counts @ multiplicity
        return np.asarray(flat, np.float64).reshape(*self._shape, -1)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a value and a task in the data and in predictions, of each direction that has predictions. A row is an
    image or a caption: from A to T its image's value with the task named, from T to A the value named with its image's
    task. The last row and column of each table are totals."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    counts: dict[str, tuple[PairCounts, PairCounts]]
    training: Floats | None  # those that say what goes together, if not the data's
    kept: tuple[Integers, Integers]  # the rows and columns of values and tasks that count

    @classmethod
    def of(cls, labels: ImageLabels, groups: Integers, tasks: tuple[str, ...], expand: Expand = np.asarray) -> Pairs:
        """Count them. `expand` makes flags of shape `(rows, tasks)` of those of the labels' own tasks."""
        shown, width = labels.shown, len(tasks)
        # From captions, the data are what people name, each human caption a row; from labels, what images show.
        data = labels.human or shown
        compared = {}
        if labels.predicted_tasks is not None:
            named = Named(data.image, shown.attributes[data.image], data.tasks)
            compared["a_to_t"] = named, replace(shown, tasks=labels.predicted_tasks)
        if labels.predicted_attributes is not None:
            named = Named(data.image, data.attributes, shown.tasks[data.image])
            compared["t_to_a"] = named, replace(shown, attributes=labels.predicted_attributes)
        count = partial(count_pairs, groups=groups, tasks=width, expand=expand, totals=True)
        counts = {name: (count(named), count(predicted)) for name, (named, predicted) in compared.items()}
        shows_task = np.zeros(width, bool)
        for part in in_parts(len(labels)):
            shows_task |= expand(shown.tasks[part]).any(axis=0)
        # A lexicon has words for more than these images show.
        values_kept, tasks_kept = (
            np.flatnonzero(flags | (not labels.from_captions)) for flags in (shown.attributes.any(axis=0), shows_task)
        )
        if not len(tasks_kept):
            raise ValueError(NO_TASKS)
        return cls(
            tuple(labels.attributes[number] for number in values_kept),
            tuple(tasks[number] for number in tasks_kept),
            counts,
            count(labels.training, groups=np.zeros(len(labels.training.image), np.int64)).of()
            if labels.training
            else None,
            (values_kept, tasks_kept),
        )

    def amplification(self, multiplicity: Floats | None = None) -> dict[str, Floats]:
        """Each direction's `y * Delta` of each pair: shape `(values, tasks, replicates)`, nan where undefined."""
        parts = {}
        for name, delta in self.changes(multiplicity).items():
            known = self._kept(self.counts[name][0].of(multiplicity)) if self.training is None else self.training
            parts[name] = association(known[:-1, :-1], known[:-1, -1:], known[-1:, :-1], known[-1:, -1:]) * delta
        return parts

    def changes(self, multiplicity: Floats | None = None) -> dict[str, Floats]:
        """Each direction's `Delta` of each pair, likewise."""
        deltas = {}
        for name, sides in self.counts.items():
            data, predicted = (self._kept(side.of(multiplicity)) for side in sides)
            given = CONDITIONS[name]
            deltas[name] = change(predicted[:-1, :-1], predicted[given], data[:-1, :-1], data[given])
        return deltas

    def table(self, parts: Mapping[str, Floats]) -> dict[str, list[dict[str, Any]]]:
        """One row a pair in each direction, of `amplification()` or `changes()`, the largest shares first."""
        tables = {}
        for name, amplified in parts.items():
            shares = amplified[:, :, 0] / np.count_nonzero(~np.isnan(amplified))
            tables[name] = pair_rows(self.attributes, self.tasks, {"share": shares, **self._columns(name)})
        return tables

    def _columns(self, direction: str) -> dict[str, Any]:
        """How often what is given occurs, how often both of a pair do, and the share of these in those."""
        columns: dict[str, Any] = {}
        for name, counts in zip(("", "predicted_"), self.counts[direction], strict=True):
            table = self._kept(counts.of())[:, :, 0].astype(np.int64)
            both = table[:-1, :-1]
            given = np.broadcast_to(table[CONDITIONS[direction]], both.shape)
            with np.errstate(invalid="ignore", divide="ignore"):
                columns |= {f"{name}given": given, f"{name}both": both, f"{name}probability": both / given}
        return columns

    def note_silence(self, notes: list[str]) -> None:
        """Predictions that name nothing, in another language than the lexicons', say."""
        for name, what in (("a_to_t", "task"), ("t_to_a", "attribute value")):
            if name in self.counts and not self.counts[name][1].of()[:-1, :-1].any():
                note(notes, f"predictions: no {what} is predicted for any image, so every pair reads as lost")

    def _kept(self, table: Floats) -> Floats:
        return np.asarray(table[np.ix_(*(np.append(numbers, -1) for numbers in self.kept))])


def pair_rows(attributes: Sequence[str], tasks: Sequence[str], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a pair, of columns `(values, tasks)`, the largest `share` first; what is undefined is None."""
    shares = columns["share"]
    order = np.argsort(-np.nan_to_num(np.abs(shares), nan=-1.0), axis=None, kind="stable")
    return [
        {"attribute": attributes[value], "task": tasks[task]}
        | {name: None if np.isnan(cells[value, task]) else cells[value, task].item() for name, cells in columns.items()}
        for value, task in zip(*np.unravel_index(order, shares.shape), strict=True)
    ]


def data_source(labels: ImageLabels) -> dict[str, str]:
    """What predictions are compared with, for a signature."""
    return {"data": "images" if labels.human is None else "references"} if labels.from_captions else {}


def data_and_predictions(
    labels: ImageLabels, groups: Integers, tasks: int, expand: Expand = np.asarray
) -> tuple[PairCounts, PairCounts]:
    """Pairs in the training data, else the data, and in predictions, where what is not predicted is as shown."""
    shown, training = labels.shown, labels.training
    values, named = labels.predicted_attributes, labels.predicted_tasks
    predictions = Named(
        shown.image, shown.attributes if values is None else values, shown.tasks if named is None else named
    )
    data_groups = groups if training is None else np.zeros(len(training.image), np.int64)
    data = count_pairs(training or labels.human or shown, data_groups, tasks, expand)
    return data, count_pairs(predictions, groups, tasks, expand)


def count_pairs(rows: Named, groups: Integers, tasks: int, expand: Expand, totals: bool = False) -> PairCounts:
    """Rows with each pair of a value and a task, `expand`ed; `totals`: a last column of rows with any, and of all."""
    counts = PairCounts(groups, rows.attributes.shape[1] + totals, tasks + totals)
    for part in in_parts(len(rows.image)):
        values, named = rows.attributes[part], expand(rows.tasks[part])
        if totals:
            anything = values.any(axis=1) | named.any(axis=1)
            values, named = np.column_stack((values, anything)), np.column_stack((named, np.ones(len(named), bool)))
        counts.add(rows.image[part], values, named)
    return counts
