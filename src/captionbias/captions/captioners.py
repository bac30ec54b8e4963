"""Several captioners on the same images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from captionbias.captions.check import Captions, People, check_people
from captionbias.captions.names import PEOPLE
from captionbias.captions.values import ROW
from captionbias.errors import InputError, within
from captionbias.warnings import warn


def check_captioners(predictions: Mapping[str, Any], **people: Any) -> dict[str, Captions]:
    """Check several captioners' captions, or take their `Captions` as they are, and what is known of their images once.

    `people`: the other arguments of `check_captions`. An error of one captioner's captions names it. Where some lack a
    caption of an image, those that all have one of.
    """
    if not predictions:
        raise InputError("predictions", "is empty: give at least one captioner's captions")
    unsplit = people.pop("unsplit", False)
    checked: dict[str, Captions] = {}
    images: People | None = None
    for name, captions in predictions.items():
        with errors_of(name):
            if isinstance(captions, Captions):
                checked[name] = captions
                continue
            images = images or check_people(predictions=captions, **people)
            checked[name] = images.with_predictions(captions, unsplit)
    for message in dict.fromkeys(message for captions in checked.values() for message in captions.notes):
        warn(message)
    if len({*map(len, checked.values())}) == 1:
        return checked
    return on_the_same_images({name: _with_ids(captions) for name, captions in checked.items()})


def _with_ids(captions: Captions) -> Captions:
    rows = tuple(f"{ROW}{row}" for row in range(len(captions)))
    return replace(captions, image_ids=captions.image_ids or rows)


def on_the_same_images(read: Mapping[str, Captions]) -> dict[str, Captions]:
    """The images that all captioners have captions of; what their files say of these must be the same."""
    if not read:
        raise ValueError("read is empty: give at least one captioner's captions")
    first, *others = read
    rows = {name: {image: row for row, image in enumerate(captions.image_ids or ())} for name, captions in read.items()}
    shared = [image for image in rows[first] if all(image in rows[other] for other in others)]
    if not shared:
        raise InputError(
            "predictions",
            f": {', '.join(read)} have no image in common: a comparison needs captions of the same images",
        )
    lost = {name: len(images) - len(shared) for name, images in rows.items() if len(images) > len(shared)}
    notes = {
        name: f"{lost[name]:,} of {len(rows[name]):,} images of {name} are left out: not every captioner has a caption "
        "of them"
        for name in lost
    }
    for text in notes.values():
        warn(text)
    parts = {name: captions.select([rows[name][image] for image in shared]) for name, captions in read.items()}
    for name, argument in product(others, PEOPLE):
        own, firsts = getattr(parts[name], argument), getattr(parts[first], argument)
        if own != firsts and None in (own, firsts):
            only = name if own else first
            raise InputError(argument, f"are given for {only} alone: give one file of them for all, or for none")
        if own != firsts:
            raise InputError(
                argument, f"of {first} and {name} differ on the same images: give one file of them for all"
            )
    if all(list(images) == shared for images in rows.values()):
        return dict(read)
    people_notes = parts[first].people_notes
    told = {name: (*part.model_notes, *filter(None, [notes.get(name)])) for name, part in parts.items()}
    return {
        name: parts[first].of_same_people(replace(part, people_notes=people_notes, model_notes=told[name]))
        for name, part in parts.items()
    }


def captioner_columns(tables: Sequence[str], named: Any) -> dict[str, tuple[str, Any]]:
    """The table and the column of each captioner, called after its table, its column if there are several, or both."""
    columns = named if isinstance(named, (list, tuple)) else [named]
    captioners: dict[str, tuple[str, Any]] = {}
    for table, column in product(tables, columns):
        name = table if len(columns) == 1 else column if len(tables) == 1 else f"{table} {column}"
        if name in captioners:
            raise ValueError(f"two captioners would be called {name!r}: rename a file or a column")
        captioners[name] = table, column
    return captioners


@contextmanager
def errors_of(captioner: str) -> Iterator[None]:
    """Make errors of a captioner's captions name it; others are of all captioners."""
    try:
        yield
    except InputError as error:
        if error.argument.name == "predictions":
            raise within(captioner, error) from error
        raise
