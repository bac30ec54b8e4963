"""Do the 95% intervals contain the truth? It is 0: planted captioners are faithful to their data, one a seed.

usage: python benchmarks/intervals.py [--captioners 40] [--images 3000]
"""

from __future__ import annotations

import time
import warnings
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant

SCORES = ["dbac_a_to_t", "dbac_a_to_t_matched", "dbac_t_to_a", "dbac_t_to_a_matched", "lic", "leakage", "confidence"]


def main(
    captioners: Annotated[int, typer.Option(help="how many")] = 40,
    images: Annotated[int, typer.Option(help="images each")] = 3000,
    trials: Annotated[int, typer.Option(help="trials each")] = 10,
) -> None:
    """Print how often each interval holds 0, and the spread that it says beside the spread that there is."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    results = []
    for seed in track(range(captioners), "measuring"):
        given = vars(plant(images, seed=seed))
        results.append(dbac(**given, preset="fast", trials=trials) | lic(**given, preset="fast", trials=trials))
    table = Table(
        "score", "intervals that contain 0", "mean score", "its standard error", "spread of scores", "estimated spread"
    )
    for score in SCORES:
        values, low, high = (np.array([r[score + end] for r in results]) for end in ("", "_ci_low", "_ci_high"))
        spread = values.std(ddof=1)
        cells = [values.mean(), spread / np.sqrt(captioners), spread, (high - low).mean() / (2 * 1.96)]
        table.add_row(score, f"{np.mean((low <= 0) & (high >= 0)):.0%}", *(f"{cell:.4f}" for cell in cells))
    Console(width=140).print(table)
    Console().print(f"{captioners} captioners, {images} images, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    typer.run(main)
