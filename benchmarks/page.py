"""The page of `captionbias app`: seconds to the first paint, from dropped files to the first picture and to the whole
result, and memory over runs.

usage: python benchmarks/page.py [--images 10780] [--runs 50] [--data ../shared/data/gender]

The page is served as people start it, with an empty cache. What is drawn needs Chromium, and is left out without it;
the same runs are measured without a browser too. Two captioners of 7,038 real images are dropped if the folder with the
data is there, else planted ones. Seconds of the processors are those of the server and what it starts; they depend less
on what else the machine does.
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
from typing import Annotated, Any

import httpx
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from captionbias.app import measuring
from captionbias.app.runs import Run, Runs, read_files
from captionbias.synthetic import plant

REAL = ("predictions/nic.parquet", "predictions/sat.parquet", "people.parquet")
IMPORTED = 15.0  # seconds in which the page imports what runs need: nobody drops files at once
SMALL = 60  # images of the runs over which memory is told


def main(
    images: Annotated[int, typer.Option(min=100, help="planted images, with 5 human captions each")] = 10780,
    runs: Annotated[int, typer.Option(min=2, help="runs over which memory is told")] = 50,
    data: Annotated[Path, typer.Option(help="folder with captions of real images")] = Path("../shared/data/gender"),
) -> None:
    """Print a table of seconds and of MB."""
    table = Table("what", "result")
    measuring.listen()
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = dropped(folder, data, images)
        if chromium := shutil.which("chromium"):
            with served(folder) as (url, server):
                for what, seconds in drawn(url, server, chromium, files).items():
                    table.add_row(what, seconds)
        for what, seconds in without_a_browser(files).items():
            table.add_row(f"without a browser, {what}", seconds)
        memory = memory_over(folder, runs)
    for number in sorted({1, 2, runs // 4, runs // 2, runs}):
        table.add_row(f"memory after run {number}", f"{memory[number - 1]:.0f} MB")
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
    real = [data / name for name in REAL]
    if all(path.is_file() for path in real):
        return real
    return planted_files(folder, images, {"nic": 0.0, "sat": 0.5})


def drawn(url: str, server: psutil.Process, chromium: str, files: list[Path]) -> dict[str, str]:
    """Seconds until the page shows the example, and from these files to their pictures, by what they are of."""
    from playwright.sync_api import sync_playwright

    seconds: dict[str, str] = {}
    start = time.perf_counter(), processors(server)

    def lap(what: str) -> None:
        wall, used = time.perf_counter() - start[0], processors(server) - start[1]
        seconds[what] = f"{wall:.1f} s, of the processors {used:.1f} s"

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(600_000)
        page.goto(url)
        page.frame_locator("iframe[src='example']").locator("svg:visible").first.wait_for()
        lap("first paint with the finished example")
        page.get_by_role("tab", name="1. Files").click()
        page.wait_for_timeout(1000 * IMPORTED)
        start = time.perf_counter(), processors(server)
        page.locator("#upload input[type=file]").set_input_files(files)
        page.locator("#next:enabled").wait_for()
        lap(f"drop to check: {', '.join(path.name for path in files)}")
        page.locator("#next").click()
        page.locator("#measure").click()
        page.frame_locator("#result-frame iframe").locator("svg:visible").first.wait_for()
        lap("drop to the first picture")
        page.locator("#cancel").wait_for(state="hidden")
        lap("drop to the whole result")
        browser.close()
    return seconds


def without_a_browser(files: list[Path]) -> dict[str, str]:
    """Seconds from these files to the results, in a run as the page has it, but for what draws them; imports are not
    counted, which the page makes before it answers."""
    seconds: dict[str, str] = {}
    runs, this = Runs(), psutil.Process()
    for _ in range(2):  # after the first, everything is imported
        with TemporaryDirectory() as os.environ["CAPTIONBIAS_CACHE"]:
            start = time.perf_counter(), processors(this)
            for what in laps(runs, list(map(str, files))):
                wall, used = time.perf_counter() - start[0], processors(this) - start[1]
                seconds[what] = f"{wall:.1f} s, of the processors {used:.1f} s"
    runs.close()
    return seconds


def laps(runs: Runs, paths: list[str], **settings: Any) -> Iterator[str]:
    """Read and measure these files; tells what is done, as soon as it is."""
    run = runs.read(Run(settings=measuring.PageSettings(**settings)), "", lambda: read_files(paths))
    assert run.reading
    run.reading.result()
    assert run.ready, run.message or run.look().not_ready
    yield "files to check"
    runs.ask(run, "")
    for what, is_there in (("first", lambda: run.result), ("whole", lambda: not run.working)):
        while not is_there():
            runs.look(run)  # a run that no page shows is cancelled
            time.sleep(0.01)
        assert run.result, run.message
        assert run.result.report
        yield f"files to the {what} report"


def processors(server: psutil.Process) -> float:
    """Seconds that processors have worked for the server and what it started."""
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


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


def memory_over(folder: Path, runs: int) -> list[float]:
    """MB that this process holds after each run, as its resident set counts them."""
    planted = plant(SMALL, captions=1)
    rows = [
        {"id": number, "caption": caption, "gender": label}
        for number, (caption, label) in enumerate(zip(planted.predictions, planted.attributes, strict=True))
    ]
    path = folder / "small.json"
    path.write_text(json.dumps(rows))
    os.environ["CAPTIONBIAS_CACHE"] = str(folder / "cache")
    held, of_page, this = [], Runs(), psutil.Process()
    for seed in range(runs):
        for _ in laps(of_page, [str(path)], metrics=("lic",), trials=2, seed=seed):
            pass
        held.append(this.memory_info().rss / 1e6)
    of_page.close()
    return held


if __name__ == "__main__":
    typer.run(main)
