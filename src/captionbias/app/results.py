"""What was measured, as files to download, and the command that measures the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.app.data import Data
from captionbias.io.files import write_text
from captionbias.io.formats import json_text
from captionbias.report import views
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.text import Lexicon
from captionbias.text.languages import ENGLISH

OPTIONS = {"attribute_lexicon": "attribute", "metrics": "metric"}  # where the command line has another name


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured, warnings of its input, how to repeat it, and custom words. Its
    `folder` is deleted with it; `whole`: whether all that was asked for is in it."""

    audit: Audit
    notes: tuple[str, ...]
    command: str | None
    custom: tuple[Lexicon, ...]
    folder: TemporaryDirectory[str] = field(default_factory=lambda: TemporaryDirectory(prefix="captionbias-app-"))
    whole: bool = True

    @cached_property
    def report(self) -> str:
        return html_report(self.audit, command=self.command)

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files to download, written now: the report, everything as JSON, the tables as CSV, custom words as JSON."""
        tables = {"scores": views.scores(self.audit), "differences": views.differences(self.audit.comparisons.values())}
        texts = {
            "report.html": self.report,
            "report.md": markdown_report(self.audit, command=self.command),
            "everything.json": json_text(self.audit.as_dict(), indent=2),
            **{f"{name}.csv": grid.csv() for name, grid in tables.items() if grid.rows},
        }
        for lexicon in self.custom:
            texts[f"{lexicon.name}.json"] = json_text({"groups": lexicon.groups, "mask": lexicon.mask}, indent=2)
        paths = {name: Path(self.folder.name, name) for name in texts}
        for name, path in paths.items():
            write_text(texts[name], path)
        return paths


# The same again


def again(data: Data, settings: dict[str, Any], lexicons: dict[str, Any]) -> str | None:
    """The command line, or None for data that are not files or share a file name. `lexicons`: the words that were
    chosen, by setting: names, and custom words, which are in a file called like them."""
    predictions = {name: table.name for name, table in data.predictions.items()}
    others = {argument: table.name for argument, table in data.others.items()}
    files = [*predictions.values(), *others.values()]
    if len(set(files)) < len(files) or not all(Path(file).suffix for file in files):
        return None
    named = [file if Path(file).stem == name else f"{name}={file}" for name, file in predictions.items()]
    chosen = {name: settings[name] for name in ("metrics", "preset", "trials", "seed") if settings[name] is not None}
    words = {
        name: f"{source.name}.json" if isinstance(source, Lexicon) else source for name, source in lexicons.items()
    }
    options = {"predictions": named, **others, **vars(data.columns), **chosen, **words}
    if data.columns.language == ENGLISH:
        del options["language"]
    return shlex.join(["captionbias", "report", *_flags(options)])


def _flags(options: dict[str, Any]) -> Iterator[str]:
    """Options as the command line takes them, several values one by one."""
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from (f"--{OPTIONS.get(name, name).replace('_', '-')}", str(each))
