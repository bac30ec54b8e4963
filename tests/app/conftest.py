"""The page as people start it, in a process of its own, and small files to give to it."""

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import Any

import httpx
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


def start(folder: Path, *command: str, **variables: str | Path) -> Served:
    """Start this command, which takes a port, in this folder; the page answers."""
    port, log = free_port(), folder / "log"
    url = f"http://127.0.0.1:{port}/"
    with log.open("wb") as output:
        process = Popen(
            [sys.executable, "-m", *command, str(port)],
            env=environment(ROOT, TMPDIR=folder, **variables),
            cwd=folder,
            stdout=output,
            stderr=STDOUT,
            preexec_fn=signals.restore,
        )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(url).status_code == 200:
                return Served(url, process, folder)
        time.sleep(0.1)
    raise AssertionError(f"the page does not answer:\n{log.read_text(errors='replace')}")


def ended(page: Served) -> None:
    page.process.kill()
    page.process.wait()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    folders = {name: folder / name for name in ("CAPTIONBIAS_CACHE", "GRADIO_TEMP_DIR")}
    for path in folders.values():
        path.mkdir()
    page = start(folder, "captionbias", "app", "--no-open", "--port", **folders)
    yield page
    ended(page)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, dict[str, Any]], Path]:
    """Writes columns as a CSV file of that name."""
    return lambda name, columns: write_csv(tmp_path / name, columns)


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
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
    ids = range(IMAGES)
    lists = {"references": faithful.references, "tasks": faithful.tasks}
    tables: dict[str, dict[str, Any]] = {
        "nic": {"caption": faithful.predictions},
        "sat": {"caption": biased.predictions},
        "people": {name: map(json.dumps, lists[name]) for name in lists} | {"gender": faithful.attributes},
    }
    return {name: write_csv(folder / f"{name}.csv", {"image_id": ids, **columns}) for name, columns in tables.items()}
