"""Labels in: which attribute values or tasks each image has, as names or as 0/1 arrays, and what is wrong with them."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from captionbias.arrays import Array, Flags
from captionbias.captions.values import as_list, is_column, is_missing

SHOWN_NAMES = 5


@dataclass(frozen=True, eq=False)
class Labels:
    """Which labels each of `n` images has: `flags` of shape `(n, len(names))`. Made by `check_labels`.

    `numbered`: the names are column numbers, because the labels came as an array without names. `listed`: the labels
    came as names, in no order that the columns of an array could follow.
    """

    flags: Flags
    names: tuple[str, ...]
    numbered: bool
    listed: bool

    def __len__(self) -> int:
        return len(self.flags)


def check_labels(argument: str, value: Any, known: Labels | None = None, known_as: str = "") -> Labels:
    """The labels of `n` images, from any of the ways to give them.

    Args:
        argument: what errors call `value`.
        value: `n` strings, one label an image; `n` lists of strings, an empty one for an image without; or a 0/1 array
            (numpy, torch, pandas) of shape `(n, labels)`, whose columns a pandas table names.
        known: labels that `value` must stay among, column for column or name for name: those of the truth for
            predictions. `known_as`: what errors call them.

    Returns:
        The labels; names sorted, or in the order of the columns, or as in `known`.

    Raises:
        ValueError: names the argument, the first bad row and the way out.

    >>> labels = check_labels("tasks", [["knife", "cake"], [], ["cake"]])
    >>> labels.names, labels.flags.astype(int).tolist()
    (('cake', 'knife'), [[1, 1], [0, 0], [1, 0]])
    >>> check_labels("tasks", [[0, 1], [1, 2]])
    Traceback (most recent call last):
    ValueError: tasks[1] holds 2: an array of labels holds 0 and 1 alone; give those, or lists of names
    """
    if hasattr(value, "detach"):  # a torch tensor, on whatever device
        value = value.detach().cpu().numpy()
    if _is_table(value):
        labels = _from_array(argument, value, known, known_as)
    else:
        rows = as_list(argument, value)
        if not rows:
            raise ValueError(f"{argument} has no rows: give the labels of at least one image")
        first: Any = next((row for row in rows if not (is_column(row) and len(row) == 0)), "")
        numbers = is_column(first) and not isinstance(first[0], str) and not is_missing(first[0])
        labels = (
            _from_array(argument, rows, known, known_as) if numbers else _from_names(argument, rows, known, known_as)
        )
    if known is None and not labels.flags.any():
        raise ValueError(f"{argument} has no label in any image: name what the images show")
    return labels


def join_labels(argument: str, labels: Labels, further_argument: str, further: Labels) -> tuple[Labels, Labels]:
    """Both over all the names of either, columns of 0 added; arrays without names must have as many columns.

    Raises:
        ValueError: one has names and the other none, or their numbers of columns differ.
    """
    if labels.numbered != further.numbered or (labels.numbered and labels.names != further.names):
        raise ValueError(
            f"{further_argument} has {len(further.names)} labels ({_some(further.names)}), {argument} "
            f"{len(labels.names)} ({_some(labels.names)}): give both as names, or as arrays of the same columns"
        )
    names = tuple(dict.fromkeys((*labels.names, *further.names)))
    return _over(labels, names), _over(further, names)


def _over(labels: Labels, names: tuple[str, ...]) -> Labels:
    flags = np.zeros((len(labels), len(names)), bool)
    flags[:, [names.index(name) for name in labels.names]] = labels.flags
    return Labels(flags, names, labels.numbered, labels.listed)


def _is_table(value: Any) -> bool:
    return getattr(value, "ndim", 1) == 2


def _from_array(argument: str, value: Any, known: Labels | None, known_as: str) -> Labels:
    columns = getattr(value, "columns", None)
    try:
        array = np.asarray(value)
    except ValueError as error:
        unlike = (row for row, cells in enumerate(value) if not (is_column(cells) and len(cells) == len(value[0])))
        raise ValueError(
            f"{argument}[{next(unlike, 0)}] has not one number a label, as other rows have: an array of labels has one "
            "column a label; give 0 for a label that an image lacks, or give lists of names"
        ) from error
    if array.dtype.kind not in "biuf":
        array = np.asarray(value, object)  # columns of several kinds, or cells that are no numbers
    if array.ndim != 2:
        raise ValueError(
            f"{argument} has shape {array.shape}: an array of labels has one row an image, one column a label"
        )
    if not array.size:
        raise ValueError(f"{argument} has shape {array.shape}: give at least one image and one label")
    names = tuple(map(str, range(array.shape[1]) if columns is None else columns))
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise ValueError(f"{argument} has more than one column {twice[0]!r}: give each label one column")
    if known is not None:
        if known.listed and columns is None:
            raise ValueError(
                f"{argument} is an array without names and {known_as} has names: give both as arrays, or both as names"
            )
        if array.shape[1] != len(known.names):
            raise ValueError(
                f"{argument} has {array.shape[1]} columns and {known_as} has {len(known.names)} labels "
                f"({_some(known.names)}): give the same ones, in the same order"
            )
        if columns is not None and not known.numbered and names != known.names:
            raise ValueError(
                f"{argument} has the columns {_some(names)}, {known_as} the labels {_some(known.names)}: "
                "give the same ones, in the same order"
            )
        names = known.names
    return Labels(_flags(argument, array), names, columns is None and (known is None or known.numbered), False)


def _flags(argument: str, array: Array) -> Flags:
    if array.dtype == bool:
        return array
    bad = (
        ~np.asarray(np.frompyfunc(_is_flag, 1, 1)(array), bool)
        if array.dtype == object
        else (array != 0) & (array != 1)
    )
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"{argument}[{row}] holds {reprlib.repr(array[row].tolist()[column])}: an array of labels holds 0 and 1 "
            "alone; give those, or lists of names"
        )
    return array.astype(bool)


def _is_flag(cell: object) -> bool:
    return isinstance(cell, (Real, np.bool_)) and cell in (0, 1)


def _from_names(argument: str, rows: list[Any], known: Labels | None, known_as: str) -> Labels:
    lists = [[row] if isinstance(row, str) else row for row in rows]
    for number, row in enumerate(lists):
        if not isinstance(row, (list, tuple)):
            lists[number] = _list(f"{argument}[{number}]", row)
    flat = list(chain.from_iterable(lists))
    if not all(issubclass(kind, str) for kind in set(map(type, flat))) or not all(map(str.strip, flat)):
        _refuse_names(argument, lists)
    flat = list(map(str.strip, flat))
    names = known.names if known is not None else tuple(sorted(set(flat)))
    if flat and known is not None and known.numbered:
        raise ValueError(
            f"{argument} has names and {known_as} is an array without names: give both as arrays, or both as names"
        )
    numbers = {name: number for number, name in enumerate(names)}
    if set(flat) - set(numbers):
        row, name = next((row, name.strip()) for row, name in _each(lists) if name.strip() not in numbers)
        raise ValueError(
            f"{argument}[{row}] names {reprlib.repr(name)}, which is no label of {known_as} ({_some(names)}): leave it "
            "out, or correct its spelling"
        )
    flags = np.zeros((len(lists), len(names)), bool)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    flags[np.repeat(np.arange(len(lists)), counts), [numbers[name] for name in flat]] = True
    return Labels(flags, names, False, True)


def _list(place: str, row: Any) -> list[Any]:
    if is_missing(row):
        raise ValueError(f"{place} is missing ({row}): give a label, a list of labels, or an empty list")
    if not is_column(row):
        raise ValueError(f"{place} is of type {type(row).__name__}: give a label, or a list of labels")
    return as_list(place, row)


def _refuse_names(argument: str, lists: list[Any]) -> None:
    for row, name in _each(lists):
        if not isinstance(name, str):
            raise ValueError(
                f"{argument}[{row}] holds {reprlib.repr(name)}, of type {type(name).__name__}: a label is a string"
            )
        if not name.strip():
            raise ValueError(f"{argument}[{row}] holds an empty label: name it, or take it out")


def _each(lists: list[Any]) -> Iterable[tuple[int, Any]]:
    return ((row, name) for row, names in enumerate(lists) for name in names)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
