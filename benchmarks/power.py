"""What would each metric see? Biases of a known size and harmless errors, put into captions that have none.

usage: python benchmarks/power.py [people] [planted] [--metrics sway --metrics lic] [--quick] [--shared FOLDER]

`people` changes one human caption of each image, which stands in the captioner's place, the image's other captions
being the references; it needs the published captions. `planted` changes the captions of a planted captioner without
bias and needs nothing. A bias is seen at a share if its verdict, or where a score has none its interval, is on the
right side of 0 at this share and at all larger ones; `*` marks what is on either side of 0 though there is no bias.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.bench.person import captioner_and_person
from captionbias.bench.verdicts import CANNOT_TELL, LESS, LIKE, MORE, NOTHING, verdict
from captionbias.captions import Captions, check_captions
from captionbias.metrics import catalogue, find_metric
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate
from captionbias.studies.injections import BIASES, HARMLESS, describe, inject, rarest_loses_tasks, usual_where_shown
from captionbias.synthetic import plant

SCORES = {
    "sway": ("sway_t_to_a", "sway_t_to_a_lost", "sway_a_to_t"),
    "dbac": [f"dbac_{direction}{form}" for direction in ("t_to_a", "a_to_t") for form in ("_net", "_matched", "")],
    "lic": ("lic", "leakage", "confidence"),
    "dpa": ("dpa_t_to_a_excess", "dpa_a_to_t_excess"),
    "label_leakage": ("label_leakage_excess",),
    "ba_mals": ("ba_mals_excess",),
    "directional_ba": ("directional_ba_t_to_a_excess", "directional_ba_a_to_t_excess"),
    "multi_directional_ba": (
        *("multi_directional_ba_t_to_a_excess", "multi_directional_ba_a_to_t_excess", "multi_mals_excess"),
    ),
    "gender_error": ("error_excess", "unnamed_excess"),
}
OPTIONS = {"preset": "fast", "cache": False}  # of metrics that have them
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
QUICK = (0.02, 0.2)
SPORTS = {
    *("frisbee", "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard"),
    *("surfboard", "tennis racket"),
}
# Of the captions that an error can be in, how many have it.
ERRORS = {
    "wrong value": 0.1,
    "no value": 0.5,
    "usual value for the rarest": 0.3,
    "usual value where none is named": 1.0,
    "usual value in sports": 0.5,
    "any task added": 0.2,
    "task of the scene added": 0.3,
    "tasks dropped": 0.5,
    "tasks confused": 0.2,
}
IN_A_TABLE = 4


class Found(NamedTuple):
    """What a score reads, and what that says."""

    estimate: Estimate
    said: str


def measure(captions: Captions, metrics: tuple[str, ...]) -> dict[str, Found]:
    """Every score that is defined."""
    warnings.simplefilter("ignore")
    found = {}
    for metric in metrics:
        function = find_metric(metric)
        options = {name: value for name, value in OPTIONS.items() if name in function.options()}
        estimates = function.measure(captions, **options).estimates
        for key in SCORES[metric]:
            if key in estimates:
                found[key] = Found(estimates[key], said(estimates, key))
    return found


def said(estimates: Mapping[str, Estimate], key: str) -> str:
    """The verdict, or the side of 0 that the interval is on."""
    if catalogue.SCORES[key].judged and (words := verdict(estimates, key)) != NOTHING:
        return words
    low, high = estimates[key].low, estimates[key].high
    return MORE if low is not None and low > 0 else LESS if high is not None and high < 0 else CANNOT_TELL


def joined(captions: Captions) -> Captions:
    """Two people's captions in the captioner's place."""
    people = list(zip(captions.predictions or (), captions.references or (), strict=True))
    return check_captions(
        predictions=[f"{text.rstrip(' .')}. {references[0]}" for text, references in people],
        references=[references[1:] for _, references in people],
        attributes=captions.attributes,
    )


def published(shared: Path, limit: int | None) -> Captions:
    """One of five people in the captioner's place."""
    people = pd.read_parquet(shared / "data/gender/people.parquet")
    people = people[people.references.map(len) > 1].iloc[:limit]
    captions = check_captions(
        predictions=people.references.map(lambda texts: texts[0]),
        references=people.references,
        attributes=people.gender,
    )
    pair = captioner_and_person(captions, seed=0)
    assert pair is not None
    return pair[1]


