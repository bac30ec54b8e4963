"""`captionbias count`: whole numbers of captions' shards, which add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from captionbias.cli.options import FILES, METRICS, Options, argument, command, metric_options, option, result_option
from captionbias.cli.terminal import say

COLUMNS = "id_column", "attribute_column", "reference_column", "task_column", "weight_column", "scene_column"
COUNTING: Options = {
    "frequency_column": option(str, "Of how many images a row stands.", panel="Columns"),
    "sample": option(int, "Keep so many images with their captions, for what does not add up.", panel="Result"),
    "min_cell": option(int, "Leave out counts of fewer images, before the file is published.", panel="Result"),
    "processes": option(int, "How many shards are counted at a time.", default=1, panel="Result"),
    "output": result_option(Path, "The counts.", default=Path("counts.parquet")),
}
OPTIONS = (
    {"shards": argument(list[str], "Parquet, JSONL or CSV files with a row an image, or folders of them.")}
    | {"prediction_column": option(str, "The captioner's captions.", default="caption", panel="Columns")}
    | {name: FILES[name] for name in (*COLUMNS, "language")}
    | METRICS
    | metric_options("attribute_lexicon", "task_lexicon", "lean", "draws", "seed", draws=1)
    | COUNTING
)


def add(app: typer.Typer) -> None:
    command(app, "count", OPTIONS, count)


def count(shards: list[str], output: Path, **values: Any) -> None:
    """Count captions by the million: counts of shards add, on any machine, to those of all.

    A shard has columns of image ids, captions and labels, and of lists of human captions, if --reference-column names
    it. Then: captionbias measure sway --counts counts.parquet

    Example: captionbias count shards/ --output counts.parquet --sample 50000
    """
    from captionbias.counting.shards import count_files

    options = {name: value for name, value in values.items() if value is not None}
    for name in ("attribute_column", "reference_column", "attribute_lexicon"):
        if name in options:
            options[name] = options[name][0]
    if "attribute_column" not in options:
        options["attribute_column"] = options["attribute_lexicon"]
    count_files(shards, output, **options)
    say(f"the counts are in {output}: captionbias measure sway --counts {output}")
