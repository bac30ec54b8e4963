"""Columns of one table or several as one frame: a row an image, a column an argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from itertools import chain
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from captionbias.captions.crossing import crossed, labels_to_keep
from captionbias.captions.labels import rename_labels
from captionbias.captions.names import PEOPLE, SIDES, plain_name
from captionbias.captions.tables import Column, Table, nested
from captionbias.captions.values import (
    ROW,
    as_scene,
    as_weight,
    base_names,
    entries,
    holds_list,
    image_keys,
    is_missing,
)
from captionbias.errors import Argument, InputError, Message, few, phrase

ALIKE = "192, 192.jpg, 000000000192 and COCO_val2014_000000000192.jpg are one image, img_192 is another"
LEAST_SHARED = 0.05  # of the images of the smaller table
REJECTED = "is_precanned", "is_rejected"  # flags of human captions that are none, as VizWiz has
OF = ", person "
_BOX = re.compile(
    r"(b?box|bounding_box)(_?(id|[xywh]|[xy]_?(min|max|[12])))?|(person|face)_id|[xywh]|[xy]_?(min|max|[12])"
)
_OF_BOXES = {"isgroupof", "isoccluded", "istruncated", "isdepictionof", "isinsideof"}  # a row a box, in Open Images
MAX_LISTED = 20  # labels in a message: a column of numbers has as many labels as images

Series: TypeAlias = "pd.Series[Any]"
Index: TypeAlias = Callable[[Table, "str | None", int], pd.Index]
Reading: TypeAlias = Callable[[str, Column, "str | None"], Series]


def images_of(table: Table, id_column: str | None, rows: int) -> pd.Index:
    """The image of each row of a table, which is the row itself where no column has ids."""
    if id_column is None:
        return pd.Index([f"{ROW}{row}" for row in range(rows)], dtype=object)
    return pd.Index(image_keys(f"{table.name}: {id_column}", table.column(id_column)), dtype=object)


def by_image(argument: str, column: Column, id_column: str | None, index: Index, notes: list[str]) -> Series:
    """The entry of each image in a column, by the image's id: a label, a weight, a scene, or a list of captions or
    tasks. Labels that are crossed are one.

    `index` is `images_of`, which may remember; `notes`: see `joined`. ValueError: an image has two weights, or a row
    has no id.
    """
    if column.crossed_with:
        parts = [Column(column.table, name) for name in (column.name, *column.crossed_with)]
        return crossed({str(part): by_image(argument, part, id_column, index, notes) for part in parts})
    values = column.values()
    for flag in filter(column.table.columns.__contains__, REJECTED if argument == "references" else ()):
        rejected = [str(cell).lower() in ("true", "1") for cell in column.table.column(flag)]
        values = [None if out else value for value, out in zip(values, rejected, strict=True)]
        notes += [f"references: {sum(rejected):,} captions are left out ({flag})"] if any(rejected) else []
    if dict in set(map(type, values)):
        raise ValueError(nested(column, f"{argument.removesuffix('s')}_column"))
    cells = pd.Series(values, index(column.table, id_column, len(values)), dtype=object)
    if argument in ("weights", "scene"):
        return _single(argument, cells, column)
    if argument == "attributes":
        return _labels(_lists(cells, column, when_missing=[]), column, notes)
    if argument == "tasks" and any(map(holds_list, values)):
        # Among lists, that there are none is an empty list: a missing cell says nothing of its image.
        cells = cells[~cells.map(is_missing).astype(bool)]
    return _of_images(_lists(cells, column, when_missing=[None] if argument in SIDES else []))


def joined(
    columns: Mapping[str, Column],
    id_columns: Mapping[Table, str | None],
    read: Reading,
    notes: list[str],
    labels: Mapping[Any, str] | None = None,
) -> pd.DataFrame:
    """The arguments' values for the images that all columns have, in the order of their ids; a label may be None.

    `read` is `by_image`, which may remember; `notes` takes what is left out and why, a line for each cause; `labels`:
    what labels are renamed to.
    """
    predictions, references, attributes = columns.get("predictions"), columns.get("references"), columns["attributes"]
    if predictions == references and predictions is not None:
        both = phrase("and {references} are both {}: name two columns or give two files", predictions)
        raise InputError("predictions", both)
    values = {argument: read(argument, column, id_columns[column.table]) for argument, column in columns.items()}
    _without_folders(values)
    if labels:
        names = rename_labels(values["attributes"], labels, str(attributes))
        values["attributes"] = pd.Series(names, values["attributes"].index, dtype=object)
    base = predictions or references or attributes
    every_image = next(values[name] for name in (*SIDES, "attributes") if name in values).index
    if references:
        described = [texts.count(None) < len(texts) for texts in values["references"]]
        values["references"] = values["references"][described] if any(described) else values["references"]
    images = every_image
    for argument in PEOPLE:
        if column := columns.get(argument):
            lack = f"have no {'human captions' if argument == 'references' else f'entry in {column.table.name}'}"
            images = _in_both(images, base, values[argument].index, column, lack, notes)
    if predictions and references:
        lack = "with human captions have no prediction"
        _in_both(values["references"].index, references, values["predictions"].index, predictions, lack, notes)
    if attributes.table not in {column.table for column in (predictions, references) if column}:
        _in_both(values["attributes"].index, attributes, every_image, base, "with a label have no caption", notes)
    # In one order, whatever that of the rows: it decides which images a seed puts to test. Numbers come in theirs.
    images = pd.Index(sorted(images, key=lambda image: (len(image), image)), dtype=object)
    return pd.DataFrame({name: of_images.reindex(images) for name, of_images in values.items()}, images)


def _without_folders(values: dict[str, Series]) -> None:
    """Take the folders off ids that all have one, where those of another column have none."""
    plain = {name: pd.Index(base_names(of_images.index), dtype=object) for name, of_images in values.items()}
    in_folders = [name for name, index in plain.items() if index.is_unique and (index != values[name].index).all()]
    for name in in_folders if len(in_folders) < len(values) else ():
        values[name] = values[name].set_axis(plain[name])


def keep_labels(frame: pd.DataFrame, column: Column, keep: Sequence[str] | None, notes: list[str]) -> pd.DataFrame:
    """The images with a label of this column, and with one of those to keep."""
    labels = frame["attributes"]
    unlabelled = frame.index[labels.isna()]
    if keep is None:
        if len(unlabelled):
            raise InputError(
                "attributes",
                f": {len(unlabelled):,} of {len(frame):,} images have no label in {column} (first: "
                f"{few(unlabelled, 3)})",
                phrase("label them, or name the labels to use with {keep}"),
            )
        return frame
    if isinstance(keep, str) or not keep:
        raise InputError("keep", f"is {keep!r}: give a list of labels, such as ['female', 'male']")
    known = set(labels.dropna())
    chosen, unknown = labels_to_keep(known, keep, 1 + len(column.crossed_with))
    if unknown:
        exist = few(sorted(map(repr, known)), MAX_LISTED) or "no labels"
        raise InputError("keep", f"names {unknown[0]!r}, which is not a label in {column}: it has {exist}")
    if not chosen:
        raise InputError("keep", f"({', '.join(keep)}) leaves no image: none has such labels in {column} together")
    _note_left_out(unlabelled, len(frame), f"have no label in {column}", notes)
    others = frame.index[labels.notna() & ~labels.isin(chosen)]
    _note_left_out(others, len(frame), "have another label than those to keep", notes)
    return frame[labels.isin(chosen)]


def _in_both(
    images: pd.Index, column: Column, others: pd.Index, other: Column, lack: str, notes: list[str]
) -> pd.Index:
    """The images that another column has too; the rest is noted, and it is an error if none is left."""
    shared = images.isin(others)
    both = images[shared]
    if len(both) < LEAST_SHARED * min(len(images), len(others)):
        overlap = f"only {len(both):,} of {len(images):,} images" if len(both) else "no image"
        raise ValueError(
            f"{column} (images {few(images, 2)}) and {other} (images {few(others, 2)}) have {overlap} in common: "
            f"{ALIKE}; write the ids of one as those of the other, or check that the files belong together"
        )
    _note_left_out(images[~shared], len(images), lack, notes)
    return both


def _note_left_out(left_out: pd.Index, total: int, lack: str, notes: list[str]) -> None:
    if len(left_out):
        notes.append(f"{len(left_out):,} of {total:,} images {lack} and are left out (first: {few(left_out, 3)})")


def _single(argument: str, cells: Series, column: Column) -> Series:
    """The one weight, or the name of the one scene, of each image."""
    values: dict[str, Any] = {}
    for image, cell in cells.items():
        value = as_weight(cell) if argument == "weights" else as_scene(cell)
        if value is None or values.setdefault(str(image), value) != value:
            is_what = f"is {cell!r}" if value is None else f"is both {values[str(image)]} and {value}"
            one = "number above 0" if argument == "weights" else "scene"
            none = Message("read none (", Argument(f"{argument.removesuffix('s')}_column", ""), ")")
            raise InputError(
                argument,
                f": that of image {image} {is_what} in {column}:",
                f"give each image one {one}",
                "leave it out",
                none,
            )
    return pd.Series(values, dtype=object)


def _lists(cells: Series, column: Column, when_missing: list[None]) -> Series:
    """What each cell holds, as a list."""
    plain = [
        when_missing if cell is None else [cell] if type(cell) is str and "[" not in cell else cell for cell in cells
    ]
    if set(map(type, plain)) <= {list} and dict not in set(map(type, chain.from_iterable(plain))):
        return pd.Series(plain, cells.index, dtype=object)
    lists: list[list[Any]] = []
    for image, cell in zip(cells.index, cells, strict=True):
        try:
            lists.append(when_missing if is_missing(cell) else entries(cell))
        except ValueError as error:
            raise ValueError(f"{column}, image {image}: {error}") from None
    return pd.Series(lists, cells.index, dtype=object)


def _of_images(lists: Series) -> Series:
    """The lists of each image as one; a list that several rows repeat, as those of people do beside each of a
    captioner's samples, is there once."""
    if lists.index.is_unique:
        return lists
    rows: dict[Any, list[list[Any]]] = {}
    for image, of_row in lists.items():
        of_image = rows.setdefault(image, [])
        if len(of_row) < 2 or of_row not in of_image:
            of_image.append(of_row)
    return pd.Series({image: list(chain.from_iterable(of_image)) for image, of_image in rows.items()}, dtype=object)


