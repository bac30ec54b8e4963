"""Labels of images and people: the annotations of Zhao, Wang and Russakovsky (2021), and age from captions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.captions.tables import table_from_file
from captionbias.captions.values import is_missing
from captionbias.datasets.records import check_known, check_unique, image, short
from captionbias.text import load_lexicon

if TYPE_CHECKING:
    import pyarrow as pa

GENDERS = ("Female", "Male", "Both", "Unsure")
SKINS = ("Light", "Dark", "Both", "Unsure")


def read_labels(
    path: Path, fields: Mapping[str, Sequence[str]], known: Integers | None = None
) -> tuple[Integers, dict[str, list[str | None]]]:
    """Ids in ascending order, and their labels.

    Args:
        path: a CSV file with the column `id` and those of `fields`.
        fields: for each column the labels that it may hold, beside none.
        known: ids that there may be, in ascending order; any where None.

    Raises:
        ValueError: as `table_from_file`; an id that is no whole number or stands twice or is unknown; an unknown label.
    """
    table = table_from_file(path)
    given = table.column("id")
    for row, value in enumerate(given):
        if fault := image(value):
            raise ValueError(f"{path.name}: id[{row}] {fault}")
    ids = np.array(list(map(int, given)), np.int64)
    check_unique(path.name, "id", ids)
    if known is not None:
        check_known(path.name, "id", ids, known)
    order = np.argsort(ids)
    labels = {}
    for field, choices in fields.items():
        column = spelled(table.column(field), choices, f"{path.name}: {field}")
        labels[field] = [column[row] for row in order]
    return ids[order], labels


def spelled(values: Sequence[Any], choices: Sequence[str], where: str) -> list[str | None]:
    """Labels as `choices` spell them, None where there is none.

    Example:
        >>> spelled(["male", float("nan"), "", "Both"], GENDERS, "bb_gender")
        ['Male', None, None, 'Both']
        >>> spelled(["Male", "man"], GENDERS, "bb_gender")
        Traceback (most recent call last):
        ValueError: bb_gender[1] is 'man': it must be Female, Male, Both, Unsure or empty; mend that row
    """
    known: dict[Any, str | None] = {label.lower(): label for label in choices} | {"": None, "nan": None, "none": None}
    keys = [value.strip().lower() if isinstance(value, str) else "" if is_missing(value) else value for value in values]
    for row, key in enumerate(keys):
        if not isinstance(key, str) or key not in known:
            raise ValueError(
                f"{where}[{row}] is {short(values[row])}: it must be {', '.join(choices)} or empty; mend that row"
            )
    return [known[key] for key in keys]


def labels_of(images: Integers, ids: Integers, labels: Sequence[str | None]) -> pa.Array:
    """The label of each image, null for one that has none."""
    import pyarrow as pa

    place = np.minimum(np.searchsorted(ids, images), len(ids) - 1)
    rows = np.where(ids[place] == images, place, len(ids)) if len(ids) else np.zeros(len(images), np.int64)
    return pa.array([*labels, None], pa.string()).take(pa.array(rows))


def ages(captions: pa.ChunkedArray | pa.Array, images: Integers, n: int) -> pa.Array:
    """The age that the human captions of each of `n` images tell, after Türk et al. (2023).

    `young` where any caption has a word of youth; else `old` where one names a man, a woman or another grown-up; else
    null. Two adults with a child are thus young.

    Args:
        captions: `m` captions.
        images: the number of each caption's image.
        n: how many images there are.

    Example:
        >>> import pyarrow as pa
        >>> ages(pa.array(["a boy and his father", "a man", "a dog"]), np.array([0, 1, 2]), 3).to_pylist()
        ['young', 'old', None]
    """
    import pyarrow as pa

    lexicon = load_lexicon("age")
    grown = [word for word in lexicon.masked_only if word not in ("person", "people")]
    named = []
    for words in (lexicon.groups["young"], [*lexicon.groups["old"], *grown]):
        named.append(np.bincount(images, weights=has_word(captions, words), minlength=n) > 0)
    young, old = named
    return pa.array(["young", "old", None]).take(pa.array(np.where(young, 0, np.where(old, 1, 2))))


def has_word(captions: pa.ChunkedArray | pa.Array, words: Sequence[str]) -> Flags:
    """Whether each caption has one of the words, in upper or lower case."""
    import pyarrow.compute as pc

    pattern = rf"\b(?:{'|'.join(map(re.escape, words))})\b"
    return np.asarray(pc.match_substring_regex(captions, pattern, ignore_case=True), bool)
