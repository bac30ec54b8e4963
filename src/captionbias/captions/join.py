"""Columns of one or several tables, joined by image id."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from captionbias.captions.check import CaptionBiasWarning, Captions, check_captions
from captionbias.captions.tables import Table, listed
from captionbias.captions.values import as_list, image_keys, is_column, is_missing

MAX_LISTED = 20  # labels in a message: a column of numbers has as many labels as images


class Source(NamedTuple):
    """Where an argument comes from: a column of a table."""

    table: Table
    column: str

    def __str__(self) -> str:
        return f"'{self.column}' of {self.table.name}"


def joined(
    *,
    predictions: Source | None,
    references: Source | None,
    attributes: Source,
    tasks: Source | None,
    id_column: str,
    keep: Sequence[str] | None,
) -> Captions:
    """Join the columns by image id and check the captions; see `read_captions` for the rules."""
    if predictions is not None and predictions == references:
        raise ValueError(f"predictions and references are both {predictions}: name two columns or give two files")
    sources = [source for source in (predictions, references, attributes, tasks) if source is not None]
    ids = _ids(sources, id_column)

    def rows(source: Source) -> Iterable[tuple[str, Any]]:
        values = source.table.column(source.column)
        images = ids[source.table]
        if len(values) != len(images):
            raise ValueError(f"{source} has length {len(values):,} and other columns {len(images):,}: make them equal")
        return zip(images, values, strict=True)

    predicted = predictions and _predictions(rows(predictions), predictions)
    human = references and _lists(rows(references), references, when_missing=[None])
    captioned = human and {image: texts for image, texts in human.items() if texts.count(None) < len(texts)}
    labels = _labels(rows(attributes), attributes)
    named = tasks and _lists(rows(tasks), tasks, when_missing=[])
    if captioned == {}:
        raise ValueError(f"references: {references} has no caption in any row; fill it in or name another column")

    captions = predictions or references
    every_image = dict.fromkeys(predicted or human or ())
    images = list(every_image)
    for other, source, lack in (
        (captioned, references, "have no human captions"),
        (labels, attributes, f"have no row in {attributes.table.name}"),
        (named, tasks, f"have no row in {tasks and tasks.table.name}"),
    ):
        if other is not None:
            images = _in_both(images, captions, other, source, lack)
    if predicted and captioned:
        _in_both(captioned, references, predicted, predictions, "with human captions have no prediction")
    if attributes.table not in {source.table for source in (predictions, references) if source}:
        _in_both(labels, attributes, every_image, captions, "with a label have no caption")
    images = _labelled(images, labels, attributes, keep)
    return check_captions(
        predictions=predicted and [predicted[image] for image in images],
        references=captioned and [captioned[image] for image in images],
        attributes=[labels[image] for image in images],
        tasks=named and [named[image] for image in images],
        image_ids=images,
    )


def _in_both(
    images: Collection[str], source: Source | None, others: Collection[str], other_source: Source | None, lack: str
) -> list[str]:
    """The images of the one that the other has too; a warning tells of the rest, an error if none is left."""
    both = [image for image in images if image in others]
    if not both:
        raise ValueError(
            f"{source} (images {_few(images)}) and {other_source} (images {_few(others)}) have no image in common: "
            "check that the ids are of one kind and that the files belong together"
        )
    _warn_left_out([image for image in images if image not in others], len(images), lack)
    return both


def _labelled(images: list[str], labels: dict[str, Any], source: Source, keep: Sequence[str] | None) -> list[str]:
    """The images with a label, and with one of those to keep."""
    unlabelled = [image for image in images if labels[image] is None]
    if keep is not None:
        if isinstance(keep, str) or not keep:
            raise ValueError(f"keep is {keep!r}: give a list of labels, such as ['female', 'male']")
        found = [labels[image] for image in images if labels[image] is not None]
        unknown = [label for label in keep if label not in found]
        if unknown:
            exist = ", ".join(sorted(set(map(repr, found)))[:MAX_LISTED])
            raise ValueError(f"keep names {unknown[0]!r}, which is no label in {source}: it has {exist or 'no labels'}")
        _warn_left_out(unlabelled, len(images), f"have no label in {source}")
        return [image for image in images if labels[image] in keep]
    if unlabelled:
        raise ValueError(
            f"attributes: {len(unlabelled):,} of {len(images):,} images have no label in {source} "
            f"(first: {_few(unlabelled)}); label them, or leave them out by naming the labels to use with keep (--keep)"
        )
    return images


def _ids(sources: list[Source], id_column: str) -> dict[Table, list[str]]:
    tables = dict.fromkeys(source.table for source in sources)
    without = next((table for table in tables if id_column not in table.columns), None)
    if without is None:
        return {table: image_keys(f"{table.name}: {id_column}", table.column(id_column)) for table in tables}
    if len(tables) == 1:
        return {without: [f"row {row}" for row, _ in enumerate(without.column(sources[0].column))]}
    raise ValueError(
        f"{without.name} has no column '{id_column}' to join it by: it has {listed(without.columns)}; "
        "name the column of image ids with id_column, or put everything in one file"
    )


def _predictions(rows: Iterable[tuple[str, Any]], source: Source) -> dict[str, Any]:
    captions: dict[str, Any] = {}
    for image, caption in rows:
        if image in captions:
            raise ValueError(
                f"predictions: image {image} has more than one row in {source.table.name}: keep one caption an image"
            )
        captions[image] = caption
    return captions


def _lists(rows: Iterable[tuple[str, Any]], source: Source, when_missing: list[None]) -> dict[str, list[Any]]:
    lists: dict[str, list[Any]] = {}
    for image, cell in rows:
        lists.setdefault(image, []).extend(when_missing if is_missing(cell) else _entries(cell, image, source))
    return lists


def _entries(cell: Any, image: str, source: Source) -> list[Any]:
    """What a cell holds: a list, a JSON list as text, or one text."""
    if not isinstance(cell, str):
        return as_list(str(source), cell) if is_column(cell) else [cell]
    text = cell.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return list(json.loads(text))
        except (ValueError, RecursionError):
            if text[1:].lstrip().startswith(("'", '"')):
                raise ValueError(
                    f"{source}, image {image}: {text[:40]!r} looks like a list and is no JSON list; "
                    "write it with json.dumps"
                ) from None
    return [cell]


def _labels(rows: Iterable[tuple[str, Any]], source: Source) -> dict[str, Any]:
    """One label an image, None if it has none; where an image has several rows, some of them may have no label."""
    labels: dict[str, Any] = {}
    for image, cell in rows:
        label = None if is_missing(cell) else cell
        if isinstance(label, str):
            label = label.strip() or None
        known = labels.setdefault(image, label)
        if known is None:
            labels[image] = label
        elif label is not None and label != known:
            raise ValueError(
                f"attributes: image {image} is both {known!r} and {label!r} in {source}: give it one label"
            )
    return labels


def _warn_left_out(left_out: list[str], total: int, lack: str) -> None:
    if left_out:
        warnings.warn(
            f"{len(left_out):,} of {total:,} images {lack} and are left out (first: {_few(left_out)})",
            CaptionBiasWarning,
            stacklevel=5,  # the line that calls read_captions or captions_from_table
        )


def _few(images: Iterable[str]) -> str:
    return ", ".join(islice(images, 3))
