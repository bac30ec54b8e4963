"""Which words give gender away in a captioner's captions: seconds, exactness, the words.

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
from captionbias.explain import contributions as module
from captionbias.explain import explain
from captionbias.explain.contributions import contributions
from captionbias.metrics import Measurement, lic

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
        model=model if encoder == "bert-finetuned" else None,
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


def show_words(measured: Measurement, words: int) -> None:
    found = explain(measured)
    by_word = found.by_word()
    table = Table(*found.classes, title="words that say most for a class (mean value, count)")
    for rows in zip(*(by_word[name][:words] for name in found.classes), strict=True):
        table.add_row(*(f"{row['word']} {row['mean']:.2f} ({row['count']})" for row in rows))
    console.print(table)


@app.command()
def main(
    captioner: Annotated[str, typer.Argument(help="One of the published captioners.")] = "nic",
    encoder: Annotated[str, typer.Option(help="As in lic.")] = "lstm-lic",
    model: Annotated[str, typer.Option(help="Under bert-finetuned.")] = "all-MiniLM-L6-v2",
    trials: Annotated[int, typer.Option(min=1, help="Attackers that the words are of.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the first trial.")] = 0,
    words: Annotated[int, typer.Option(help="Words shown of each class.")] = 12,
    shared: Annotated[Path, typer.Option(help="Folder with data/gender.")] = Path("../shared"),
) -> None:
    """Train attackers, explain them, print two tables."""
    started, measured = time.perf_counter(), measure(shared, captioner, encoder, model, trials, seed)
    console.print(f"trained in {time.perf_counter() - started:.0f} s")
    show_speed(measured.artefacts.plans["lic"].fitted[0])
    show_words(measured, words)


if __name__ == "__main__":
    app()
