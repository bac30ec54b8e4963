"""`captionbias app`: plainly told what keeps it from starting."""

import socket

from tests.cli.conftest import ran


def test_a_port_that_is_taken_is_a_plain_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        _, complaint = ran("app", "--no-open", "--port", port, status=2)
    assert f"error: Cannot find empty port in range: {port}-{port}" in complaint
    assert "Traceback" not in complaint
