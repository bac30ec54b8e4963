"""Captioners that say the same in every language, with full agreement: does each language read as English does?

usage: python benchmarks/languages.py [--images N] [--languages de,fr]

`words alone` has the language's lexicons, and sees captions as they are written: what agreement gives away.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from captionbias.bench.measurement import Measurement
from captionbias.metrics import dbac, lic, sway
from captionbias.synthetic import plant
from captionbias.text.languages import ENGLISH, languages

CAPTIONERS = {"faithful": {}, "T to A 0.5": {"t_to_a": 0.5}}
FAST: dict[str, Any] = {"preset": "fast", "cache": False, "progress": False, "trials": 5}


def cell(measured: Measurement, key: str, digits: int) -> str:
    """The score, its interval and its verdict."""
    found = measured.estimates[key]
    value, low, high = (f"{number + 0.0:.{digits}f}" for number in (found.value, found.low or 0, found.high or 0))
    return f"{value} [{low}, {high}] {measured.estimates[key].verdict}"


def main(
    images: Annotated[int, typer.Option(help="planted images")] = 6000,
    spoken: Annotated[str, typer.Option("--languages", help="comma-separated")] = ",".join(languages()),
) -> None:
    """Print a row for each captioner and language."""
    warnings.simplefilter("ignore")
    table = Table("captioner", "language", "sway T to A", "LIC x 100", "net DBAC T to A")
    for captioner, dials in CAPTIONERS.items():
        for language in spoken.split(","):
            planted = vars(plant(images, captions=2, **dials, language=language))
            alone = {"attribute_lexicon": f"gender-{language}"}
            for name, given in ((language, {"language": language}), (f"{language}, words alone", alone)):
                if given is alone and language in (ENGLISH, "ja", "zh"):  # of which the last two are not split
                    continue
                tasks = {"task_lexicon": f"coco_objects-{language}"} if given is alone else {}
                table.add_row(
                    captioner,
                    name,
                    cell(sway.measure(**planted, **given, **tasks), "sway_t_to_a", 1),
                    cell(lic.measure(**planted, **given, **FAST), "lic", 1),
                    cell(
                        dbac.measure(**planted, **given, **tasks, **FAST, directions=["t_to_a"]), "dbac_t_to_a_net", 3
                    ),
                )
        table.add_section()
    Console(width=170).print(table)


if __name__ == "__main__":
    typer.run(main)
