"""The command and the lines of Python that reproduce what the page measured."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from captionbias.app.upload_state import Columns, Data

WORDS, TASK_WORDS = "attribute-words.json", "task-words.json"
OPTIONS = {"attribute_lexicon": "attribute", "metrics": "metric"}  # where the command line has another name


def command(data: Data, columns: Columns, settings: dict[str, Any], own: dict[str, str]) -> str | None:
    """One command line; None for data that are not files, or that are files of one name.

    Args:
        settings: of the audit, see `captionbias.analysis.audit.Audit`.
        own: the files with the user's words, by `attribute` and `task`.
    """
    predictions, others = _files(data)
    files = [*predictions.values(), *others.values()]
    if data.code or len(set(files)) < len(files):
        return None
    named = [file if Path(file).stem == name else f"{name}={file}" for name, file in predictions.items()]
    words = ["captionbias", "report"]
    for name, value in {"predictions": named, **others, **vars(columns), **_audit(settings, own)}.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"--{OPTIONS.get(name, name).replace('_', '-')}", str(each)]
    return shlex.join(words)


def python(data: Data, columns: Columns, settings: dict[str, Any], own: dict[str, str]) -> str:
    """The same as Python."""
    predictions, others = _files(data)
    options = {**others, **vars(columns), "keep": columns.keep or None}
    read = (
        "from captionbias.captions import on_the_same_images, read_captioners\n\n"
        f"captioners = on_the_same_images(read_captioners(\n    {predictions!r},\n{_lines(options)}))\n"
    )
    return (
        "from captionbias.analysis.audit import audit\nfrom captionbias.report.html import write_report\n"
        f"{data.code or read}"
        f"found = audit(\n    captioners,\n{_lines(_audit(settings, own))})\n"
        'write_report(found, "report.html")\n'
    )


def _files(data: Data) -> tuple[dict[str, str], dict[str, str]]:
    """The captioners' files, and the others."""
    others = {name: getattr(data, name) for name in ("references", "attributes", "tasks")}
    return (
        {name: table.name for name, table in data.predictions.items()},
        {name: table.name for name, table in others.items() if table},
    )


def _audit(settings: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    """The settings that are not defaults, with the user's words as files."""
    names = ("metrics", "preset", "trials", "seed", "attribute_lexicon", "task_lexicon")
    files = {f"{kind}_lexicon": file for kind, file in own.items()}
    return {name: value for name in names if (value := files.get(name, settings[name])) is not None}


def _lines(arguments: dict[str, Any]) -> str:
    return "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
