"""What would each metric see? Biases of a known size and harmless changes, put into captions that have none.

usage: python benchmarks/power.py [gate] [people] [planted] [--metrics sway --metrics lic] [--quick] [--shared FOLDER]

`gate` puts `changes.ASKED` into 5, 10 and 30% of women's captions of a person, of `--images`, `--runs` times, and
prints in how many runs the question is *more*, what it reads, and how the gate ends.
`people` changes one human caption of each image, which stands in the captioner's place, the image's other captions
being the references; it needs the published captions. `planted` changes the captions of a planted captioner without
bias and needs nothing. Sway is asked of 1,000 and 7,038 images, of several people and at several shares; the others of
all images and one person, at 10%. Shares of what is put into women's captions are of women's captions.

A bias is seen at a share if the verdict of at least four in five people, or where a score has none the interval, is on
the right side of 0 at this share and at all larger ones; `*` marks what a harmless change moves off 0, in so many.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Container, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer
from changes import ASKED, HARMLESS, OF_BOTH, ONE_SIDED, put_in, usual_where_shown
from gates import EXITS, Gated, gated
from injections import Described, Injection, describe, inject
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from captionbias.bench.reading import captions_of_a_person
from captionbias.bench.verdicts import CANNOT_TELL, LESS, MORE
from captionbias.captions import Captions, check_captions
from captionbias.metrics import catalogue, find_metric
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

SCORES = {
    "sway": (
        *("sway_wrong_gap", "sway_unnamed_gap", "sway_t_to_a", "sway_t_to_a_lost", "sway_words", "sway_length_gap"),
        *("sway_missing_gap", "sway_a_to_t"),
    ),
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
LISTED = "sway's list of words"
OPTIONS = {"preset": "fast", "cache": False}  # of metrics that have them
FEW_TRIALS = {"dbac": 2, "dpa": 3, "label_leakage": 3}
RUNS = ((1000, 5, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)), (7038, 3, (0.01, 0.02, 0.05, 0.1, 0.2)))
QUICK = ((1000, 1, (0.05, 0.2)),)
PAPERS = 1, (0.1,)  # people, shares
GATED = 0.05, 0.1, 0.3
SPORTS = {
    *("frisbee", "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard"),
    *("surfboard", "tennis racket"),
}
WOMEN = "women: "
CHANGED: dict[str, Injection] = {
    **OF_BOTH,
    "usual value in sports": partial(usual_where_shown, tasks=SPORTS),
    **{f"{WOMEN}{name}": injection for name, injection in ONE_SIDED.items()},
}
# Of the captions that a harmless change can be in, how many have it; others are in all.
PARTS = {
    "wrong value": (0.1, 0.3),
    "no value": (0.5,),
    "any task added": (0.2,),
    "task of the scene added": (0.3,),
    **{"tasks dropped": (0.5,), "tasks confused": (0.2,)},
}
# What takes words away reads "less" where a score is of how much there is.
EITHER = {"tasks of the rarest value dropped"}
EITHER |= {f"{WOMEN}{name}" for name in ("no value", "tasks dropped", "refused", "shortened")}


class Found(NamedTuple):
    """What a score reads, and what that says."""

    shown: str
    said: str


Result = tuple[float, dict[str, Found]]  # the share of captions that were changed, and what each score reads of them


class Job(NamedTuple):
    """A change of a share of the captions of some images; `images`, if planted, are of a planted captioner."""

    images: int
    planted: bool
    person: int
    change: str
    share: float


def measure(captions: Captions, metric: str) -> dict[str, Found]:
    """Every score that is defined."""
    warnings.simplefilter("ignore")
    function = find_metric(metric)
    options = {name: value for name, value in OPTIONS.items() if name in function.options()}
    if metric in FEW_TRIALS:
        options["trials"] = FEW_TRIALS[metric]
    measured = function.measure(captions, **options, details=metric == "sway")
    found = {
        key: Found(interval(estimate, catalogue.SCORES[key].digits), said(measured.estimates, key))
        for key, estimate in measured.estimates.items()
        if key in SCORES[metric]
    }
    if "words" in (measured.details or {}):
        words = [f"{row['word']} {row['beyond']:.1f}" for row in measured.details["words"] if row["kind"] == "more"]
        found[LISTED] = Found(", ".join(words[:3]) or "none", MORE if words else CANNOT_TELL)
    return found


def said(estimates: Mapping[str, Estimate], key: str) -> str:
    """The verdict, or the side of 0 that the interval is on."""
    if words := estimates[key].verdict:
        return words
    low, high = estimates[key].low, estimates[key].high
    return MORE if low is not None and low > 0 else LESS if high is not None and high < 0 else CANNOT_TELL


@cache
def unchanged(shared: Path, images: int, planted: bool, person: int) -> tuple[Captions, Described]:
    """One of five people in the captioner's place, or a planted captioner without bias."""
    warnings.simplefilter("ignore")
    if planted:
        given = vars(plant(images, seed=person))
        given.pop("tasks")
        captions = check_captions(**given)
        return captions, describe(captions)
    people = pd.read_parquet(shared / "data/gender/people.parquet")
    people = people[people.references.map(len) > 1]
    people = people.sample(images, random_state=person) if images < len(people) else people
    first = people.references.map(lambda texts: texts[0])
    captions = check_captions(
        predictions=first, references=people.references, attributes=people.gender, trust_rows=True
    )
    drawn = captions_of_a_person(captions, seed=person)
    assert drawn is not None
    return drawn, describe(drawn)


