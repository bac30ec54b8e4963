"""Gaps in quality of published captioners, of persons, and of objects left out of women's captions.

usage: python benchmarks/quality.py captioners|people|planted [--shared FOLDER]
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from injections import describe, inject, rarest_loses_tasks
from published import CAPTIONERS, Shared
from rich.progress import track
from speed import show
from sway import images_of_person, written

from captionbias.captions import check_captions
from captionbias.metrics import catalogue, quality_gaps

GAPS = [score.key for score in catalogue.METRICS["quality_gaps"].scores]
SHARED = Path("../shared")
Folder = Annotated[Path, typer.Option(help="folder with data/gender")]
app = typer.Typer(help=__doc__)


def measured(name: str, given: dict[str, Any], bootstrap: int = 1000) -> tuple[dict[str, str], dict[str, float]]:
    """A row of gaps beyond a person's, and their values."""
    warnings.simplefilter("ignore")
    found = quality_gaps.measure(**given, bootstrap=bootstrap)
    excess = {key: found.estimates[f"{key}_excess"] for key in GAPS if key in found.estimates}
    facts = found.facts
    scores = {of: f"{facts[f'{of}_female']:.1f} / {facts[f'{of}_male']:.1f}" for of in ("cider", "recall", "chair")}
    row = {"captioner": name, **scores, **{key: written(one) for key, one in excess.items()}}
    return row, {key: one.value for key, one in excess.items()}


@app.command()
def captioners(shared: Folder = SHARED) -> None:
    """Ten captioners."""
    names = track([*CAPTIONERS, "nic_official", "confident", "confusion", "sat_masked_seg_person"], transient=True)
    show(
        "women - men, beyond a person's", [measured(name, Shared(shared).images(name, human=True))[0] for name in names]
    )


@app.command()
def people(shared: Folder = SHARED, draws: int = 5) -> None:
    """Persons in the captioner's place."""
    images = Shared(shared).images("nic", human=True)
    rows, values = zip(
        *[measured(f"person {seed}", images_of_person(images, seed)) for seed in range(draws)], strict=True
    )
    mean = {key: f"{np.mean([one[key] for one in values]):.1f}" for key in values[0]}
    show("persons", [*rows, dict.fromkeys(rows[0], "") | {"captioner": "mean", **mean}])


@app.command()
def planted(shared: Folder = SHARED) -> None:
    """Objects left out of the captions of women: of none, of 5 of 100, of 10, of all others as they were."""
    rows = []
    for name in ("transformer", "a person"):
        images = Shared(shared).images("transformer", human=True)
        images = images if name == "transformer" else images_of_person(images, 0)
        described = describe(
            check_captions(**{key: images[key] for key in ("predictions", "attributes", "references")})
        )
        for share in (0.0, 0.05, 0.1):
            said = inject(described, rarest_loses_tasks, share, value=described.rarest)
            rows.append(measured(f"{name}, {share:.0%}", images | {"predictions": said}, 200)[0])
    show("objects left out of women's captions", rows)


if __name__ == "__main__":
    app()
