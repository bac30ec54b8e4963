"""`captionbias data`: datasets from the original files of the studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from captionbias.cli.terminal import complaints, needs, plain_errors, say

data = typer.Typer(no_args_is_help=True, help="Datasets from the original files of the studies.")


@data.command()
def build(
    name: Annotated[str, typer.Argument(help="Such as coco_caption_bias; docs/datasets.md lists them.")],
    source: Annotated[Path, typer.Option("--from", help="The folder with the original files.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to write, new or empty.")],
    configurations: Annotated[
        list[str] | None,
        typer.Option("--config", help="A configuration to write; repeat it for several. Default: all."),
    ] = None,
) -> None:
    """Write a dataset as Parquet files with its card, ready for load_dataset(FOLDER) and for the Hub.

    The card of each dataset lists the original files and where they come from.

    Example: captionbias data build coco_caption_bias --from coco --to coco-caption-bias
    """
    with plain_errors():
        with needs("data"):
            import ijson  # noqa: F401
            import pycocotools  # noqa: F401
            from datasets import disable_progress_bars

            from captionbias.datasets.build import build_dataset, reasons

        if not complaints.is_terminal:
            disable_progress_bars()
        built = build_dataset(name, source, to, configurations)
        for configuration, rows in built.rows.items():
            left_out = reasons(built.left_out[configuration])
            say(f"{configuration}: {rows:,} rows; left out: {left_out}")
        say(f"load_dataset({str(built.folder)!r}, {next(iter(built.rows))!r}) reads it")


def add(app: typer.Typer) -> None:
    app.add_typer(data, name="data")
