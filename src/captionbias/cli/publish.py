"""`captionbias publish`: metrics, Spaces and datasets onto the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias.cli.terminal import complaints, console, plain_errors

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
    with _plain():
        from captionbias.hub.publishing import publish_metric

        chosen = _chosen(dry_run, create_pr, private, message)
        _tell(publish_metric(names or None, owner, **chosen), dry_run)


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
    with _plain():
        from captionbias.hub.publishing import publish_space

        _tell([publish_space(folder, repo, **_chosen(dry_run, create_pr, private, message))], dry_run)


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
    with _plain():
        from captionbias.hub.publishing import publish_dataset

        _tell([publish_dataset(folder, repo, **_chosen(dry_run, create_pr, private, message))], dry_run)


@contextmanager
def _plain() -> Iterator[None]:
    """Errors as one line, those of packages that are not installed too; progress bars on a terminal only."""
    with plain_errors():
        try:
            from huggingface_hub.utils.tqdm import disable_progress_bars

            if not complaints.is_terminal:
                disable_progress_bars()
            yield
        except ModuleNotFoundError as error:
            raise ValueError(f"{error}: pip install 'captionbias[hub]' first") from error


def _chosen(dry_run: bool, create_pr: bool, private: bool, message: str | None) -> dict[str, Any]:
    return {"dry_run": dry_run, "create_pr": create_pr, "private": private or None, "message": message}


def _tell(repositories: Iterable[Published], dry_run: bool) -> None:
    from rich.filesize import decimal

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    for done in repositories:
        if dry_run or done.changed:
            tell(done.repo)
        for file in done.files:
            if dry_run or file.state != "same":
                tell(f"  {file.state:<8} {decimal(file.size):>10}  {file.path}")
        if not done.changed:
            tell(f"already up to date: {done.url}")
        elif dry_run:
            tell(f"nothing was sent; this would be {done.url}")
        else:
            tell(f"pull request: {done.pull_request}" if done.pull_request else f"published: {done.url}")
