"""`captionbias compare`: which differences between captioners are more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias import __version__
from captionbias.cli.options import (
    ATTACK,
    FAST,
    OF_PRESET,
    RESULT,
    Attribute,
    AttributeColumn,
    Attributes,
    Bootstrap,
    Captioners,
    DirectionName,
    IdColumn,
    Keep,
    KeepTrials,
    Model,
    Output,
    Precision,
    PredictionColumns,
    ReferenceColumn,
    References,
    Seed,
    TaskColumn,
    Tasks,
    Trials,
    Vectors,
)
from captionbias.cli.terminal import complaints, console, plain_errors, read_captioners


def compare(
    predictions: Captioners,
    references: References = None,
    attributes: Attributes = None,
    tasks: Tasks = None,
    attribute: Attribute = "gender",
    keep: Keep = None,
    id_column: IdColumn = None,
    prediction_column: PredictionColumns = None,
    reference_column: ReferenceColumn = None,
    attribute_column: AttributeColumn = None,
    task_column: TaskColumn = None,
    metric: Annotated[
        str, typer.Option(metavar="<lic|dbac>", help="What to compare.", rich_help_panel=ATTACK)
    ] = "dbac",
    preset: Annotated[
        str | None,
        typer.Option(
            help=f"The metric's protocol. {FAST}",
            show_default="lic-2022 or dbac-2026",
            rich_help_panel=ATTACK,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<key>",
            help="Compare this key of the metric's result, such as leakage; say it once for each. LIC, or DBAC as "
            "published and matched, when none is named.",
            show_default=False,
            rich_help_panel=RESULT,
        ),
    ] = None,
    direction: Annotated[
        list[DirectionName] | None,
        typer.Option(metavar="<a_to_t|t_to_a>", help="One direction of DBAC only.", rich_help_panel=ATTACK),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The attacker, as captionbias measure takes it.", show_default=OF_PRESET, rich_help_panel=ATTACK
        ),
    ] = None,
    model: Model = None,
    precision: Precision = None,
    vectors: Vectors = None,
    trials: Trials = None,
    seed: Seed = 0,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Output = None,
) -> None:
    """Which captioner is more biased? Differences of scores on the same images, with intervals and p-values.

    Example: captionbias compare --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.io.files import check_writable
    from captionbias.report import comparison_tables, write_json

    with plain_errors():
        from captionbias.analysis.compare import compare as comparison_of
        from captionbias.captions import on_the_same_images

        if output:
            check_writable(output)  # not after hours of training
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
        chosen: dict[str, Any] = {"encoder": encoder, "trials": trials, "model": model}
        chosen |= {"precision": precision, "seed": seed, "bootstrap": bootstrap, "cache": cache}
        chosen |= {"attribute_lexicon": attribute, "vectors": vectors, "progress": complaints.is_terminal}
        if preset:
            chosen["preset"] = preset
        if direction:
            if metric != "dbac":
                raise ValueError(f"--direction is of DBAC; leave it out with --metric {metric}")
            chosen["directions"] = [name.value for name in direction]
        found = comparison_of(
            given.predictions,
            **given.people,
            metric=metric,
            scores=score,
            watch=None if console.quiet else _tell,
            **chosen,
        )
        for table in comparison_tables(found):
            console.print(table, markup=False)
        images = len(given.people["attributes"])
        console.print(f"\n{images:,} images", highlight=False, markup=False)
        console.print(f"signature {found.signature}", highlight=False, markup=False, soft_wrap=True)
        if output and not console.quiet:
            write_json({"version": __version__, "images": images, **found.as_dict()}, output)
            console.print(f"everything is in {output}", highlight=False, markup=False, soft_wrap=True)


def _tell(left: Sequence[str]) -> None:
    complaints.print(f"{len(left)} left: {left[0]}", highlight=False, markup=False, soft_wrap=True)