def _labels(lists: Series, column: Column, notes: list[str]) -> Series:
    """The label of each image; of an image whose persons have rows of their own, if all of them have the same."""
    persons = _persons(column)
    if persons is None:
        return _majority(lists, column, notes)
    keys = pd.Index([f"{image}{OF}{person}" for image, person in zip(lists.index, persons, strict=True)], dtype=object)
    each = _majority(lists.set_axis(keys), column, notes).fillna("")
    of_image = each.groupby([key.rpartition(OF)[0] for key in each.index], sort=False)
    alike = of_image.nunique() == 1
    _note_left_out(alike.index[~alike], len(alike), f"show persons of several labels in {column}", notes)
    labels: Series = of_image.first()[alike]
    return labels.where(labels != "", None)


def _persons(column: Column) -> list[str] | None:
    """The person of each row, by its box or number, where rows are of persons, not votes."""
    table = column.table
    where = [name for name in table.columns if name != column.name and _BOX.fullmatch(plain_name(name))]
    if where:
        return list(map(str, zip(*map(table.column, where), strict=True)))
    of_open_images = not _OF_BOXES.isdisjoint(map(plain_name, table.columns))
    return list(map(str, range(len(column.values())))) if of_open_images else None


@cache
def _as_range(label: str) -> str:
    """A label; of a date that a spreadsheet made of a range of ages the range.

    >>> _as_range("9-Mar"), _as_range("3-Sep"), _as_range("2026-03-09 00:00:00"), _as_range("3-9")
    ('3-9', '3-9', '3-9', '3-9')
    """
    for form in ("2000 %Y-%m-%d 00:00:00", "%Y %d-%b", "%Y %b-%d"):
        with suppress(ValueError):
            date = datetime.strptime(f"2000 {label}", form)
            return "-".join(map(str, sorted((date.day, date.month))))
    return label


