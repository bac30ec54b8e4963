"""The page as people start it, in a process of its own, and small files to give to it."""

from __future__ import annotations

import csv
import io
import json
import os
import socket
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from pycocotools import mask

import captionbias
from captionbias.synthetic import plant
from tests.patience import PATIENCE

IMAGES = 240


@dataclass(frozen=True)
class Served:
    """A page that is served: where, by which process, and the folder that the process was started in."""

    url: str
    process: Popen[bytes]
    folder: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    folders = {name: folder / name for name in ("CAPTIONBIAS_CACHE", "GRADIO_TEMP_DIR", "TMPDIR")}
    for path in folders.values():
        path.mkdir()
    source = str(Path(captionbias.__file__).parents[1])
    environment = {**os.environ, **{name: str(path) for name, path in folders.items()}, "PYTHONPATH": source}
    port = free_port()
    command = [sys.executable, "-m", "captionbias", "app", "--no-open", "--port", str(port)]
    log = folder / "log"
    with (
        log.open("wb") as output,
        Popen(command, env=environment, cwd=folder, stdout=output, stderr=STDOUT) as process,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/", process, log)
            yield Served(f"http://127.0.0.1:{port}/", process, folder)
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(url: str, process: Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the page does not answer:\n{log.read_text(errors='replace')}")


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


def picture(pixels: Any) -> bytes:
    """Pixels as the bytes of a PNG file."""
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def packed(path: Path, files: dict[str, bytes]) -> Path:
    """A zip archive of these files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def annotated(path: Path, names: list[str], persons: Any, without: Sequence[int] = ()) -> Path:
    """COCO's annotations of the persons in images of these names; some show nobody."""
    images = [
        {"id": number, "file_name": name, "height": len(region), "width": region.shape[1]}
        for number, (name, region) in enumerate(zip(names, persons, strict=True))
    ]
    people = []
    for number, region in enumerate(persons):
        outline = mask.encode(np.asfortranarray(region.astype(np.uint8)))
        counts = {"size": outline["size"], "counts": outline["counts"].decode()}
        box = mask.toBbox(outline).tolist()
        if number not in without:
            people.append({"image_id": number, "category_id": 1, "bbox": box, "segmentation": counts, "iscrowd": 1})
    content = {"images": images, "annotations": people, "categories": [{"id": 1, "name": "person"}]}
    path.write_text(json.dumps(content))
    return path
