"""`captionbias app`: the page on this machine."""

from __future__ import annotations

import signal
import socket
import sys
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
    with plain_errors(), needs("app"):
        from captionbias.app.page import launch_options, page

    with plain_errors():
        _check_host(host)
    served = page()  # it listens to warnings as long as it is served, and plain_errors to those meanwhile
    with plain_errors():
        try:
            _, address, _ = served.launch(
                **launch_options(),
                server_name=host,
                server_port=port,
                inbrowser=open_browser,
                quiet=True,
                prevent_thread_lock=True,
            )
        except OSError as error:
            raise ValueError(f"--port {port} is taken: choose another, or stop the program that uses it") from error
    say(f"the page is at {address}; end it with Ctrl-C")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # as Ctrl-C: files of runs are deleted
    served.block_thread()


def _check_host(host: str) -> None:
    try:
        with socket.create_server((host, 0)):
            pass
    except OSError as error:
        raise ValueError(f"--host {host} is no address of this machine ({error.strerror or error})") from error
