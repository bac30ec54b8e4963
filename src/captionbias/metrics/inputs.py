"""What the metrics that attack captions do first: number classes, find tasks, align human captions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import load_vectors
from captionbias.arrays import Flags, Integers
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import CaptionBiasWarning, Captions, Words
from captionbias.text import Lexicon, Mentions, Tokens

FEW_IMAGES = 100


def note(notes: list[str], message: str) -> None:
    """A weakness that the user must see: a warning, kept with the result."""
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)


def number_classes(captions: Captions, notes: list[str]) -> tuple[tuple[str, ...], Integers]:
    """The attribute's values, sorted, and the number of each image's.

    Raises:
        ValueError: a class is too small to split.
    """
    values, classes, counts = np.unique(captions.attributes, return_inverse=True, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        if count < SMALLEST_CLASS:
            raise ValueError(
                f"attributes: {value!r} has {count} images; an attacker needs at least {SMALLEST_CLASS} a value. "
                "Add images, or leave that value out"
            )
        if count < FEW_IMAGES:
            note(notes, f"attributes: {value!r} has only {count} images; its scores are uncertain")
    return tuple(map(str, values)), classes.reshape(-1).astype(np.int64)


def note_nothing_masked(mentions: Mentions, lexicon: Lexicon, notes: list[str]) -> None:
    """Captions in another language than the lexicon's, say."""
    if not len(mentions.starts):
        note(notes, f"lexicon {lexicon.name!r}: none of its words occurs in any caption, so nothing is masked")


def check_named(named: Flags, argument: str, lexicon: Lexicon) -> None:
    """Raise ValueError if no caption names anything of the lexicon."""
    if not named.any():
        raise ValueError(
            f"{argument} {lexicon.name!r}: none of its words occurs in any caption; give the words that these captions "
            "use"
        )


def shown_tasks(
    captions: Captions, words: Words, named: Flags, lexicon: Lexicon, notes: list[str]
) -> tuple[Flags, tuple[str, ...]]:
    """Which tasks each image shows, flags of shape `(images, tasks)`, and the tasks' names.

    The tasks as given, else those that any human caption of the image names. `named`: which of the lexicon's tasks each
    caption names, both sides' rows, shape `(captions, tasks)`.
    """
    if captions.tasks is not None:
        return _given_tasks(captions.tasks, lexicon, notes)
    if captions.references is None:
        raise ValueError(
            "tasks is missing: T to A needs the tasks that the images show, and without references none can be found; "
            "give tasks, or directions=['a_to_t']"
        )
    flags = np.zeros((len(captions), named.shape[1]), bool)
    np.logical_or.at(flags, words.human_image, named[words.model_rows :])
    if not flags.any():
        raise ValueError(
            "references: no human caption names a task of task_lexicon, so the images show none; give tasks, "
            "or the words that these captions use as task_lexicon"
        )
    return flags, lexicon.labels


def _given_tasks(
    tasks: tuple[tuple[str, ...], ...], lexicon: Lexicon, notes: list[str]
) -> tuple[Flags, tuple[str, ...]]:
    names = tuple(sorted({name for row in tasks for name in row}))
    unlisted = [name for name in names if name not in lexicon.groups]
    if len(unlisted) == len(names):
        raise ValueError(
            f"tasks: none of its names ({', '.join(names[:3])}, ...) is a label of task_lexicon {lexicon.name!r}, so "
            "their words would not be masked; give a task_lexicon with these labels"
        )
    if unlisted:
        note(notes, f"tasks: {', '.join(unlisted)} not in task_lexicon {lexicon.name!r}; their words are not masked")
    numbers = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(tasks), len(names)), bool)
    counts = np.fromiter(map(len, tasks), np.int64, len(tasks))
    flags[np.repeat(np.arange(len(tasks)), counts), [numbers[name] for row in tasks for name in row]] = True
    return flags, names


def task_counts(flags: Flags, names: tuple[str, ...]) -> dict[str, int]:
    """Images of each task that occurs, the most frequent first."""
    counts = flags.sum(axis=0)
    return {names[task]: int(counts[task]) for task in np.argsort(-counts, kind="stable") if counts[task]}


def alignment_vectors(words: Words, masked: Iterable[Words], settings: Mapping[str, Any]) -> Any:
    """The word vectors that contextual alignment of any of the `masked` captions needs; None if it needs none.

    Vectors trained on the captions have one seed of their own, as a file's have: a trial must not depend on the others.
    """
    foreign = any((table.human.present() & ~table.model.present()).any() for table in masked)
    if settings["alignment"] == "constant" or not words.model_rows or not foreign:
        return None
    return load_vectors(settings["vectors"], words.tokens)


def align_human(masked: Words, mask: str, vectors: Any, delta: float) -> tuple[Tokens, AlignmentReport | None]:
    """The masked human captions in the captioner's words; as they are when a side is absent."""
    human = masked.human
    if not masked.model_rows or not len(human):
        return human, None
    return align(human, masked.model.present(), frozenset([mask]), vectors, delta)
