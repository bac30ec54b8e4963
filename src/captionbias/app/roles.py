"""Which of the uploaded files is what: a captioner's captions, people's captions, labels, or tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from captionbias.captions import guess_columns
from captionbias.captions.columns import NAMES, plain_name
from captionbias.captions.tables import Table
from captionbias.captions.values import is_missing

CAPTIONER, PEOPLE, LABELS, TASKS, UNUSED = "predictions", "references", "attributes", "tasks", ""
TITLES = {
    CAPTIONER: "a captioner's captions",
    PEOPLE: "people's captions",
    LABELS: "labels",
    TASKS: "tasks (objects in the images)",
    UNUSED: "not used",
}
# Words in the name of a file or of a column of people's captions.
_PEOPLE = re.compile(
    r"(?<![a-z])(people|persons?|humans?|refs?|references?|gts?|ground[ _-]?truths?|annotators?"
    r"|captions[ _-]?(val|train|test)\d*)(?![a-z])",
    re.IGNORECASE,
)


class Role(NamedTuple):
    """What a table seems to be, and how surely: of several that can be one thing only, the surest is."""

    name: str
    sureness: int = 0


def roles_of(tables: Sequence[Table]) -> dict[str, str]:
    """What each table is, by its name. The order of the tables does not count.

    A table with captions is a captioner's, unless it has several of an image, or columns or a name that say that they
    are people's. One without captions has labels or else tasks. Of several that can be people's captions, labels or
    tasks the surest one is, and the others are not used.

    >>> from captionbias.captions.tables import table_from_memory
    >>> nic = table_from_memory({"image_id": [1, 2], "caption": ["a man", "a girl"]}, "nic.csv")
    >>> people = table_from_memory({"image_id": [1, 1], "caption": ["a man", "a guy"]}, "coco.csv")
    >>> roles_of([nic, people])
    {'nic.csv': 'predictions', 'coco.csv': 'references'}
    """
    found = {table.name: _role(table) for table in tables}
    surest: dict[str, str] = {}
    for name in sorted(found, key=lambda name: (-found[name].sureness, name)):
        surest.setdefault(found[name].name, name)
    return {name: role if role == CAPTIONER or surest[role] == name else UNUSED for name, (role, _) in found.items()}


def _role(table: Table) -> Role:
    guessed = {role: guess.column for role, guess in guess_columns(predictions=table).items()}
    caption, human = guessed["prediction_column"], guessed["reference_column"]
    labels, tasks = guessed["attribute_column"], guessed["task_column"]
    known = bool(labels) + bool(tasks)  # what else it says of the images
    if caption is None and human is None:
        if labels and (tasks is None or plain_name(labels) in NAMES["attribute_column"]):
            return Role(LABELS, plain_name(labels) in NAMES["attribute_column"])
        return Role(TASKS if tasks else UNUSED, int(plain_name(tasks or "") in NAMES["task_column"]))
    if caption is None:
        return Role(PEOPLE, 4 + known)
    if human is None and _several_an_image(table, guessed["id_column"]):
        return Role(PEOPLE, 3 + known)
    if human is None and any(map(_PEOPLE.search, (caption, Path(table.name).stem))):
        return Role(PEOPLE, known)
    return Role(CAPTIONER)


def _several_an_image(table: Table, ids: str | None) -> bool:
    """Whether many of the image ids are in several rows."""
    present = [value for value in (table.column(ids) if ids else []) if not is_missing(value)]
    return len(set(map(str, present))) < 0.9 * len(present)