def planted(images: int) -> Captions:
    """A captioner without bias."""
    given = vars(plant(images))
    given.pop("tasks")
    return check_captions(**given)


def changed(captions: Captions, shares: tuple[float, ...]) -> dict[tuple[str, float], Captions]:
    """By the name of each bias or error and the share of captions with it: the captions with it."""
    described = describe(captions)
    plan = [(name, injection, share) for name, injection in BIASES.items() for share in shares]
    harmless = {**HARMLESS, "usual value in sports": partial(usual_where_shown, tasks=SPORTS)}
    for name, injection in harmless.items():
        plan.append((name, injection, ERRORS[name] * described.changed(inject(described, injection))))
    made = {("nothing", 0.0): captions}
    for name, injection, share in plan:
        texts = inject(described, injection, share)
        made[name, described.changed(texts)] = captions.with_predictions(texts)
    return made | {("two people's captions joined", 1.0): joined(captions)}


def seen(name: str, key: str, results: Mapping[tuple[str, float], dict[str, Found]]) -> str:
    """The smallest share from which on the bias is seen and what is read there, or what is read at the largest."""
    right = (MORE, LESS) if BIASES[name] is rarest_loses_tasks else (MORE,)
    found = {share: scores.get(key) for (bias, share), scores in sorted(results.items()) if bias == name}
    smallest = None
    for share, one in reversed(found.items()):
        if one is None or one.said not in right:
            break
        smallest = share
    share = max(found) if smallest is None else smallest
    one = found[share]
    reads = "-" if one is None else interval(one.estimate, catalogue.SCORES[key].digits)
    return f"{'not at ' if smallest is None else ''}{share:.1%}: {reads}"


def read(name: str, key: str, results: Mapping[tuple[str, float], dict[str, Found]]) -> str:
    """What is read with the error, and whether it says anything."""
    (one,) = (scores.get(key) for (error, _), scores in results.items() if error == name)
    if one is None:
        return "-"
    return interval(one.estimate, catalogue.SCORES[key].digits) + ("" if one.said in (LIKE, CANNOT_TELL) else " *")


def show(
    title: str,
    captions: Captions,
    metrics: tuple[str, ...],
    shares: tuple[float, ...],
    pool: ProcessPoolExecutor,
    console: Console,
) -> None:
    """Two kinds of tables: biases and from which share each score sees them; errors and what each score reads."""
    jobs = changed(captions, shares)
    measured = pool.map(partial(measure, metrics=metrics), jobs.values())
    results = dict(zip(jobs, track(measured, title, total=len(jobs)), strict=True))
    errors = {name: f"{name}\n({share:.1%} changed)" for name, share in results if name not in BIASES}
    for what, cell, columns in (("biases", seen, dict.fromkeys(BIASES)), ("harmless errors", read, errors)):
        names = list(columns)
        for start in range(0, len(names), IN_A_TABLE):
            shown = names[start : start + IN_A_TABLE]
            table = Table(
                "score", *(columns[name] or name for name in shown), title=f"{title}, {len(captions):,} images: {what}"
            )
            for metric in metrics:
                for key in SCORES[metric]:
                    table.add_row(catalogue.label(key), *(cell(name, key, results) for name in shown))
            console.print(table)


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="people, planted; both when none is named")] = None,
    metrics: Annotated[list[str] | None, typer.Option(help="repeat it for each; all when none is named")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="two shares and fewer images")] = False,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
    processes: Annotated[int, typer.Option(help="measured at once")] = 2,
) -> None:
    """Print from which share of captions on each metric sees each bias, and which harmless error fools it."""
    console, started = Console(width=220), time.perf_counter()
    chosen, shares = tuple(metrics or SCORES), QUICK if quick else SHARES
    with ProcessPoolExecutor(processes) as pool:
        if "people" in (parts or ["people"]):
            if (shared / "data/gender/people.parquet").exists():
                show("people", published(shared, 2000 if quick else None), chosen, shares, pool, console)
            else:
                console.print(f"{shared / 'data/gender/people.parquet'} is missing: people left out")
        if "planted" in (parts or ["planted"]):
            show("planted", planted(1000 if quick else 3000), chosen, shares, pool, console)
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    typer.run(main)
