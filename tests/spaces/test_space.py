"""The Spaces are such as the Hub can run: their front matter, their apps, and the limits that the page's card names."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import pytest
from huggingface_hub import SpaceCard

from captionbias.app import uploads
from captionbias.app.data import MAX_CAPTIONERS
from captionbias.app.runs import MAX_HELD, Runs
from captionbias.bench.catalogue import METRICS

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
        monkeypatch.setattr(f"captionbias.app.{place}.serve", lambda build, *runs, **look: served.append(build(Runs())))
    with warnings.catch_warnings():  # the page listens to these
        runpy.run_path(str(folder / "app.py"), run_name="__main__")
    assert served[0].blocks


def test_the_limits_that_the_card_names_are_those_of_the_page() -> None:
    text = (FOLDER / "README.md").read_text()
    limits = {
        "a file": f"{uploads.MAX_BYTES // 10**6} MB, {uploads.MAX_ROWS:,} rows, {uploads.MAX_COLUMNS} columns",
        "images": f"{uploads.MAX_IMAGES:,}",
        "captioners": f"{MAX_CAPTIONERS}",
        "runs at once": "1; others wait, and one that no page shows for two minutes is cancelled",
        "runs that are kept": f"{MAX_HELD}; those of whoever has most go first, and who comes back is told",
    }
    for of, limit in limits.items():
        assert f"| {of} | {limit} |" in text
