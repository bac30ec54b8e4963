"""The portrait's first and third question of ten published captioners, beside the numbers that define it.

usage: python benchmarks/portrait.py [--shared FOLDER] [--draws 3] [--columns] [--images 7038]

Who is named wrong, or not at all; which words follow the gender; which follow the skin tone (*: also more than saying
the word more often explains). `--columns` draws the first, second and third human caption of every image, as the
prototypes did, in place of some at random. Seconds are of the processor, on one thread, without reading files.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from captionbias.arrays import Floats, Integers
from captionbias.bench.inputs import named_in
from captionbias.bench.pairing import drawn_captions
from captionbias.scores import words as words_of
from captionbias.scores.naming import count_naming, largest_gap, naming_errors, naming_gaps, naming_levels, visibility
from captionbias.statistics.intervals import multiplicities
from captionbias.statistics.samples import random_groups
from captionbias.text import Lexicon, Tokens, load_lexicon, tokenize
from captionbias.text.content import ContentWords, content_words

REPLICATES, NAMING_DRAWS = 1000, 5
# Women called men, men called women, of 100; the gap beyond people with its interval.
GAPS = {
    "att2in": (6.6, 3.0, 2.8, 1.6, 4.0),
    "transformer": (7.1, 2.2, 4.1, 3.0, 5.2),
    "sat": (13.3, 5.1, 7.3, 5.8, 9.0),
    "nic_plus": (28.9, 6.2, 21.9, 19.9, 23.9),
    "fc": (16.2, 7.9, 7.6, 6.1, 9.2),
    "confident": (14.6, 6.2, 7.6, 6.0, 9.3),
    "confusion": (25.5, 6.8, 17.9, 16.1, 19.8),
    "nic_official": (28.0, 8.7, 18.5, 16.5, 20.5),
    "nic": (37.2, 8.5, 27.9, 25.7, 30.2),
}
# What words give away, with its standard error; more for women; more for men.
WORDS = {
    "sat": (0.9, 0.4, "", "racquet 2.2"),
    "nic": (5.0, 0.9, "bench 2.6", "suit 3.0, tie 3.0, laptop 1.4"),
    "att2in": (6.0, 0.6, "little 2.6", "young 5.1"),
    "fc": (
        7.1,
        0.8,
        "little 2.7, cell 2.0, phone 1.7",
        "young 3.3, wearing 1.6, suit 1.2, tie 1.2, skateboard 1.1",
    ),
    "nic_plus": (
        11.0,
        1.1,
        "player 4.6, action 4.1, female 3.5, talking 1.3",
        "racquet 3.5, front 2.4, suit 2.0, tie 1.8",
    ),
    "transformer": (
        11.2,
        1.1,
        "playing 3.6, sitting 2.8, dress 1.5, petting, skirt",
        "standing 5.2, holding 3.6, racquet 2.6, suit, tie",
    ),
    "confident": (
        23.5,
        1.6,
        "sitting 4.7, action 4.1, cell 2.9, bench, teddy, her/his 3.0",
        "standing 4.8, racquet 3.7, suit 3.5, tie 3.3, front, computer, skateboard, sandwich",
    ),
}
SKIN = {"person": (0.3, 0.4), "nic": (0.1, 0.5), "transformer": (0.0, 0.4)}


class Images(NamedTuple):
    """Images, the human captions of all and the captions of each captioner of the first `len(value)`."""

    values: tuple[str, ...]
    value: Integers
    image: Integers
    human: Tokens
    captioners: dict[str, Tokens]


def read(folder: Path, column: str, values: tuple[str, ...], images: int | None, names: list[str]) -> Images:
    """The images with five human captions and one of these values of a column."""
    people = pd.read_parquet(folder / "people.parquet")
    people = people[(people.references.map(len) >= 5) & people[column].isin(values)]
    if images and images < len(people):
        people = people.sample(images, random_state=0)
    said = {}
    for name in names:
        captions = pd.read_parquet(folder / "predictions" / f"{name}.parquet").set_index("image_id").caption
        said[name] = list(captions.reindex(people.image_id).fillna(""))
    human = [text for texts in people.references for text in texts]
    everything = tokenize([*human, *(text for captions in said.values() for text in captions)])
    starts = {name: len(human) + number * len(people) for number, name in enumerate(names)}
    tokens = {name: everything.between(start, start + len(people)) for name, start in starts.items()}
    value = people[column].map(values.index).to_numpy()
    image = np.repeat(np.arange(len(people)), people.references.map(len))
    return Images(values, value, image, everything.between(0, len(human)), tokens)


def single_values(tokens: Tokens, lexicon: Lexicon) -> Integers:
    """The number of the value that each caption names alone, -1 for none."""
    named = named_in(tokens, lexicon, "words")
    return np.where(named.sum(axis=1) == 1, named.argmax(axis=1), -1)


def column(images: Images, number: int) -> Integers:
    """The rows of the human captions that are the first, second, ... of their image."""
    return np.searchsorted(images.image, np.arange(len(images.value))) + number


def naming(images: Images, name: str, columns: bool, lexicon: Lexicon) -> tuple[Floats, Floats]:
    """Levels `(2 sides, 2 kinds, values)` and gaps with their ends, `(2 kinds, 3)`."""
    people, captioner = single_values(images.human, lexicon), single_values(images.captioners[name], lexicon)
    errors = naming_errors(images.value, captioner)
    groups = random_groups(len(images.value), 0)
    units = int(groups.max()) + 1
    weights = np.concatenate([np.ones((units, 1)), *multiplicities(units, REPLICATES, 0)], axis=1)
    levels, gaps = [], []
    for number in range(NAMING_DRAWS):
        drawn = column(images, number) if columns else drawn_captions(images.image, len(images.value), number)
        other = np.ones(len(images.image), bool)
        other[drawn] = False
        others = np.bincount(images.image[other], minlength=len(images.value))
        right = other & (people == images.value[images.image])
        stratum = visibility(np.bincount(images.image[right], minlength=len(images.value)), others)
        person = naming_errors(images.value, people[drawn])
        table = count_naming(images.value, errors, person, stratum, groups).table(weights)
        levels.append(naming_levels(table)[..., 0])
        gaps.append(naming_gaps(table))
    gap = np.mean(gaps, axis=0)
    chosen = [largest_gap(of_kind[:, 0]) for of_kind in gap]
    ends = [
        [of_kind[number, 0], *np.quantile(of_kind[number, 1:], [(1 - level) / 2, (1 + level) / 2])]
        for of_kind, (number, level) in zip(gap, chosen, strict=True)
    ]
    return np.mean(levels, axis=0), np.array(ends)


def shared_words(images: Images, lexicon: Lexicon) -> tuple[ContentWords, dict[str, object]]:
    """The content words of human captions, and the tables of each captioner's over the same words."""
    tokens = Tokens.joined([images.human, *images.captioners.values()])
    content = content_words(tokens, lexicon, load_lexicon("coco_objects"))
    bounds = np.cumsum([len(images.human), *map(len, images.captioners.values())])
    parts = zip(images.captioners, bounds[:-1], bounds[1:], strict=True)
    tables = {name: content.used[start:end] for name, start, end in parts}
    return content._replace(used=content.used[: bounds[0]]), tables


