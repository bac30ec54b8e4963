"""Which attribute values and tasks images have and captioners name: from captions, or from labels as they are given."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.captions import Captions, Labels, check_captions, check_labels, join_labels
from captionbias.metrics.inputs import note
from captionbias.metrics.protocol import lexicon_name
from captionbias.text import Lexicon, LexiconSource, find_mentions, load_lexicon, named_labels, tokenize

# Captions are split into words for this many images at a time: what is kept grows with labels, not with text.
IMAGES_AT_ONCE = 10_000
ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class Named:
    """Labels of some rows, each row about the image `image`: flags of shape `(rows, values)` and `(rows, tasks)`."""

    image: Integers
    attributes: Flags
    tasks: Flags


@dataclass(frozen=True, eq=False)
class Block:
    """Some images: what they show, what is predicted for them, and what each of their human captions names.

    Of labels there are no human captions, and a prediction that was not given is None.
    """

    shown: Named
    predicted_attributes: Flags | None
    predicted_tasks: Flags | None
    human: Named | None


@dataclass(frozen=True, eq=False)
class Labelled:
    """`images` images and the names of their labels, which `blocks` reads as often as one likes.

    `training`: rows that tell which pairs belong together, if not the images themselves. `of_captions`: the tasks are a
    lexicon's, so that some may occur nowhere. `sources`: where labels come from, for a signature.
    """

    images: int
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    blocks: Callable[[], Iterator[Block]]
    of_captions: bool
    sources: dict[str, str]
    training: Named | None
    notes: list[str]


def read_labels(
    *,
    predictions: Any,
    references: Any,
    attributes: Any,
    tasks: Any,
    predicted_attributes: Any,
    predicted_tasks: Any,
    attribute_lexicon: LexiconSource,
    task_lexicon: LexiconSource,
    tokenizer: str,
    training_attributes: Any = None,
    training_tasks: Any = None,
) -> Labelled:
    """The labels of captions if there are any, else those given.

    Raises:
        ValueError: captions and predicted labels, no predictions at all, or what `check_captions`, `check_labels` or
            `load_lexicon` refuse.
    """
    given = {"predicted_attributes": predicted_attributes, "predicted_tasks": predicted_tasks}
    training = {"training_attributes": training_attributes, "training_tasks": training_tasks}
    if predictions is None and references is None:
        return _labels_given(attributes, tasks, **given, **training)
    for name, value in (given | training).items():
        if value is not None:
            raise ValueError(f"{name}: labels are found in captions; give captions or predicted labels, not both")
    if predictions is None:
        raise ValueError("predictions is missing: without a captioner's captions there is nothing to compare")
    captions = check_captions(predictions=predictions, references=references, attributes=attributes, tasks=tasks)
    lexicons = {"attribute": load_lexicon(attribute_lexicon), "task": load_lexicon(task_lexicon)}
    sources = {
        "tok": tokenizer,
        "attribute": lexicon_name(lexicons["attribute"], attribute_lexicon),
        "task": lexicon_name(lexicons["task"], task_lexicon),
        "tasks": "named" if captions.tasks is None else "given",
    }
    return _labels_named(captions, lexicons["attribute"], lexicons["task"], tokenizer, sources)


# Labels as they are given


def _labels_given(
    attributes: Any,
    tasks: Any,
    predicted_attributes: Any,
    predicted_tasks: Any,
    training_attributes: Any,
    training_tasks: Any,
) -> Labelled:
    for name, value in (("attributes", attributes), ("tasks", tasks)):
        if value is None:
            raise ValueError(
                f"{name} is missing: give predictions and references (captions), or attributes and tasks (labels)"
            )
    if predicted_attributes is None and predicted_tasks is None:
        raise ValueError("predicted_tasks and predicted_attributes are both missing: give one of them, or predictions")
    shown = {"attributes": check_labels("attributes", attributes), "tasks": check_labels("tasks", tasks)}
    training = None
    if (training_attributes is None) != (training_tasks is None):
        raise ValueError("training_attributes and training_tasks belong together: give both or neither")
    if training_attributes is not None:
        known = {}
        for side, value in (("attributes", training_attributes), ("tasks", training_tasks)):
            argument = f"training_{side}"
            shown[side], known[side] = join_labels(side, shown[side], argument, check_labels(argument, value))
        _check_lengths({f"training_{side}": labels for side, labels in known.items()})
        training = Named(np.arange(len(known["tasks"])), known["attributes"].flags, known["tasks"].flags)
    predicted = {
        side: check_labels(f"predicted_{side}", value, known=shown[side], known_as=side)
        for side, value in (("attributes", predicted_attributes), ("tasks", predicted_tasks))
        if value is not None
    }
    _check_lengths(shown | {f"predicted_{side}": labels for side, labels in predicted.items()})
    rows = len(shown["tasks"])

    def blocks() -> Iterator[Block]:
        for start in range(0, rows, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            image = np.arange(start, min(start + ROWS_AT_ONCE, rows))
            foreseen = {side: labels.flags[some] for side, labels in predicted.items()}
            yield Block(
                Named(image, shown["attributes"].flags[some], shown["tasks"].flags[some]),
                foreseen.get("attributes"),
                foreseen.get("tasks"),
                None,
            )

    sources = {"labels": "given"} | ({"training": "given"} if training else {})
    return Labelled(rows, shown["attributes"].names, shown["tasks"].names, blocks, False, sources, training, [])


def _check_lengths(labels: dict[str, Labels]) -> None:
    first, *others = labels
    for name in others:
        if len(labels[name]) != len(labels[first]):
            raise ValueError(
                f"{first} has length {len(labels[first]):,} and {name} has length {len(labels[name]):,}: entry i of "
                "each belongs to image i, so give as many of one as of the other"
            )


# Labels that captions name


def _labels_named(
    captions: Captions, attribute_lexicon: Lexicon, task_lexicon: Lexicon, tokenizer: str, sources: dict[str, str]
) -> Labelled:
    notes: list[str] = []
    shown_values = values_of_lexicon(captions.attributes, attribute_lexicon)
    shown_tasks = None
    if captions.tasks is not None:
        shown_tasks = _tasks_of_lexicon(captions.tasks, task_lexicon, notes)
    elif captions.references is None:
        raise ValueError(
            "tasks is missing: what images show is given, or found in human captions; give tasks or references"
        )

    def blocks() -> Iterator[Block]:
        for start in range(0, len(captions), IMAGES_AT_ONCE):
            some = slice(start, start + IMAGES_AT_ONCE)
            texts = list(captions.predictions[some]) if captions.predictions else []
            humans = captions.references[some] if captions.references else ()
            image = np.arange(start, start + len(texts))
            counts = np.fromiter(map(len, humans), np.int64, len(humans))
            tokens = tokenize([*texts, *itertools.chain.from_iterable(humans)], tokenizer)
            values, tasks = (
                named_labels(tokens, find_mentions(tokens, lexicon, tokenizer), len(lexicon.labels))
                for lexicon in (attribute_lexicon, task_lexicon)
            )
            human = Named(np.repeat(image, counts), values[len(texts) :], tasks[len(texts) :]) if humans else None
            if shown_tasks is None:
                assert human is not None
                present = np.zeros((len(texts), len(task_lexicon.labels)), bool)
                np.logical_or.at(present, human.image - start, human.tasks)
            else:
                present = shown_tasks[some]
            yield Block(Named(image, shown_values[some], present), values[: len(texts)], tasks[: len(texts)], human)

    return Labelled(len(captions), attribute_lexicon.labels, task_lexicon.labels, blocks, True, sources, None, notes)


def values_of_lexicon(attributes: tuple[str, ...], lexicon: Lexicon) -> Flags:
    """Which of the lexicon's labels each image has; "Female" is the label `female`."""
    numbers = {label.casefold(): number for number, label in enumerate(lexicon.labels)}
    for row, value in enumerate(attributes):
        if value.casefold() not in numbers:
            raise ValueError(
                f"attributes[{row}] is {value!r}, which is no label of attribute_lexicon {lexicon.name!r} "
                f"({', '.join(lexicon.labels)}): leave such images out, or give a lexicon with the words that name it"
            )
    flags = np.zeros((len(attributes), len(numbers)), bool)
    flags[np.arange(len(attributes)), [numbers[value.casefold()] for value in attributes]] = True
    return flags


def _tasks_of_lexicon(tasks: tuple[tuple[str, ...], ...], lexicon: Lexicon, notes: list[str]) -> Flags:
    """Which of the lexicon's labels each image shows; a task that has no words there cannot be found in captions."""
    numbers = {label: number for number, label in enumerate(lexicon.labels)}
    unlisted = sorted({name for row in tasks for name in row} - set(numbers))
    counts = np.fromiter(map(len, tasks), np.int64, len(tasks))
    column = np.array([numbers.get(name, -1) for name in itertools.chain.from_iterable(tasks)], np.int64)
    flags = np.zeros((len(tasks), len(numbers)), bool)
    flags[np.repeat(np.arange(len(tasks)), counts)[column >= 0], column[column >= 0]] = True
    if not flags.any():
        raise ValueError(
            f"tasks: none of its names ({', '.join(unlisted[:3])}, ...) is a label of task_lexicon {lexicon.name!r}, "
            "so captions cannot name them; give a task_lexicon with these labels"
        )
    if unlisted:
        note(
            notes,
            f"tasks: {', '.join(unlisted)} not in task_lexicon {lexicon.name!r}: captions cannot name them; left out",
        )
    return flags
