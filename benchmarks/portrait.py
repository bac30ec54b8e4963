"""Sway's questions of ten published captioners and of a person, beside the numbers that define them.

usage: python benchmarks/portrait.py [--shared FOLDER] [--seeds 1] [--picture FILE.svg]

Who is named wrong, or not at all; which words follow the gender, and how much is said; the same of the skin tone.
Numbers in brackets after ours are those that were measured first. A person is the last human caption of each image, the
others being references. With several seeds every number is the mean over them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from published import Shared
from rich.console import Console
from rich.table import Table

import captionbias
from captionbias import audit
from captionbias.metrics import sway


class Known(NamedTuple):
    """What was measured first, of 100: women called men, men called women, the gap, and of words more and less."""

    women: float | None = None
    men: float | None = None
    gap: float | None = None
    words: float | None = None


KNOWN = {
    "nic": Known(37.2, 8.5, 27.9, 5.0),
    "nic_official": Known(28.0, 8.7, 18.5),
    "nic_plus": Known(28.9, 6.2, 21.9, 11.0),
    "sat": Known(13.3, 5.1, 7.3, 0.9),
    "fc": Known(16.2, 7.9, 7.6, 7.1),
    "att2in": Known(6.6, 3.0, 2.8, 6.0),
    "transformer": Known(7.1, 2.2, 4.1, 11.2),
    "confident": Known(14.6, 6.2, 7.6, 23.5),
    "confusion": Known(25.5, 6.8, 17.9),
    "sat_masked_seg_person": Known(),
    "person": Known(1.3, 0.5, 0.0, 0.0),
}
SKIN = {
    "nic": Known(words=0.1),
    "transformer": Known(words=0.0),
    "sat": Known(),
    "fc": Known(),
    "nic_plus": Known(),
    "person": Known(words=0.3),
}
SHOWN = {"sat_masked_seg_person": "sat_masked"}
GAPS, MOST_WORDS = ("sway_wrong_gap", "sway_unnamed_gap"), 9


def given(shared: Shared, name: str, attribute: str) -> dict[str, Any]:
    """Arguments of sway."""
    if name != "person":
        return shared.images(name, human=True, attribute=attribute)
    of_people = shared.images("nic", human=True, attribute=attribute)
    *_, last = zip(*of_people["references"], strict=True)
    return of_people | {"predictions": list(last), "references": [texts[:-1] for texts in of_people["references"]]}


def cells(images: dict[str, Any], known: Known, seeds: int, values: tuple[str, str]) -> Iterable[str]:
    """A row: levels, gaps, T to A by its verdict, words with their verdict, how much is said, the words."""
    runs = [sway.measure(**images, seed=seed, details=True) for seed in range(seeds)]
    levels = {key: np.mean([run.facts.get(key, np.nan) for run in runs]) for key in runs[0].facts}
    first = runs[0].estimates

    def mean(key: str, field: str) -> float:
        numbers = [getattr(run.estimates[key], field) for run in runs if key in run.estimates]
        return float(np.mean([np.nan if number is None else number for number in numbers]))

    def told(key: str, before: float | None = None) -> str:
        if key not in first:
            return "-"
        ends = ("" if np.isnan(end := mean(key, field)) else f"{end:.1f}" for field in ("low", "high"))
        said = f" {first[key].verdict}" if first[key].verdict else ""
        return f"{mean(key, 'value'):.1f} [{', '.join(ends)}]{said}" + ("" if before is None else f" ({before})")

    for value, before in zip(values, known, strict=False):
        yield f"{levels[f'wrong_{value}']:.1f}" + ("" if before is None else f" ({before})")
    yield told(GAPS[0], known.gap)
    yield told(GAPS[1])
    yield told("sway_t_to_a")
    yield told("sway_t_to_a_one")
    yield told("sway_words", known.words)
    yield told("sway_length_gap")
    yield f"{levels['sway_words_seen']:.0f}"
    details = runs[0].details or {}
    sides = "captioner", "person"
    for row in details["words_chosen"]:
        amount = f"{row['sway_words']:.1f}, at least {row['sway_words_ci_low']:.1f}"
        chosen = [f"{of['words']} {of['uses_' + sides[0]]:.1f}/{of['uses_' + sides[1]]:.1f}" for of in row["columns"]]
        yield "; ".join([amount, *chosen[:MOST_WORDS]])
    for value in values:
        more = [row for row in details.get("words", ()) if row["kind"] == "more" and row["attribute"] == value]
        yield ", ".join(f"{row['word']}{'*' * row['scaled']} {row['beyond']:.1f}" for row in more[:MOST_WORDS])


def main(
    shared: Annotated[Path, typer.Option(help="folder with data/gender and data/race")] = Path("../shared"),
    seeds: Annotated[int, typer.Option(help="seeds of draws and folds, from 0")] = 1,
    picture: Annotated[Path | None, typer.Option(help="instead, draw who is named wrong, as .svg")] = None,
) -> None:
    """Print the portrait of each captioner, or draw that of gender."""
    warnings.simplefilter("ignore")
    if picture:
        images = {SHOWN.get(name, name): given(Shared(shared), name, "gender") for name in KNOWN if name != "person"}
        people, captioners = images["nic"], {name: of["predictions"] for name, of in images.items()}
        audited = audit(captioners, people["references"], people["attributes"], metrics=["sway"], scores_only=True)
        captionbias.picture(audited).save(picture)
        return
    console = Console(width=420)
    for attribute, captioners, values in (("gender", KNOWN, ("female", "male")), ("race", SKIN, ("light", "dark"))):
        columns = *(f"wrong {value}" for value in values), "wrong gap", "unnamed gap", "T to A", "one value by itself"
        heads = (
            "captioner",
            *columns,
            "words",
            "length gap",
            "seen",
            *(f"counted, of {value} (captioner/people)" for value in values),
            *(f"listed, of {value}" for value in values),
            "seconds",
        )
        table = Table(*heads, title=f"{attribute}, of 100 captions (*: also more than saying it more often explains)")
        for name, known in captioners.items():
            images, started = given(Shared(shared), name, attribute), time.process_time()
            row = list(cells(images, known, seeds, values))
            table.add_row(name, *row, f"{time.process_time() - started:.0f}")
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
