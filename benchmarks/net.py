"""DBAC of published captioners: as published, matched, blind and net, both directions, with 95% intervals.

usage: python benchmarks/net.py [nic sat ...] [--shared FOLDER] [--encoder lstm-dbac] [--processes 2]

Needs the published captions. Of the images with masked persons or objects (`sat_masked_...`) as well, where how many
captions name a gender is shown too: with few, T to A says little.
"""

from __future__ import annotations

import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.captions import check_captions
from captionbias.metrics import dbac, gender_error
from captionbias.text import load_lexicon

FORMS = {"": "as published", "_matched": "matched", "_blind": "blind", "_net": "net"}
# Of each attribute: the folder of its captions and the column of its labels.
ATTRIBUTES = {"gender": ("gender", "gender"), "age": ("gender", "age"), "race": ("race", "skin")}


def measure(captioner: str, shared: Path, attribute: str, options: dict[str, Any]) -> dict[str, Any]:
    """DBAC of one captioner on the images that have two human captions or more, and its captions without a gender."""
    warnings.simplefilter("ignore")
    folder, column = ATTRIBUTES[attribute]
    people = pd.read_parquet(shared / "data" / folder / "people.parquet").set_index("image_id")
    labels = people[column].astype(str).str.lower()
    people = people[(people.references.map(len) > 1) & labels.isin(load_lexicon(attribute).labels)]
    said = pd.read_parquet(shared / "data" / folder / f"predictions/{captioner}.parquet").set_index("image_id").caption
    rows = people.join(said, how="inner")
    captions = check_captions(predictions=rows.caption, references=rows.references, attributes=rows[column].str.lower())
    estimates = dbac.measure(captions, **options, attribute_lexicon=attribute).estimates
    found: dict[str, Any] = {key: estimate.as_dict() for key, estimate in estimates.items()} | {"images": len(captions)}
    if attribute == "gender":
        found["unnamed"] = gender_error(captions, bootstrap=0, controls=False)["unnamed"]
    return found


def main(
    captioners: Annotated[list[str] | None, typer.Argument(help="all when none is named")] = None,
    shared: Annotated[Path, typer.Option(help="folder with data")] = Path("../shared"),
    attribute: Annotated[str, typer.Option(help="gender, age or race")] = "gender",
    preset: Annotated[str, typer.Option(help="fast or papers")] = "fast",
    encoder: Annotated[str | None, typer.Option(help="the preset's when left out")] = None,
    trials: Annotated[int, typer.Option(help="of each side and direction")] = 10,
    processes: Annotated[int, typer.Option(help="captioners measured at once")] = 2,
    output: Annotated[Path | None, typer.Option(help="JSON file for all numbers")] = None,
) -> None:
    """Print a row for each captioner and direction."""
    console, started = Console(width=150), time.perf_counter()
    folder = shared / "data" / ATTRIBUTES[attribute][0]
    if not (folder / "people.parquet").exists():
        console.print(f"{folder} is missing: this needs the published captions")
        raise typer.Exit
    names = captioners or sorted(file.stem for file in (folder / "predictions").glob("*.parquet"))
    options = {"preset": preset, "trials": trials} | ({"encoder": encoder} if encoder else {})
    with ProcessPoolExecutor(processes) as pool:
        jobs = pool.map(partial(measure, shared=shared, attribute=attribute, options=options), names)
        results = dict(zip(names, track(jobs, "measuring", total=len(names)), strict=True))
    table = Table("captioner", "direction", *FORMS.values(), "names no gender")
    for name, result in results.items():
        for direction, heading in (("a_to_t", "A to T"), ("t_to_a", "T to A")):
            cells = [
                f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
                for one in (result[f"dbac_{direction}{form}"] for form in FORMS)
            ]
            table.add_row(name, heading, *cells, f"{result['unnamed']:.0f}%" if "unnamed" in result else "")
    console.print(table)
    console.print(f"{time.perf_counter() - started:.0f} s")
    if output:
        output.write_text(json.dumps(results))


if __name__ == "__main__":
    typer.run(main)
