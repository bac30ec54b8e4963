"""`captionbias publish`: metrics, Spaces and datasets onto the Hugging Face Hub."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias.cli.options import Options, command, option
from captionbias.cli.terminal import complaints, say

if TYPE_CHECKING:
    from captionbias.hub.publishing import Published

publish = typer.Typer(
    no_args_is_help=True,
    help="Create or update repositories on the Hugging Face Hub. The token is that of hf auth login or HF_TOKEN.",
)

SENT: Options = {
    "dry_run": option(bool, "List what would be sent, and send nothing.", "--dry-run", default=False, panel=None),
    "create_pr": option(
        bool,
        "Open a pull request instead of committing; a missing repository is created first.",
        "--create-pr",
        default=False,
        panel=None,
    ),
    "private": option(
        bool, "Create the repository private; refuse if it is public.", "--private", default=False, panel=None
    ),
    "message": option(str | None, "The commit message.", panel=None, show_default="the version of captionbias"),
}
FOLDER: Options = {
    "folder": (Annotated[Path, typer.Argument(help="The folder to publish.")], Parameter.empty),
    "repo": option(
        str, "The repository on the Hub.", "--to", default=Parameter.empty, panel=None, metavar="<owner/name>"
    ),
}
METRICS: Options = {
    "owner": option(
        str, "The user or organisation on the Hub.", "--to", default=Parameter.empty, panel=None, metavar="<owner>"
    ),
    "names": (Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")], None),
}


def _run(function: str, *, dry_run: bool, private: bool, **options: Any) -> None:
    """Publish, and print what was done; progress bars are for a terminal only."""
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars

        from captionbias.hub import publishing

        if not complaints.is_terminal:
            disable_progress_bars()
        done = getattr(publishing, function)(dry_run=dry_run, private=private or None, **options)
    except ModuleNotFoundError as error:
        raise ValueError(f"{error}: pip install 'captionbias[hub]' first") from error
    for repository in done if isinstance(done, list) else [done]:
        for line in _dry_run(repository) if dry_run else _published(repository):
            say(line)


def _dry_run(done: Published) -> list[str]:
    from rich.filesize import decimal

    files = [f"  {decimal(size):>10}  {path}" for path, size in done.files.items()]
    return [done.repo, *files, f"nothing was sent; this would be {done.url}"]


def _published(done: Published) -> list[str]:
    if not done.changed:
        return [f"already up to date: {done.url}"]
    place = f"pull request: {done.pull_request}" if done.pull_request else f"published: {done.url}"
    return [*(f"deleted: {path}" for path in done.deleted), place]


command(
    publish,
    "metric",
    METRICS | SENT,
    partial(_run, "publish_metric"),
    """Make metrics Spaces, so that evaluate.load("<owner>/lic") works anywhere.

    Example: captionbias publish metric lic dbac --to someone --dry-run
    """,
)
command(
    publish,
    "space",
    FOLDER | SENT,
    partial(_run, "publish_space"),
    """Make a folder with a Gradio app a Space.

    Example: captionbias publish space spaces/captionbias --to someone/captionbias --dry-run
    """,
)
command(
    publish,
    "dataset",
    FOLDER | SENT,
    partial(_run, "publish_dataset"),
    """Make a folder of Parquet files with a card a dataset; Parquet files of earlier builds go in the same commit.

    Example: captionbias publish dataset built/captions --to someone/captions --dry-run
    """,
)
