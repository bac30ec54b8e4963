"""`captionbias measure`: a command for each metric, and one for all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from captionbias.cli.options import FILES, METRIC, OUTPUT, PREDICTIONS, command, metric_options, split_options
from captionbias.cli.terminal import check_outputs, complaints, console, note, read_files, say, write_result
from captionbias.metrics import catalogue, find_metric

if TYPE_CHECKING:
    from captionbias.metrics import Measurement

measure = typer.Typer(
    no_args_is_help=True,
    help="Measure one metric on caption files (CSV, TSV, JSON, JSONL, Parquet, COCO results or COCO captions).",
)
COMMON = ("attribute_lexicon", "task_lexicon", "preset", "trials", "cache", "seed", "bootstrap")
EXAMPLE = "Example: captionbias measure {} --predictions nic.parquet --references people.parquet"


def _measure_one(metric: str, output: Path | None, **given: Any) -> None:
    from captionbias.report.terminal import measurement_table

    check_outputs(output=output)
    files, chosen = split_options(given)
    measured = _measured(metric, read_files(**files), chosen)
    console.print(measurement_table(measured))
    details = measured.details or {}
    counts = ", ".join(f"{count:,} {value}" for value, count in details["attribute_counts"].items())
    say(f"\n{details['images']:,} images: {counts}")
    say(f"signature {measured.signature}")
    write_result({"metric": metric, **_content(measured)}, output)


def _measure_all(output: Path | None, preset: str, **given: Any) -> None:
    from captionbias.report.terminal import score_table

    preset = {"published": "papers"}.get(preset, preset)
    if preset not in ("fast", "papers"):
        raise ValueError(f"preset {preset!r} is unknown; choose fast or papers")
    check_outputs(output=output)
    files, chosen = split_options(given)
    captions, found, refused = read_files(**files), {}, {}
    for metric in catalogue.METRICS:
        try:
            found[metric] = _measured(metric, captions, {**chosen, "preset": preset})
        except ValueError as error:
            refused[metric] = str(error)
    if not found:
        raise ValueError(next(iter(refused.values())))
    console.print(score_table(list(found.values())))
    for metric, reason in refused.items():
        note(f"note: no {metric}: {reason}")
    for measured in found.values():
        say(f"signature {measured.signature}")
    write_result({"metrics": {metric: _content(measured) for metric, measured in found.items()}}, output)


def _measured(metric: str, captions: Any, chosen: dict[str, Any]) -> Measurement:
    function = find_metric(metric)
    options = {**chosen, "progress": complaints.is_terminal, "details": True}
    accepted = {name: value for name, value in options.items() if name in function.options()}
    return function.measure(captions, **accepted)


def _content(measured: Measurement) -> dict[str, Any]:
    scores = measured.flat()
    return {"details": scores.pop("details"), "scores": scores}


for _entry in catalogue.METRICS.values():
    _taken = [name for name in METRIC if name in find_metric(_entry.name).options()]
    command(
        measure,
        _entry.name,
        PREDICTIONS | FILES | metric_options(*_taken) | OUTPUT,
        partial(_measure_one, _entry.name),
        f"{_entry.title}: {_entry.question}\n\n{EXAMPLE.format(_entry.name)}",
    )
command(
    measure,
    "all",
    PREDICTIONS | FILES | metric_options(*COMMON, preset="fast") | OUTPUT,
    _measure_all,
    f"Every metric that these captions allow, in one table.\n\n{EXAMPLE.format('all')}",
)
