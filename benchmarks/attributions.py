"""Which words give gender away in a captioner's captions: seconds, exactness, the published class averages, the words.

Time is that of explaining, without training, all captions of the captioner, on one thread.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from captionbias.attackers.convex import FittedConvex
from captionbias.attackers.neural.fitting import FittedNetwork
from captionbias.attackers.registry import BERTS
from captionbias.explain import Attributions, explain
from captionbias.explain import contributions as module
from captionbias.explain.contributions import contributions
from captionbias.metrics import Measurement, lic

# Türk et al. 2023, Table 4, ten seeds: captions that the LSTM gets right, values scaled to length 1 in each.
PUBLISHED = {"nic": (1.12, 1.10), "nic_plus": (1.20, 1.18)}
FINE_STEPS = 64

app = typer.Typer(add_completion=False)
console = Console(width=120)


def measure(shared: Path, captioner: str, encoder: str, model: str, trials: int, seed: int) -> Measurement:
    """LIC of a captioner's captions, with its attackers."""
    data = shared / "data" / "gender"
    table = pd.read_parquet(data / "people.parquet")
    table = table.merge(pd.read_parquet(data / "predictions" / f"{captioner}.parquet"), on="image_id")
    return lic.measure(
        predictions=list(table.caption),
        attributes=list(table.gender.str.lower()),
        encoder=encoder,
        model=model if encoder in BERTS else None,
        trials=trials,
        seed=seed,
        bootstrap=0,
        keep_attackers=trials,
    )


def show_speed(attacker: FittedConvex | FittedNetwork) -> None:
    import torch

    torch.set_num_threads(1)
    tokens = attacker.trial.examples.tokens
    started, busy = time.perf_counter(), time.process_time()
    contributions(attacker, np.arange(len(tokens)))
    table = Table("captions", "distinct", "seconds", "of the processor", title="explaining all captions")
    distinct = len(np.unique(tokens.fingerprints()))
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    table.add_row(f"{len(tokens):,}", f"{distinct:,}", f"{seconds:.1f}", f"{busy:.1f}")
    console.print(table)
    if not isinstance(attacker, FittedConvex):
        tests = attacker.trial.test
        quick, module.FIRST_STEPS = module.FIRST_STEPS, FINE_STEPS
        fine = contributions(attacker, tests)
        module.FIRST_STEPS = quick
        gaps = np.abs(contributions(attacker, tests) - fine)
        console.print(f"a word's value against {FINE_STEPS} steps: largest difference {gaps.max():.2g}")


def normalized(found: Attributions, number: int) -> list[float]:
    """The published average of a class in each trial: of captions that the attacker gets right, values at length 1."""
    captions, toward = len(found.tokens), found.values[:, number]
    sums = np.bincount(found.tokens.rows, toward, minlength=captions)
    length = np.sqrt(np.bincount(found.tokens.rows, toward**2, minlength=captions))
    right = (found.truth == number) & (found.scores.argmax(axis=1) == number) & (length > 0)
    of_trials = (right & (found.trials == trial) for trial in range(found.trials.max() + 1))
    return [float((sums[chosen] / length[chosen]).mean()) for chosen in of_trials if chosen.any()]


def show_words(measured: Measurement, captioner: str, words: int) -> None:
    found = explain(measured)
    by_class, by_word = found.by_class(), found.by_word()
    columns = ("score", "sum", "normalized", "normalized_std")
    for number, row in enumerate(by_class.values()):
        means = normalized(found, number)
        row |= {"normalized": np.mean(means), "normalized_std": np.std(means, ddof=1) if len(means) > 1 else 0.0}
    table = Table(
        "class", "captions", *columns, "published", title=f"averages of a class, {found.trials.max() + 1} trials"
    )
    for number, (name, row) in enumerate(by_class.items()):
        known = f"{PUBLISHED[captioner][number]:.2f}" if captioner in PUBLISHED else ""
        table.add_row(name, f"{row['captions']:.0f}", *(f"{row[key]:.3f}" for key in columns), known)
    console.print(table)
    table = Table(*found.classes, title="words that say most for a class (mean value, count)")
    for rows in zip(*(by_word[name][:words] for name in found.classes), strict=True):
        table.add_row(*(f"{row['word']} {row['mean']:.2f} ({row['count']})" for row in rows))
    console.print(table)


@app.command()
def main(
    captioner: Annotated[str, typer.Argument(help="One of the published captioners.")] = "nic",
    encoder: Annotated[str, typer.Option(help="As in lic.")] = "lstm-lic",
    model: Annotated[str, typer.Option(help="Under bert-frozen and bert-finetuned.")] = "all-MiniLM-L6-v2",
    trials: Annotated[int, typer.Option(min=1, help="Attackers that the averages and the words are of.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the first trial.")] = 0,
    words: Annotated[int, typer.Option(help="Words shown of each class.")] = 12,
    shared: Annotated[Path, typer.Option(help="Folder with data/gender.")] = Path("../shared"),
) -> None:
    """Train attackers, explain them, print three tables."""
    started, measured = time.perf_counter(), measure(shared, captioner, encoder, model, trials, seed)
    console.print(f"trained in {time.perf_counter() - started:.0f} s")
    show_speed(measured.artefacts.plans["lic"].fitted[0].explained())
    show_words(measured, captioner if encoder == "lstm-lic" else "", words)


if __name__ == "__main__":
    app()
