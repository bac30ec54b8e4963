"""The counting metrics: how fast they are, and whether they agree with recorded cases.

usage: python benchmarks/cooccurrence.py [--shared FOLDER]

Speed needs nothing. Agreement needs the recorded cases; without them it is left out.
"""

from __future__ import annotations

import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from captionbias.metrics import directional_ba, find_metric
from captionbias.synthetic import plant

Flags = npt.NDArray[np.bool_]
SIDES = ("attributes", "tasks", "predicted_tasks", "predicted_attributes", "training_attributes", "training_tasks")
EQUAL = 1e-9
RECORDED = {  # of each metric: the file of its cases, and what its scores are called there
    "directional_ba": (
        "directional_ba_cases.json",
        {f"directional_ba_{direction}": f"ba_{direction}" for direction in ("a_to_t", "t_to_a")},
    ),
    "multi_directional_ba": (
        "multi_ba_cases.json",
        {
            f"multi_directional_ba_{direction}{form}": f"{direction}{form}"
            for direction in ("a_to_t", "t_to_a")
            for form in ("", "_variance")
        }
        | {"combinations": "combinations"},
    ),
}
console = Console(width=120, highlight=False)


def double_loop(
    attributes: Flags, tasks: Flags, predicted_tasks: Flags, predicted_attributes: Flags
) -> tuple[float, float]:
    """Directional BA straight from its definition, pair by pair."""
    some = attributes.any(axis=1) | tasks.any(axis=1)
    found: tuple[list[float], list[float]] = ([], [])
    for a in range(attributes.shape[1]):
        for t in range(tasks.shape[1]):
            together = (attributes[some, a] & tasks[some, t]).mean()
            y = np.sign(together - attributes[some, a].mean() * tasks[some, t].mean())
            members = attributes[:, a]
            found[0].append(y * (predicted_tasks[members, t].mean() - tasks[members, t].mean()))
            members = tasks[:, t]
            found[1].append(y * (predicted_attributes[members, a].mean() - attributes[members, a].mean()))
    return float(np.nanmean(found[0])), float(np.nanmean(found[1]))


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Of processor time, and what the work returns."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def arrays(images: int, tasks: int = 80) -> dict[str, Flags]:
    generator = np.random.default_rng(0)
    attributes = np.eye(2, dtype=bool)[generator.integers(2, size=images)]
    shown = generator.random((images, tasks)) < 0.05
    return {
        "attributes": attributes,
        "tasks": shown,
        "predicted_tasks": shown ^ (generator.random((images, tasks)) < 0.01),
        "predicted_attributes": attributes ^ (generator.random((images, 1)) < 0.1),
    }


def speed_of_captions() -> None:
    planted = vars(plant(20_000, captions=5))
    captions = len(planted["predictions"]) * 6
    with threadpool_limits(1):
        took, _ = seconds(lambda: directional_ba(**planted, bootstrap=0))
        with_intervals, _ = seconds(lambda: directional_ba(**planted))
    console.print(
        f"{captions:,} captions, 80 tasks, one core: {captions / took:,.0f} captions/s, "
        f"{captions / with_intervals:,.0f} with 1,000 bootstrap replicates"
    )
    for images in (5_000, 20_000):
        given = vars(plant(images, captions=5))
        tracemalloc.start()
        directional_ba(**given, bootstrap=0)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        console.print(f"  {6 * images:,} captions: {peak:.0f} MB at most beside the input")


def speed_of_arrays() -> None:
    given = arrays(1_000_000)
    took, score = seconds(lambda: directional_ba(**given, bootstrap=0))
    looped, by_loop = seconds(lambda: double_loop(**given))
    difference = max(abs(score["directional_ba_a_to_t"] - by_loop[0]), abs(score["directional_ba_t_to_a"] - by_loop[1]))
    console.print(
        f"1,000,000 x 80 arrays: {took:.1f} s, double loop over pairs {looped:.1f} s ({looped / took:.1f} times); "
        f"they differ by {difference:.0e}"
    )
    with_intervals, _ = seconds(lambda: directional_ba(**given))
    console.print(
        f"  with 1,000 bootstrap replicates {with_intervals:.1f} s; the loop would take {1000 * looped / 3600:,.1f} h "
        f"({1000 * looped / with_intervals:,.0f} times)"
    )


def recorded_cases(shared: Path) -> None:
    """What the code published with each metric's paper gave for these labels; some cases have training labels too."""
    table, differ = Table("metric", "score", "cases", "largest difference", title="Recorded cases"), []
    for metric, (file, scores) in RECORDED.items():
        cases = json.loads((shared / "reference" / file).read_text())["cases"]
        found = [
            find_metric(metric)(**{side: case[side] for side in SIDES if side in case}, bootstrap=0) for case in cases
        ]
        for key, name in scores.items():
            difference = max(abs(result[key] - case[name]) for result, case in zip(found, cases, strict=True))
            table.add_row(metric, key, str(len(cases)), f"{difference:.0e}")
            differ += [key] if difference > EQUAL else []
    console.print(table)
    if differ:
        raise SystemExit(f"not equal to {EQUAL:.0e}: {', '.join(differ)}")


def agreement(shared: Path) -> None:
    if not all((shared / "reference" / file).is_file() for file, _ in RECORDED.values()):
        console.print(f"no recorded cases at {shared}: agreement needs them; pass --shared FOLDER")
        return
    recorded_cases(shared)


def main(
    shared: Annotated[Path, typer.Option(help="folder with the recorded cases")] = Path("../shared"),
) -> None:
    """Print the speed of the counting metrics, and their agreement."""
    warnings.simplefilter("ignore")
    speed_of_captions()
    speed_of_arrays()
    agreement(shared)


if __name__ == "__main__":
    typer.run(main)
