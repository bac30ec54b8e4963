"""The commands that write cards, publish, and install the modules."""

from __future__ import annotations

from typing import Annotated

import typer

from captionbias.cli.terminal import needs, plain_errors, say
from captionbias.hub.commands.card import card
from captionbias.hub.commands.publish import publish


def add(app: typer.Typer) -> None:
    """Add them to the command line."""
    app.add_typer(card, name="card")
    app.add_typer(publish, name="publish")
    app.command("install-metrics")(install_metrics)


def install_metrics(
    names: Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")] = None,
) -> None:
    """Make evaluate.load("dbac"), and every other metric here, work anywhere on this machine, offline too.

    Example: captionbias install-metrics
    """
    with plain_errors():
        with needs("evaluate"):
            from captionbias.hub.modules import install_metrics as install

        for path in install(names or None):
            say(f"evaluate.load({path.stem!r}) loads {path}")
