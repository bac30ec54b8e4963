"""Are p-values uniform where there is no effect, and do intervals of differences contain the truth?

usage: python benchmarks/significance.py [--simulations 100] [--images 600] [--trials 4]

In each simulation two captioners are made just like the human captions, one caption an image on every side, so that no
score and no difference between the two has a true value but 0; a third is biased.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import kstest

from captionbias.analysis.compare import Comparison, compare
from captionbias.synthetic import plant


def simulate(seed: int, images: int, metric: str, **chosen: Any) -> Comparison:
    planted = plant(images, captions=2, seed=seed)
    captioners = {
        "faithful": planted.predictions,
        "alike": [texts[1] for texts in planted.references],
        "biased": plant(images, captions=2, seed=seed, a_to_t=0.5).predictions,
    }
    people = {"attributes": planted.attributes, "tasks": planted.tasks}
    return compare(captioners, [texts[:1] for texts in planted.references], **people, metric=metric, **chosen)


def main(
    simulations: Annotated[int, typer.Option(help="how many")] = 100,
    images: Annotated[int, typer.Option(help="images each")] = 600,
    trials: Annotated[int, typer.Option(help="trials each")] = 4,
    bootstrap: Annotated[int, typer.Option(help="replicates each")] = 200,
) -> None:
    """Print p-values and intervals beside what happens."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    chosen = {"preset": "fast", "trials": trials, "bootstrap": bootstrap, "cache": False}
    null: dict[tuple[str, str], list[float]] = defaultdict(list)
    intervals: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    errors: dict[str, list[float]] = defaultdict(list)
    for seed in track(range(simulations), "simulating"):
        for metric in ("lic", "dbac"):
            found = simulate(seed, images, metric, **chosen)
            for score in found.scores:
                measured = found.measurements["faithful"]
                estimate, drawn = measured.estimates[score], measured.samples[score].replicates
                null[score, "faithful against 0"].append(found.p_values["faithful"][score])
                intervals[score, "faithful"].append((estimate.value, estimate.low or np.nan, estimate.high or np.nan))
                errors[score].append(np.nanstd(drawn, ddof=1))
            for one in found.differences:
                if "alike" not in (one.first, one.second):
                    continue  # the biased one is the faithful one with words changed: T to A is the same
                if (one.first, one.second) == ("faithful", "alike"):
                    null[one.score, "faithful less alike"].append(one.p)
                name = f"{one.first} less {one.second}"
                intervals[one.score, name].append((one.difference, one.ci_low, one.ci_high))

    table = Table("p-values without an effect", "", "mean", "below 0.05", "below 0.2", "KS distance", "KS p")
    for (score, name), found_p in null.items():
        p, test = np.array(found_p), kstest(found_p, "uniform")
        cells = [f"{p.mean():.2f}", f"{np.mean(p < 0.05):.0%}", f"{np.mean(p < 0.2):.0%}"]
        table.add_row(score, name, *cells, f"{test.statistic:.2f}", f"{test.pvalue:.2g}")
    Console(width=120).print(table)
    table = Table("95% intervals", "", "contain the truth", "mean", "spread", "estimated spread")
    for (score, name), found_ends in intervals.items():
        value, low, high = np.array(found_ends).T
        truth = value.mean() if "biased" in name else 0.0  # of a bias only the simulations know the score
        held = f"{np.mean((low <= truth) & (truth <= high)):.0%}"
        cells = [value.mean(), value.std(ddof=1), (high - low).mean() / (2 * 1.96)]
        table.add_row(score, name, held, *(f"{cell:.4f}" for cell in cells))
    Console(width=120).print(table)
    table = Table("a faithful score's spread", "there is", "by the bootstrap")
    for score, found_errors in errors.items():
        by_bootstrap = np.sqrt((np.array(found_errors) ** 2).mean())
        spread = np.std([value for value, *_ in intervals[score, "faithful"]], ddof=1)
        table.add_row(score, *(f"{cell:.4f}" for cell in (spread, by_bootstrap)))
    Console(width=120).print(table)
    Console().print(
        f"{simulations} simulations, {images} images, {trials} trials, {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    typer.run(main)
