"""`captionbias demo`: captioners whose bias is known."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.terminal import complaints, console, plain_errors

DEMO_TRIALS = 5


def demo(
    images: Annotated[int, typer.Option(help="Images to plant.", min=200)] = 6000,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
    output: Annotated[Path | None, typer.Option(help="Write the captions into this folder, to measure them.")] = None,
) -> None:
    """Measure captioners with a planted bias, which is known. It needs no data and no torch, and takes under a minute.

    Example: captionbias demo --images 1000 --output example
    """
    from rich.progress import track

    from captionbias.metrics import catalogue
    from captionbias.report.grid import RULE, Grid, columns
    from captionbias.report.wording import interval
    from captionbias.synthetic import plant

    captioners: dict[str, dict[str, Any]] = {
        "faithful to\nits data": {},
        "faithful,\nnames half\nthe tasks": {"naming": 0.5},
        "attribute\nsways tasks\n(A to T)": {"a_to_t": 0.5},
        "tasks sway\nattribute\n(T to A)": {"t_to_a": 0.5},
        "errs at\nrandom": {"a_to_t": -0.5, "t_to_a": -0.5},
    }
    scores = {
        "sway A to T": ("sway_a_to_t", 1),
        "sway T to A": ("sway_t_to_a", 1),
        "DBAC T to A\nnet": ("dbac_t_to_a_net", 2),
        "LIC x 100": ("lic", 1),
    }
    table = Grid(
        f"{images:,} planted images, preset fast, {DEMO_TRIALS} trials [95% interval]",
        columns("captioner", *scores),
        [],
        "0 is another person. Sway counts, of 100 captions and beyond a person's, those that name the tasks "
        "that go with the gender (A to T), or the gender that goes with the tasks (T to A). The other two are scores "
        "of what an attacker can guess: they move too where the captioner only names half the tasks, or errs at "
        "random.",
    )
    with plain_errors():
        from captionbias.captions import CaptionBiasWarning, check_captions
        from captionbias.metrics import dbac, lic, sway

        warnings.simplefilter("ignore", CaptionBiasWarning)
        display: dict[str, Any] = {"console": complaints, "transient": True, "disable": not complaints.is_terminal}
        for name, dials in track(captioners.items(), "measuring", **display):
            planted = vars(plant(images, captions=1, seed=seed, **dials))
            captions = check_captions(**planted)
            if output:
                file = output / f"{'_'.join(name.partition('(')[0].replace(',', '').split())}.csv"
                write_example(file, caption=planted["predictions"])
                people = {"gender": planted["attributes"], **{of: planted[of] for of in ("references", "tasks")}}
                write_example(output / "people.csv", **people)
            attacked: dict[str, Any] = {"preset": "fast", "trials": DEMO_TRIALS, "seed": seed}
            measured = {"sway": sway.measure(captions, seed=seed)}
            measured |= {metric.name: metric.measure(captions, **attacked) for metric in (dbac, lic)}
            cells = []
            for key, digits in scores.values():
                estimate = measured[catalogue.SCORES[key].metric].estimates[key]
                cells.append(f"{interval(estimate, digits)}\n{estimate.verdict}")
            table.rows.extend([RULE, [name, *(cell.replace(" [", "\n[") for cell in cells)]])
    console.print(table)
    console.print("\nOn your own files: captionbias measure --help")


def write_example(path: Path, **columns: Any) -> None:
    import pandas as pd

    from captionbias.io.files import written_whole

    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as part:
        pd.DataFrame(columns).to_csv(part, index_label="image_id")
