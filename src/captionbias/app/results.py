"""What was measured, as files to download, and the command that measures the same again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.app.data import CAPTIONER, LEAN, Data, stem
from captionbias.io.files import write_text
from captionbias.io.formats import json_text
from captionbias.report import views
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.text.languages import ENGLISH

OPTION_NAMES = {"attribute_lexicon": "attribute", "metrics": "metric"}  # where the command line has another name


@dataclass(frozen=True, eq=False)
class RunResult:
    """What was measured, and how to repeat it; `whole`: whether all that was asked for is in it; `compared`:
    whether its captioners are to be compared. Its `folder` is deleted with it."""

    audit: Audit
    command: str | None
    whole: bool
    compared: bool = False
    folder: TemporaryDirectory[str] = field(default_factory=lambda: TemporaryDirectory(prefix="captionbias-app-"))

    @cached_property
    def report(self) -> str:
        return html_report(self.audit, command=self.command, compared=self.compared)

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files to download, written now: the report, everything as JSON, the tables as CSV."""
        tables = {"scores": views.scores(self.audit), "differences": views.differences(self.audit.comparisons.values())}
        texts = {
            "report.html": self.report,
            "report.md": markdown_report(self.audit, command=self.command),
            "everything.json": json_text(self.audit.as_dict(), indent=2),
            **{f"{name}.csv": grid.csv() for name, grid in tables.items() if grid.rows},
        }
        paths = {name: Path(self.folder.name, name) for name in texts}
        for name, path in paths.items():
            write_text(texts[name], path)
        return paths


# The same again


def again(data: Data, settings: Mapping[str, Any], lexicons: Mapping[str, str]) -> str | None:
    """The command line, or None for data that are not files."""
    files = {"predictions": [table.name for table in data.of(CAPTIONER)]}
    files |= {argument: [table.name] for argument, table in data.others.items()}
    files |= {LEAN: [table.name for table in data.of(LEAN)]}
    if any(stem(name) == name for name in chain(*files.values())):
        return None
    chosen = {name: settings[name] for name in ("metrics", "preset", "trials", "seed") if settings[name] is not None}
    options = {**files, **vars(data.columns), **chosen, **lexicons}
    if data.columns.language == ENGLISH:
        del options["language"]
    words = ["captionbias", "report"]
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"--{OPTION_NAMES.get(name, name).replace('_', '-')}", str(each)]
    return shlex.join(words)
