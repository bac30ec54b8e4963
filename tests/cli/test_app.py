"""`captionbias app`: plainly told what keeps it from starting."""

from __future__ import annotations

import socket

from typer.testing import CliRunner

from captionbias.cli.main import app


def test_a_port_that_is_taken_is_a_plain_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["app", "--no-open", "--port", str(port)])
    assert result.exit_code == 2
    assert f"error: Cannot find empty port in range: {port}-{port}" in result.stderr
    assert "Traceback" not in result.output
