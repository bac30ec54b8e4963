"""Several attributes crossed into one: labels such as "female, dark"."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from captionbias.captions.entries import as_lists, check_strings
from captionbias.captions.tables import Column
from captionbias.errors import Argument, InputError, phrase
from captionbias.text.lexicon import SEPARATOR

if TYPE_CHECKING:
    import pandas as pd


def cross(attributes: Mapping[str, Sequence[str]]) -> list[str]:
    """The labels of `n` images by several attributes as labels of one, their crossing.

    Args:
        attributes: by the attribute's name its `n` labels, two attributes or more. A metric that masks words takes as
            many lexicons, in the same order: `attribute_lexicon=["gender", "race"]`.

    Returns:
        `n` labels: those of an image, joined by ", ". `uncross` takes them apart again.

    >>> cross({"gender": ["female", "male"], "skin": ["dark", "light"]})
    ['female, dark', 'male, light']
    """
    if len(attributes) < 2:
        raise InputError("attributes", f"has {len(attributes)} attributes: a crossing needs two or more")
    columns = as_lists({f"attributes[{name!r}]": labels for name, labels in attributes.items()})
    for name, labels in columns.items():
        places = [Argument(name, row=row) for row in range(len(labels))]
        check_strings(labels, places, "label", "drop the image or add a label")
        for label, place in zip(labels, places, strict=True):
            _check_label(label, str(place))
    return [SEPARATOR.join(map(str.strip, of_image)) for of_image in zip(*columns.values(), strict=True)]


def uncross(labels: Sequence[str], attributes: int) -> list[tuple[str, ...]]:
    """The labels of `n` images by each of the attributes that were crossed.

    >>> uncross(["female, dark", "male, light"], 2)
    [('female', 'male'), ('dark', 'light')]
    """
    apart = [tuple(label.split(SEPARATOR)) for label in labels]
    for row, of_image in enumerate(apart):
        if len(of_image) != attributes:
            raise InputError(
                "attributes",
                f"is {labels[row]!r}, which is not a label of {attributes} crossed attributes: cross them with "
                "captionbias.captions.cross, or name their columns to read_captions",
                row=row,
            )
    return list(zip(*apart, strict=True))


def count_cells(labels: Sequence[str], attributes: int) -> dict[tuple[str, ...], int]:
    """The number of images in each intersection, by its label of each of the crossed attributes.

    >>> count_cells(["female, dark", "male, light", "male, light"], 2)
    {('female', 'dark'): 1, ('female', 'light'): 0, ('male', 'dark'): 0, ('male', 'light'): 2}
    """
    by_attribute = uncross(labels, attributes)
    counts = Counter(zip(*by_attribute, strict=True))
    return {cell: counts[cell] for cell in itertools.product(*(sorted(set(values)) for values in by_attribute))}


def attribute_columns(attribute: Any, column: Any) -> list[tuple[str, str | None]]:
    """Each attribute's usual name and the name of its column, from what `read_captions` was given: one or several."""
    several = isinstance(column, (list, tuple))
    if isinstance(attribute, str):
        return [(attribute, name) for name in column] if several and column else [(attribute, column)]
    names, columns = list(attribute), list(column or ()) if several else [column][: column is not None]
    if not names:
        raise InputError("attribute", "is empty: name one attribute or more")
    if columns and len(columns) != len(names):
        raise InputError(
            "attribute_column",
            f"names {len(columns)} columns for {len(names)} attributes ({', '.join(names)}): name one for each, in "
            "the same order",
        )
    return list(zip(names, columns or [None] * len(names), strict=True))


def one_column(columns: Sequence[Column]) -> Column:
    """The column of labels, or the crossing of several, which must be different columns of one table."""
    first = columns[0]
    for number, column in enumerate(columns):
        if column in columns[:number]:
            raise InputError("attribute_column", f": two attributes are both {column}: name the column of each")
        if column.table != first.table:
            raise InputError(
                "attribute_column",
                f": {first} and {column} are in two tables:",
                phrase("put the attributes that are crossed into one, and give it as {attributes}"),
            )
    return first._replace(crossed_with=tuple(column.name for column in columns[1:]))


def crossed(labels: Mapping[str, pd.Series[Any]]) -> pd.Series[Any]:
    """The crossed label of each image, None where one of its labels is missing; errors call each attribute's column as
    `labels` does."""
    import pandas as pd

    frame = pd.concat(labels, axis=1, join="inner")  # of others an attribute has no majority
    for column, of_images in frame.items():
        for image, label in of_images.dropna().drop_duplicates().items():
            _check_label(label, f"attributes: image {image} in {column}")
    whole = frame.dropna()
    joined = [SEPARATOR.join(of_image) for of_image in whole.itertuples(index=False, name=None)]
    return pd.Series(joined, whole.index, dtype=object).reindex(frame.index)


def labels_to_keep(labels: set[str], keep: Sequence[str], crossed: int) -> tuple[set[str], list[str]]:
    """Those of the labels that `keep` names, and what it names in vain: of each of the `crossed` attributes, and of
    the crossing, the labels named; all where none is named.
    """
    forms = {label: (label, *label.split(SEPARATOR)) if crossed > 1 else (label,) for label in labels}
    named = [set(keep).intersection(values) for values in zip(*forms.values(), strict=True)]
    chosen = {
        label
        for label, parts in forms.items()
        if any(named) and all(not choice or part in choice for part, choice in zip(parts, named, strict=True))
    }
    return chosen, [label for label in keep if not any(label in choice for choice in named)]


def _check_label(label: str, place: str) -> None:
    if SEPARATOR in label:
        raise ValueError(f"{place} is {label!r}: {SEPARATOR!r} joins the labels of a crossing, so rename that label")
