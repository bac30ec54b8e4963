"""Labels of images and people: annotated gender and skin tone (Zhao, Wang and Russakovsky 2021), age from captions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from reprlib import repr as short
from typing import Any

from captionbias.captions.tables import table_from_file
from captionbias.captions.values import is_missing
from captionbias.datasets.json_records import unique_ids
from captionbias.text import load_lexicon

GENDERS = ("Female", "Male", "Both", "Unsure")
SKINS = ("Light", "Dark", "Both", "Unsure")
# The column that has the labels of an attribute, and the two that are compared.
COMPARED = {
    "gender": ("gender", ("female", "male")),
    "captioned_gender": ("captioned_gender", ("female", "male")),
    "race": ("skin", ("light", "dark")),
    "age": ("age", ("young", "old")),
}
_WORD = re.compile(r"\w+", re.ASCII)


def compared_rows(rows: Iterable[dict[str, Any]], attribute: str, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """The images with a human caption and one of the two labels that are compared, which becomes their `attribute`."""
    column, compared = COMPARED[attribute]
    for row in rows:
        label = (row[column] or "").lower()
        if label not in compared:
            left_out[f"labelled {label}" if label else f"without a label of {attribute}"] += 1
        elif not row["references"]:
            left_out["without a human caption"] += 1
        else:
            yield {**row, "attribute": label}


def read_labels(path: Path, fields: Mapping[str, Sequence[str]]) -> dict[str, dict[int, str | None]]:
    """The label of each id in a CSV file, or None, by its columns `fields`, with the labels that each may have."""
    table = table_from_file(path)
    ids = unique_ids(table.column("id"), path.name, "id")
    return {
        field: dict(zip(ids, spelled(table.column(field), choices, f"{path.name}: {field}"), strict=True))
        for field, choices in fields.items()
    }


def spelled(values: Sequence[Any], choices: Sequence[str], where: str) -> list[str | None]:
    """Labels as `choices` spell them, None where there is none."""
    known: dict[str, str | None] = {label.lower(): label for label in choices} | {"": None, "nan": None, "none": None}
    keys = ["" if is_missing(value) else str(value).strip().lower() for value in values]
    for row, key in enumerate(keys):
        if key not in known:
            allowed = f"{', '.join(choices)} or empty"
            raise ValueError(f"{where}[{row}] must be {allowed}, not {short(values[row])}: correct that row")
    return [known[key] for key in keys]


def age(captions: Iterable[str]) -> str | None:
    """The age that the human captions of an image tell, after Türk et al. (2023).

    `young` where any has a word of youth, else `old` where one names a grown-up: two adults with a child are young.
    """
    words = {word for caption in captions for word in _WORD.findall(caption.lower())}
    young, old = _age_words()
    return "young" if words & young else "old" if words & old else None


@cache
def _age_words() -> tuple[frozenset[str], frozenset[str]]:
    lexicon = load_lexicon("age")
    grown = {*lexicon.masked_only} - {"person", "people"}
    return frozenset(lexicon.groups["young"]), frozenset({*lexicon.groups["old"], *grown})
