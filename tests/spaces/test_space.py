"""The Spaces are such as the Hub can run: their front matter, their apps, the limits that the page's card names; and
they start from the folder that is written, with a wheel."""

import re
import runpy
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import gradio as gr
import httpx
import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement
from typer.testing import CliRunner

from captionbias.app import uploads
from captionbias.app.data import MAX_CAPTIONERS
from captionbias.app.runs import MAX_HELD, Runs
from captionbias.hub.commands import publish
from captionbias.metrics import catalogue
from tests import signals
from tests.launch import ROOT, environment, free_port, python
from tests.patience import PATIENCE

FOLDER = ROOT / "spaces" / "captionbias"
FOLDERS = [FOLDER, *(ROOT / "metrics" / name for name in catalogue.METRICS)]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_front_matter_is_what_the_hub_takes_and_the_app_serves_a_page(folder: Path, monkeypatch) -> None:
    card = SpaceCard.load(folder / "README.md").data
    assert (card.sdk, bool(card.title)) == ("gradio", True)
    assert re.fullmatch(r"6\.\d+\.\d+", card.sdk_version)
    assert {card.colorFrom, card.colorTo} <= COLOURS
    assert len(card.emoji.encode("utf-16-le")) <= 8
    assert len(card.get("short_description", "")) <= 60  # the Hub refuses a longer one
    assert re.fullmatch(r"3\.1\d", card.python_version)
    served = []
    for place in ("server", "space"):
        monkeypatch.setattr(f"captionbias.app.{place}.serve", lambda build, *runs, **look: served.append(build(Runs())))
    with warnings.catch_warnings():  # the page listens to these
        runpy.run_path(str(folder / card.app_file), run_name="__main__")
    blocks = list(served[0].blocks.values())
    alone = [] if folder == FOLDER else [folder.name]
    if not set(alone) <= set(catalogue.of_captions()):
        return  # it tells what to run in place of a page
    (offered,) = (one for one in blocks if isinstance(one, gr.CheckboxGroup))
    assert (offered.value, offered.visible) == (alone or list(catalogue.REPORTED), not alone)
    example = any(isinstance(tab, gr.Tab) and tab.id == "example" for tab in blocks)
    assert example == (set(alone) <= set(catalogue.REPORTED))
    title = catalogue.METRICS[folder.name].title if alone else "captionbias"
    assert next(one.value for one in blocks if isinstance(one, gr.Markdown)).startswith(f"# {title}\n")


def test_the_endings_and_the_limits_that_the_card_names_are_those_of_the_page() -> None:
    text = (FOLDER / "README.md").read_text()
    limits = {
        "a file": f"{uploads.MAX_BYTES // 10**6} MB, {uploads.MAX_ROWS:,} rows, {uploads.MAX_COLUMNS} columns",
        "images": f"{uploads.MAX_IMAGES:,}",
        "captioners": f"{MAX_CAPTIONERS}",
        "runs at once": "1; others wait, and one that no page shows for two minutes is cancelled",
        "runs whose files are kept": f"{MAX_HELD}; those of the address that has most go first",
    }
    assert f"Files that end with {', '.join(uploads.ENDINGS)}, captions of COCO" in text
    assert [of for of, limit in limits.items() if f"| {of} | {limit} |" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "folder", "needed"),
    [(["space", "--output=page"], "page", {"gradio", "nltk"}), (["metric", "lic", "--output=."], "lic", {"gradio"})],
)
def test_a_folder_that_is_written_with_a_wheel_starts_as_it_lies(tmp_path, monkeypatch, command, folder, needed):
    """From another folder, where the requirements are installed without it."""
    monkeypatch.chdir(tmp_path)
    python("-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, folder=ROOT)
    (wheel,), installed, port = tmp_path.glob("*.whl"), tmp_path / "installed", str(free_port())
    written = CliRunner().invoke(publish, [*command, "--dry-run", f"--package={wheel}"])
    assert written.exit_code == 0, written.output
    required = {Requirement(line).name for line in Path(folder, "requirements.txt").read_text().splitlines()}
    assert (needed | {"numpy", "gensim"} <= required, "captionbias" in required) == (True, False)
    installed.mkdir()
    variables = environment(PYTHONPATH=installed, PIP_TARGET=installed, TMPDIR=tmp_path, GRADIO_SERVER_PORT=port)
    with Path("log").open("wb") as log:
        given = {"cwd": ROOT.parent, "env": variables, "stdout": log, "stderr": log, "preexec_fn": signals.restore}
        app = subprocess.Popen([sys.executable, tmp_path / folder / "app.py"], **given)
    status, end = 0, time.monotonic() + PATIENCE
    while status == 0 and app.poll() is None and time.monotonic() < end:
        with suppress(httpx.TransportError):
            status = httpx.get(f"http://127.0.0.1:{port}/").status_code
        time.sleep(0.1)
    app.kill()
    app.wait()
    assert status == 200, Path("log").read_text()
    assert (installed / "captionbias" / "__init__.py").is_file()
