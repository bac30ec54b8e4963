"""Which attribute values and tasks images have and captioners name: from captions, or from labels as they are given."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.inputs import (
    copies_of,
    given_tasks,
    named_in,
    no_tasks,
    note_labels_from_captions,
    note_samples,
    with_values,
)
from captionbias.bench.measurement import Scores
from captionbias.bench.pairing import named_by_any
from captionbias.bench.person import draw_person
from captionbias.bench.protocol import lexicon_name
from captionbias.captions import Captions, Labels, check_labels, join_labels
from captionbias.captions.check import digest_of_rows
from captionbias.captions.entries import as_lists, check_lengths, checked_weights
from captionbias.errors import InputError, Message, message_of, missing, naming
from captionbias.scores.omega import number_sets
from captionbias.statistics.samples import random_groups
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.warnings import note

P = ParamSpec("P")
T = TypeVar("T")
TRAINING = ("training_attributes", "training_tasks")


def takes(
    *bench: Callable[..., Any], without: Collection[str] = ()
) -> Callable[[Callable[P, Scores]], Callable[P, Scores]]:
    """Make the `**options` of a metric, those of `read_labels` and of functions of a bench but these, arguments like
    its others."""
    every = (one for function in (read_labels, *bench) for one in inspect.signature(function).parameters.values())
    options = [one for one in every if one.kind is one.KEYWORD_ONLY and one.name not in without]
    defaults = {one.name: one.default for one in options}

    def with_options(measure: Callable[P, Scores]) -> Callable[P, Scores]:
        @functools.wraps(measure)
        def measured(*captions: Any, **given: Any) -> Scores:
            return cast("Callable[..., Scores]", measure)(*captions, **defaults | given)

        captions, *own, _ = inspect.signature(measure).parameters.values()
        measured.__signature__ = inspect.Signature([captions, *options, *own])  # type: ignore[attr-defined]
        return measured

    return with_options


@dataclass(frozen=True, eq=False)
class Named:
    """Labels of some rows, each about the image `image`, `(rows,)`, that counts as `weight` images: flags of shape
    `(rows, values)` and `(rows, tasks)`."""

    image: Integers
    attributes: Flags
    tasks: Flags
    weight: Floats

    def select(self, rows: Integers, number: Integers) -> Named:
        """Some of the rows, with other numbers of images, `(images,)`."""
        return Named(number[self.image[rows]], self.attributes[rows], self.tasks[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class ImageLabels:
    """What `n` images show and what is predicted for them."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    shown: Named  # a row an image
    image: Integers  # of each prediction: an image's captions count as one
    predicted_attributes: Flags | None  # `(predictions, values)`
    predicted_tasks: Flags | None
    human: Named | None  # what human captions name, a row each
    training: Named | None  # rows that tell which pairs belong together, if not the images themselves
    from_captions: bool  # the labels are a lexicon's, so that some may occur nowhere
    tasks_given: bool
    sources: dict[str, str]  # where labels come from, for a signature
    notes: list[str] = field(default_factory=list)
    copies: Integers | None = None  # see `Captions.copies`

    def __len__(self) -> int:
        return len(self.shown.image)

    @property
    def weight(self) -> Floats:
        """How many images each prediction counts as."""
        return (self.shown.weight / np.bincount(self.image, minlength=len(self)))[self.image]

    def predicted(self, attributes: Flags | None, tasks: Flags | None) -> Named:
        """Predictions; None stands for what their images show."""
        values = self.shown.attributes[self.image] if attributes is None else attributes
        return Named(self.image, values, self.shown.tasks[self.image] if tasks is None else tasks, self.weight)

    def beside_a_person(self, seed: int) -> tuple[ImageLabels, ImageLabels] | None:
        """The captioner, and one more person in its place, on the images with two human captions or more, of which one
        is drawn with this seed; the others are what people name. None where there are no such images."""
        people, values, tasks = self.human, self.predicted_attributes, self.predicted_tasks
        drawn = people and draw_person(people.image, len(self), seed, self.copies)
        if not people or not drawn or values is None or tasks is None:
            return None
        human, shown = people.select(drawn.others, drawn.number), self.shown.select(drawn.images, drawn.number)
        if not self.tasks_given:
            shown = replace(shown, tasks=named_by_any(human.image, len(drawn.images), human.tasks))

        def named_by(said: Named) -> ImageLabels:
            named: dict[str, Any] = {"predicted_attributes": said.attributes, "predicted_tasks": said.tasks}
            # Notes are of no interest beside those of all images.
            return replace(self, shown=shown, human=human, image=said.image, copies=drawn.copies, notes=[], **named)

        compared = np.flatnonzero(np.isin(self.image, drawn.images))
        captioner = self.predicted(values, tasks).select(compared, drawn.number)
        return named_by(captioner), named_by(people.select(drawn.person, drawn.number))

    def and_a_person(self, prepare: Callable[[ImageLabels], T], controls: bool, seed: int) -> list[T]:
        """What is prepared of the labels and, with `controls`, of `beside_a_person`, with a note if it cannot be."""
        prepared = [prepare(self)]
        try:
            return prepared + list(map(prepare, (controls and self.beside_a_person(seed)) or ()))
        except ValueError as error:
            note(self.notes, Message("not compared with one more person: ", message_of(error)))
            return prepared

    def groups(self, seed: int) -> Integers:
        """The group of each image, `(n,)`, see `random_groups`."""
        return random_groups(len(self), seed, copies=self.copies)

    def occurring(self) -> ImageLabels:
        """Without the labels of a lexicon that no image shows."""
        shown = self.shown
        values, tasks = (
            np.asarray(flags.any(axis=0)) if self.from_captions else np.ones(flags.shape[1], bool)
            for flags in (shown.attributes, shown.tasks)
        )
        if not tasks.any():
            raise no_tasks()
        return replace(
            self,
            attributes=tuple(itertools.compress(self.attributes, values)),
            tasks=tuple(itertools.compress(self.tasks, tasks)),
            shown=replace(shown, attributes=shown.attributes[:, values], tasks=shown.tasks[:, tasks]),
            predicted_attributes=None if self.predicted_attributes is None else self.predicted_attributes[:, values],
            predicted_tasks=None if self.predicted_tasks is None else self.predicted_tasks[:, tasks],
            human=None,
            training=None,
        )

    def classes(self) -> Integers:
        """A number for each image's set of attribute values, as a split by them needs it."""
        numbers, _ = number_sets(self.shown.attributes)
        rarest = int(np.bincount(numbers).min())
        if rarest < SMALLEST_CLASS:
            image = int(np.flatnonzero(np.bincount(numbers)[numbers] == rarest)[0])
            values = itertools.compress(self.attributes, self.shown.attributes[image])
            have = f": {rarest} images have {' and '.join(values) or 'no value'}, and an attacker needs"
            raise InputError("attributes", f"{have} at least {SMALLEST_CLASS}; add images, or leave these out")
        return numbers

    def image_counts(self, values: Collection[str] | None = None) -> dict[str, Any]:
        """How many images there are, and with each attribute value, or each of these `values`: for details."""
        counts = zip(self.attributes, self.shown.attributes.sum(axis=0).tolist(), strict=True)
        return {
            "images": len(self),
            "attribute_counts": {value: count for value, count in counts if values is None or value in values},
        }


