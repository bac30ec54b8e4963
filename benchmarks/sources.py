"""Does the table of sources name the pairs whose bias was planted, and what does it cost?

usage: python benchmarks/sources.py planted|few|time [--seeds 20]
"""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.metrics import dbac
from captionbias.synthetic import LEAN, TASKS, plant
from captionbias.text import load_lexicon

DIRECTIONS = ("a_to_t", "t_to_a")
FORMS = ("amplification", "amplification_matched", "amplification_net")
VALUES = ("female", "male")
PEOPLE = {"female": ("woman", "lady", "girl"), "male": ("man", "guy", "boy")}
WORDS = [name for name in load_lexicon("coco_objects").labels if name.isalpha()]
MANY = [name for name in WORDS if name not in ("person", "orange")][:40]
PLANTED, EXTRA, FLIPPED = 5, 0.03, 0.4

app = typer.Typer(add_completion=False)
console = Console(width=140)
Seeds = Annotated[int, typer.Option(help="data sets of each kind")]
Images = Annotated[int, typer.Option(help="images each")]


def sources(direction: str, given: dict[str, Any], bootstrap: int = 0, details: bool = True) -> list[dict[str, Any]]:
    result = dbac(
        **given,
        preset="fast",
        directions=[direction],
        alignment="constant",
        bootstrap=bootstrap,
        cache=False,
        details=details,
    )
    return result["details"]["sources"][direction] if details else []


def planted_sign(row: dict[str, Any]) -> float:
    """1 for a pair that `plant` adds to, -1 for one that it takes from, 0 for one that it leaves alone."""
    if row["attribute"] is None or row["task"] is None:
        return 0.0
    lean = np.sign(LEAN[TASKS.index(row["task"])] - 0.5)
    return float(lean if row["attribute"] == "female" else -lean)


@app.command()
def planted(seeds: Seeds = 20, images: Images = 3000) -> None:
    """Of the five largest rows by size, how many were planted with that sign?"""
    table = Table("direction", "dial", "by chance", *(f"precision at 5, {form}" for form in FORMS))
    for direction in DIRECTIONS:
        for dial in (0.3, 0.6):
            right: dict[str, list[bool]] = {form: [] for form in FORMS}
            chance = []
            for seed in track(range(seeds), f"{direction} {dial}"):
                given = vars(plant(images, seed=seed, **{direction: dial}))
                rows = sources(direction, given)
                for form in FORMS:
                    first = sorted(rows, key=lambda row: -abs(row[form]))[:5]
                    right[form] += [planted_sign(row) * row[form] > 0 for row in first]
                chance.append(np.mean([planted_sign(row) != 0 for row in rows]) / 2)
            precision = [f"{np.mean(right[form]):.2f}" for form in FORMS]
            table.add_row(direction, str(dial), f"{np.mean(chance):.2f}", *precision)
    console.print(table)


def pair(row: dict[str, Any]) -> tuple[str | None, str | None]:
    return row["attribute"], row["task"]


def few_pairs(direction: str, images: int, seed: int) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """Captions in which five of 80 pairs are amplified; in the images no task goes with an attribute value."""
    random = np.random.default_rng([seed, DIRECTIONS.index(direction)])
    pairs = [(VALUES[random.integers(2)], MANY[task]) for task in random.permutation(len(MANY))[:PLANTED]]
    attributes = [VALUES[image % 2] for image in range(images)]
    tasks = [[MANY[task] for task in random.permutation(len(MANY))[: 1 + random.integers(2)]] for _ in attributes]

    def caption(attribute: str, shown: list[str], model: bool) -> str:
        named = [task for task in shown if random.random() < 0.75]
        person = attribute
        for value, task in pairs if model else ():
            if direction == "a_to_t" and value == attribute and random.random() < EXTRA:
                named = [*named[1:], task]
            if direction == "t_to_a" and task in shown and random.random() < FLIPPED:
                person = value
        who = PEOPLE[person][random.integers(3)] if random.random() < 0.85 else "someone"
        return " ".join(["a", who, "stands", *(f"with a {task}" for task in named)])

    predictions = [caption(*image, model=True) for image in zip(attributes, tasks, strict=True)]
    references = [[caption(*image, model=False) for _ in range(5)] for image in zip(attributes, tasks, strict=True)]
    given = {"predictions": predictions, "references": references, "attributes": attributes, "tasks": tasks}
    return given, set(pairs)


@app.command()
def few(seeds: Seeds = 20, images: Images = 7000) -> None:
    """Five pairs of 80 are amplified: how many of the five rows that add most are those?"""
    table = Table("direction", "rows", "by chance", *(f"precision at 5, {form}" for form in FORMS))
    for direction in DIRECTIONS:
        found: dict[str, list[bool]] = {form: [] for form in FORMS}
        count = 0
        for seed in track(range(seeds), direction):
            given, pairs = few_pairs(direction, images, seed)
            rows = sources(direction, given)
            count = len(rows)
            for form in FORMS:
                found[form] += [pair(row) in pairs for row in sorted(rows, key=lambda row: -row[form])[:5]]
        precision = [f"{np.mean(found[form]):.2f}" for form in FORMS]
        table.add_row(direction, str(count), f"{PLANTED / count:.2f}", *precision)
    console.print(table)


@app.command(name="time")
def seconds(images: Images = 7000) -> None:
    """Seconds of DBAC with 10 trials and 1,000 replicates, without and with the table."""
    table = Table("direction", "rows", "without", "with")
    for direction in DIRECTIONS:
        given, _ = few_pairs(direction, images, seed=0)
        spent = []
        for details in (False, True):
            started = time.perf_counter()
            rows = sources(direction, given, bootstrap=1000, details=details)
            spent.append(f"{time.perf_counter() - started:.1f} s")
        table.add_row(direction, str(len(rows)), *spent)
    console.print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    app()
