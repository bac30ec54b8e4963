"""The checks of each kind of column: what is bad is named with its row and the way out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, count, islice
from numbers import Integral, Real
from operator import is_not
from typing import Any, TypeAlias

import numpy as np

from captionbias.arrays import Flags
from captionbias.captions.answers import SAMPLE, Frame, as_sentences, without_answers
from captionbias.captions.texts import canonical_order, is_repeated, strip_marks, task_names, without_blanks
from captionbias.captions.values import as_list, as_scene, image_keys, is_column, is_missing
from captionbias.errors import Argument, InputError, phrase
from captionbias.hashes import hashes_of, mix, occurrences
from captionbias.text.tokens import is_unsplit

MOST_WEIGHT = 1e9  # sums of more, or of less than one in so many, lose digits
MAX_CHARACTERS = 10_000  # the longest human caption of COCO has 250
MOST_ROWS = 10_000_000
OUT_OF_THE_LIST = "take it out of the list or fill it in"

Ids: TypeAlias = tuple[str, ...] | None


def as_lists(columns: Mapping[str, Collection[Any] | None]) -> dict[str, list[Any]]:
    """The columns that are given, as lists of one length."""
    lists = {name: as_list(name, column) for name, column in columns.items() if column is not None}
    first = next(iter(lists))
    check_lengths(lists)
    if not lists[first]:
        raise InputError(first, "has no rows: give at least one image of each group")
    return lists


def check_lengths(columns: Mapping[str, Sized]) -> None:
    """Refuse columns of which one is longer than another."""
    first, *others = columns
    for name in others:
        if len(columns[name]) != len(columns[first]):
            lengths = len(columns[first]), Argument(name), len(columns[name])
            raise InputError(
                first,
                phrase(
                    "has length {:,} and {} has length {:,}: entry i of each belongs to image i, so give as many of "
                    "one as of the other",
                    *lengths,
                ),
            )


def checked_ids(column: list[Any]) -> tuple[str, ...]:
    rows: dict[str, int] = {}
    for row, image in enumerate(image_keys("image_ids", column)):
        if (first := rows.setdefault(image, row)) != row:
            raise InputError(
                "image_ids", f"repeats {image}, the image of row {first}: give each image one row", row=row
            )
    return tuple(rows)


def captions_by_image(
    argument: str, column: list[Any], ids: Ids, notes: list[str], frame: Frame | None = None
) -> tuple[list[tuple[str, ...]], Frame]:
    """The captions of each image, "" in place of what is missing or none, without what models put around them; and what
    nearly all begin and end with, which is taken off."""
    single = argument == "predictions" and not any(map(is_column, column))
    if argument == "predictions":
        rows = [cell if is_column(cell) else [cell] for cell in column]
    else:
        rows = checked_rows(argument, [[] if is_missing(cell) else cell for cell in column], ids, "caption")
    if not single:
        rows = as_sentences(argument, rows, notes)
    originals = list(chain.from_iterable(rows))
    bare = strip_marks(originals)
    texts = without_blanks(bare)
    if single:
        check_strings(texts, places_of(argument, ids), "caption", "drop the image or add a caption", blank=True)
    else:
        check_strings(texts, entries_of(argument, rows, ids), "caption", OUT_OF_THE_LIST, blank=True)
    if marked := sum(map(is_not, bare, originals)):
        notes.append(f"{argument}: thoughts and special tokens are removed from {marked:,} captions")
    plain = list(plain_strings(texts))
    drawn = are_drawn(ids or [f"{row}" for row in range(len(rows))], SAMPLE)
    sample = np.flatnonzero(np.repeat(drawn, list(map(len, rows)))).tolist()
    said, frame = without_answers(argument, plain, sample, notes, frame)
    left = iter(said)
    captions = [tuple(islice(left, len(row))) for row in rows]
    if said.count("") == plain.count("") and (lost := sum(not all(texts) and any(texts) for texts in captions)):
        notes.append(f"{argument}: {lost:,} images have an empty caption beside others, which is left out")
    return captions, frame


def are_drawn(ids: Sequence[str], images: int) -> Flags:
    """Which are the images of the so many least hashes: those of all are among those of parts."""
    if len(ids) <= images:
        return np.ones(len(ids), bool)
    hashes = mix(hashes_of(ids))
    return np.asarray(hashes <= np.partition(hashes, images - 1)[images - 1])


def in_order(references: list[tuple[str, ...]], trusted: bool, notes: list[str]) -> tuple[tuple[str, ...], ...]:
    """The human captions of each image in their own order, each once if people have each of theirs twice."""
    repeated = is_repeated(references)
    if repeated:
        times = "as often" if trusted else "once"
        notes.append(f"references: people have each caption of an image twice or more: it counts {times}")
    return canonical_order(references, repeated and not trusted)


def checked_weights(column: list[Any], ids: Ids, part: bool = False) -> tuple[float, ...]:
    """The weights of images, as numbers; probabilities, too, are numbers of images, but in a part of them, whose mean
    is not that of all."""
    for weight, place in zip(column, places_of("weights", ids), strict=False):
        number = not isinstance(weight, (bool, np.bool_)) and isinstance(weight, (Real, np.number))
        if not (number and 1 / MOST_WEIGHT <= weight <= MOST_WEIGHT):
            limits = f"a number above 0, from {1 / MOST_WEIGHT:g} to {MOST_WEIGHT:g}"
            raise InputError(place, f"is {weight!r}: a weight is {limits}; give one, or leave the image out")
    weights = np.array(column, np.float64)
    return tuple((weights / (1.0 if part else min(weights.mean(), 1.0))).tolist())


def repeated(columns: Mapping[str, Any], argument: str, times: Collection[Any]) -> dict[str, Any]:
    """The columns with each row as often as it stands for an image, whose ids are then told apart."""
    numbers = as_list(argument, times)
    check_lengths({argument: numbers, **columns})
    for number, place in zip(numbers, places_of(argument, None), strict=False):
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, Integral) or number < 1:
            raise InputError(place, f"is {number!r}: a row stands for a whole number of images, of 1 or more")
    if sum(map(int, numbers)) > MOST_ROWS:
        raise InputError(argument, f": rows stand for more than {MOST_ROWS:,} images: give fewer rows at a time")
    every = np.repeat(np.arange(len(numbers)), numbers)
    parts = {name: getattr(column, "iloc", column) for name, column in columns.items()}
    rows = {
        name: part[every] if hasattr(part, "ndim") else list(map(as_list(name, part).__getitem__, every))
        for name, part in parts.items()
    }
    if "image_ids" in columns and len(every) > len(numbers):
        keys, copies = image_keys("image_ids", list(rows["image_ids"])), occurrences(every.astype(np.uint64))
        rows["image_ids"] = [f"{image} #{copy}" for image, copy in zip(keys, copies.tolist(), strict=True)]
    return rows


def checked_scenes(column: list[Any], ids: Ids) -> tuple[str, ...]:
    """The names of the scenes that images are of."""
    for cell, place in zip(column, places_of("scene", ids), strict=False):
        if as_scene(cell) is None:
            raise InputError(place, f"is {cell!r}: name the scene of each image, or leave the image out")
    return tuple(str(as_scene(cell)) for cell in column)


def check_split(argument: str, side: Sequence[Any]) -> None:
    if is_unsplit(side if argument == "predictions" else list(chain.from_iterable(side))):
        raise InputError(
            argument,
            "are not split into words, and their script has no spaces between words:",
            phrase("give {language} or {}", Argument("language", "zh"), language="ja"),
            "split captions in other languages by spaces",
            phrase(
                "give a function as {tokenizer} (with {unsplit}), and words in that language as {attribute_lexicon} "
                "and {task_lexicon}",
                unsplit=True,
            ),
        )


def checked_attributes(column: list[Any], ids: Ids, part: bool = False) -> tuple[str, ...]:
    check_strings(column, places_of("attributes", ids), "label", "drop the image or add a label")
    labels = tuple(map(str.strip, column))
    if not part:
        check_values(labels)
    return labels


def check_values(labels: Sequence[str]) -> None:
    if len(set(labels)) == 1:
        raise InputError(
            "attributes",
            f"has only one value '{labels[0]}' in all {len(labels):,} rows: a bias between groups needs two or more; "
            "add images of another group",
        )


def checked_tasks(column: list[Any], ids: Ids) -> tuple[tuple[str, ...], ...]:
    rows = checked_lists("tasks", column, ids, "task")
    if not any(rows):
        raise InputError(
            "tasks",
            "has no task in any image:",
            "name the objects or activities of the images",
            phrase("leave {tasks} out"),
        )
    return task_names(rows)


def checked_lists(argument: str, column: list[Any], ids: Ids, noun: str) -> list[Any]:
    """The rows as lists of strings, none of them blank."""
    rows = checked_rows(argument, column, ids, noun)
    check_strings(list(chain.from_iterable(rows)), entries_of(argument, rows, ids), noun, OUT_OF_THE_LIST)
    return rows


def checked_rows(argument: str, column: list[Any], ids: Ids, noun: str) -> list[Any]:
    """The rows as lists, whatever is in them."""
    if set(map(type, column)) <= {list, tuple}:
        return column
    for value, place in zip(column, places_of(argument, ids), strict=False):
        if not is_column(value):
            kind = "missing" if is_missing(value) else f"of type {type(value).__name__}"
            raise InputError(place, f"is {kind}: every row is a list of {noun}s; give one, or drop the image")
    return [as_list(argument, value) for value in column]


def check_strings(
    texts: Sequence[Any], places: Iterable[Argument], noun: str, way_out: str, blank: bool = False
) -> None:
    """Refuse the first that is not text, is too long or, but for `blank` ones, is empty; `places`: where each is."""
    if (
        all(issubclass(kind, str) for kind in set(map(type, texts)))
        and (blank or all(map(str.strip, texts)))
        and max(map(len, texts), default=0) <= MAX_CHARACTERS
    ):
        return
    for text, place in zip(texts, places, strict=False):
        if is_missing(text):
            raise InputError(place, f"is missing ({text}): {way_out}")
        if not isinstance(text, str):
            raise InputError(place, f"is of type {type(text).__name__}: a {noun} is a string")
        if not blank and not text.strip():
            raise InputError(place, f"is empty: {way_out}")
        if len(text) > MAX_CHARACTERS:
            fault = f"has {len(text):,} characters, and no {noun} has more than {MAX_CHARACTERS:,}: shorten it"
            raise InputError(place, fault)


def plain_strings(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(str.__str__, texts))  # numpy's str_ and enumerations become str; a str stays the same object


def entries_of(argument: str, rows: Sequence[Sized], ids: Ids) -> Iterator[Argument]:
    """The entries of the rows, as messages name them."""
    for place, row in zip(places_of(argument, ids), rows, strict=False):
        yield from (place._replace(entry=number) for number in range(len(row)))


def places_of(argument: str, ids: Ids) -> Iterator[Argument]:
    """The rows, as messages name them."""
    return (Argument(argument, row=row, image=None if ids is None else ids[row]) for row in count())
