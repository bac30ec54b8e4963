"""`captionbias card`: measured bias in the card of a dataset or of a model."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.options import Options, command, option
from captionbias.cli.terminal import say

card = typer.Typer(
    no_args_is_help=True,
    help="Put measured bias into a dataset or model card; run again with new results to replace it.",
)

INPUT: Options = {
    "path": (
        Annotated[Path, typer.Argument(metavar="PATH", help="A README.md, or the folder that holds it.")],
        Parameter.empty,
    ),
    "results": option(
        list[Path],
        "What captionbias measure --output wrote; repeat it for each file.",
        default=Parameter.empty,
        panel=None,
    ),
}
MEASURED: Options = {
    "dataset": option(
        str,
        "The dataset on the Hub that was measured on.",
        default=Parameter.empty,
        panel=None,
        metavar="OWNER/NAME",
    ),
    "dataset_revision": option(str | None, "Its commit, 40 hexadecimal digits.", panel=None, metavar="COMMIT"),
    "model_name": option(str | None, "The model's name in a new model-index.", panel=None, show_default="the folder's"),
    "date": option(str | None, "The date of the measurement, such as 2026-01-31.", panel=None, show_default="today"),
    "source_url": option(str | None, "A link to how it was measured.", panel=None),
    "source_name": option(str | None, "The name of that link.", panel=None, show_default="captionbias"),
    "source_user": option(str | None, "The user on the Hub.", panel=None),
}


def _run(function: str, path: Path, results: list[Path], **options: Any) -> None:
    """Update the card, and print which files changed."""
    try:
        from captionbias.hub import cards
    except ModuleNotFoundError as error:
        raise ValueError(f"{error}: pip install 'captionbias[hub]' first") from error
    for line in getattr(cards, function)(path, cards.read_results(results), **options) or ["nothing changed"]:
        say(str(line))


command(
    card,
    "dataset",
    INPUT,
    partial(_run, "update_dataset_card"),
    """The bias of the human captions, as a section of a dataset card.

    Example: captionbias card dataset README.md --results human.json
    """,
)
command(
    card,
    "model",
    INPUT | MEASURED,
    partial(_run, "update_model_card"),
    """The captioner's amplification: a section of a model card, its model-index, and .eval_results/captionbias.yaml.

    Example: captionbias card model README.md --results all.json --dataset someone/captions
    """,
)
