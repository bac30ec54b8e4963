"""Labels of images, as names or as 0/1 arrays: which attribute values or tasks each image has."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from captionbias.arrays import Flags
from captionbias.captions.values import as_list, is_column, is_missing
from captionbias.errors import InputError, few
from captionbias.text.lexicon import SEPARATOR, Lexicon

ONLY = "an array of labels holds 0 and 1 alone, as many in each row; give that, or lists of names"
UNKNOWN = {
    *("unknown", "unk", "unsure", "notsure", "uncertain", "unclear", "undetermined", "unspecified", "notspecified"),
    *("cannottell", "canttell", "dontknow", "ambiguous", "notvisible", "na", "none", "nan", "null", ""),
}
# Which value these are is not to be guessed: the others beside one, or a code of them.
NOT_TO_GUESS = UNKNOWN | {
    "nonbinary",
    "theythem",
    "other",
    "others",
    "both",
    "mixed",
    "true",
    "false",
    *map(str, range(10)),
}
ALIKE = "give both as arrays, or both as names"


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of `n` images: `flags` of those that each has, `(n, len(names))`.

    `numbered`: they came as an array, whose columns are numbers; `listed`: as names, which have no order.
    """

    flags: Flags
    names: tuple[str, ...]
    numbered: bool
    listed: bool

    def __len__(self) -> int:
        return len(self.flags)


def check_labels(argument: str, value: Any, known: Labels | None = None, known_as: str = "") -> Labels:
    """The labels of `n` images as flags.

    `value`: `n` names, `n` lists of names, or a 0/1 array (numpy, torch, pandas), `(n, labels)`; errors call it
    `argument`. `known`, which errors call `known_as`: labels that it must be among, column for column or name for name.
    """
    if hasattr(value, "detach"):  # a torch tensor, on whatever device
        value = value.detach().cpu().numpy()
    rows = value if getattr(value, "ndim", 1) == 2 else as_list(argument, value)
    if not len(rows):
        raise ValueError(f"{argument} has no rows: give the labels of at least one image")
    first: Any = next((row for row in rows if not (is_column(row) and len(row) == 0)), "")
    numbers = is_column(first) and not isinstance(first[0], str) and not is_missing(first[0])
    read = _from_array if rows is value or numbers else _from_names
    labels = read(argument, rows, known, known_as)
    if known is None and not labels.flags.any():
        raise ValueError(f"{argument} has no label in any image: name what the images show")
    return labels


def join_labels(argument: str, labels: Labels, further_argument: str, further: Labels) -> tuple[Labels, Labels]:
    """Both over all the names of either, columns of 0 added; arrays without names must have as many columns."""
    if labels.numbered != further.numbered or (labels.numbered and labels.names != further.names):
        raise ValueError(
            f"{further_argument} has {len(further.names)} labels ({few(further.names)}), {argument} "
            f"{len(labels.names)} ({few(labels.names)}): give both as names, or as arrays of the same columns"
        )
    names = tuple(dict.fromkeys((*labels.names, *further.names)))

    def over_all(side: Labels) -> Labels:
        flags = np.zeros((len(side), len(names)), bool)
        flags[:, [names.index(name) for name in side.names]] = side.flags
        return Labels(flags, names, side.numbered, side.listed)

    return over_all(labels), over_all(further)


def value_names(labels: Collection[str], lexicon: Lexicon) -> dict[str, str]:
    """The value of the lexicon that each of these labels is, those that are none left out.

    A label is a value by its name, by one of its words, by what data sets call it, or by a first letter that no other
    value has. Case plays no part. A label of a crossing is as many labels.

    >>> from captionbias.text import load_lexicon
    >>> value_names(["Female", "F", "men", "unsure"], load_lexicon("gender"))
    {'Female': 'female', 'F': 'female', 'men': 'male'}
    >>> value_names(["F, Dark", "M, Light"], load_lexicon(["gender", "race"]))
    {'F, Dark': 'female, dark', 'M, Light': 'male, light'}
    """
    apart = {label: label.split(SEPARATOR) for label in labels}
    if lexicon.parts and {len(parts) for parts in apart.values()} == {len(lexicon.parts)}:
        columns = zip(*apart.values(), strict=True)
        names = [value_names(column, part) for column, part in zip(columns, lexicon.parts, strict=True)]
        crossed = {
            label: [known.get(value, "") for value, known in zip(parts, names, strict=True)]
            for label, parts in apart.items()
        }
        return {label: SEPARATOR.join(parts) for label, parts in crossed.items() if all(parts)}
    initials = Counter(value[0].casefold() for value in lexicon.labels)
    known = {value[0].casefold(): value for value in lexicon.labels if initials[value[0].casefold()] == 1}
    known |= {word: value for words in (lexicon.called, lexicon.groups) for value in words for word in words[value]}
    known |= {value.casefold(): value for value in lexicon.labels}
    plain = {label: label.casefold().replace("_", " ") for label in apart}
    return {label: known[name] for label, name in plain.items() if name in known}