def show_naming(console: Console, images: Images, columns: bool) -> None:
    lexicon = load_lexicon("gender")
    table = Table(
        title="Women called men, men called women (of 100), and the gap beyond people: here (people), document"
    )
    for heading in ("captioner", "women", "men", "document", "wrong gap", "document", "unnamed gap", "seconds"):
        table.add_column(heading, justify="left" if heading == "captioner" else "right")
    for name in images.captioners:
        started = time.process_time()
        levels, gaps = naming(images, name, columns, lexicon)
        seconds = time.process_time() - started
        known = GAPS.get(name)
        table.add_row(
            name,
            *(f"{share:.1f} ({person:.1f})" for share, person in zip(levels[0, 0], levels[1, 0], strict=True)),
            f"{known[0]} {known[1]}" if known else "",
            f"{gaps[0, 0]:.1f} [{gaps[0, 1]:.1f}, {gaps[0, 2]:.1f}]",
            f"{known[2]} [{known[3]}, {known[4]}]" if known else "",
            f"{gaps[1, 0]:.1f} [{gaps[1, 1]:.1f}, {gaps[1, 2]:.1f}]",
            f"{seconds:.1f}",
        )
    console.print(table)


def show_words(console: Console, images: Images, lexicon: Lexicon, draws: int, columns: bool, title: str) -> None:
    known = WORDS if images.values[0] == "Female" else SKIN
    started = time.process_time()
    content, tables = shared_words(images, lexicon)
    read_seconds = time.process_time() - started
    may = ~content.of_attribute
    tested = np.ones(len(may), bool) if lexicon.roles else may  # without roles a wrong value would be counted here too
    started = time.process_time()
    contents = words_of.context_words(content.used, may)
    drawn = words_of.distinct_draws(images.image, draws)
    if columns:
        drawn = tuple(column(images, number) for number in range(draws))
    people = words_of.people_draws(content.used, images.image, drawn, contents)
    references = words_of.fit_references(images.value, people, values=len(images.values))
    fit_seconds = time.process_time() - started
    console.print(
        f"{title}: {len(images.value):,} images, {len(contents)} contents; words {read_seconds:.1f} s, references "
        f"{fit_seconds:.1f} s"
    )
    table = Table()
    for heading in ("captioner", "document", "words", "size", "level", "seen", "seconds", *images.values):
        table.add_column(heading)
    for name, said in tables.items():
        started = time.process_time()
        chosen = words_of.frequent_words(said, references, tested)
        ties = words_of.find_ties(said, references, chosen)
        listed, _ = words_of.list_words(ties)
        found = words_of.found_words(said, references, chosen)
        size = words_of.size_of_words(said, references, chosen)
        seconds = time.process_time() - started
        seen = words_of.detectable_share(references, len(chosen))
        z = ties.beyond[0] / np.maximum(ties.error[0], 1e-9)
        goes_with = np.where(ties.more, ties.captioner, ties.person)[0] < 0
        rows = []
        for value in range(2):
            more = np.flatnonzero(listed[0] & ties.more[0] & (goes_with == value))
            more = more[np.argsort(-np.abs(ties.beyond[0, more]))]
            rows.append(
                ", ".join(
                    f"{content.words[chosen[n]]}{'*' * int(ties.also_scaled[0, n])} {abs(ties.beyond[0, n]):.1f} "
                    f"(z {abs(z[n]):.1f})"
                    for n in more
                )
            )
        table.add_row(
            name,
            " ".join(map(str, known.get(name, ("", ""))[:2])),
            f"{found.value:.1f} ({(found.value - found.low) / words_of.Z:.1f})" if found else "",
            f"{size.value:.1f} [{size.low:.1f}, {size.high:.1f}]" if size else "",
            " ".join(f"{share:.2f}" for share in words_of.level(said, references)),
            " ".join(f"{share:.0f}" for share in seen),
            f"{seconds:.2f}",
            *rows,
        )
        if len(known.get(name, ())) > 2:
            table.add_row("", "", "document:", "", "", "", "", *known[name][2:], style="dim")
    console.print(table)


