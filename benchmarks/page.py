"""The page of `captionbias app`: seconds from a click to plots, from files to results, and memory over many runs.

usage: python benchmarks/page.py [--images 10780] [--runs 50]

The page is served as people start it, with an empty cache. The first row needs Chromium, and is left out without it.
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

SMALL = 60  # images of the runs over which memory is told


def main(
    images: Annotated[int, typer.Option(min=100, help="planted images, with 5 human captions each")] = 10780,
    runs: Annotated[int, typer.Option(min=2, help="runs over which memory is told")] = 50,
) -> None:
    """Print a table of seconds and of MB."""
    table = Table("what", "result")
    with TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder) as (url, server):
            if chromium := shutil.which("chromium"):
                table.add_row("example data, click to plots", f"{click_to_plots(url, chromium):.1f} s")
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


def click_to_plots(url: str, chromium: str) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(600_000)
        page.goto(url)
        button = page.locator("#example")
        button.wait_for()
        start = time.perf_counter()
        button.click()
        page.locator("#scores-plot svg.main-svg").first.wait_for()
        seconds = time.perf_counter() - start
        browser.close()
    return seconds


def whole(url: str, folder: Path, images: int) -> float:
    """Upload, reading, both metrics with ten trials, and all files to take away."""
    planted = plant(images, a_to_t=0.5)
    ids = list(range(images))
    people = {"image_id": ids, "references": planted.references, "gender": planted.attributes, "tasks": planted.tasks}
    captions = {"image_id": ids, "caption": planted.predictions}
    files = [folder / "nic.parquet", folder / "people.parquet"]
    for path, columns in zip(files, (captions, people), strict=True):
        pq.write_table(pa.table(columns), path)
    client = Client(url, verbose=False)
    start = time.perf_counter()
    client.predict([handle_file(files[0])], handle_file(files[1]), None, None, api_name="/read")
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
    client.predict([handle_file(path)], None, None, None, api_name="/read")
    held = []
    for seed in range(runs):
        client.predict("gender", "", "coco_objects", "", ["lic"], "fast", 2, seed, api_name="/measure")
        client.predict(api_name="/results")
        held.append(server.memory_info().rss / 1e6)
    return held


if __name__ == "__main__":
    typer.run(main)
