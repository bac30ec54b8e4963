"""`captionbias report`: everything about captioners' bias in one file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.options import (
    ATTACK,
    RESULT,
    Attribute,
    AttributeColumn,
    Attributes,
    Bootstrap,
    Captioners,
    IdColumn,
    Keep,
    KeepTrials,
    Metrics,
    PredictionColumns,
    ReferenceColumn,
    References,
    Seed,
    TaskColumn,
    TaskLexicon,
    Tasks,
    Trials,
    Vectors,
)
from captionbias.cli.terminal import console, plain_errors, read_captioners, steps


def report(
    predictions: Captioners,
    references: References = None,
    attributes: Attributes = None,
    tasks: Tasks = None,
    attribute: Attribute = "gender",
    task_lexicon: TaskLexicon = None,
    keep: Keep = None,
    id_column: IdColumn = None,
    prediction_column: PredictionColumns = None,
    reference_column: ReferenceColumn = None,
    attribute_column: AttributeColumn = None,
    task_column: TaskColumn = None,
    metric: Metrics = None,
    preset: Annotated[
        str,
        typer.Option(
            help="fast: a convex attacker, seconds to minutes. papers: lic-2022 and dbac-2026, with LSTMs; needs "
            "torch, and hours without a GPU.",
            rich_help_panel=ATTACK,
        ),
    ] = "fast",
    vectors: Vectors = None,
    trials: Trials = None,
    seed: Seed = 0,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Annotated[
        Path, typer.Option(help="The report, one HTML file that needs no network.", rich_help_panel=RESULT)
    ] = Path("report.html"),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write it as Markdown, for a pull request.", rich_help_panel=RESULT)
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--json", help="Also write all its data as JSON.", rich_help_panel=RESULT)
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the report.", rich_help_panel=RESULT)] = None,
) -> None:
    """Everything about captioners' bias in one file: scores, what drives them, words, quality, and how sure it all is.

    Example: captionbias report --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.io.files import check_writable
    from captionbias.report import write_json, write_text

    with plain_errors():
        from captionbias.captions import on_the_same_images

        written = [path for path in (output, markdown, data) if path]
        if len({path.resolve() for path in written}) < len(written):
            raise ValueError("--output, --markdown and --json: two name the same file; name each its own")
        for path in written:
            check_writable(path)  # not after hours of training
        from captionbias.analysis.audit import audit
        from captionbias.report.html import check_installed, write_report
        from captionbias.report.markdown import markdown_report

        check_installed()
        read = read_captioners(
            predictions,
            references=references,
            attributes=attributes,
            tasks=tasks,
            id_column=id_column,
            prediction_column=prediction_column,
            reference_column=reference_column,
            attribute=Path(attribute).stem,
            attribute_column=attribute_column,
            task_column=task_column,
            keep=keep,
        )
        given = on_the_same_images(read)
        chosen: dict[str, Any] = {"preset": preset, "trials": trials, "seed": seed, "bootstrap": bootstrap}
        chosen |= {"attribute_lexicon": attribute, "task_lexicon": task_lexicon, "vectors": vectors, "cache": cache}
        with steps() as watch:
            found = audit(given.predictions, **given.people, metrics=metric or ["dbac", "lic"], watch=watch, **chosen)
        if console.quiet:
            return
        command = shlex.join(["captionbias", *sys.argv[1:]])
        write_report(found, output, title=title, command=command)
        console.print(f"the report is in {output}", highlight=False, markup=False, soft_wrap=True)
        if markdown:
            write_text(markdown_report(found, command=command), markdown)
            console.print(f"as Markdown it is in {markdown}", highlight=False, markup=False, soft_wrap=True)
        if data:
            write_json(found.as_dict(), data)
            console.print(f"its data are in {data}", highlight=False, markup=False, soft_wrap=True)
