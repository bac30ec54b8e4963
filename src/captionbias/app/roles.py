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
    """What each table is, by its name: with captions a captioner's, unless several of an image, its columns or its name
    say that they are people's; else labels or tasks. Of several that can be one of these the surest is, whatever their
    order."""
    roles = {table.name: _role(table) for table in tables}
    surest: dict[str, str] = {}
    for name in sorted(roles, key=lambda name: (-roles[name].sureness, name)):
        surest.setdefault(roles[name].name, name)
    return {name: role if role == CAPTIONER or surest[role] == name else UNUSED for name, (role, _) in roles.items()}


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
