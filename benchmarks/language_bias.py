"""Which metrics see a bias that is in the verbs alone? Captioners whose bias is planted.

usage: python benchmarks/language_bias.py [--images N] [--seeds N]
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from captionbias.metrics import dbac, directional_ba, dpa, label_leakage, lic
from captionbias.synthetic import plant, plant_verbs

FAST: dict[str, Any] = {"preset": "fast", "bootstrap": 0, "cache": False}
COUNTED: dict[str, Any] = {"bootstrap": 0}
ATTACKED: dict[str, Any] = {"bootstrap": 0, "cache": False}

console = Console(width=170)


def amplification(given: dict[str, Any]) -> dict[str, float]:
    """What each metric says of a captioner."""
    directed, equal = directional_ba(**given, **COUNTED), dpa(**given, **ATTACKED)
    ours, read = dbac(**given, **FAST), lic(**given, **FAST)
    return {
        "LIC": read["lic"],
        "DBAC A to T": ours["dbac_a_to_t"],
        "matched": ours["dbac_a_to_t_matched"],
        "net": ours["dbac_a_to_t_net"],
        "DBAC T to A": ours["dbac_t_to_a"],
        "matched ": ours["dbac_t_to_a_matched"],
        "net ": ours["dbac_t_to_a_net"],
        "dir. BA A to T": directed["directional_ba_a_to_t"],
        "T to A": directed["directional_ba_t_to_a"],
        "DPA A to T": equal["dpa_a_to_t"],
        "T to A ": equal["dpa_t_to_a"],
        "label leakage": label_leakage(**given, **ATTACKED)["label_leakage"],
    }


def show(title: str, rows: list[dict[str, Any]]) -> None:
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def mean(results: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}


def main(
    images: Annotated[int, typer.Option(help="Images of a dataset; the paper's have 300.")] = 300,
    seeds: Annotated[int, typer.Option(help="Datasets of each kind.")] = 5,
) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    captioners: dict[str, list[dict[str, Any]]] = {
        "faithful verbs": [vars(plant_verbs(images=images, seed=seed)) for seed in range(seeds)],
        "verbs 45:5": [vars(plant_verbs(model=0.9, images=images, seed=seed)) for seed in range(seeds)],
        "faithful": [vars(plant(10 * images, captions=1, seed=seed)) for seed in range(seeds)],
        "A to T": [vars(plant(10 * images, captions=1, seed=seed, a_to_t=0.5)) for seed in range(seeds)],
        "T to A": [vars(plant(10 * images, captions=1, seed=seed, t_to_a=0.5)) for seed in range(seeds)],
        "names half": [vars(plant(10 * images, captions=1, seed=seed, naming=0.5)) for seed in range(seeds)],
    }
    show(
        "Amplification by captioners whose bias was planted",
        [{"captioner": name} | mean([amplification(given) for given in data]) for name, data in captioners.items()],
    )


if __name__ == "__main__":
    typer.run(main)
