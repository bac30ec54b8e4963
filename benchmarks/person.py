"""Does zero mean a person? One more person, and planted captioners that are faithful, on every score of a verdict.

usage: python benchmarks/person.py [published] [long] [planted] [--shared FOLDER] [--processes 2]

`published` puts one human caption an image in the captioner's place, the image's other captions being the references;
it needs the published captions. `long` puts two of them, joined, in the captioner's place, and compares them with the
others as they are and joined. `planted` makes captions without bias and needs nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
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

from captionbias.captions import Captions, check_captions
from captionbias.metrics import find_metric
from captionbias.synthetic import plant

ATTACKED = {"preset": "fast", "trials": 10}
METRICS = {
    "dbac": ATTACKED,
    "lic": ATTACKED,
    "label_leakage": {},
    "dpa": {},
    "ba_mals": {},
    "directional_ba": {},
    "multi_directional_ba": {},
    "gender_error": {},
}
DIRECTIONS = ("a_to_t", "t_to_a")
SCORES = [
    *(f"dbac_{direction}{form}" for direction in DIRECTIONS for form in ("", "_matched", "_blind", "_net")),
    *("lic", "leakage", "confidence", "label_leakage", "label_leakage_excess"),
    *(
        f"{metric}_{direction}{form}"
        for metric in ("dpa", "directional_ba")
        for direction in DIRECTIONS
        for form in ("", "_excess")
    ),
    *("ba_mals", "ba_mals_excess"),
    *(f"multi_{name}_excess" for name in ("directional_ba_a_to_t", "directional_ba_t_to_a", "mals")),
    *("error_excess", "unnamed_excess"),
]
Interval = tuple[float, float, float]


def measure(captions: Captions, seed: int, metrics: Mapping[str, Mapping[str, Any]] = METRICS) -> dict[str, Interval]:
    """Each score with its interval, as far as it is defined."""
    warnings.simplefilter("ignore")
    found: dict[str, Interval] = {}
    for metric, options in metrics.items():
        directions = {"directions": ["a_to_t"]} if metric == "dbac" and not _has_tasks(captions) else {}
        caching = {"cache": False} if "cache" in find_metric(metric).options() else {}
        result = find_metric(metric)(captions, **options, **directions, **caching, seed=1000 * seed)
        found |= {
            score: (result[score], result[f"{score}_ci_low"], result[f"{score}_ci_high"])
            for score in SCORES
            if score in result
        }
    return found


def _has_tasks(captions: Captions) -> bool:
    return captions.tasks is not None or any(len(texts) > 1 for texts in captions.references or ())


def one_person(seed: int, people: pd.DataFrame) -> dict[str, Interval]:
    """A human caption of each image in the captioner's place."""
    generator = np.random.default_rng(seed)
    drawn = [int(generator.integers(len(texts))) for texts in people.references]
    pairs = list(zip(people.references, drawn, strict=True))
    captions = check_captions(
        predictions=[texts[place] for texts, place in pairs],
        references=[[text for number, text in enumerate(texts) if number != place] for texts, place in pairs],
        attributes=people.gender,
    )
    return measure(captions, seed)


def two_people(seed: int, people: pd.DataFrame, join: bool) -> dict[str, Interval]:
    """Two joined human captions of each image in the captioner's place, and the others as references."""
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(texts).tolist() for texts in people.references]
    drawn = check_captions(references=[texts[:2] for texts in orders], attributes=people.gender).join_references(2)
    captions = check_captions(
        predictions=[text for (text,) in drawn.references or ()],
        references=[texts[2:] for texts in orders],
        attributes=people.gender,
    )
    return measure(captions, seed, dict.fromkeys(("dbac", "lic"), ATTACKED | {"join_references": join}))


def faithful(seed: int, images: int, references: int, naming: float) -> dict[str, Interval]:
    """A planted captioner with its data's own bias, which names this share of the tasks that people name."""
    planted = vars(plant(images, captions=references, naming=naming, seed=seed))
    if references > 1:
        planted.pop("tasks")
    return measure(check_captions(**planted), seed)


def show(title: str, results: Iterable[dict[str, Interval]], console: Console) -> None:
    """A row a score: its mean, in standard errors too, and how many intervals hold 0."""
    found = list(results)
    table = Table("score", "mean", "standard error", "in standard errors", "intervals that hold 0", title=title)
    for score in SCORES:
        values = np.array([result[score] for result in found if score in result])
        if not len(values):
            continue
        mean, error = values[:, 0].mean(), values[:, 0].std(ddof=1) / np.sqrt(len(values))
        held = np.mean((values[:, 1] <= 0) & (values[:, 2] >= 0))
        ratio = f"{mean / error:+.1f}" if error else "-"
        table.add_row(score, f"{mean:+.5f}", f"{error:.5f}", ratio, f"{held:.0%}")
    console.print(table)


def main(
    parts: Annotated[
        list[str] | None, typer.Argument(help="published, planted, long; the first two when none is named")
    ] = None,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
    draws: Annotated[int, typer.Option(help="people")] = 20,
    captioners: Annotated[int, typer.Option(help="planted captioners of each kind")] = 100,
    images: Annotated[int, typer.Option(help="images of each")] = 3000,
    processes: Annotated[int, typer.Option(help="measured at once")] = 2,
) -> None:
    """Print what persons and faithful captioners read."""
    console, started = Console(width=140), time.perf_counter()
    chosen = parts or ["published", "planted"]
    with ProcessPoolExecutor(processes) as pool:
        if {"published", "long"} & set(chosen):
            file = shared / "data/gender/people.parquet"
            jobs = {"one more person": one_person} if "published" in chosen else {}
            if "long" in chosen:
                jobs |= {f"two people, joined {join}": partial(two_people, join=join) for join in (False, True)}
            if file.exists():
                people = pd.read_parquet(file)
                people = people[people.references.map(len) > 1].reset_index(drop=True)
                for title, job in jobs.items():
                    results = track(pool.map(partial(job, people=people), range(draws)), "people", total=draws)
                    show(f"{title}, {len(people):,} images, {draws} draws", results, console)
            else:
                console.print(f"{file} is missing: {', '.join(jobs)} left out")
        if "planted" in chosen:
            for references in (1, 5):
                for naming in (1.0, 0.8, 0.5):
                    job = partial(faithful, images=images, references=references, naming=naming)
                    results = track(pool.map(job, range(captioners)), "planted", total=captioners)
                    show(
                        f"faithful, references {references}, naming {naming:g}, {captioners} captioners",
                        results,
                        console,
                    )
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    typer.run(main)