def with_person(images: Images) -> Images:
    """The same with a person among the captioners: the last human caption, which is then none of the references."""
    last = np.searchsorted(images.image, np.arange(len(images.value)), side="right") - 1
    rest = np.setdiff1d(np.arange(len(images.image)), last)
    return images._replace(
        image=images.image[rest], human=images.human.select(rest), captioners={"person": images.human.select(last)}
    )


def main(
    shared: Annotated[Path, typer.Option()] = Path("../shared"),
    draws: Annotated[int, typer.Option()] = 3,
    columns: Annotated[bool, typer.Option("--columns")] = False,
    images: Annotated[int | None, typer.Option()] = None,
) -> None:
    console = Console(width=220)
    if not (shared / "data" / "gender").is_dir():
        sys.exit(f"no published captions at {shared}: this benchmark needs them; pass --shared FOLDER")
    with threadpool_limits(1):
        data = shared / "data"
        gender = read(data / "gender", "gender", ("Female", "Male"), images, [*GAPS, "sat_masked_seg_person"])
        show_naming(console, gender, columns)
        show_naming(console, with_person(gender), columns)
        lexicon = load_lexicon("gender")
        show_words(console, gender, lexicon, draws, columns, "Words of gender")
        show_words(console, with_person(gender), lexicon, draws, columns, "Words of gender, a person")
        names = sorted(path.stem for path in (data / "race" / "predictions").glob("*.parquet"))
        race = read(data / "race", "skin", ("Light", "Dark"), images, names)
        show_words(console, race, load_lexicon("race"), draws, columns, "Words of skin tone")
        show_words(console, with_person(race), load_lexicon("race"), draws, columns, "Words of skin tone, a person")


if __name__ == "__main__":
    typer.run(main)
