"""`captionbias publish`: metrics, Spaces and datasets onto the Hugging Face Hub."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.options import Options, command, option
from captionbias.cli.terminal import complaints, needs, say

publish = typer.Typer(
    no_args_is_help=True,
    help="Create or update repositories on the Hugging Face Hub. The token is that of hf auth login or HF_TOKEN.",
)

flag = partial(option, panel=None)
SENT: Options = {
    "dry_run": flag(bool, "List what would be sent, and send nothing.", "--dry-run", default=False),
    "create_pr": flag(
        bool,
        "Open a pull request instead of committing; a missing repository is created first.",
        "--create-pr",
        default=False,
    ),
    "private": flag(bool, "Create the repository private; refuse one that is public.", "--private", default=False),
    "message": flag(str | None, "The commit message.", show_default="the version of captionbias"),
}
FOLDER: Options = {
    "folder": (Annotated[Path, typer.Argument(help="The folder to publish.")], Parameter.empty),
    "repo": flag(str, "The repository on the Hub.", "--to", default=Parameter.empty, metavar="<owner/name>"),
}
METRICS: Options = {
    "owner": flag(str, "The user or organisation on the Hub.", "--to", default=Parameter.empty, metavar="<owner>"),
    "names": (Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")], None),
}


def _run(kind: str, folder: Path, repo: str, *, dry_run: bool, private: bool, **options: Any) -> None:
    """Publish a folder, and print what was done; progress bars are for a terminal only."""
    with needs("hub"):
        from huggingface_hub.utils.tqdm import disable_progress_bars

        from captionbias.hub.publishing import publish as send

    if not complaints.is_terminal:
        disable_progress_bars()
    done = send(folder, repo, kind, dry_run=dry_run, private=private or None, **options)  # type: ignore[arg-type]
    for path in done.files if dry_run else ():
        say(f"would be sent: {path}")
    for path in done.deleted:
        say(f"deleted: {path}")
    say(f"nothing was sent; this would be {done.url}" if dry_run else f"published: {done.url}")


def _metrics(names: list[str] | None, owner: str, **options: Any) -> None:
    with needs("hub"):
        from captionbias.hub.modules import metric_folders
    for folder in metric_folders(names):
        _run("space", folder, f"{owner}/{folder.name}", **options)


command(
    publish,
    "metric",
    METRICS | SENT,
    _metrics,
    """Make metrics Spaces, so that evaluate.load("<owner>/lic") works anywhere.

    Example: captionbias publish metric lic dbac --to someone --dry-run
    """,
)
command(
    publish,
    "space",
    FOLDER | SENT,
    partial(_run, "space"),
    """Make a folder with a Gradio app a Space.

    Example: captionbias publish space spaces/captionbias --to someone/captionbias --dry-run
    """,
)
command(
    publish,
    "dataset",
    FOLDER | SENT,
    partial(_run, "dataset"),
    """Make a folder of Parquet files with a card a dataset; Parquet files of earlier builds go in the same commit.

    Rows that may not be redistributed (the card has extra_gated_prompt) go to a private repository only, behind a gate.

    Example: captionbias publish dataset controlled-verbs --to someone/controlled-verbs --dry-run
    """,
)
