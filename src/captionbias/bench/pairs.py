"""Pairs of an attribute value and a task: how often they are true and predicted together, and what that amplifies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.inputs import no_tasks
from captionbias.bench.labels import ImageLabels, Named
from captionbias.scores.cooccurrence import association, change
from captionbias.warnings import note

Expand = Callable[[Flags], Flags]
CONDITIONS = {"a_to_t": np.s_[:-1, -1:], "t_to_a": np.s_[-1:, :-1]}  # where what is conditioned on has its totals

ROWS_AT_ONCE = 10_000


def in_parts(rows: int, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Slices that cover so many rows, a part at a time: products of all rows would not fit into memory."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once))


class PairCounts:
    """Rows with each pair of a value and a task, each as often as it weighs, by the group of its image. `expand` makes
    flags `(rows, tasks)` of those of the rows' own tasks; `totals`: a last column of rows with any, and of all."""

    def __init__(
        self, rows: Named, groups: Integers, tasks: int, expand: Expand = np.asarray, totals: bool = False
    ) -> None:
        self._shape, group = (rows.attributes.shape[1] + totals, tasks + totals), groups[rows.image]
        parts = [self._parts(rows, group, part, expand, totals) for part in in_parts(len(group))]
        weight, cell, of_group = map(np.concatenate, zip(*parts, strict=True))
        self._counts = sparse(weight, (cell, of_group), (int(np.prod(self._shape)), int(groups.max()) + 1))

    def _parts(
        self, rows: Named, group: Integers, part: slice, expand: Expand, totals: bool
    ) -> tuple[Floats, Integers, Integers]:
        """The weight, the pair and the group of each pair in some of the rows."""
        values, named = rows.attributes[part], expand(rows.tasks[part])
        if totals:
            anything = values.any(axis=1) | named.any(axis=1)
            values, named = np.column_stack((values, anything)), np.column_stack((named, np.ones(len(named), bool)))
        row, task = np.nonzero(named)
        value, pair = np.nonzero(values[row].T)
        return rows.weight[part][row[pair]], value * self._shape[1] + task[pair], group[part][row[pair]]

    def of(self, multiplicity: Floats | None = None) -> Floats:
        """The counts with group `g` drawn `multiplicity[g, r]` times (None: once): `(values, tasks, replicates)`."""
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
        values, named = labels.predicted_attributes, labels.predicted_tasks
        compared = {}
        if named is not None:
            known = replace(data, attributes=shown.attributes[data.image])
            compared["a_to_t"] = known, labels.predicted(None, named)
        if values is not None:
            compared["t_to_a"] = replace(data, tasks=shown.tasks[data.image]), labels.predicted(values, None)
        count = partial(PairCounts, groups=groups, tasks=width, expand=expand, totals=True)
        counts = {name: (count(known), count(predicted)) for name, (known, predicted) in compared.items()}
        shows_task = np.zeros(width, bool)
        for part in in_parts(len(labels)):
            shows_task |= expand(shown.tasks[part]).any(axis=0)
        # A lexicon has words for more than these images show.
        values_kept, tasks_kept = (
            np.flatnonzero(flags | (not labels.from_captions)) for flags in (shown.attributes.any(axis=0), shows_task)
        )
        if not len(tasks_kept):
            raise no_tasks()
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
            table = whole(self._kept(counts.of())[:, :, 0])
            both = table[:-1, :-1]
            given = np.broadcast_to(table[CONDITIONS[direction]], both.shape)
            with np.errstate(invalid="ignore", divide="ignore"):
                columns |= {f"{name}given": given, f"{name}both": both, f"{name}probability": both / given}
        return columns

    def note_silence(self, notes: list[str]) -> None:
        """Predictions that name nothing, in another language than the lexicons', say."""
        for name, what in (("a_to_t", "task"), ("t_to_a", "attribute value")):
            if name in self.counts and not self.counts[name][1].of()[:-1, :-1].any():
                note(notes, f"no {what} is predicted for any image, so every pair reads as lost", about="predictions")

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
    training = labels.training
    data_groups = groups if training is None else np.zeros(len(training.image), np.int64)
    data = PairCounts(training or labels.human or labels.shown, data_groups, tasks, expand)
    predicted = labels.predicted(labels.predicted_attributes, labels.predicted_tasks)
    return data, PairCounts(predicted, groups, tasks, expand)


def whole(counts: Floats) -> Any:
    """Counts as whole numbers, if they are."""
    return counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
