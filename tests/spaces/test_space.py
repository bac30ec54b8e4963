"""The Space is one that the Hub can run and that `captionbias publish` can send."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import pytest
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement
from typer.testing import CliRunner

import captionbias
from captionbias.app import uploads
from captionbias.app.data import MAX_CAPTIONERS
from captionbias.app.sessions import MAX_BYTES, MAX_OF_SESSION, Sessions
from captionbias.cli.publish import publish

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spaces" / "captionbias"
FOLDERS = [FOLDER, *sorted(path.parent for path in (ROOT / "metrics").glob("*/app.py"))]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


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
    assert re.fullmatch(r"3\.1\d", card.python_version)


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
        "captioners": f"{MAX_CAPTIONERS}",
        "runs at once": "1; others wait",
        "data of a session in memory": (
            f"{MAX_OF_SESSION // 10**6:,} MB, of all {MAX_BYTES // 10**6:,} MB; what was unused longest goes first, "
            "and who comes back is told"
        ),
    }
    for of, limit in limits.items():
        assert f"| {of} | {limit} |" in text


def test_the_app_is_the_page() -> None:
    with warnings.catch_warnings():  # the page listens to these
        demo = runpy.run_path(str(FOLDER / "app.py"))["demo"](Sessions())
    assert demo.title == "captionbias"
    assert "measure" in {event.api_name for event in demo.fns.values()}


def test_the_space_can_be_published_as_it_is() -> None:
    planned = CliRunner().invoke(publish, ["space", str(FOLDER), "--to", "alice/captionbias", "--dry-run"])
    assert planned.exit_code == 0, planned.output
