"""`captionbias card`: measured bias in the card of a dataset or of a model."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.options import Options, command, option
from captionbias.cli.terminal import needs, say

card = typer.Typer(
    no_args_is_help=True,
    help="Put measured bias into a dataset or model card; run again with new results to replace it.",
)

flag = partial(option, panel=None)
INPUT: Options = {
    "path": (
        Annotated[Path, typer.Argument(metavar="PATH", help="A README.md, or the folder that holds it.")],
        Parameter.empty,
    ),
    "results": flag(
        list[Path], "What captionbias measure --output wrote; repeat it for each file.", default=Parameter.empty
    ),
}
MEASURED: Options = {
    "dataset": flag(str, "The dataset on the Hub that was measured on.", default=Parameter.empty, metavar="OWNER/NAME"),
    "dataset_revision": flag(str | None, "Its commit, 40 hexadecimal digits.", metavar="COMMIT"),
    "model_name": flag(str | None, "The model's name in the picture.", show_default="the folder's"),
    "date": flag(str | None, "The date of the measurement, such as 2026-01-31.", show_default="of the commit"),
    "source_url": flag(str | None, "A link to how it was measured."),
    "source_name": flag(str | None, "The name of that link.", show_default="captionbias"),
    "source_user": flag(str | None, "The user on the Hub."),
}


def _run(function: str, path: Path, results: list[Path], **options: Any) -> None:
    """Update the card, and print which files changed."""
    with needs("hub"):
        from captionbias.hub import cards
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
    """The captioner's amplification: a section of a model card, and .eval_results/captionbias.yaml.

    Example: captionbias card model README.md --results all.json --dataset someone/captions
    """,
)
