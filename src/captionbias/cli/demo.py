"""`captionbias demo`: captioners whose bias is known."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer

from captionbias.cli.terminal import complaints, console, plain_errors

DEMO_TRIALS = 5


def demo(
    images: Annotated[int, typer.Option(help="Images to plant.", min=200)] = 6000,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
) -> None:
    """Measure captioners whose bias is known, because it was planted. Needs no data and no torch; under a minute.

    Example: captionbias demo --images 1000
    """
    from rich.progress import track

    from captionbias.metrics import catalogue
    from captionbias.metrics.verdicts import verdict
    from captionbias.report.terminal import plain_table
    from captionbias.report.wording import interval
    from captionbias.synthetic import plant

    captioners: dict[str, dict[str, Any]] = {
        "faithful to\nits data": {},
        "faithful,\nnames half\nthe tasks": {"naming": 0.5},
        "attribute\nshapes tasks\n(A to T)": {"a_to_t": 0.5},
        "tasks shape\nattribute\n(T to A)": {"t_to_a": 0.5},
        "mitigates\nboth": {"a_to_t": -0.5, "t_to_a": -0.5},
    }
    columns = {
        "DBAC A to T\nnet": ("dbac_a_to_t_net", 2),
        "DBAC A to T\nas published": ("dbac_a_to_t", 2),
        "DBAC T to A\nnet": ("dbac_t_to_a_net", 2),
        "LIC x 100": ("lic", 1),
    }
    table = plain_table(
        f"{images:,} planted images, preset fast, {DEMO_TRIALS} trials [95% interval]",
        "captioner",
        *columns,
        meaning="Above 0 the captioner makes its data's bias worse (amplifies), below 0 it softens it (mitigates). The "
        "second captioner has no bias of its own; it names fewer tasks. That alone raises DBAC as published sharply "
        "and lowers LIC; net DBAC barely moves.",
    )
    with plain_errors():
        from captionbias.captions import CaptionBiasWarning, check_captions
        from captionbias.metrics import dbac, lic

        warnings.simplefilter("ignore", CaptionBiasWarning)
        shown: dict[str, Any] = {"console": complaints, "transient": True, "disable": not complaints.is_terminal}
        for name, dials in track(captioners.items(), "measuring", **shown):
            captions = check_captions(**vars(plant(images, captions=1, seed=seed, **dials)))
            chosen: dict[str, Any] = {"preset": "fast", "trials": DEMO_TRIALS, "seed": seed}
            measured = {metric.name: metric.measure(captions, **chosen) for metric in (dbac, lic)}
            cells = []
            for key, digits in columns.values():
                found = measured[catalogue.SCORES[key].metric]
                cells.append(f"{interval(found.estimates[key], digits)}\n{verdict(found.estimates, key)}")
            table.add_section()
            table.add_row(name, *(cell.replace(" [", "\n[") for cell in cells))
    console.print(table)
    console.print("\nOn your own files: captionbias measure --help")
