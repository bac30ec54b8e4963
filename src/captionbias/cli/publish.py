"""`captionbias publish`: metrics, Spaces and datasets onto the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias.cli.terminal import complaints, plain_errors, say

if TYPE_CHECKING:
    from captionbias.hub.publishing import Published

publish = typer.Typer(
    no_args_is_help=True,
    help="Create or update repositories on the Hugging Face Hub. The token is that of hf auth login or HF_TOKEN.",
)

DryRun = Annotated[bool, typer.Option("--dry-run", help="List what would be sent, and send nothing.")]
CreatePr = Annotated[
    bool,
    typer.Option(
        "--create-pr", help="Open a pull request instead of committing; a missing repository is created first."
    ),
]
Private = Annotated[bool, typer.Option("--private", help="Create the repository private; refuse if it is public.")]
Message = Annotated[str | None, typer.Option(help="What the commit says.", show_default="the version of captionbias")]
Repo = Annotated[str, typer.Option("--to", metavar="<owner/name>", help="The repository on the Hub.")]
Folder = Annotated[Path, typer.Argument(help="The folder to publish.")]


@publish.command()
def metric(
    owner: Annotated[str, typer.Option("--to", metavar="<owner>", help="The user or organisation on the Hub.")],
    names: Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")] = None,
    dry_run: DryRun = False,
    create_pr: CreatePr = False,
    private: Private = False,
    message: Message = None,
) -> None:
    """Make metrics Spaces, so that evaluate.load("<owner>/lic") works anywhere.

    Example: captionbias publish metric lic dbac --to someone --dry-run
    """
    _run(
        "publish_metric",
        names or None,
        owner,
        dry_run=dry_run,
        create_pr=create_pr,
        private=private or None,
        message=message,
    )


@publish.command()
def space(
    folder: Folder,
    repo: Repo,
    dry_run: DryRun = False,
    create_pr: CreatePr = False,
    private: Private = False,
    message: Message = None,
) -> None:
    """Make a folder with a Gradio app a Space.

    Example: captionbias publish space spaces/captionbias --to someone/captionbias --dry-run
    """
    _run("publish_space", folder, repo, dry_run=dry_run, create_pr=create_pr, private=private or None, message=message)


@publish.command()
def dataset(
    folder: Folder,
    repo: Repo,
    dry_run: DryRun = False,
    create_pr: CreatePr = False,
    private: Private = False,
    message: Message = None,
) -> None:
    """Make a folder of Parquet files with a card a dataset; Parquet files of earlier builds go in the same commit.

    Example: captionbias publish dataset built/captions --to someone/captions --dry-run
    """
    _run(
        "publish_dataset", folder, repo, dry_run=dry_run, create_pr=create_pr, private=private or None, message=message
    )


def _run(function: str, *arguments: Any, dry_run: bool, **options: Any) -> None:
    """Publish, and print what was done; errors are one line, and progress bars are for a terminal only."""
    with plain_errors():
        try:
            from huggingface_hub.utils.tqdm import disable_progress_bars

            from captionbias.hub import publishing

            if not complaints.is_terminal:
                disable_progress_bars()
            done = getattr(publishing, function)(*arguments, dry_run=dry_run, **options)
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
