"""Hundreds of planted captioners, measured by an array of unlaunched processes on one cache, and by one process.

usage: python benchmarks/many.py [--captioners 200] [--images 1000] [--processes 4] [--trials 3]

The tables that `captionbias collect` makes of both must be equal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from captionbias.synthetic import plant


def main(
    captioners: Annotated[int, typer.Option(help="planted captioners, from mitigating to amplifying")] = 200,
    images: Annotated[int, typer.Option(help="images, the same of all captioners")] = 1000,
    processes: Annotated[int, typer.Option(help="processes of the array")] = 4,
    trials: Annotated[int, typer.Option(help="attackers for each set of captions")] = 3,
) -> None:
    """Print seconds a captioner, and end with an error if the tables differ."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = planted_files(folder, captioners, images)
        seconds = {}
        for name, number in (("array", processes), ("one", 1)):
            started = time.perf_counter()
            run_array(folder, files, number, name, ["--preset", "fast", "--trials", str(trials)])
            seconds[name] = time.perf_counter() - started
        tables = [collected(folder, name) for name in seconds]
    pd.testing.assert_frame_equal(*tables)
    print(f"{captioners} captioners of {images:,} images, LIC, preset fast, {trials} trials; the tables are equal")
    for name, number in (("array", processes), ("one", 1)):
        took = seconds[name]
        print(f"{number} processes: {took:.1f} s, {took / captioners:.2f} s a captioner")


def planted_files(folder: Path, captioners: int, images: int) -> list[Path]:
    """A file for each captioner, and people.parquet."""
    people = plant(images)
    table = {"image_id": range(images), "references": people.references, "gender": people.attributes}
    pd.DataFrame(table).to_parquet(folder / "people.parquet")
    files = []
    for number, dial in enumerate(np.linspace(-0.9, 0.9, captioners)):
        captions = plant(images, a_to_t=float(dial)).predictions
        files.append(folder / f"captioner-{number:03}.parquet")
        pd.DataFrame({"image_id": range(images), "caption": captions}).to_parquet(files[-1])
    return files


def run_array(folder: Path, files: Sequence[Path], processes: int, name: str, options: Sequence[str]) -> None:
    """Every file is measured by one of the processes, which have only the cache in common."""
    (folder / name).mkdir()
    environment = os.environ | {"CAPTIONBIAS_CACHE": str(folder / f"{name}-cache")}
    started = []
    for number in range(processes):
        own = [part for file in files[number::processes] for part in ("--predictions", str(file))]
        written = ["--output", str(folder / name / f"{number}.json")]
        people = ["--references", str(folder / "people.parquet")]
        command = [sys.executable, "-m", "captionbias", "measure", "lic", *own, *people, *options, *written]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for process in started:
        _, complaints = process.communicate()
        if process.returncode:
            raise RuntimeError(complaints.decode())


def collected(folder: Path, name: str) -> pd.DataFrame:
    """The table of what the processes wrote, by captioner and score."""
    output = folder / f"{name}.parquet"
    command = [sys.executable, "-m", "captionbias", "collect", *map(str, sorted((folder / name).glob("*.json")))]
    subprocess.run([*command, "--output", str(output)], check=True, stdout=subprocess.PIPE)
    return pd.read_parquet(output).sort_values(["captioner", "score"], ignore_index=True)


if __name__ == "__main__":
    typer.run(main)
