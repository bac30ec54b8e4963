"""The Space is one that the Hub can run and that `captionbias publish` can send."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from typing import Any

import httpx
import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement
from typer.testing import CliRunner

import captionbias
from captionbias.app import upload_state as given
from captionbias.app import uploads
from captionbias.cli.publish import publish
from tests.hub.hub_server import Hub, connect, running
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spaces" / "captionbias"
FOLDERS = [FOLDER, *sorted(path.parent for path in (ROOT / "metrics").glob("*/app.py"))]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with running() as hub:
        connect(hub, monkeypatch, tmp_path)
        yield hub


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_front_matter_is_what_the_hub_takes(folder: Path) -> None:
    card = SpaceCard.load(folder / "README.md").data
    assert card.sdk == "gradio"
    assert re.fullmatch(r"6\.\d+\.\d+", card.sdk_version)
    assert (folder / card.app_file).is_file()
    assert card.license == "apache-2.0"
    assert {card.colorFrom, card.colorTo} <= COLOURS
    assert card.title
    assert len(card.emoji.encode("utf-16-le")) <= 8
    assert card.pinned is False
    assert all(isinstance(tag, str) for tag in card.tags)
    assert len(card.get("short_description", "")) <= 60  # the Hub refuses a longer one
    assert re.fullmatch(r"3\.1\d", card.python_version or "3.10")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_requirements_are_extras_of_this_version(folder: Path) -> None:
    """Gradio itself is the SDK: the Hub installs the version that the card pins."""
    [required] = map(Requirement, (folder / "requirements.txt").read_text().splitlines())
    assert required.name == "captionbias"
    assert captionbias.__version__ in required.specifier
    assert required.extras == ({"app", "quality"} if folder == FOLDER else {"app", "evaluate"})


def test_the_limits_that_the_card_names_are_those_of_the_page() -> None:
    text = (FOLDER / "README.md").read_text()
    limits = {
        "a file": f"{uploads.MAX_BYTES // 10**6} MB, {uploads.MAX_ROWS:,} rows, {uploads.MAX_COLUMNS} columns",
        "images": f"{uploads.MAX_IMAGES:,}",
        "captioners": f"{given.MAX_CAPTIONERS}",
    }
    for of, limit in limits.items():
        assert f"| {of} | {limit} |" in text


def test_the_app_runs_as_the_hub_runs_it(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(captionbias.__file__).parents[1]),
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(tmp_path),
    }
    with Popen([sys.executable, "app.py"], cwd=FOLDER, env=environment, stdout=PIPE, stderr=STDOUT) as server:
        try:
            config = _config(f"http://127.0.0.1:{port}/config", server)
        finally:
            server.kill()
    assert config["title"] == "captionbias"
    assert "measure" in {event["api_name"] for event in config["dependencies"]}


def _config(url: str, server: Popen[bytes]) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert server.poll() is None, server.stdout.read()
        try:
            return httpx.get(url).json()
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the app does not answer")


def test_the_space_arrives_on_the_hub_as_it_is(hub: Hub) -> None:
    arguments = ["space", str(FOLDER), "--to", "alice/captionbias"]
    planned = CliRunner().invoke(publish, [*arguments, "--dry-run"], env={"COLUMNS": "200"})
    assert planned.exit_code == 0, planned.output
    assert not hub.writes
    done = CliRunner().invoke(publish, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert f"published: {hub.url}/spaces/alice/captionbias" in done.output
    sent = hub.repos["spaces", "alice/captionbias"]
    assert sent.sdk == "gradio"
    assert {path: data for path, data in sent.files.items() if path != ".gitattributes"} == {
        path: (FOLDER / path).read_bytes() for path in ("README.md", "app.py", "requirements.txt")
    }
