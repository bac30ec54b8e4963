"""The Spaces are such as the Hub can run: their front matter, their apps, the limits that the page's card names; and
they start from the folder that is written, with a wheel."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from huggingface_hub import SpaceCard
from typer.testing import CliRunner

from captionbias.app import uploads
from captionbias.app.data import MAX_CAPTIONERS
from captionbias.app.sessions import MAX_HELD, Sessions
from captionbias.bench.catalogue import METRICS
from captionbias.hub.commands import publish
from tests import signals
from tests.launch import environment, free_port, python
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spaces" / "captionbias"
FOLDERS = [FOLDER, *(ROOT / "metrics" / name for name in METRICS)]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_front_matter_is_what_the_hub_takes(folder: Path) -> None:
    card = SpaceCard.load(folder / "README.md").data
    assert card.sdk == "gradio"
    assert re.fullmatch(r"6\.\d+\.\d+", card.sdk_version)
    assert (folder / card.app_file).is_file()
    assert {card.colorFrom, card.colorTo} <= COLOURS
    assert card.title
    assert len(card.emoji.encode("utf-16-le")) <= 8
    assert len(card.get("short_description", "")) <= 60  # the Hub refuses a longer one
    assert re.fullmatch(r"3\.1\d", card.python_version)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_app_serves_a_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = []
    for place in ("server", "space"):
        monkeypatch.setattr(f"captionbias.app.{place}.serve", lambda build, **look: served.append(build(Sessions())))
    with warnings.catch_warnings():  # the page listens to these
        runpy.run_path(str(folder / "app.py"), run_name="__main__")
    assert served[0].blocks


def test_the_limits_that_the_card_names_are_those_of_the_page() -> None:
    text = (FOLDER / "README.md").read_text()
    limits = {
        "a file": f"{uploads.MAX_BYTES // 10**6} MB, {uploads.MAX_ROWS:,} rows, {uploads.MAX_COLUMNS} columns",
        "images": f"{uploads.MAX_IMAGES:,}",
        "captioners": f"{MAX_CAPTIONERS}",
        "runs at once": "1; others wait",
        "sessions with data": f"{MAX_HELD}; what was unused longest goes first, and who comes back is told",
    }
    for of, limit in limits.items():
        assert f"| {of} | {limit} |" in text


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "hatchling", "build", "--target", "wheel", "--directory", folder, folder=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.parametrize(
    ("command", "path", "extras"), [(["space"], ".", "[app,quality]"), (["metric", "lic"], "lic", "[app]")]
)
def test_a_folder_that_is_written_with_a_wheel_starts_as_it_lies(
    tmp_path: Path, wheel: Path, command: list[str], path: str, extras: str
) -> None:
    given = [*command, "--dry-run", "--output", str(tmp_path / "to"), "--package", str(wheel)]
    written = CliRunner().invoke(publish, given)
    assert written.exit_code == 0, written.output
    folder, installed = tmp_path / "to" / path, tmp_path / "installed"
    assert (folder / "requirements.txt").read_text().split() == [f"./{wheel.name}{extras}"]
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", installed]
    python(*pip, "-r", "requirements.txt", folder=folder)
    port, log = free_port(), tmp_path / "log"
    variables = environment(PYTHONPATH=installed, GRADIO_SERVER_PORT=str(port), TMPDIR=tmp_path)
    found = subprocess.check_output([sys.executable, "-c", "import captionbias as c; print(c.__file__)"], env=variables)
    assert Path(found.decode()).is_relative_to(installed)
    with log.open("wb") as output:
        app = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=folder,
            env=variables,
            stdout=output,
            stderr=output,
            preexec_fn=signals.restore,
        )
    try:
        status, end = 0, time.monotonic() + PATIENCE
        while status == 0 and app.poll() is None and time.monotonic() < end:
            with suppress(httpx.TransportError):
                status = httpx.get(f"http://127.0.0.1:{port}/").status_code
            time.sleep(0.1)
        assert status == 200, log.read_text()
    finally:
        app.kill()
        app.wait()
