"""The command line. Metrics are imported when a command needs them, so that help is quick."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from captionbias._version import __version__
from captionbias.cli import compare, gate, report
from captionbias.cli.demo import demo
from captionbias.cli.measure import measure
from captionbias.cli.options import command
from captionbias.cli.terminal import console
from captionbias.wings import WITH_COMMANDS, wing


class Commands(TyperGroup):
    """A command that is gone says what to do instead."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            from captionbias.compat import REMOVED

            if args[0] in REMOVED:
                ctx.fail(f"{args[0]} {REMOVED[args[0]]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure whether an image captioner makes its data's bias worse, in which direction, and how certain that is.",
)
app.add_typer(measure, name="measure")
for _module in (compare, gate, report):
    _name = _module.__name__.rpartition(".")[2]
    command(app, _name, _module.OPTIONS, getattr(_module, _name))
app.command()(demo)
for _wing in WITH_COMMANDS:
    if _commands := wing(f"{_wing}.commands"):
        _commands.add(app)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Measure whether an image captioner makes its data's bias worse."""
    from captionbias.attackers.ranks import rank_and_size

    console.quiet = rank_and_size()[0] > 0  # every process measures, one prints
    if version:
        console.print(f"captionbias {__version__}", highlight=False)
        raise typer.Exit


def run() -> None:
    """The installed command; SIGTERM ends it in order: what is unfinished is tidied away."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    app(prog_name="captionbias")
