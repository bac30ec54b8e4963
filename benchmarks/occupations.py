"""Are faultless captions of people at work told from biased ones, "waiter" being a word of gender and of work?

usage: python benchmarks/occupations.py [--shared FOLDER]

Captions of VisoGender's pictures are made of their labels: "A woman who works as a waiter with a customer.". As labels
alone with occupations as tasks, and as scenes, in which each picture is of a woman and of a man.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from gates import SHOWN, gated
from rich.console import Console
from rich.table import Table

NAMES = {"feminine": ("female", "woman", "her"), "masculine": ("male", "man", "his")}
OPTIONS = {"task_lexicon": "visogender_occupations"}
Caption = Callable[[str, str, str, str], str]  # of the label, its noun, its pronoun and the occupation
CAPTIONS: dict[str, Caption] = {
    "the woman is a waiter": lambda _, noun, her, work: f"The {noun} is a {work} at {her} desk.",
    "a waiter with her desk": lambda _, noun, her, work: f"A {work} at {her} desk.",
    "a female waiter": lambda label, noun, her, work: f"A {label} {work} at a desk.",
    "a waitress": lambda label, noun, her, work: f"A {noun} who is a {_own(work, label)}.",
    "a waiter and a woman": lambda _, noun, her, work: f"A {work}, a {noun}, stands at a desk.",
    "a waiter": lambda _, noun, her, work: f"A {work} at a desk.",
    "always a man": lambda *of: f"A man is a {of[3]} at his desk.",
    "a man for one woman in five": lambda label, noun, her, work: f"A {noun} is a {work} at {her} desk.",
}


def _own(work: str, label: str) -> str:
    return "waitress" if (work, label) == ("waiter", "female") else work


def pictures(folder: Path) -> pd.DataFrame:
    """The pictures of one gender, with their occupations."""
    tables = [pd.read_csv(path, sep="\t") for path in sorted(folder.glob("*_Visogender.tsv"))]
    table = pd.concat(tables)
    table = table[table["Error codes"].isna() & table.Occupation_perceived_gender.isin(NAMES)]
    other = table.Participant_perceived_gender
    return table[other.isna() | (other == table.Occupation_perceived_gender)]


def main(shared: Annotated[Path, typer.Option(help="folder with data/visogender")] = Path("../shared")) -> None:
    """Print the gate's exit and each score."""
    table = pictures(shared / "data/visogender")
    shown = Table("captions", "gate", *SHOWN, title=f"{len(table):,} pictures of VisoGender")
    told = []
    alone = [NAMES[gender] for gender in table.Occupation_perceived_gender]
    works = [str(work).lower() for work in table.Occupation]
    both, twice = list(NAMES.values()) * len(works), [work for work in works for _ in NAMES]
    scenes = [number for number in range(len(works)) for _ in NAMES]
    for name, caption in CAPTIONS.items():
        for where, people, work in (("labels", alone, works), ("scenes", both, twice)):
            given = {"scene": scenes} if where == "scenes" else {}
            said = [caption(*person, of) for person, of in zip(people, work, strict=True)]
            if name.startswith("a man for"):
                said = [caption(*(NAMES["masculine"] if number % 5 == 0 else person), of)
                        for number, (person, of) in enumerate(zip(people, work, strict=True))]  # fmt: skip
            labels = [label for label, *_ in people]
            found = gated(OPTIONS, predictions=said, attributes=labels, tasks=[[of] for of in work], **given)
            shown.add_row(f"{where}: {name}", *found.cells())
            told += [f"{where}: {name}: {line}" for line in found.lines]
    Console(width=200).print(shown, *told, sep="\n", markup=False)


if __name__ == "__main__":
    typer.run(main)