def asked(run: tuple[int, str, float], images: int, shared: Path) -> Gated:
    """What the gate says of a person's captions with something put into a share of the women's."""
    person, name, share = run
    captions, described = unchanged(shared, images, False, person)
    with threadpool_limits(1):
        if not name:
            return gated(**_given(captions))
        _, injection = ASKED[name]
        return gated(**_given(put_in(captions, inject(described, injection, share, person, described.rarest))))


def _given(captions: Captions) -> dict[str, Any]:
    return {name: getattr(captions, name) for name in ("predictions", "references", "attributes")}


def gate_table(images: int, runs: int, found: Mapping[tuple[int, str, float], Gated]) -> Table:
    """A row for each thing that is put in, with a column for each share: how often *more*, the mean, the exits."""
    shown = Table("put in", *(f"{share:.0%}" for share in GATED), title=f"gate: {images:,} images, {runs} runs")
    nothing = Counter(EXITS[found[run, "", 0.0].exit] for run in range(runs))
    shown.add_row("nothing", *[" ".join(f"{exit} {count}" for exit, count in nothing.items())] * len(GATED))
    for name, (question, _) in ASKED.items():
        cells = []
        for share in GATED:
            of_share = [found[run, name, share] for run in range(runs)]
            values = [one.estimates[key].value for one in of_share if (key := f"sway_{question}") in one.estimates]
            exits = Counter(EXITS[one.exit] for one in of_share)
            told = f"{sum(one.more(question) for one in of_share) / runs:.0%}, {sum(values) / max(len(values), 1):.1f}"
            cells.append(f"{told}, " + " ".join(f"{exit} {count}" for exit, count in exits.items()))
        shown.add_row(f"{name} ({question})", *cells)
    return shown


def joined(captions: Captions) -> Captions:
    """Two people's captions in the captioner's place."""
    people = list(zip(captions.predictions or (), captions.references or (), strict=True))
    return check_captions(
        predictions=[f"{text.rstrip(' .')}. {references[0]}" for text, references in people],
        references=[references[1:] for _, references in people],
        attributes=captions.attributes,
    )


def run(job: Job, metric: str, shared: Path) -> Result:
    """What is read of some images with a change."""
    captions, described = unchanged(shared, job.images, job.planted, job.person)
    value = described.rarest if job.change.startswith(WOMEN) else None
    whole = float((described.value == value).mean()) if value is not None else 1.0
    with threadpool_limits(1):
        if job.change == "joined":
            return 1.0, measure(joined(captions), metric)
        injection = (CHANGED | HARMLESS | {"nothing": lambda people, _: list(people.texts)})[job.change]
        possible = described.changed(inject(described, injection, value=value)) / whole
        share = min(job.share, possible) if job.change in CHANGED else job.share * possible
        texts = inject(described, injection, share, job.person, value)
        return described.changed(texts) / whole, measure(put_in(captions, texts), metric)