def read_labels(
    captions: Captions | None,
    *,
    attributes: Any = None,
    tasks: Any = None,
    predicted_attributes: Any = None,
    predicted_tasks: Any = None,
    training_attributes: Any = None,
    training_tasks: Any = None,
    weights: Any = None,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
) -> ImageLabels:
    """The labels of captions if there are any, else those given.

    Args:
        captions: from `check_captions` or `read_captions`; None for labels.
        attributes, ...: those of metrics that take labels, such as `captionbias.metrics.directional_ba`.
    """
    shown = {"attributes": attributes, "tasks": tasks}
    predicted = {"attributes": predicted_attributes, "tasks": predicted_tasks}
    training = {"attributes": training_attributes, "tasks": training_tasks}
    if captions is None:
        return _from_labels(shown, predicted, training, weights)
    for kind, labels in (("predicted", predicted), ("training", training)):
        for side, value in labels.items():
            if value is not None:
                raise ValueError(f"{kind}_{side}: labels are found in captions; give either captions or labels")
    return labels_of_captions(captions, attribute_lexicon, task_lexicon, tokenizer)


# Labels as they are given


def _from_labels(
    shown_labels: Mapping[str, Any],
    predicted_labels: Mapping[str, Any],
    training_labels: Mapping[str, Any],
    weights: Any,
) -> ImageLabels:
    if lacking := [side for side, value in shown_labels.items() if value is None]:
        raise missing(
            lacking[0],
            "is missing:",
            naming("give {predictions} and {references} (captions)"),
            naming("{attributes} and {tasks} (labels)"),
        )
    if all(value is None for value in predicted_labels.values()):
        raise missing(
            "predicted_tasks", naming("and {predicted_attributes} are both missing: give one of them, or {predictions}")
        )
    shown = {side: check_labels(side, value) for side, value in shown_labels.items()}
    training, given = None, {side: value for side, value in training_labels.items() if value is not None}
    if len(given) == 1:
        raise InputError("training_attributes", naming("and {training_tasks} belong together: give both or neither"))
    if given:
        known = {}
        for side, value in given.items():
            argument = f"training_{side}"
            shown[side], known[side] = join_labels(side, shown[side], argument, check_labels(argument, value))
        check_lengths({f"training_{side}": labels for side, labels in known.items()})
        training = _named(known, np.ones(len(known["tasks"])))
    predicted = {
        side: check_labels(f"predicted_{side}", value, known=shown[side], known_as=side)
        for side, value in predicted_labels.items()
        if value is not None
    }
    check_lengths(shown | {f"predicted_{side}": labels for side, labels in predicted.items()})
    images = len(shown["tasks"])
    lists = {} if weights is None else as_lists({"weights": weights, "attributes": range(images)})
    counted = np.array(checked_weights(lists["weights"], None)) if lists else np.ones(images)
    sources = {"labels": "given"} | ({"training": "given"} if training else {})
    # Whatever the labels are called, and in whatever order these are.
    digest = digest_of_rows(*(sorted(column.tobytes() for column in of.flags.T) for of in shown.values()))
    return ImageLabels(
        shown["attributes"].names,
        shown["tasks"].names,
        _named(shown, counted),
        np.arange(images),
        predicted["attributes"].flags if "attributes" in predicted else None,
        predicted["tasks"].flags if "tasks" in predicted else None,
        None,
        training,
        from_captions=False,
        tasks_given=True,
        sources=sources | {"rows": digest} | ({} if weights is None else {"weights": digest_of_rows(counted.tolist())}),
    )


