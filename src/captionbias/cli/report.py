"""`captionbias report`: everything about captioners' bias in one file."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from captionbias.cli.options import (
    CAPTIONERS,
    COUNTS,
    FILES,
    MARGINS,
    METRICS,
    REPLICATES,
    Options,
    metric_options,
    result_option,
    split_options,
)
from captionbias.cli.terminal import console, read_captioners, say, show, steps
from captionbias.errors import InputError, missing

WRITTEN: Options = {
    "output": result_option(
        Path, "The report, one HTML file that needs no network, or Markdown (.md).", default=Path("report.html")
    ),
    "markdown": result_option(Path, "Also write it as Markdown, for a pull request."),
    "json": result_option(Path, "Also write all its data as JSON."),
    "title": result_option(str, "The title of the report."),
}
REPORTED = (
    metric_options(
        *("attribute_lexicon", "task_lexicon", "lean", "preset", "vectors", "trials", "seed", "bootstrap", "cache"),
        preset="fast",
    )
    | REPLICATES
)
OPTIONS = CAPTIONERS | COUNTS | FILES | METRICS | REPORTED | MARGINS | WRITTEN

OF_COUNTS = "seed", "bootstrap", "margins"  # the rest was chosen when captions were counted


def report(
    metrics: list[str] | None,
    output: Path,
    markdown: Path | None,
    json: Path | None,
    title: str | None,
    picture_of: Callable[[str], str] | None = None,
    **values: Any,
) -> None:
    """Everything about captioners' bias in one file: scores, what drives them, words, quality, and uncertainty.

    Example: captionbias report --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.analysis.audit import audit, audit_counts
    from captionbias.io.files import check_ending, write_text
    from captionbias.io.formats import write_json
    from captionbias.report.html import check_installed, write_report
    from captionbias.report.leaderboard import QUALITY_TITLE, audit_leaderboard, quality_leaderboard
    from captionbias.report.markdown import markdown_report
    from captionbias.report.views import bars_table

    check_ending(output, ".html", ".htm", ".md")
    check_installed()
    files, chosen = split_options(values)
    if not files["predictions"] and not files["counts"]:
        raise missing("predictions", "and what captionbias count wrote are both missing: give one")
    with steps() as watch:
        captioners = read_captioners(**files)
        if files["counts"]:
            if metrics and metrics != ["sway"]:
                raise InputError("metrics", ": a report of counts has sway alone; leave it out")
            options = {name: value for name, value in chosen.items() if name in OF_COUNTS}
            audited = audit_counts(captioners, watch=watch, **options)
        else:
            audited = audit(captioners, metrics=metrics or None, watch=watch, **chosen)
    if console.quiet:
        return
    show([bars_table(audit_leaderboard(audited))])
    if quality := quality_leaderboard(audited):
        show([bars_table(quality, QUALITY_TITLE.format(**quality.called))])
    command = shlex.join(["captionbias", *(re.sub(r"(^|=)/.*/", r"\1", word) for word in sys.argv[1:])])  # no folders
    data = Path(files["references"] or "").name
    as_page = output.suffix.lower() != ".md"
    if as_page:
        write_report(audited, output, title=title, data=data, command=command, picture_of=picture_of)
        say(f"the report is in {output}")
    for path in filter(None, [markdown, None if as_page else output]):
        write_text(markdown_report(audited, data=data, command=command), path)
        say(f"as Markdown it is in {path}")
    if json:
        write_json(audited.as_dict(), json)
        say(f"its data are in {json}")
