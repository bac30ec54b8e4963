"""The commands of the studies."""

from __future__ import annotations

import typer

from captionbias.cli.options import command
from captionbias.studies.commands import reproduce


def add(app: typer.Typer) -> None:
    command(app, "reproduce", reproduce.OPTIONS, reproduce.reproduce)
