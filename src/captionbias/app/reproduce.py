"""The command and the lines of Python that measure again what the app measured."""

from __future__ import annotations

import shlex
from typing import Any

from captionbias.app.upload_state import Chosen, Given
from captionbias.captions.columns import attribute_tables, id_columns, task_tables
from captionbias.captions.reader import TASK_COLUMN
from captionbias.captions.tables import Table

WORDS, TASK_WORDS = "attribute-words.json", "task-words.json"


def command(given: Given, chosen: Chosen, settings: dict[str, Any], own: dict[str, str]) -> str | None:
    """One command line; None where the command line would read the files otherwise than the app did.

    Args:
        settings: of the audit, see `captionbias.analysis.audit.Audit`.
        own: the files with somebody's own words, by `attribute` and `task`.
    """
    if given.again or not _read_alike(given, chosen):
        return None
    first = given.first()
    files = {
        "references": (given.references or first) if chosen.references else None,
        "attributes": _holder(chosen.attributes, attribute_tables(first, given.references, given.attributes)),
        "tasks": _holder(chosen.tasks, task_tables(first, given.references, given.attributes, given.tasks)),
    }
    columns = {
        "id": chosen.image_id,
        "prediction": chosen.predictions[0],
        "reference": chosen.references,
        "attribute": chosen.attributes,
        "task": chosen.tasks,
    }
    words = ["captionbias", "report"]
    words += [word for name, table in given.predictions.items() for word in ("--predictions", f"{name}={table.name}")]
    words += [word for role, table in files.items() if table for word in (f"--{role}", table.name)]
    words += [word for role, column in columns.items() if column for word in (f"--{role}-column", column)]
    words += [word for label in chosen.keep for word in ("--keep", label)]
    words += ["--attribute", own.get("attribute") or settings["attribute_lexicon"]]
    if task := own.get("task") or settings["task_lexicon"]:
        words += ["--task-lexicon", task]
    words += [word for metric in settings["metrics"] for word in ("--metric", metric)]
    words += ["--preset", settings["preset"], "--seed", str(settings["seed"])]
    words += ["--trials", str(settings["trials"])] if settings["trials"] else []
    return shlex.join(words)


def python(given: Given, chosen: Chosen, settings: dict[str, Any], own: dict[str, str]) -> str:
    """The same as Python, which reads all files as the app does."""
    asked = {
        "metrics": settings["metrics"],
        "preset": settings["preset"],
        "trials": settings["trials"],
        "seed": settings["seed"],
        "attribute_lexicon": own.get("attribute") or settings["attribute_lexicon"],
        "task_lexicon": own.get("task") or settings["task_lexicon"],
    }
    call = ",\n".join(f"    {name}={value!r}" for name, value in asked.items() if value is not None)
    return (
        "from captionbias.analysis.audit import audit\nfrom captionbias.report.html import write_report\n"
        f"{given.again or _reading(given, chosen)}\n"
        f"found = audit(\n    captioners,\n    **people,\n{call},\n)\n"
        'write_report(found, "report.html")\n'
    )


def _reading(given: Given, chosen: Chosen) -> str:
    tables = (given.references, given.attributes, given.tasks)
    files = ", ".join(repr(table.name if table else None) for table in tables)
    columns = "".join(f"    {name}={value!r},\n" for name, value in vars(chosen).items())
    return (
        "from captionbias.app.upload_state import Chosen, captioners_of, read_given\n\n"
        f"given = read_given({[table.name for table in given.predictions.values()]!r}, {files})\n"
        f"together = captioners_of(given, Chosen(\n{columns}))\n"
        "captioners, people = together.predictions, together.people\n"
    )


def _read_alike(given: Given, chosen: Chosen) -> bool:
    """Whether the command line, which has fewer ways to say what is what, reads the same from these files."""
    captioners, others = list(given.predictions.values()), [given.references, given.attributes, given.tasks]
    tables = [*captioners, *(table for table in others if table is not None)]
    names = [*given.predictions, *(table.name for table in tables)]
    if len(chosen.predictions) != 1 or len({table.name for table in tables}) < len(tables) or "=" in "".join(names):
        return False
    if len(captioners) > 1 and given.references is None and chosen.references:
        return False  # people's captions stand in each captioner's file
    if chosen.tasks is None and any(
        TASK_COLUMN in table.columns for table in (given.attributes, given.references, captioners[0]) if table
    ):
        return False  # the command line would take them
    if chosen.image_id is None:
        return len(tables) == 1
    return all(
        own == chosen.image_id
        for captioner in captioners
        for own in id_columns([captioner, *tables[len(captioners) :]], chosen.image_id).values()
    )


def _holder(column: str | None, tables: list[Table]) -> Table | None:
    """The table that a column is taken from."""
    return next((table for table in tables if column in table.columns), None)
