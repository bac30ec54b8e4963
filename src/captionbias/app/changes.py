"""What a user changes about data: which file is what, and which columns are read."""

from __future__ import annotations

from dataclasses import replace
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
    corrected,
)


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
