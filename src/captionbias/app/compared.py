"""The captioners of an earlier run beside those of another."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count

from captionbias.app.data import CAPTIONER, LABELS, PEOPLE, TASKS, TITLES, Data, as_said, counted, stem
from captionbias.captions.tables import Table

COLUMNS = {PEOPLE: "reference_column", LABELS: "attribute_column", TASKS: "task_column"}


def together(data: Data, earlier: Data, when: str = "earlier") -> Data:
    """The data with the captioners of earlier data beside their own, to be measured on the images that all have:
    people's captions, labels and tasks are those of the data. A captioner whose name is taken is called by when it was
    asked for, "nic (20:14 UTC)", say.
    """
    ids, captions = data.columns.id_column, data.columns.prediction_column
    if not (ids and earlier.columns.id_column):
        raise ValueError(
            "these runs share nothing to compare: without image ids nobody knows which captions are of the same "
            "images; give files with a column of ids"
        )
    caption = captions[0] if len(captions) == 1 else "caption"
    others = _others(data)
    tables, roles = list(others.values()), {table.name: role for role, table in others.items()}
    taken = {stem(name) for name in roles}
    for one in (data, earlier):
        for name, (source, column) in one.captioners.items():
            names = chain([name, f"{name} ({when})"], (f"{name} ({when}, {number})" for number in count(2)))
            free = next(each for each in names if each not in taken)
            table = _captioner(free, one.predictions[source], {ids: one.columns.id_column, caption: column})
            taken.add(free)
            tables.append(table)
            roles[table.name] = CAPTIONER
    columns = replace(data.columns, prediction_column=(caption,))
    return counted(replace(as_said(tables, roles), columns=columns, compared=True))


def clock(asked: float) -> str:
    """The time of day of a run that was asked for then, by the monotonic clock."""
    return time.strftime("%H:%M UTC", time.gmtime(time.time() - time.monotonic() + asked))


def _others(data: Data) -> dict[str, Table]:
    """The tables of what is known of the images, those among them that are beside a captioner's captions."""
    others = data.others
    for role, name in COLUMNS.items():
        column = getattr(data.columns, name)
        if column and not any(column in table.columns for table in others.values()):
            table = next(table for table in data.predictions.values() if column in table.columns)
            others[role] = table._replace(name=TITLES[role])
    return others


def _captioner(name: str, table: Table, columns: Mapping[str, str]) -> Table:
    """The ids and captions of a table, under these names. It is called like its file only where a command that names
    the file would read the same."""
    same = name == stem(table.name) and all(new == old for new, old in columns.items())
    return Table(table.name if same else name, tuple(columns), lambda column: table.column(columns[column]))
