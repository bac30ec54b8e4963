"""Does sway say of scenes what was planted, and how many fewer images do they need than the portrait?

usage: python benchmarks/scenes.py [read] [power] [values] [--draws 100] [--shared FOLDER]

A scene is a published image; its captions are human ones, drawn for each value, in which the words for the gender are
those of the value, so that nothing differs but the value. 3 of 100 are then called another value, whoever they are of.
Planted in women's captions, each with the same chance: "smiling", the wrong gender, nobody. `read`: 0 to 5 of 100, and
one caption for both values. `power`: beside as many images that people describe, one human caption in the captioner's
place, the four others as references. `values`: three and twelve, nothing planted. Tasks: `planted_sway.py --scenes`.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer
from injections import NONE, add_words, describe, rename_values
from published import Shared
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.sparse import csr_array

from captionbias.arrays import Flags, Integers
from captionbias.bench.measurement import Measurement
from captionbias.bench.verdicts import DIFFERS, MORE, SAME
from captionbias.captions import check_captions
from captionbias.metrics import sway
from captionbias.scores.words import Z, find_ties, fit_references

SCENES, SHARES = (200, 500, 1000, 2000), (0, 1, 2, 5)
GENDERS, NOBODY, AS_IT_IS = ("female", "male"), 2, 3  # whom a caption is of
WRONG, UNNAMED, WORDS, WORD = "sway_wrong_gap", "sway_unnamed_gap", "sway_words", "smiling"
LABELS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "omega")


class Planted(NamedTuple):
    """Of 100 captions: women's with the word, with the wrong gender, with nobody; anyone's with the wrong value."""

    word: float = 0
    wrong: float = 0
    unnamed: float = 0
    errors: float = 3


POWER = Planted(2, 3), Planted(5, 5), Planted(10)


class People(NamedTuple):
    """Human captions as of a woman, as of a man, of nobody, and as they are, `(images, 5, 4)`; which name one value
    alone and which say the planted word, `(images, 5)`; and the number of each image's value."""

    texts: Any
    names: Flags
    says: Flags
    value: Integers


class Told(NamedTuple):
    """What sway says of captions; of scenes also the planted word's tie with its interval, and what it is in truth."""

    measured: Measurement
    tie: tuple[float, ...] = ()

    def says(self, key: str, *words: str) -> bool:
        """Whether one of these is the verdict."""
        return key in self.measured.estimates and self.measured.estimates[key].verdict in words

    def lists(self, word: str = "") -> bool:
        """Whether this word is listed as one of women, or any."""
        rows = (self.measured.details or {})["words"]
        return any(not word or (row["word"], row["attribute"], row["kind"]) == (word, "female", "more") for row in rows)


def read_people(shared: Path) -> People:
    """The published images that five people describe."""
    table = pd.read_parquet(Shared(shared).folder / "data/gender/people.parquet")
    table = table[table.references.map(len) == 5].explode("references")
    said, itself = list(table.references), [[text] for text in table.references]
    given = check_captions(predictions=said, references=itself, attributes=list(table.gender), trust_rows=True)
    described = describe(given)
    other = np.where(described.named == NONE, NONE, 1 - described.named)
    swapped = rename_values(described, other)
    # There and back again, so that a guy, for whom there is no other word, is a gentleman beside a lady.
    back = rename_values(replace(described, texts=tuple(swapped), named=other), described.named)
    of_values = [np.where(described.named == value, back, swapped) for value in range(2)]
    of_nobody = rename_values(described, np.full_like(other, NONE))
    texts = np.stack([*of_values, of_nobody, said], axis=1).astype(object)
    says = np.array([WORD in text for text in said])
    return People(texts.reshape(-1, 5, 4), (other != NONE).reshape(-1, 5), says.reshape(-1, 5), described.value[::5])


def places(images: int, each: int, random: np.random.Generator) -> Integers:
    """So many captions of each image; none is drawn again before all are."""
    return random.random((images, 5)).argsort(axis=1)[:, np.arange(each) % 5].ravel()


