"""Does sway read what was planted, and do its intervals contain it?

usage: python benchmarks/planted_sway.py [--captioners 60] [--images 7000] [--scenes]

Each captioner is swayed in both directions, by numbers that are drawn from 0 to 30 of 100; they name 40% to 100% of the
tasks that people name. Two values and four, one human caption and five, tasks given and not, take turns; scenes are of
two values, with tasks.
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

from captionbias.arrays import Flags
from captionbias.metrics import sway
from captionbias.synthetic import (
    AGES,
    NAMES_PERSON,
    NAMES_TASK,
    NO_VALUE,
    TASKS,
    Planted,
    PlantedScenes,
    kind_of,
    plant,
)

AGAINST = {2: 0.3, 4: 0.45}  # outside scenes, of the images whose task leans to a value: the share that are of another
ENDS = {"t_to_a": ("t_to_a", "t_to_a"), "t_to_a_lost": ("t_to_a_lost",) * 2, "a_to_t": ("a_to_t_low", "a_to_t_high")}


def main(
    captioners: Annotated[int, typer.Option(help="how many")] = 60,
    images: Annotated[int, typer.Option(help="images each")] = 7000,
    bootstrap: Annotated[int, typer.Option(help="replicates each")] = 200,
    scenes: Annotated[bool, typer.Option("--scenes", help="images in scenes, without human captions")] = False,
) -> None:
    """Print how far scores are from what was planted, and how many intervals contain it."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    rows: dict[str, list[tuple[float, float, float, float, float]]] = {score: [] for score in ENDS}
    for seed in track(range(captioners), "measuring"):
        random = np.random.default_rng(seed)
        t_to_a, a_to_t, naming = (*random.uniform(0, 30, size=2), random.uniform(0.4, 1))
        values, captions = (2, 1) if scenes else ((2, 4)[seed % 2], (1, 5)[seed // 2 % 2])
        planted = plant(
            images,
            scenes=scenes,
            t_to_a=t_to_a / (100 * (0.5 if scenes else AGAINST[values])),
            a_to_t=a_to_t / (100 * NAMES_TASK * naming),
            naming=naming,
            values=values,
            captions=captions,
            seed=seed,
        )
        tasks = planted.tasks if captions == 1 or seed // 4 % 2 else None
        lexicon = "gender" if values == 2 else AGES
        lean = "shipped" if scenes else None  # nothing goes with a value where each scene shows all of them
        arguments = vars(planted) | {"tasks": tasks, "attribute_lexicon": lexicon, "lean": lean}
        measured, counted = sway.measure(**arguments, seed=seed, bootstrap=bootstrap), swayed(planted)
        estimates = measured.estimates
        meant = {"t_to_a": t_to_a, "t_to_a_lost": NAMES_PERSON * t_to_a, "a_to_t": a_to_t}
        for score, (low, high) in ENDS.items():
            ends = estimates[f"sway_{low}"].low, estimates[f"sway_{high}"].high
            rows[score].append((estimates[f"sway_{score}"].value, counted[score], meant[score], *ends))
    table = Table(
        "score", "less what is counted", "standard error", "less what was meant", "intervals hold it", "width"
    )
    for score, found in rows.items():
        value, counted_there, truth, low_end, high_end = np.array(found).T
        error = value - counted_there
        cells = error.mean(), error.std(ddof=1) / np.sqrt(captioners), (value - truth).mean()
        held = np.mean((low_end <= truth) & (truth <= high_end))
        table.add_row(
            f"sway_{score}", *(f"{cell:.3f}" for cell in cells), f"{held:.0%}", f"{(high_end - low_end).mean():.2f}"
        )
    Console(width=120).print(table)
    Console().print(f"{captioners} captioners of {images:,} images, {time.perf_counter() - started:.0f} s")


def swayed(planted: Planted | PlantedScenes, language: str | None = None) -> dict[str, float]:
    """How far the captioner was swayed, counted in its captions, in the units of `captionbias.metrics.sway`.

    Returns:
        `t_to_a`: of 100 captions that name an attribute beside a task that leans to one, how many name a wrong one
        beyond those that would if the captioner erred as often as beside tasks that lean to the person's.
        `t_to_a_lost`: the same of all captions beside such a task, in which it is wrong to name nobody. `a_to_t`: how
        many more of 100 captions name a task that leans to an attribute if it is the person's, the task shown being
        the same.

    """
    kind = kind_of(4 if planted.attributes[0] in AGES else 2, language)
    leaning = kind.leaning()
    value = np.array([kind.values.index(label) for label in planted.attributes])
    shown = np.array([TASKS.index(task) for (task,) in planted.tasks])
    said = planted.predictions
    person = np.array([[text.startswith(phrases) for phrases in kind.people] for text in said]).argmax(axis=1)
    task = np.array([[*(phrase in text for phrase in kind.phrases["tasks"]), True] for text in said]).argmax(axis=1)
    beside, wrong = leaning[shown], person != value

    def beyond(counted: Flags) -> float:
        along, against = counted & (beside == value), counted & (beside != value)
        more = 0.0
        for of_value in (value == number for number in range(len(kind.values))):
            usual = wrong[along & of_value].sum() / max((along & of_value).sum(), 1)
            more += (wrong[against & of_value] - usual).sum()
        return float(100 * more / counted.sum())

    mentions = 0.0
    for number in range(len(kind.values)):
        own = value == number
        share = np.bincount(shown, own) / np.maximum(np.bincount(shown), 1)
        left = own - share[shown]
        mentions += left @ (leaning[task] == number) / (left @ left)
    leans = beside != NO_VALUE
    return {
        "t_to_a": beyond(leans & (person < len(kind.values))),
        "t_to_a_lost": beyond(leans),
        "a_to_t": float(100 * mentions / len(kind.values)),
    }


if __name__ == "__main__":
    typer.run(main)
