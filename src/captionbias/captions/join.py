"""Columns of one table or several, joined by image id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, TypeAlias

from captionbias.captions.crossing import Crossed, crossed_by_image, kept_labels
from captionbias.captions.labels import rename_labels
from captionbias.captions.names import PEOPLE, SIDES
from captionbias.captions.tables import Column, Table, nested
from captionbias.captions.values import ROW, as_scene, as_weight, entries, holds_list, image_keys, is_missing
from captionbias.errors import InputError, few, naming

ALIKE = "192, 192.jpg, 000000000192 and COCO_val2014_000000000192.jpg are one image, img_192 is another"
LEAST_SHARED = 0.05  # of the images of the smaller table
MAX_LISTED = 20  # labels in a message: a column of numbers has as many labels as images

ByImage: TypeAlias = dict[str, Any]
Source: TypeAlias = Column | Crossed
Reading: TypeAlias = Callable[[str, Source, str | None], ByImage]


def by_image(argument: str, column: Source, id_column: str | None, notes: list[str]) -> ByImage:
    """The entry of each image in a column: a label, a weight, or a list of captions or tasks.

    Without `id_column` each row is an image; `notes`: see `joined`. ValueError: an image has two weights, or a row has
    no id.
    """
    if isinstance(column, Crossed):
        return crossed_by_image([by_image(argument, part, id_column, notes) for part in column.columns], column)
    values, table = column.values(), column.table
    if dict in map(type, values):
        raise ValueError(nested(column, f"{argument.removesuffix('s')}_column"))
    if id_column is None:
        images = [f"{ROW}{row}" for row in range(len(values))]
    else:
        images = image_keys(f"{table.name}: {id_column}", table.column(id_column))
    rows: Iterable[tuple[str, Any]] = zip(images, values, strict=True)
    if argument == "attributes":
        return _labels(rows, column, notes)
    if argument in ("weights", "scene"):
        return _single(argument, rows, column)
    if argument == "tasks" and any(map(holds_list, values)):
        # Among lists, that there are none is an empty list: a missing cell says nothing of its image.
        rows = (row for row in rows if not is_missing(row[1]))
    return _lists(rows, column, when_missing=[None] if argument in SIDES else [])


def joined(
    columns: Mapping[str, Source],
    id_columns: Mapping[Table, str | None],
    read: Reading,
    notes: list[str],
    labels: Mapping[Any, str] | None = None,
) -> dict[str, list[Any]]:
    """The columns' values for the images that all of them have, in the order of their ids; a label may be None.

    `read` is `by_image`, which may remember; `notes` takes what is left out and why, a line for each cause; `labels`:
    what labels are renamed to.
    """
    predictions, references, attributes = columns.get("predictions"), columns.get("references"), columns["attributes"]
    if predictions == references and predictions is not None:
        both = naming("and {references} are both {}: name two columns or give two files", predictions)
        raise InputError("predictions", both)
    values = {argument: read(argument, column, id_columns[column.table]) for argument, column in columns.items()}
    if labels:
        names = rename_labels(values["attributes"].values(), labels, str(attributes))
        values["attributes"] = dict(zip(values["attributes"], names, strict=True))
    base = predictions or references or attributes
    every_image = next(values[name] for name in (*SIDES, "attributes") if name in values)
    if references:
        described = {image: texts for image, texts in values["references"].items() if texts.count(None) < len(texts)}
        values["references"] = described or values["references"]
    images = list(every_image)
    for argument in PEOPLE:
        if column := columns.get(argument):
            lack = f"have no {'human captions' if argument == 'references' else f'entry in {column.table.name}'}"
            images = _in_both(images, base, values[argument], column, lack, notes)
    if predictions and references:
        lack = "with human captions have no prediction"
        _in_both(values["references"], references, values["predictions"], predictions, lack, notes)
    if attributes.table not in {column.table for column in (predictions, references) if column}:
        _in_both(values["attributes"], attributes, every_image, base, "with a label have no caption", notes)
    # In one order, whatever that of the rows: it decides which images a seed puts to test. Numbers come in theirs.
    images = sorted(images, key=lambda image: (len(image), image))
    return {name: [by_id[image] for image in images] for name, by_id in values.items()} | {"image_ids": images}


def kept(
    values: Mapping[str, list[Any]],
    columns: Mapping[str, Source],
    keep: Sequence[str] | None,
    notes: list[str],
) -> dict[str, list[Any]]:
    """What was `joined` of the images with a label to keep, as `check_captions` takes it."""
    labels = dict(zip(values["image_ids"], values["attributes"], strict=True))
    images = {*_labelled(values["image_ids"], labels, columns["attributes"], keep, notes)}
    rows = [row for row, image in enumerate(labels) if image in images]
    of_images = {name: [column[row] for row in rows] for name, column in values.items()}
    said = of_images.get("predictions", [])
    if all(texts.count(texts[0]) == len(texts) for texts in said if texts):  # such as a row for each human caption
        of_images |= {"predictions": [texts[0] if texts else None for texts in said]} if said else {}
    return of_images


def _in_both(
    images: Collection[str], column: Source, others: Collection[str], other: Source, lack: str, notes: list[str]
) -> list[str]:
    """The images that another column has too; the rest is noted, and it is an error if none is left."""
    both = [image for image in images if image in others]
    if len(both) < LEAST_SHARED * min(len(images), len(others)):
        shared = f"only {len(both):,} of {len(images):,} images" if both else "no image"
        raise ValueError(
            f"{column} (images {few(images, 2)}) and {other} (images {few(others, 2)}) have {shared} in common: "
            f"{ALIKE}; write the ids of one as those of the other, or check that the files belong together"
        )
    _note_left_out([image for image in images if image not in others], len(images), lack, notes)
    return both


def _labelled(
    images: list[str], labels: ByImage, column: Source, keep: Sequence[str] | None, notes: list[str]
) -> list[str]:
    """The images with a label, and with one of those to keep."""
    unlabelled = [image for image in images if labels[image] is None]
    if keep is None:
        if unlabelled:
            raise InputError(
                "attributes",
                f": {len(unlabelled):,} of {len(images):,} images have no label in {column} (first: "
                f"{few(unlabelled, 3)})",
                naming("label them, or name the labels to use with {keep}"),
            )
        return images
    if isinstance(keep, str) or not keep:
        raise InputError("keep", f"is {keep!r}: give a list of labels, such as ['female', 'male']")
    known = {labels[image] for image in images} - {None}
    chosen, unknown = kept_labels(known, keep, len(column.columns) if isinstance(column, Crossed) else 1)
    if unknown:
        exist = few(sorted(map(repr, known)), MAX_LISTED) or "no labels"
        raise InputError("keep", f"names {unknown[0]!r}, which is not a label in {column}: it has {exist}")
    if not chosen:
        raise InputError("keep", f"({', '.join(keep)}) leaves no image: none has such labels in {column} together")
    _note_left_out(unlabelled, len(images), f"have no label in {column}", notes)
    others = [image for image in images if labels[image] not in {None, *chosen}]
    _note_left_out(others, len(images), "have another label than those to keep", notes)
    return [image for image in images if labels[image] in chosen]


def _note_left_out(left_out: list[str], total: int, lack: str, notes: list[str]) -> None:
    if left_out:
        notes.append(f"{len(left_out):,} of {total:,} images {lack} and are left out (first: {few(left_out, 3)})")


def _single(argument: str, rows: Iterable[tuple[str, Any]], column: Column) -> ByImage:
    """The one weight, or the name of the one scene, of each image."""
    values: ByImage = {}
    for image, cell in rows:
        value = as_weight(cell) if argument == "weights" else as_scene(cell)
        if value is None or values.setdefault(image, value) != value:
            is_what = f"is {cell!r}" if value is None else f"is both {values[image]} and {value}"
            one = "number above 0" if argument == "weights" else "scene"
            without = {
                "weights": naming("read none ({weight_column})", weight_column=""),
                "scene": naming("read none ({scene_column})", scene_column=""),
            }
            raise InputError(
                argument,
                f": that of image {image} {is_what} in {column}:",
                f"give each image one {one}",
                "leave it out",
                without[argument],
            )
    return values


def _lists(rows: Iterable[tuple[str, Any]], column: Column, when_missing: list[None]) -> ByImage:
    lists: ByImage = {}
    known: dict[str, list[Any]] = {}
    for image, cell in rows:
        try:
            of_row = when_missing if is_missing(cell) else entries(cell)
        except ValueError as error:
            raise ValueError(f"{column}, image {image}: {error}") from None
        if len(of_row) < 2 or of_row not in known.setdefault(image, []):  # such as a row for each sample of a captioner
            lists.setdefault(image, []).extend(of_row)
            known.setdefault(image, []).append(of_row)
    return lists


def _labels(rows: Iterable[tuple[str, Any]], column: Column, notes: list[str]) -> ByImage:
    """The label of each image that most of its votes are for, in a list or in several rows; None if it has no vote.

    An image without such a label is left out.
    """
    votes: dict[str, list[str]] = {}
    for image, cell in rows:
        of_image = votes.setdefault(image, [])
        for vote in [] if is_missing(cell) else entries(cell):
            if not isinstance(vote, (str, Number)) and not is_missing(vote):
                kind = type(vote).__name__
                raise InputError("attributes", f": that of image {image} is of type {kind} in {column}: give a text")
            if not is_missing(vote) and (label := str(vote).strip()):
                of_image.append(label)
    contested = {image: Counter(of_image) for image, of_image in votes.items() if len(set(of_image)) > 1}
    even = {image for image, counts in contested.items() if max(counts.values()) * 2 <= sum(counts.values())}
    if contested:
        notes.append(
            f"{len(contested):,} of {len(votes):,} images have several labels in {column} (first: {few(contested, 3)})"
            f": the majority counts{f'; {len(even):,} without one are left out' if even else ''}"
        )
    if even and len(even) == len(votes):
        raise InputError(
            "attributes",
            f": image {next(iter(even))} has no label in {column} that most of its labels are: give it one label",
        )
    decided = {image: contested[image].most_common(1)[0][0] for image in contested if image not in even}
    return {
        image: decided.get(image, next(iter(of_image), None)) for image, of_image in votes.items() if image not in even
    }