def called(
    names: Flags, value: Integers, wrong: Sequence[float], unnamed: Sequence[float], random: np.random.Generator
) -> Integers:
    """The number of the value that each caption names, or `NOBODY`, with these chances of each value, of 100."""
    share, further = 100 * names.mean(), random.integers(1, len(wrong), len(value))
    chance = random.random(len(value)) * share
    who = np.where(names & (chance > share - np.array(unnamed)[value]), NOBODY, value)
    return np.where(names & (chance < np.array(wrong)[value]), (value + further) % len(wrong), who)


def measure(
    people: People, image: Integers, place: Integers, value: Integers, planted: Planted, seed: int, **given: Any
) -> Told:
    """What sway reads of these captions, when something is planted in them."""
    random = np.random.default_rng([seed, 1])
    errors = planted.errors + planted.wrong, planted.errors
    who = called(people.names[image, place], value, errors, (planted.unnamed, 0), random)
    texts = people.texts[image, place, np.where((who == value) & ("references" in given), AS_IT_IS, who)]
    gets = (value == 0) & (random.random(len(value)) < planted.word / 100) & ~people.says[image, place]
    said = [add_words(text, f"who is {WORD}") if chosen else text for text, chosen in zip(texts, gets, strict=True)]
    labels = [GENDERS[number] for number in value]
    measured = sway.measure(predictions=said, attributes=labels, **given, seed=seed, bootstrap=300, details=True)
    if "references" in given:
        return Told(measured)
    nothing, word = csr_array((len(said), 1)), csr_array([[float(WORD in text)] for text in said])
    one, scene = np.ones(len(said)), given["scene"]
    fitted = fit_references(value, [(None, nothing)], one, scene, seed, len(GENDERS), scene)
    ties = find_ties(word, fitted, np.zeros(1, np.int64))
    tie, error = float(ties.beyond[0, 0]), float(ties.error[0, 0])
    truth = planted.word * (1 - float(people.says[image].mean()))
    return Told(measured, (tie, tie - Z * error, tie + Z * error, truth))


def of_scenes(people: People, images: int, planted: Planted, seed: int, alike: bool = False) -> Told:
    """Scenes of a woman and a man, with a human caption each or one for both."""
    random, scenes = np.random.default_rng(seed), images // 2
    image = random.choice(len(people.value), scenes, replace=False).repeat(2)
    place = places(scenes, 1, random).repeat(2) if alike else places(scenes, 2, random)
    return measure(people, image, place, np.tile([0, 1], scenes), planted, seed, scene=np.arange(scenes).repeat(2))


def of_portrait(people: People, images: int, planted: Planted, seed: int) -> Told:
    """As many images of women as of men."""
    random, each = np.random.default_rng(seed), images // 2
    of_values = [random.choice(np.flatnonzero(people.value == value), each, replace=False) for value in range(2)]
    image, place = np.concatenate(of_values), places(images, 1, random)
    others = np.delete(people.texts[image, :, AS_IT_IS], np.arange(images) * 5 + place).reshape(-1, 4).tolist()
    return measure(people, image, place, np.repeat([0, 1], each), planted, seed, references=others)


def of_values(people: People, scenes: int, number: int, seed: int) -> Told:
    """Scenes of several values; captions that name one are of nobody and begin with its label."""
    random = np.random.default_rng(seed)
    image = random.choice(len(people.value), scenes, replace=False).repeat(number)
    value, place = np.tile(np.arange(number), scenes), places(scenes, number, random)
    names, texts = people.names[image, place], people.texts[image, place, NOBODY]
    who = called(names, value, [Planted().errors] * number, [0] * number, random)
    said = [f"{LABELS[of]}, {text}" if has else text for text, has, of in zip(texts, names, who, strict=True)]
    given = {"predictions": said, "attributes": [LABELS[of] for of in value], "scene": np.arange(scenes).repeat(number)}
    lexicon = {label: [label] for label in LABELS[:number]}
    return Told(sway.measure(**given, attribute_lexicon=lexicon, seed=seed, details=True))


def share(flags: Iterable[bool]) -> str:
    """How many of 100 are so."""
    return f"{np.mean([*flags]):.1%}"


