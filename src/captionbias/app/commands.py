"""`captionbias app`: the page on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from captionbias.cli.terminal import needs, plain_errors, say


def app(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port.", min=1, max=65535)] = 7860,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """A page to upload captions and look at the result, on this machine. Nothing is sent anywhere else.

    Example: captionbias app
    """
    say("starting the page; this takes some seconds ...")
    with plain_errors(), needs("app"):
        from captionbias.app.page import look, page
        from captionbias.app.server import serve

        serve(page, host=host, port=port, open_browser=open_browser, tell=say, **look())


def add(commands: typer.Typer) -> None:
    commands.command("app")(app)
