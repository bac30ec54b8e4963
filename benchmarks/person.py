"""Does zero mean a person? One more person, and planted captioners that are faithful, on every score of a verdict.

usage: python benchmarks/person.py [published] [long] [planted] [--images 100 --images 7038] [--metrics sway]
                                   [--draws 20] [--shared FOLDER] [--processes 2]

`published` puts one human caption an image in the captioner's place, the image's other captions being the references,
of all images or of as many at random; it needs the published captions. `long` puts two of them, joined, in the
captioner's place, and compares them with the others as they are and joined. `planted` makes captions without bias and
needs nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.bench import catalogue
from captionbias.bench.verdicts import LESS, MORE, NOTHING
from captionbias.captions import Captions, check_captions
from captionbias.metrics import find_metric
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

ATTACKED = {"preset": "fast"}
METRICS: dict[str, dict[str, Any]] = {
    "sway": {},
    "dbac": ATTACKED,
    "lic": ATTACKED,
    "label_leakage": {},
    "dpa": {},
    "ba_mals": {},
    "directional_ba": {},
    "multi_directional_ba": {},
    "gender_error": {},
    "quality_gaps": {},
}
SCORES = [
    score.key
    for score in catalogue.SCORES.values()
    if score.metric in METRICS
    and score.sense == "amplification"
    and not score.key.endswith(("_least", "_most", "_one"))
]
Found = tuple[Estimate, str]  # a score and its verdict


def measure(captions: Captions, seed: int, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Found]:
    """Each score with its interval and its verdict, as far as it is defined."""
    warnings.simplefilter("ignore")
    found: dict[str, Found] = {}
    for metric, options in metrics.items():
        directions = {"directions": ["a_to_t"]} if metric == "dbac" and not _has_tasks(captions) else {}
        caching = {"cache": False} if "cache" in find_metric(metric).options() else {}
        estimates = (
            find_metric(metric).measure(captions, **options, **directions, **caching, seed=1000 * seed).estimates
        )
        found |= {key: (estimates[key], estimates[key].verdict or NOTHING) for key in SCORES if key in estimates}
    return found


def _has_tasks(captions: Captions) -> bool:
    return captions.tasks is not None or any(len(texts) > 1 for texts in captions.references or ())


def one_person(
    seed: int, people: pd.DataFrame, images: int, metrics: Mapping[str, Mapping[str, Any]]
) -> dict[str, Found]:
    """A human caption in the captioner's place, of each of so many images at random."""
    generator = np.random.default_rng(seed)
    people = people.iloc[np.sort(generator.permutation(len(people))[:images])]
    drawn = [int(generator.integers(len(texts))) for texts in people.references]
    pairs = list(zip(people.references, drawn, strict=True))
    captions = check_captions(
        predictions=[texts[place] for texts, place in pairs],
        references=[[text for number, text in enumerate(texts) if number != place] for texts, place in pairs],
        attributes=people.gender,
    )
    return measure(captions, seed, metrics)


def two_people(seed: int, people: pd.DataFrame) -> dict[str, Found]:
    """Two joined human captions of each image in the captioner's place, and the others as references."""
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(texts).tolist() for texts in people.references]
    captions = check_captions(
        predictions=[" . ".join(text.rstrip(" .") for text in texts[:2]) for texts in orders],
        references=[texts[2:] for texts in orders],
        attributes=people.gender,
    )
    return measure(captions, seed, dict.fromkeys(("dbac", "lic"), ATTACKED))


def faithful(
    seed: int, images: int, references: int, naming: float, metrics: Mapping[str, Mapping[str, Any]]
) -> dict[str, Found]:
    """A planted captioner with its data's own bias, which names this share of the tasks that people name."""
    planted = vars(plant(images, captions=references, naming=naming, seed=seed))
    if references > 1:
        planted.pop("tasks")
    return measure(check_captions(**planted), seed, metrics)


def show(title: str, columns: Mapping[str, Sequence[dict[str, Found]]], console: Console) -> None:
    """A row a score: its mean and its standard error, how many intervals hold 0, how many verdicts are more or less."""
    table = Table("score", *columns, title=f"{title}: mean ± standard error, intervals that hold 0, false verdicts")
    for score in SCORES:
        cells = [_cell([found[score] for found in draws if score in found]) for draws in columns.values()]
        if any(cells):
            table.add_row(score, *cells)
    console.print(table)


def _cell(found: Sequence[Found]) -> str:
    if len(found) < 2:
        return ""
    values = np.array([estimate[:3] for estimate, _ in found], np.float64)
    mean, error = values[:, 0].mean(), values[:, 0].std(ddof=1) / np.sqrt(len(values))
    held = np.mean((values[:, 1] <= 0) & ~(values[:, 2] < 0))  # some have no upper end
    false = np.mean([word in (MORE, LESS) for _, word in found])
    judged = f" {false:.0%}" if any(word != NOTHING for _, word in found) else ""
    width = np.mean(values[:, 2] - values[:, 1])
    spread = f"spread {values[:, 0].std(ddof=1):.3f}" + ("" if np.isnan(width) else f", width {width:.2f}")
    return f"{mean:+.4f} ± {error:.4f}, {spread}, {held:.0%}{judged}"


def main(
    parts: Annotated[
        list[str] | None, typer.Argument(help="published, planted, long; the first two when none is named")
    ] = None,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
    draws: Annotated[int, typer.Option(help="people, and planted captioners of each kind")] = 20,
    images: Annotated[
        list[int] | None, typer.Option(help="of each person and captioner; 7,038 and 3,000 if not")
    ] = None,
    metrics: Annotated[list[str] | None, typer.Option(help="all when none is named")] = None,
    processes: Annotated[int, typer.Option(help="measured at once")] = 2,
) -> None:
    """Print what persons and faithful captioners read."""
    console, started = Console(width=200), time.perf_counter()
    asked = {name: METRICS[name] for name in metrics or METRICS}
    tables: dict[str, dict[str, Callable[[int], dict[str, Found]]]] = {}
    chosen = parts or ["published", "planted"]
    file = shared / "data/gender/people.parquet"
    if {"published", "long"} & set(chosen):
        if file.exists():
            people = pd.read_parquet(file)
            people = people[people.references.map(len) > 1].reset_index(drop=True)
            if "published" in chosen:
                tables["one more person"] = {
                    f"{size:,} images": partial(one_person, people=people, images=size, metrics=asked)
                    for size in images or [len(people)]
                }
            if "long" in chosen:
                tables["two people"] = {"joined": partial(two_people, people=people)}
        else:
            console.print(f"{file} is missing: people left out")
    if "planted" in chosen:
        for size in images or [3000]:
            tables[f"faithful, {size:,} images"] = {
                f"references {references}, naming {naming:g}": partial(
                    faithful, images=size, references=references, naming=naming, metrics=asked
                )
                for references in (1, 5)
                for naming in (1.0, 0.8, 0.5)
            }
    with ProcessPoolExecutor(processes) as pool:
        for title, jobs in tables.items():
            found = {name: list(track(pool.map(job, range(draws)), name, total=draws)) for name, job in jobs.items()}
            show(f"{title}, {draws} draws", found, console)
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    typer.run(main)