def _named(labels: Mapping[str, Labels], weight: Floats) -> Named:
    return Named(np.arange(len(labels["tasks"])), labels["attributes"].flags, labels["tasks"].flags, weight)


# Labels that captions name


def labels_of_captions(
    captions: Captions,
    attribute_lexicon: LexiconSource,
    task_lexicon: LexiconSource | None,
    tokenizer: str,
    one_language: bool = True,
) -> ImageLabels:
    """What images show, the captioner names and people name; without a task lexicon no tasks. `one_language` as
    `with_values` takes it."""
    if captions.predictions is None:
        raise missing("predictions", "is missing: without a captioner's captions there is nothing to compare")
    attribute = check_whole(load_lexicon(attribute_lexicon))
    task = None if task_lexicon is None else check_whole(load_lexicon(task_lexicon))
    notes: list[str] = []
    captions = with_values(captions, attribute, tokenizer, notes, one_language=one_language)
    value, words = value_numbers(captions, attribute.labels), captions.words(tokenizer)
    if task and captions.tasks is None and captions.references is None:
        raise missing(
            "tasks",
            "is missing: what images show is given, or found in human captions beside predictions",
            naming("give {tasks}"),
            "both sides' captions",
        )
    values = named_in(words.tokens, attribute, tokenizer)
    tasks = named_in(words.tokens, task, tokenizer) if task else np.zeros((len(values), 0), bool)
    note_labels_from_captions(words, values, value, notes)
    note_samples(captions, notes)
    model, people = slice(0, words.model_rows), slice(words.model_rows, None)
    if task and captions.tasks is not None:
        shown_tasks = given_tasks(captions.tasks, task, notes)
    else:
        shown_tasks = named_by_any(words.human_image, len(captions), tasks[people])
    weight = np.ones(len(captions)) if captions.weights is None else np.array(captions.weights)
    sources = {"tok": tokenizer, "attribute": lexicon_name(attribute, attribute_lexicon)}
    if task:
        sources |= {"task": lexicon_name(task, task_lexicon), "tasks": "given" if captions.tasks else "named"}
    human = Named(words.human_image, values[people], tasks[people], weight[words.human_image])
    return ImageLabels(
        attribute.labels,
        task.labels if task else (),
        Named(np.arange(len(captions)), value[:, None] == np.arange(len(attribute.labels)), shown_tasks, weight),
        words.model_image,
        values[model],
        tasks[model],
        human if captions.references else None,
        None,
        from_captions=True,
        tasks_given=captions.tasks is not None,
        sources=sources | captions.rows(),
        notes=notes,
        copies=copies_of(captions, notes),
    )


def value_numbers(captions: Captions, labels: tuple[str, ...]) -> Integers:
    """The number of each image's label among these `labels` of a lexicon, see `with_values`."""
    numbers = {label.casefold(): number for number, label in enumerate(labels)}
    for row, value in enumerate(captions.attributes):
        if value.casefold() not in numbers:  # a part of a crossing
            raise InputError(
                "attributes",
                f"is {value!r}, which is not one of {', '.join(labels)}: leave such images out, or give a lexicon of "
                "these labels",
                row=row,
            )
    return np.array([numbers[value.casefold()] for value in captions.attributes], np.int64)


def check_whole(lexicon: Lexicon) -> Lexicon:
    """The lexicon; ValueError for a crossing: a caption of a dark woman that names a woman predicts no value of it."""
    if lexicon.parts:
        raise InputError(
            "attribute_lexicon",
            f"{lexicon.name!r} is a crossing, of which captions often name a part only, and this metric compares "
            "whole labels; measure each attribute alone, measure dbac or lic, or give labels instead of captions",
        )
    return lexicon