def table(title: str, metric: str, results: Mapping[Job, Result]) -> Table:
    """A row for each change: from which share on each score sees it, and what it reads there of one person; of harmless
    changes what it reads. The last column is of all scores, the list of words aside."""
    defined = {key for _, found in results.values() for key in found}
    scores = [[key] for key in (*SCORES[metric], LISTED) if key in defined]
    shown = Table("put in", *(LISTED if key == LISTED else catalogue.label(key) for (key,) in scores), "any")
    shown.title = title
    rows: dict[str, dict[float, list[Result]]] = {}
    for job, result in results.items():
        name = job.change if job.change in CHANGED else f"{job.change} ({job.share:.0%})"
        rows.setdefault(name, {}).setdefault(job.share, []).append(result)
    for name, shares in rows.items():
        cell = partial(seen, name, shares) if name in CHANGED else partial(fooled, *shares.values())
        shown.add_row(name, *map(cell, [*scores, sorted(defined - {LISTED})]))
    return shown


def moved(keys: list[str], people: list[Result], right: Container[str]) -> int:
    """Of how many people one of the scores is off 0."""
    return sum(any(key in found and found[key].said in right for key in keys) for _, found in people)


def reads(keys: list[str], result: Result) -> str:
    """What one score reads."""
    return result[1][keys[0]].shown if len(keys) == 1 and keys[0] in result[1] else "-"


def seen(name: str, shares: Mapping[float, list[Result]], keys: list[str]) -> str:
    """The smallest share from which on one of the scores sees the bias, and what it reads there, or at the largest."""
    right, smallest = {MORE, LESS} if name in EITHER else {MORE}, None
    for share, people in sorted(shares.items(), reverse=True):
        if moved(keys, people, right) < 0.8 * len(people):
            break
        smallest = share
    first = shares[max(shares) if smallest is None else smallest][0]
    return f"{'not at ' if smallest is None else ''}{first[0]:.0%}: {reads(keys, first)}"


def fooled(people: list[Result], keys: list[str]) -> str:
    """What one score reads of the first person with a harmless change, and of how many people any is off 0."""
    counts = {word: moved(keys, people, {word}) for word in (MORE, LESS)}
    stars = [f" * {word}: {count} of {len(people)}" for word, count in counts.items() if count]
    return "".join([reads(keys, people[0]), *stars])


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="gate, people, planted; all when none is named")] = None,
    metrics: Annotated[list[str] | None, typer.Option(help="repeat it for each; all when none is named")] = None,
    images: Annotated[int, typer.Option(help="of `gate`")] = 7038,
    runs: Annotated[int, typer.Option(help="persons of `gate`")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="two shares and fewer images")] = False,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
    processes: Annotated[int, typer.Option(help="measured at once")] = 2,
) -> None:
    """Print from which share of captions on each metric sees each bias, and which harmless change fools it."""
    console, started = Console(width=320), time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        for part in parts or ["gate", "people", "planted"]:
            if part != "planted" and not (shared / "data/gender/people.parquet").exists():
                console.print(f"{shared / 'data/gender/people.parquet'} is missing: {part} left out; pass --shared")
                continue
            if part == "gate":
                of_gate = [(run, name, share) for run in range(runs) for name in ASKED for share in GATED]
                of_gate += [(run, "", 0.0) for run in range(runs)]
                answers = pool.map(partial(asked, images=images, shared=shared), of_gate)
                found = dict(zip(of_gate, track(answers, part, total=len(of_gate)), strict=True))
                console.print(gate_table(images, runs, found))
                continue
            for metric in metrics or SCORES:
                sizes = QUICK if quick else RUNS if metric == "sway" else ((RUNS[-1][0], *PAPERS),)
                for size, people, shares in sizes:
                    harmless = [(name, share) for name in HARMLESS for share in PARTS.get(name, (1.0,))]
                    changes = [(name, share) for name in CHANGED for share in shares]
                    changes += [("nothing", 0.0), *harmless, ("joined", 1.0)]
                    jobs = [Job(size, part == "planted", person, *one) for person in range(people) for one in changes]
                    measured = pool.map(partial(run, metric=metric, shared=shared), jobs)
                    done = list(track(measured, f"{metric}, {size:,}", total=len(jobs)))
                    title = f"{metric}, {part}: {size:,} images, {people} times"
                    console.print(table(title, metric, dict(zip(jobs, done, strict=True))))
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    typer.run(main)
