"""The page of `captionbias app`: seconds to the first paint, from dropped files to the picture, and memory over runs.

usage: python benchmarks/page.py [--images 10780] [--runs 50] [--data ../shared/data/gender]

The page is served as people start it, with an empty cache. What is drawn needs Chromium, and is left out without it.
Two captioners of 7,038 real images are dropped if the folder with the data is there, else planted ones.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from gradio_client import Client, handle_file
from rich.console import Console
from rich.table import Table

from captionbias.synthetic import plant

REAL = ("predictions/nic.parquet", "predictions/sat.parquet", "people.parquet")
SMALL = 60  # images of the runs over which memory is told


def main(
    images: Annotated[int, typer.Option(min=100, help="planted images, with 5 human captions each")] = 10780,
    runs: Annotated[int, typer.Option(min=2, help="runs over which memory is told")] = 50,
    data: Annotated[Path, typer.Option(help="folder with captions of real images")] = Path("../shared/data/gender"),
) -> None:
    """Print a table of seconds and of MB."""
    table = Table("what", "result")
    with TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder) as (url, server):
            if chromium := shutil.which("chromium"):
                for what, seconds in drawn(url, chromium, dropped(folder, data, images)).items():
                    table.add_row(what, f"{seconds:.1f} s")
            table.add_row(
                f"{images:,} images, 5 human captions, files to results", f"{whole(url, folder, images):.1f} s"
            )
        with served(folder) as (url, server):
            memory = memory_over(url, server, folder, runs)
    for number in sorted({1, 2, runs // 4, runs // 2, runs}):
        table.add_row(f"memory of the server after run {number}", f"{memory[number - 1]:.0f} MB")
    half = memory[runs // 2 :]
    growth = np.polyfit(np.arange(len(half)), half, 1)[0] if len(half) > 1 else 0.0
    table.add_row("growth a run, over the second half", f"{growth:+.2f} MB")
    Console(width=120).print(table)


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The address of the page and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with TemporaryDirectory(dir=folder) as own:
        environment = {**os.environ, "CAPTIONBIAS_CACHE": own, "GRADIO_TEMP_DIR": own, "TMPDIR": own}
        command = [sys.executable, "-m", "captionbias", "app", "--no-open", "--port", str(port)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            try:
                wait_for(f"http://127.0.0.1:{port}/", process)
                yield f"http://127.0.0.1:{port}/", psutil.Process(process.pid)
            finally:
                process.kill()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            httpx.get(url)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError("the page did not start")


def dropped(folder: Path, data: Path, images: int) -> list[Path]:
    """The files of two captioners and of people."""
    found = [path for name in REAL for path in [data / name] if path.is_file()]
    return found if len(found) == len(REAL) else planted_files(folder, images, {"nic": 0.0, "sat": 0.5})


def drawn(url: str, chromium: str, files: list[Path]) -> dict[str, float]:
    """Seconds until the page shows the example, and from these files to their picture, by what they are of."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(600_000)
        start = time.perf_counter()
        page.goto(url)
        page.frame_locator("iframe[src='result/example']").locator("svg:visible").first.wait_for()
        painted = time.perf_counter() - start
        page.get_by_role("tab", name="1. Files").click()
        start = time.perf_counter()
        page.locator("#upload input[type=file]").set_input_files(files)
        page.locator("#next:enabled").wait_for()
        read = time.perf_counter() - start
        page.locator("#next").click()
        page.locator("#measure").click()
        page.frame_locator("#result-frame iframe").locator("svg:visible").first.wait_for()
        seconds = time.perf_counter() - start
        browser.close()
    names = ", ".join(path.name for path in files)
    return {
        "first paint with the finished example": painted,
        f"drop to check: {names}": read,
        f"drop to picture: {names}": seconds,
    }


def planted_files(folder: Path, images: int, captioners: dict[str, float]) -> list[Path]:
    """Captioners that amplify so much, and people, as Parquet."""
    planted = plant(images)
    ids = list(range(images))
    tables = {name: plant(images, a_to_t=dial).predictions for name, dial in captioners.items()}
    columns: dict[str, dict[str, object]] = {name: {"caption": texts} for name, texts in tables.items()}
    people = {"references": planted.references, "gender": planted.attributes, "tasks": planted.tasks}
    paths = []
    for name, of_name in {**columns, "people": people}.items():
        paths.append(folder / f"{name}.parquet")
        pq.write_table(pa.table({"image_id": ids, **of_name}), paths[-1])
    return paths


def whole(url: str, folder: Path, images: int) -> float:
    """Upload, reading, both metrics with ten trials, and all files to take away."""
    files = planted_files(folder, images, {"nic": 0.5})
    client = Client(url, verbose=False)
    start = time.perf_counter()
    client.predict([handle_file(path) for path in files], api_name="/read")
    client.predict("gender", "", "coco_objects", "", ["dbac", "lic"], "fast", 10, 0, api_name="/measure")
    client.predict(api_name="/results")
    client.predict(api_name="/files")
    return time.perf_counter() - start


def memory_over(url: str, server: psutil.Process, folder: Path, runs: int) -> list[float]:
    """MB that the server holds after each run, as its resident set counts them."""
    planted = plant(SMALL, captions=1)
    rows = [
        {"id": number, "caption": caption, "gender": label}
        for number, (caption, label) in enumerate(zip(planted.predictions, planted.attributes, strict=True))
    ]
    path = folder / "small.json"
    path.write_text(json.dumps(rows))
    client = Client(url, verbose=False)
    client.predict([handle_file(path)], api_name="/read")
    held = []
    for seed in range(runs):
        client.predict("gender", "", "coco_objects", "", ["lic"], "fast", 2, seed, api_name="/measure")
        client.predict(api_name="/results")
        held.append(server.memory_info().rss / 1e6)
    return held


if __name__ == "__main__":
    typer.run(main)
