"""`captionbias card`, `publish` and `install-metrics`: measured bias in cards, what is sent to the Hub, and modules."""

from __future__ import annotations

from functools import partial
from inspect import Parameter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from captionbias.cli.options import Options, argument, command, option, switch
from captionbias.cli.terminal import complaints, say
from captionbias.wings import shipped

flag = partial(option, panel=None)
NAMES = argument(list[str] | None, "Which metrics; all if none is named.", default=None)

card = typer.Typer(
    no_args_is_help=True,
    help="Put measured bias into a dataset or model card; run again with new results to replace it.",
)

CARD: Options = {
    "path": argument(Path, "A README.md, or the folder that holds it.", metavar="PATH"),
    "results": flag(
        list[Path], "What captionbias measure --output wrote; repeat it for each file.", default=Parameter.empty
    ),
}
MEASURED: Options = {
    "dataset": flag(
        str | None,
        "The dataset on the Hub that was measured on, for .eval_results.",
        metavar="OWNER/NAME",
        show_default="README.md alone",
    )
}


def _update(function: str, path: Path, results: list[Path], **options: Any) -> None:
    from captionbias.hub import cards

    for line in getattr(cards, function)(path, cards.read_results(results), **options) or ["nothing changed"]:
        say(str(line))
    if not options.get("dataset", "no model"):
        say("no .eval_results was written: it needs --dataset, the OWNER/NAME on the Hub that was measured on")


command(
    card,
    "dataset",
    CARD,
    partial(_update, "update_dataset_card"),
    """The bias of the human captions, as a section of a dataset card.

    Example: captionbias card dataset README.md --results human.json
    """,
)
command(
    card,
    "model",
    CARD | MEASURED,
    partial(_update, "update_model_card"),
    """The captioner's amplification: a section of a model card, and .eval_results/captionbias.yaml.

    Example: captionbias card model README.md --results all.json --dataset someone/captions
    """,
)


publish = typer.Typer(
    no_args_is_help=True,
    help="Create or update repositories on the Hugging Face Hub. The token is that of hf auth login or HF_TOKEN.",
)

SENT: Options = {
    "dry_run": switch("--dry-run", "List what would be sent, and send nothing.", panel=None),
    "private": switch("--private", "Create a private repository; refuse one that is public.", panel=None),
}
DATASET: Options = {
    "folder": argument(Path, "The folder to publish."),
    "repo": flag(str, "The repository on the Hub.", "--to", default=Parameter.empty, metavar="<owner/name>"),
}
STARTED: Options = {
    "package": flag(
        str | None,
        "Where to install captionbias from, as it is on no index yet: the address of git or of a wheel, or a wheel "
        "file, which is put beside the app and installed when it starts.",
        metavar="<file|URL>",
    ),
    "output": flag(
        Path | None,
        "Write what would be sent to this folder; start it there: pip install -r requirements.txt && python app.py",
        metavar="<folder>",
    ),
}
NO_REPOSITORY = "nowhere with --dry-run and --output"
SPACE: Options = {
    "folder": argument(Path | None, "The folder to publish; the page if none is named.", default=None),
    "repo": flag(str | None, "The repository on the Hub.", "--to", metavar="<owner/name>", show_default=NO_REPOSITORY),
}
METRICS: Options = {
    "owner": flag(
        str | None, "The user or organisation on the Hub.", "--to", metavar="<owner>", show_default=NO_REPOSITORY
    ),
    "names": NAMES,
}


def _send(kind: str, folder: Path, repo: str, *, dry_run: bool, private: bool) -> None:
    """Publish a folder, and print what was done; progress bars are for a terminal only."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from captionbias.hub.publishing import publish as publish_folder

    if not complaints.is_terminal:
        disable_progress_bars()
    done = publish_folder(folder, repo, kind, dry_run=dry_run, private=private or None)  # type: ignore[arg-type]
    for path in done.files if dry_run else ():
        say(f"would be sent: {path}")
    for path in done.deleted:
        say(f"deleted: {path}")
    say(f"nothing was sent; this would be {done.url}" if dry_run else f"published: {done.url}")


def _send_space(
    folder: Path | None, repo: str | None, *, package: str | None, output: Path | None, dry_run: bool, private: bool
) -> None:
    from captionbias.hub.spaces import write_space

    if repo is None and not (dry_run and output):
        raise ValueError("--to is missing: name the repository, or only write the folder, with --dry-run and --output")
    with TemporaryDirectory() as made:
        to = output or Path(made)
        write_space(folder or shipped("spaces") / "captionbias", to, package)
        if output:
            say(f"written: {output}; there: pip install -r requirements.txt && python app.py")
        if repo:
            _send("space", to, repo, dry_run=dry_run, private=private)


def _send_metrics(names: list[str] | None, owner: str | None, *, output: Path | None, **options: Any) -> None:
    from captionbias.hub.modules import metric_folders

    for folder in metric_folders(names):
        to, repo = output and output / folder.name, owner and f"{owner}/{folder.name}"
        _send_space(folder, repo, output=to, **options)


command(
    publish,
    "metric",
    METRICS | STARTED | SENT,
    _send_metrics,
    """Publish metrics as Spaces, so that evaluate.load("<owner>/lic") works anywhere.

    Example: captionbias publish metric lic dbac --to someone --dry-run
    """,
)
command(
    publish,
    "space",
    SPACE | STARTED | SENT,
    _send_space,
    """Publish the page, or a folder with a Gradio app, as a Space; or write the folder, which can be started as it is.

    Example: captionbias publish space --package captionbias-0.3.0-py3-none-any.whl --output page --dry-run
    """,
)
command(
    publish,
    "dataset",
    DATASET | SENT,
    partial(_send, "dataset"),
    """Publish a folder of Parquet files with a card as a dataset, instead of those of earlier builds.

    Rows that may not be redistributed (the card has extra_gated_prompt) go only to a private repository, behind a gate.

    Example: captionbias publish dataset controlled-verbs --to someone/controlled-verbs --dry-run
    """,
)


def install_metrics(names: list[str] | None) -> None:
    """Make evaluate.load("dbac"), and every other metric here, work anywhere on this machine, offline too.

    Example: captionbias install-metrics
    """
    from captionbias.hub.modules import install_metrics as install

    for path in install(names or None):
        say(f"evaluate.load({path.stem!r}) loads {path}")


def add(app: typer.Typer) -> None:
    app.add_typer(card, name="card")
    app.add_typer(publish, name="publish")
    command(app, "install-metrics", {"names": NAMES}, install_metrics)
