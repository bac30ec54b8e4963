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
from captionbias.app.runs import MAX_HELD, Runs
from captionbias.hub.commands import publish
from captionbias.metrics import catalogue
from tests import signals
from tests.launch import environment, free_port, python
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spaces" / "captionbias"
FOLDERS = [FOLDER, *(ROOT / "metrics" / name for name in catalogue.METRICS)]
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
        monkeypatch.setattr(f"captionbias.app.{place}.serve", lambda build, *runs, **look: served.append(build(Runs())))
    with warnings.catch_warnings():  # the page listens to these
        runpy.run_path(str(folder / "app.py"), run_name="__main__")
    assert served[0].blocks


def test_the_endings_and_the_limits_that_the_card_names_are_those_of_the_page() -> None:
    text = (FOLDER / "README.md").read_text()
    limits = {
        "a file": f"{uploads.MAX_BYTES // 10**6} MB, {uploads.MAX_ROWS:,} rows, {uploads.MAX_COLUMNS} columns",
        "images": f"{uploads.MAX_IMAGES:,}",
        "captioners": f"{MAX_CAPTIONERS}",
        "runs at once": "1; others wait, and one that no page shows for two minutes is cancelled",
        "runs that are kept": f"{MAX_HELD}; those of whoever has most go first, and who comes back is told",
    }
    assert f"Files that end with {', '.join(uploads.ENDINGS)}, captions of COCO" in text
    for of, limit in limits.items():
        assert f"| {of} | {limit} |" in text


def test_folders_that_are_written_with_a_wheel_start_as_they_lie(tmp_path: Path) -> None:
    python("-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, folder=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    installed, apps = tmp_path / "installed", {}
    for command, path, extras in ((["space"], "page", "[app,quality]"), (["metric", "lic"], "lic", "[app]")):
        to = tmp_path / "page" if command == ["space"] else tmp_path
        written = CliRunner().invoke(publish, [*command, "--dry-run", f"--output={to}", f"--package={wheel}"])
        assert written.exit_code == 0, written.output
        assert (tmp_path / path / "requirements.txt").read_text().split() == [f"./{wheel.name}{extras}"]
        pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--upgrade", "--target", installed]
        python(*pip, "-r", "requirements.txt", folder=tmp_path / path)
    variables = environment(PYTHONPATH=installed, TMPDIR=tmp_path)
    found = subprocess.check_output([sys.executable, "-c", "import captionbias as c; print(c.__file__)"], env=variables)
    assert Path(found.decode()).is_relative_to(installed)
    try:
        for path in ("page", "lic"):
            port, log = free_port(), (tmp_path / f"{path}.log").open("wb")
            given = {"cwd": tmp_path / path, "env": variables | {"GRADIO_SERVER_PORT": str(port)}}
            command = [sys.executable, "app.py"]
            apps[port] = subprocess.Popen(command, **given, stdout=log, stderr=log, preexec_fn=signals.restore)
        for port, app in apps.items():
            status, end = 0, time.monotonic() + PATIENCE
            while status == 0 and app.poll() is None and time.monotonic() < end:
                with suppress(httpx.TransportError):
                    status = httpx.get(f"http://127.0.0.1:{port}/").status_code
                time.sleep(0.1)
            assert status == 200, [log.read_text() for log in tmp_path.glob("*.log")]
    finally:
        for app in apps.values():
            app.kill()
            app.wait()