def reads(rows: Sequence[tuple[float | None, ...]]) -> tuple[str, str]:
    """The mean of readings less what was planted, with its standard error, and how many intervals hold it."""
    value, low, high, truth = np.array(rows, float).T
    error = value - truth
    held = share((low <= truth) & (truth <= high))
    return f"{error.mean():+.2f} ± {error.std(ddof=1) / np.sqrt(len(rows)):.2f}", held


def of_shares(people: People, draws: int) -> Table:
    """Scores and the word less what was planted, intervals that hold it, verdicts."""
    heads = [f"{what}{column}" for what in ("wrong", "unnamed", WORD) for column in ("", " holds", " differs")]
    table = Table("scenes", "planted", *heads[:-1], "listed", "any word", "words differ", "both gaps the same")
    of = [(Planted(part, part, part), False) for part in SHARES] + [(Planted(errors=0), True)]
    for number, (scenes, (planted, alike)) in enumerate(itertools.product(SCENES, of)):
        seeds = track(range(number * draws, (number + 1) * draws), transient=True)
        runs = [of_scenes(people, 2 * scenes, planted, seed, alike) for seed in seeds]
        cells = []
        for key, truth in ((WRONG, planted.wrong), (UNNAMED, planted.unnamed)):
            cells += [*reads([(*run.measured.estimates[key][:3], truth) for run in runs])]
            cells += [share(run.says(key, DIFFERS) for run in runs)]
        cells += [*reads([run.tie for run in runs]), share(run.lists(WORD) for run in runs)]
        cells += [share(run.lists() for run in runs), share(run.says(WORDS, DIFFERS) for run in runs)]
        cells += [share(all(run.says(key, SAME) for key in (WRONG, UNNAMED)) for run in runs)]
        table.add_row(f"{scenes:,}", "one caption" if alike else f"{planted.word}", *cells)
    return table


def of_power(people: People, draws: int) -> Table:
    """Runs that see what was planted: the word is listed, the gap is more than people's or differs."""
    ways: dict[str, Callable[[People, int, Planted, int], Told]] = {"scenes": of_scenes}
    ways |= {"scenes, one caption": partial(of_scenes, alike=True), "portrait": of_portrait}
    table = Table("images", "of", *(f"{WORD} {of.word}" for of in POWER), *(f"wrong {of.wrong}" for of in POWER[:2]))
    for images, (name, way) in itertools.product([2 * scenes for scenes in SCENES], ways.items()):
        runs = [[way(people, images, of, seed) for seed in track(range(draws), transient=True)] for of in POWER]
        cells = [share(run.lists(WORD) for run in of) for of in runs]
        cells += [share(run.says(WRONG, MORE, DIFFERS) for run in of) for of in runs[:2]]
        table.add_row(f"{images:,}", name, *cells)
    return table


def of_labels(people: People, draws: int) -> Table:
    """Scenes of more values without a bias: what is said of them nevertheless."""
    heads = [f"{gap} {column}" for gap in ("wrong", "unnamed") for column in ("holds 0", "differs")]
    table = Table("values", "scenes", *heads, "any word", "words differ")
    for number, scenes in ((3, 200), (3, 1000), (12, 200), (12, 1000)):
        runs = [of_values(people, scenes, number, seed) for seed in track(range(draws), transient=True)]
        cells = []
        for key in (WRONG, UNNAMED):
            cells += [reads([(*run.measured.estimates[key][:3], 0.0) for run in runs])[1]]
            cells += [share(run.says(key, DIFFERS) for run in runs)]
        cells += [share(run.lists() for run in runs), share(run.says(WORDS, DIFFERS) for run in runs)]
        table.add_row(f"{number}", f"{scenes:,}", *cells)
    return table


PARTS: dict[str, Callable[[People, int], Table]] = {"read": of_shares, "power": of_power, "values": of_labels}


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="read, power, values; all if none")] = None,
    draws: Annotated[int, typer.Option(help="of each row")] = 100,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
) -> None:
    """Print what is read of scenes, beside what was planted in them."""
    warnings.simplefilter("ignore")
    people, console = read_people(shared), Console(width=240)
    for part in parts or PARTS:
        started = time.process_time()
        console.print(PARTS[part](people, draws))
        console.print(f"{part}: {draws} draws, {time.process_time() - started:.0f} processor seconds")


if __name__ == "__main__":
    typer.run(main)
