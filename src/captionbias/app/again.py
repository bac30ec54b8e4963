"""The command and the lines of Python that measure again what the app measured."""

from __future__ import annotations

import shlex
from typing import Any

from captionbias.app.given import Chosen, Given
from captionbias.captions.tables import Table

WORDS, TASK_WORDS = "attribute-words.json", "task-words.json"


def command(given: Given, chosen: Chosen, settings: dict[str, Any], own: dict[str, str]) -> str | None:
    """One command line; None for data that are no files, or where columns have other names in each file.

    Args:
        settings: of the audit, see `captionbias.audit.Audit`.
        own: the files with somebody's own words, by `attribute` and `task`.
    """
    if given.again or len(chosen.predictions) != 1 or not _one_id(given, chosen):
        return None
    words = ["captionbias", "report"]
    for name, table in given.predictions.items():
        words += ["--predictions", f"{name}={table.name}"]
    files = {"references": given.references, "attributes": given.attributes, "tasks": given.tasks}
    for option, file in files.items():
        if file is not None:
            words += [f"--{option}", file.name]
        elif option == "references" and chosen.references:
            words += ["--references", next(iter(given.predictions.values())).name]
    columns = {
        "id": chosen.image_id,
        "prediction": chosen.predictions[0],
        "reference": chosen.references,
        "attribute": chosen.attributes,
        "task": chosen.tasks,
    }
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
    """The same as Python."""
    asked = {
        "metrics": settings["metrics"],
        "preset": settings["preset"],
        "trials": settings["trials"],
        "seed": settings["seed"],
        "attribute_lexicon": own.get("attribute") or settings["attribute_lexicon"],
        "task_lexicon": own.get("task") or settings["task_lexicon"],
    }
    given_lines = given.again or _reading(given, chosen)
    call = ",\n".join(f"    {name}={value!r}" for name, value in asked.items() if value is not None)
    return (
        "from captionbias.audit import audit\nfrom captionbias.report.html import write_report\n"
        f"{given_lines}\n"
        f"found = audit(\n    captioners,\n    **people,\n{call},\n)\n"
        'write_report(found, "report.html")\n'
    )


def _reading(given: Given, chosen: Chosen) -> str:
    tables = {"references": given.references, "attributes": given.attributes, "tasks": given.tasks}
    files = {name: table.name for name, table in tables.items() if table is not None}
    first = given.first()
    if "references" not in files and chosen.references and first is not None:
        files["references"] = first.name
    columns = {
        "id_column": chosen.image_id,
        "reference_column": chosen.references,
        "attribute_column": chosen.attributes,
        "task_column": chosen.tasks,
    }
    options: dict[str, Any] = {**files, **{name: column for name, column in columns.items() if column}}
    if chosen.keep:
        options["keep"] = list(chosen.keep)
    shared = "".join(f"    {name}={value!r},\n" for name, value in options.items())
    several = len(chosen.predictions) > 1
    names = {
        (column if several and len(given.predictions) == 1 else f"{name} {column}" if several else name): (
            table.name,
            column,
        )
        for name, table in given.predictions.items()
        for column in chosen.predictions
    }
    return (
        "from captionbias.captions import on_the_same_images, read_captions\n\n"
        f"files = dict(\n{shared})\n"
        f"given = {names!r}\n"
        "read = {\n"
        "    name: read_captions(predictions=file, prediction_column=column, **files)\n"
        "    for name, (file, column) in given.items()\n}\n"
        "together = on_the_same_images(read)\n"
        "captioners, people = together.predictions, together.people\n"
    )


def _one_id(given: Given, chosen: Chosen) -> bool:
    """Whether all files call the image ids alike, as the command line wants it."""
    tables: list[Table | None] = [*given.predictions.values(), given.references, given.attributes, given.tasks]
    return all(chosen.image_id in table.columns for table in tables if table is not None) or (
        chosen.image_id is None and sum(table is not None for table in tables) == 1
    )