def is_open(label: str, words: Collection[str] = UNKNOWN) -> bool:
    """Whether a label, or one of those crossed into it, leaves open what somebody is.

    >>> is_open("Can't tell"), is_open("female, n/a"), is_open("non-binary")
    (True, True, False)
    """
    return any(re.sub(r"\W|_", "", part.casefold()) in words for part in label.split(SEPARATOR))


def rename_labels(labels: Collection[Any], names: Mapping[Any, str], place: str = "attributes") -> list[Any]:
    """The labels, or those that were crossed into them, by the `names` that some are given; errors call them
    `place`.
    """
    new = {str(label): name for label, name in names.items()}
    texts = [None if is_missing(label) else str(label).strip() for label in labels]
    apart = {text: text.split(SEPARATOR) for text in texts if text is not None}
    known = set(chain.from_iterable(apart.values()))
    if unknown := [label for label in new if label not in known]:
        raise InputError(
            "labels", f"names {unknown[0]!r}, which is not a label in {place}: it has {few(tuple(sorted(known)))}"
        )
    renamed = {text: SEPARATOR.join(new.get(value, value) for value in parts) for text, parts in apart.items()}
    return [None if text is None else renamed[text] for text in texts]


def _from_array(argument: str, value: Any, known: Labels | None, known_as: str) -> Labels:
    columns = getattr(value, "columns", None)
    try:
        array = np.asarray(value).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} is not an array ({error}): {ONLY}") from error
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{argument} has shape {array.shape}: an array of labels has one row an image, one column a label"
        )
    for row, column in np.argwhere((array != 0) & (array != 1))[:1]:
        raise ValueError(f"{argument}[{row}] holds {array[row, column]:g}: {ONLY}")
    names = tuple(map(str, range(array.shape[1]) if columns is None else columns))
    if len(set(names)) < len(names):
        raise ValueError(f"{argument} has more than one column of a name: give each label one column")
    if known is not None:
        if known.listed and columns is None:
            raise ValueError(f"{argument} is an array without names and {known_as} has names: {ALIKE}")
        named = columns is not None and not known.numbered
        if len(names) != len(known.names) or (named and names != known.names):
            raise ValueError(
                f"{argument} has {len(names)} columns and {known_as} has {len(known.names)} labels ({few(names)} and "
                f"{few(known.names)}): give the same ones, in the same order"
            )
        names = known.names
    numbered = columns is None and (known is None or known.numbered)
    return Labels(array.astype(bool), names, numbered, False)


def _from_names(argument: str, rows: list[Any], known: Labels | None, known_as: str) -> Labels:
    lists = [_names(f"{argument}[{number}]", row) for number, row in enumerate(rows)]
    flat = list(chain.from_iterable(lists))
    if flat and known is not None and known.numbered:
        raise ValueError(f"{argument} has names and {known_as} is an array without names: {ALIKE}")
    names = tuple(sorted(set(flat))) if known is None else known.names
    for row, image_names in enumerate(lists):
        for name in set(image_names).difference(names):
            raise ValueError(
                f"{argument}[{row}] names {reprlib.repr(name)}, which is not a label of {known_as} "
                f"({few(names)}): leave it out, or correct its spelling"
            )
    numbers = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(lists), len(names)), bool)
    flags[np.repeat(np.arange(len(lists)), list(map(len, lists))), [numbers[name] for name in flat]] = True
    return Labels(flags, names, False, True)


def _names(place: str, row: Any) -> list[str]:
    if not isinstance(row, str) and not is_column(row):
        raise ValueError(f"{place} is of type {type(row).__name__}: give a label, a list of labels, or an empty list")
    names = [row] if isinstance(row, str) else as_list(place, row)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{place} holds {reprlib.repr(name)}: a label is a string that is not empty")
    return list(map(str.strip, names))
