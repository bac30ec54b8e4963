"""What a user changes about data: which file is what, which columns are read, and whose captions are beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Any

from captionbias.app.data import (
    CAPTIONER,
    LABELS,
    PEOPLE,
    TASKS,
    UNUSED,
    Columns,
    Data,
    as_said,
    captioners_of,
    corrected,
    counted,
)
from captionbias.captions.captioners import captioner_columns
from captionbias.captions.tables import Table


def roles(
    data: Data,
    captioners: list[str] | str | None,
    people: str | None = None,
    labels: str | None = None,
    tasks: str | None = None,
) -> Data:
    """The files as the user says what they are, by their names; those that are not named are not used. A file that is
    named as two things is the later one: events may come twice, and the second one must change nothing."""
    tables = [table for _, table in data.tables()]
    before = {table.name: role for role, table in data.tables()}
    after = dict.fromkeys(before, UNUSED)
    for role, names in ((CAPTIONER, captioners), (PEOPLE, people), (LABELS, labels), (TASKS, tasks)):
        for name in listed(names):
            if name not in after:
                raise ValueError(f"there is no file {name!r}: the files are {', '.join(map(repr, after)) or 'none'}")
            after[name] = role
    return data if after == before else as_said(tables, after)


def columns(data: Data, **given: Any) -> Data:
    """The data with the columns and the language as the user corrects them, and only images with the labels to keep, by
    their names in `Columns`."""
    usual = vars(replace(Columns(), language=data.columns.language))
    read: dict[str, Any] = {
        name: tuple(listed(given.get(name))) if isinstance(value, tuple) else str(given.get(name) or value)
        for name, value in usual.items()
    }
    return corrected(data, Columns(**read))


def listed(chosen: Any) -> list[str]:
    """A choice, of one name or of several, as a list of names."""
    return [str(name) for name in ([chosen] if isinstance(chosen, str) else chosen or []) if name]


def together(data: Data, earlier: Data) -> Data:
    """The data with the captioners of earlier data beside their own, to be measured on the images that all have:
    people's captions and labels are those of the data. A captioner whose name is taken is called "nic (2)", say."""
    ids, captions = data.columns.id_column, data.columns.prediction_column
    if not (ids and earlier.columns.id_column):
        raise ValueError(
            "these runs share nothing to compare: without image ids nobody knows which captions are of the same "
            "images; give files with a column of ids"
        )
    caption = captions[0] if len(captions) == 1 else "caption"
    tables: dict[str, Table] = {}
    for name, table, columns in chain(_captioners(data), _captioners(earlier)):
        names = chain([name], (f"{name} ({number})" for number in count(2)))
        free = next(name for name in names if name not in tables)
        same = free == name and columns == (ids, caption)  # else no command can name it
        own = dict(zip((ids, caption), columns, strict=True))
        tables[free] = Table(table.name if same else free, (ids, caption), partial(_column, table, own))
    others = dict(data.others)
    needed = {PEOPLE: "reference_column", LABELS: "attribute_column", TASKS: "task_column"}
    for role, column in ((role, getattr(data.columns, column)) for role, column in needed.items()):
        if column and not any(column in table.columns for table in others.values()):
            others[role] = next(table for table in data.predictions.values() if column in table.columns)
    read = replace(data.columns, prediction_column=(caption,))
    both = counted(Data(tables, others, columns=read, offered={**data.offered, "prediction_column": (caption,)}))
    captioners_of(both)
    return both


def _captioners(data: Data) -> Iterator[tuple[str, Table, tuple[str, str]]]:
    """Each captioner's name, its table, and the columns of ids and captions there."""
    found = captioner_columns(list(data.predictions), data.columns.prediction_column)
    for name, (table, column) in found.items():
        yield name, data.predictions[table], (data.columns.id_column, column)


def _column(table: Table, own: dict[str, str], name: str) -> list[Any]:
    return table.column(own[name])
