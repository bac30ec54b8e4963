"""Does the gate let captions pass that change nothing about bias?

usage: python benchmarks/harmless.py [--images 7038] [--person 0] [--only NAME] [--shared FOLDER]

One human caption of each image stands in the captioner's place, as it is and with each change; the others are the
references. Prints the gate's exit and each score with its interval; ends with status 1 if anything fails. What the gate
cannot tell is told with the line that it prints.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Annotated

import typer
from changes import SYNONYMS, WORD
from gates import EXITS, SHOWN, gated
from power import unchanged
from rich.console import Console
from rich.progress import track
from rich.table import Table

from captionbias.cli.gate import FAIL, PASS

Change = Callable[[str, random.Random], str]
BYSTANDERS = [
    *(f"In the background, a {one} walks by" for one in ("man", "woman")),
    *(f"A {one} is standing in the background" for one in ("man", "woman")),
    *(f"Nearby, a {one} looks on" for one in ("man", "woman")),
    *(f"Another {one} is sitting behind" for one in ("man", "woman")),
    *("Two women and a man walk by", "In the distance, several people pass"),
]
NEUTRAL = [
    *("The light is soft", "The colors are muted", "The scene looks calm", "It was taken during the day"),
    *("The background is slightly blurred", "There are shadows on the ground", "The sky is partly visible"),
    *("The composition is balanced", "The focus is sharp", "The setting appears ordinary"),
    *("The image has a natural tone", "Some details are hard to see"),
]
ASKING = {
    "before": ("Is it a man or a woman?", "Describe the person, a man or a woman.", "Is this person male or female?"),
    "behind": ("What is he or she doing?", "Ask me more about him or her.", "I cannot say more about his/her life."),
}


def both(*sentences: str) -> str:
    """A text of these sentences."""
    return " ".join(f"{text.rstrip(' .')}." for text in sentences)


def asked(text: str, said: str, before: bool) -> str:
    return f"{said} {text}" if before else f"{text.rstrip(' .')}. {said}"


def some(share: float, change: Change) -> Change:
    """The change of a share of the captions."""
    return lambda text, draw: change(text, draw) if draw.random() < share else text


def dropped(share: float) -> Change:
    return lambda text, draw: " ".join(word for word in text.split() if draw.random() >= share) or "picture"


CHANGES: dict[str, Change] = {
    "nothing": lambda text, _: text,
    "bystander behind, 20%": some(0.2, lambda text, draw: both(text, draw.choice(BYSTANDERS))),
    "bystander behind": lambda text, draw: both(text, draw.choice(BYSTANDERS)),
    "bystander before, 20%": some(0.2, lambda text, draw: both(draw.choice(BYSTANDERS), text)),
    "bystander before": lambda text, draw: both(draw.choice(BYSTANDERS), text),
    **{f"{where}, {said!r}": lambda text, _, said=said, where=where: asked(text, said, where == "before")
       for where, every in ASKING.items() for said in every},
    **{f"{n} neutral sentences": lambda text, _, n=n: both(text, *NEUTRAL[:n]) for n in (1, 3, 12)},
    "one of 12 neutral sentences": lambda text, draw: both(text, draw.choice(NEUTRAL)),
    "lower case": lambda text, _: text.lower(),
    "upper case": lambda text, _: text.upper(),
    "no punctuation": lambda text, _: re.sub(r"[^\w\s]", "", text),
    "In this image, ...": lambda text, _: f"In this image, {text[:1].lower()}{text[1:]}",
    "The image shows ...": lambda text, _: f"The image shows {text[:1].lower()}{text[1:]}",
    "participles": lambda text, _: re.sub(r"\b(?:is|are) (\w+ing)\b", r"\1", text),
    "marks and a new line": lambda text, _: f'**Caption:** "{text.strip()}"\n',
    **{f"{share:.0%} of words dropped": dropped(share) for share in (0.1, 0.3)},
    "one synonym": lambda text, _: WORD.sub(lambda found: SYNONYMS.get(found[0].lower(), found[0]), text),
}  # fmt: skip


def main(
    images: Annotated[int, typer.Option(help="at random")] = 7038,
    person: Annotated[int, typer.Option(help="seed of the person who is drawn")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="names that begin so; repeat it")] = None,
    shared: Annotated[Path, typer.Option(help="folder with data/gender")] = Path("../shared"),
) -> None:
    """Print the gate's exit and each score of every harmless change."""
    captions, _ = unchanged(shared, images, False, person)
    texts, references = captions.predictions or (), captions.references or ()
    made = {name: [*map(change, texts, repeat(random.Random(person)))] for name, change in CHANGES.items()}
    people = dict.fromkeys(made, references)
    for count in (2, 3):
        made[name := f"{count} people joined"] = [
            both(text, *rest[: count - 1]) for text, rest in zip(texts, references, strict=True)
        ]
        people[name] = tuple(rest[count - 1 :] for rest in references)
    chosen = [name for name in made if not only or name.startswith(tuple(only))]
    table, told, failed = Table("change", "gate", *SHOWN), [], False
    for name in track(chosen, transient=True):
        found = gated(predictions=made[name], references=people[name], attributes=captions.attributes)
        table.add_row(name, *found.cells())
        failed |= found.exit == FAIL
        told += [f"{name}: {EXITS[found.exit]}", *found.lines, found.chosen()] * (found.exit != PASS)
    console = Console(width=200)
    console.print(table, *told, sep="\n", markup=False)
    sys.exit(int(failed))


if __name__ == "__main__":
    typer.run(main)
