"""`captionbias app`: told how to use it, and plainly what keeps it from starting."""

from __future__ import annotations

import socket

from typer.testing import CliRunner

from captionbias.cli import app


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["app", *arguments], env={"COLUMNS": "200"})


def test_help_names_its_options_and_says_that_nothing_is_sent():
    result = invoke("--help")
    assert result.exit_code == 0
    for text in ("--host", "--port", "--no-open", "Nothing is sent anywhere else"):
        assert text in result.stdout


def test_a_port_that_is_taken_is_a_plain_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = invoke("--no-open", "--port", str(port))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: --port {port} is taken")
    assert "Traceback" not in result.output
