"""The page as people start it, in a process of its own, and small files to give to it."""

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import Any

import pytest

from captionbias.synthetic import plant
from tests import signals
from tests.launch import ROOT, environment, free_port
from tests.patience import PATIENCE

IMAGES = 240


@dataclass(frozen=True)
class Served:
    """A page that is served: where, by which process, and the folder that the process was started in."""

    url: str
    process: Popen[bytes]
    folder: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of `held_page`, on which runs become whole."""
    folder, port = tmp_path_factory.mktemp("page"), str(free_port())
    (folder / "go").touch()
    variables = environment(ROOT, TMPDIR=folder, CAPTIONBIAS_CACHE=folder / "cache")
    command = [sys.executable, "-m", "tests.app.held_page", port]
    with (folder / "log").open("wb") as log:
        started = Popen(command, env=variables, cwd=folder, stdout=log, stderr=STDOUT, preexec_fn=signals.restore)
    try:
        end = time.monotonic() + PATIENCE
        while "the page is at" not in (told := (folder / "log").read_text(errors="replace")):
            assert started.poll() is None, told
            assert time.monotonic() < end, told
            time.sleep(0.1)
        yield Served(f"http://127.0.0.1:{port}/", started, folder)
    finally:
        started.kill()
        started.wait()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, dict[str, Any]], Path]:
    """Writes columns as a CSV file of that name."""
    return lambda name, columns: write_csv(tmp_path / name, columns)


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of a faithful captioner (nic), of a biased one (sat), and of people, with lists as JSON."""
    folder = tmp_path_factory.mktemp("files")
    faithful, biased = plant(IMAGES, captions=2), plant(IMAGES, captions=2, a_to_t=0.9)
    lists = {"references": faithful.references, "tasks": faithful.tasks}
    tables: dict[str, dict[str, Any]] = {
        "nic": {"caption": faithful.predictions},
        "sat": {"caption": biased.predictions},
        "people": {name: map(json.dumps, lists[name]) for name in lists} | {"gender": faithful.attributes},
    }
    ids = {"image_id": range(IMAGES)}
    return {name: write_csv(folder / f"{name}.csv", ids | columns) for name, columns in tables.items()}
