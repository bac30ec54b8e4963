"""`captionbias card`: measured bias in the card of a dataset or of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.terminal import plain_errors, say

card = typer.Typer(
    no_args_is_help=True,
    help="Put measured bias into a dataset or model card; run again with new results to replace it.",
)

Place = Annotated[Path, typer.Argument(metavar="PATH", help="A README.md, or the folder that holds it.")]
ResultFiles = Annotated[
    list[Path],
    typer.Option("--results", help="What captionbias measure --output wrote; repeat it for each file."),
]


@card.command("dataset")
def card_dataset(path: Place, results: ResultFiles) -> None:
    """The bias of the human captions, as a section of a dataset card.

    Example: captionbias card dataset README.md --results human.json
    """
    _run("update_dataset_card", path, results)


@card.command("model")
def card_model(
    path: Place,
    results: ResultFiles,
    dataset: Annotated[str, typer.Option(metavar="OWNER/NAME", help="The dataset on the Hub that was measured on.")],
    dataset_revision: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Its commit, 40 hexadecimal digits.")
    ] = None,
    model_name: Annotated[
        str | None, typer.Option(help="The model's name in a new model-index.", show_default="the folder's")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="When it was measured, such as 2026-01-31.", show_default="today")
    ] = None,
    source_url: Annotated[str | None, typer.Option(help="A link to how it was measured.")] = None,
    source_name: Annotated[str | None, typer.Option(help="The name of that link.", show_default="captionbias")] = None,
    source_user: Annotated[str | None, typer.Option(help="The user on the Hub.")] = None,
) -> None:
    """The captioner's amplification: a section of a model card, its model-index, and .eval_results/captionbias.yaml.

    Example: captionbias card model README.md --results all.json --dataset someone/captions
    """
    _run(
        "update_model_card",
        path,
        results,
        dataset=dataset,
        dataset_revision=dataset_revision,
        model_name=model_name,
        date=date,
        source_url=source_url,
        source_name=source_name,
        source_user=source_user,
    )


def _run(function: str, path: Path, results: list[Path], **options: Any) -> None:
    """Update the card, and print which files changed."""
    with plain_errors():
        try:
            from captionbias.hub import cards
        except ModuleNotFoundError as error:
            raise ValueError(f"{error}: pip install 'captionbias[hub]' first") from error
        changed = getattr(cards, function)(path, cards.read_results(results), **options)
    for line in map(str, changed or ["nothing changed"]):
        say(line)