def _majority(lists: Series, column: Column, notes: list[str]) -> Series:
    """The label of each image that most of its votes are for, in a list or in several rows; None if it has no vote.

    An image without such a label is left out.
    """
    images = lists.index.unique()
    answers = pd.Series(list(chain.from_iterable(lists)), np.repeat(lists.index, list(map(len, lists))), dtype=object)
    for image, vote in answers.items():
        if not isinstance(vote, (str, Number, datetime)) and not is_missing(vote):
            kind = type(vote).__name__
            raise InputError("attributes", f": that of image {image} is of type {kind} in {column}: give a text")
    written = answers.map(lambda vote: "" if is_missing(vote) else str(vote).strip())
    votes = written.map(_as_range)
    if dates := sorted({*written[written != votes]}):
        notes.append(
            f"{few(dates)} in {column}: dates that a spreadsheet made of ranges, read as {few(map(_as_range, dates))}"
        )
    votes = votes[votes != ""]
    several = votes.index.duplicated(keep=False)
    counts = votes[several].groupby([votes.index[several], votes[several]], sort=False).size()
    of_image = counts.groupby(level=0, sort=False)
    total = of_image.sum()
    contested, even = total.index[of_image.size() > 1], total.index[of_image.max() * 2 <= total]
    if len(contested):
        notes.append(
            f"{len(contested):,} of {len(images):,} images have several labels in {column} (first: {few(contested, 3)})"
            f": the majority counts{f'; {len(even):,} without one are left out' if len(even) else ''}"
        )
    if len(even) and len(even) == len(images):
        raise InputError(
            "attributes", f": image {even[0]} has no label in {column} that most of its labels are: give it one label"
        )
    most = counts[counts * 2 > total.reindex(counts.index.get_level_values(0)).to_numpy()]
    decided = pd.Series(most.index.get_level_values(1), most.index.get_level_values(0), dtype=object)
    labels: Series = pd.concat([votes[~several], decided])
    return labels.reindex(images[~images.isin(even)])
