"""`captionbias consistency`: do attackers agree on captioners?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from captionbias.cli.options import (
    CAPTIONERS,
    FILES,
    METRICS,
    OUTPUT,
    RESULT,
    Options,
    metric_options,
    option,
    split_options,
)
from captionbias.cli.terminal import console, named, note, read_captioners, say, write_result

if TYPE_CHECKING:
    from captionbias.analysis.consistency import Cell

SCRATCH = ["lstm-dbac", "bilstm", "rnn", "birnn", "transformer-1h", "transformer-5h"]
ENCODERS: Options = {
    "encoder": option(
        list[str] | None,
        "An attacker; repeat it for each attacker. All that are trained from scratch when none is named.",
        metavar="<encoder|name=encoder>",
        show_default=False,
    ),
    "plot": option(Path | None, "Write the scores as a plot, as .svg or .html.", panel=RESULT),
}
STUDIED = metric_options(
    "attribute_lexicon", "directions", "vectors", "trials", "seed", "bootstrap", "cache", bootstrap=0
)
OPTIONS = CAPTIONERS | FILES | ENCODERS | METRICS | STUDIED | OUTPUT


def consistency(
    encoder: list[str] | None, metrics: list[str] | None, plot: Path | None, output: Path | None, **values: Any
) -> None:
    """Do attackers agree? Coefficient of variation, conflicts and correlation of captioners' scores over encoders.

    Example: captionbias consistency --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.analysis.consistency import consistency as study_of
    from captionbias.report.charts import consistency_chart
    from captionbias.report.html import check_chart, write_chart
    from captionbias.report.terminal import consistency_tables

    if plot:
        check_chart(plot)
    files, chosen = split_options(values)
    study = study_of(
        read_captioners(**files),
        named(encoder or SCRATCH, "encoder"),
        metrics=metrics or ["lic", "dbac"],
        watch=None if console.quiet else _time_left(),
        **chosen,
    )
    for table in consistency_tables(study):
        console.print(table, markup=False)
    write_result(study.as_dict(), output)
    if plot and not console.quiet:
        write_chart(consistency_chart(study), plot, "Scores by encoder")
        say(f"the plot is in {plot}")


def _time_left() -> Callable[[Sequence[Cell]], None]:
    """Prints what is measured, and how long the rest will take, estimated from the measurements so far."""
    seconds: dict[tuple[str, str], list[float]] = {}
    running: list[tuple[Cell, float]] = []

    def show(left: Sequence[Cell]) -> None:
        now, rest = time.monotonic(), ""
        if running:
            cell, started = running.pop()
            seconds.setdefault((cell.encoder, cell.metric), []).append(now - started)
            means = {key: mean(times) for key, times in seconds.items()}
            usual = mean(means.values())  # of an encoder that has not been measured
            total = sum(means.get((cell.encoder, cell.metric), usual) for cell in left)
            rest = f", about {_duration(total)} to go"
        running.append((left[0], now))
        captioner, encoder, metric = left[0]
        note(f"{len(left)} left: {metric} of {captioner} by {encoder}{rest}")

    return show


def _duration(seconds: float) -> str:
    """A length of time in words.

    >>> _duration(42), _duration(190), _duration(9000)
    ('1 min', '3 min', '2 h 30 min')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
