"""`captionbias consistency`: do attackers agree on captioners?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias import __version__
from captionbias.cli.options import (
    ATTACK,
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
    Metrics,
    Output,
    PredictionColumns,
    ReferenceColumn,
    References,
    Seed,
    TaskColumn,
    Tasks,
    Trials,
    Vectors,
)
from captionbias.cli.terminal import complaints, console, named, plain_errors, read_captioners

if TYPE_CHECKING:
    from captionbias.analysis.consistency import Cell

SCRATCH = ["lstm", "bilstm", "rnn", "birnn", "transformer-1h", "transformer-5h"]


def consistency(
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
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<encoder|name=encoder>",
            help="An attacker; say it once for each. All that are trained from scratch when none is named.",
            show_default=False,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    metric: Metrics = None,
    direction: Annotated[
        list[DirectionName] | None,
        typer.Option(metavar="<a_to_t|t_to_a>", help="One direction of DBAC only.", rich_help_panel=ATTACK),
    ] = None,
    vectors: Vectors = None,
    trials: Trials = None,
    seed: Seed = 0,
    bootstrap: Bootstrap = 0,
    cache: KeepTrials = True,
    output: Output = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write the scores as a plot, one HTML file.", rich_help_panel=RESULT)
    ] = None,
) -> None:
    """Do attackers agree? Coefficient of variation, conflicts and correlation of captioners' scores over encoders.

    Example: captionbias consistency --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.io.files import check_writable
    from captionbias.report import consistency_tables, write_json

    with plain_errors():
        from captionbias.analysis.consistency import consistency as study_of

        for target in filter(None, (output, plot)):
            check_writable(target)  # not after hours of training
        if plot:
            from captionbias.report.plots import consistency_plot, write_html
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
        sides = ("predictions", "references", "attributes", "tasks")
        captioners = {name: {side: getattr(captions, side) for side in sides} for name, captions in read.items()}
        chosen: dict[str, Any] = {"trials": trials, "seed": seed, "bootstrap": bootstrap, "cache": cache}
        chosen |= {"attribute_lexicon": attribute, "vectors": vectors}
        if direction:
            chosen["directions"] = [name.value for name in direction]
        study = study_of(
            captioners,
            named(encoder or SCRATCH, "encoder"),
            metrics=metric or ["lic", "dbac"],
            watch=None if console.quiet else _Watch().tell,
            **chosen,
        )
        for table in consistency_tables(study):
            console.print(table, markup=False)
        if output and not console.quiet:
            write_json({"version": __version__, **study.as_dict()}, output)
            console.print(f"everything is in {output}", highlight=False, markup=False, soft_wrap=True)
        if plot and not console.quiet:
            write_html(consistency_plot(study), plot)
            console.print(f"the plot is in {plot}", highlight=False, markup=False, soft_wrap=True)


class _Watch:
    """Tells on standard error what is measured, and how long the rest will take by what has been measured so far."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.running: tuple[Cell, float] | None = None

    def tell(self, left: Sequence[Cell]) -> None:
        now = time.monotonic()
        if self.running:
            cell, started = self.running
            self.seconds.setdefault((cell.encoder, cell.metric), []).append(now - started)
        self.running = left[0], now
        rest = f", about {_duration(self._expected(left))} to go" if self.seconds else ""
        captioner, encoder, metric = left[0]
        text = f"{len(left)} left: {metric} of {captioner} by {encoder}{rest}"
        complaints.print(text, highlight=False, markup=False, soft_wrap=True)

    def _expected(self, left: Sequence[Cell]) -> float:
        """An encoder that has not been measured counts as the mean of those that have."""
        means = {key: mean(times) for key, times in self.seconds.items()}
        return sum(means.get((cell.encoder, cell.metric), mean(means.values())) for cell in left)


def _duration(seconds: float) -> str:
    """A length of time in words.

    >>> _duration(42), _duration(190), _duration(9000)
    ('1 min', '3 min', '2 h 30 min')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
