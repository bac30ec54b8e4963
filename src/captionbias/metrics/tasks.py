"""Which tasks each image shows: given with the captions, or found in the human ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Flags
from captionbias.captions import Captions
from captionbias.metrics.inputs import Sides, note
from captionbias.text import Lexicon


@dataclass(frozen=True, eq=False)
class ShownTasks:
    """Which tasks each image shows: flags of shape `(images, tasks)` and the tasks' names."""

    flags: Flags
    names: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Images of each task that occurs, the most frequent first."""
        counts = self.flags.sum(axis=0)
        return {self.names[task]: int(counts[task]) for task in np.argsort(-counts, kind="stable") if counts[task]}


def shown_tasks(captions: Captions, sides: Sides, named: Flags, lexicon: Lexicon, notes: list[str]) -> ShownTasks:
    """The tasks as given, else those that any human caption of the image names.

    `named`: which of the lexicon's tasks each caption names, both sides' rows, shape `(captions, tasks)`.
    """
    if captions.tasks is not None:
        return _given_tasks(captions.tasks, lexicon, notes)
    if captions.references is None:
        raise ValueError(
            "tasks is missing: T to A needs the tasks that the images show, and without references none can be found; "
            "give tasks, or directions=['a_to_t']"
        )
    flags = np.zeros((len(captions), named.shape[1]), bool)
    np.logical_or.at(flags, sides.human_image, named[sides.model_rows :])
    if not flags.any():
        raise ValueError(
            "references: no human caption names a task of task_lexicon, so the images show none; give tasks, "
            "or the words that these captions use as task_lexicon"
        )
    if captions.predictions is not None:
        note(
            notes,
            "t_to_a: the tasks are those that human captions name, which no captioner can know as well: the score "
            "can lean below 0. Give tasks (--tasks)",
        )
    return ShownTasks(flags, lexicon.labels)


def _given_tasks(tasks: tuple[tuple[str, ...], ...], lexicon: Lexicon, notes: list[str]) -> ShownTasks:
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
    return ShownTasks(flags, names)
