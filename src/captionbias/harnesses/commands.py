"""`captionbias harness`: what a harness needs to measure bias, in a folder to copy and change."""

from __future__ import annotations

import json
from inspect import Parameter
from pathlib import Path
from typing import Any

import typer

from captionbias.cli.options import FILES, Options, argument, command, file_option, result_option
from captionbias.cli.terminal import say
from captionbias.errors import unknown

HARNESSES = ("lmms-eval", "vlmevalkit", "lighteval")
LMMS_METRIC = "  - {{metric: {0}, aggregation: !function utils.{0}, higher_is_better: {1}}}"
OPTIONS: Options = {
    "name": argument(str, f"{', '.join(HARNESSES)}; Inspect needs no folder.", metavar="<harness>"),
    "images": file_option(str, "The folder of images, in files named by their ids.", default=Parameter.empty),
    **{name: FILES[name] for name in ("references", "attributes", "tasks")},
    "attribute": file_option(
        str, "The attribute that the labels are of, and the name of their column.", default="gender"
    ),
    "output": result_option(Path, "The folder to write, new or empty.", default=Parameter.empty, file_okay=False),
}


def harness(name: str, output: Path, images: str, **people: Any) -> None:
    """Write a task for a harness: its files, to change as you like, and in images.jsonl what is known about the images.

    Example: captionbias harness lmms-eval --images val2014 --references people.parquet --output caption_bias
    """
    from captionbias.harnesses.rows import NUMBERS, OF, WORST, images_of

    if name not in HARNESSES:
        raise unknown("name", name, HARNESSES)
    if output.exists() and any(output.iterdir()):
        raise ValueError(f"{output} is not empty: name a new folder, or remove what is in it")
    rows = images_of(images, **people)
    own = (Path(__file__).parent / name.replace("-", "_")).glob("[a-z]*.*")
    files = {file.name: file.read_text(encoding="utf-8") for file in own}
    files["images.jsonl"] = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    if name == "lmms-eval":
        metrics = (LMMS_METRIC.format(key, "false" if key == WORST else "null") for key in (*NUMBERS, OF))
        files["caption_bias.yaml"] += "\n".join(["metric_list:", *metrics, ""])
    output.mkdir(parents=True, exist_ok=True)
    for file_name, text in files.items():
        (output / file_name).write_text(text, encoding="utf-8", newline="")
    say(f"written: {output}, with {len(rows):,} images; docs/harnesses.md says how to run it")


def add(app: typer.Typer) -> None:
    command(app, "harness", OPTIONS, harness)
