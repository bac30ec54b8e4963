"""Which attribute values and tasks images have and captioners name: from captions, or from labels as they are given."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, cast

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.inputs import (
    NO_TASKS,
    copies_of,
    given_tasks,
    named_in,
    note_labels_from_captions,
    with_values,
)
from captionbias.bench.measurement import Scores
from captionbias.bench.pairing import named_by_any
from captionbias.bench.protocol import lexicon_name
from captionbias.captions import Captions, Labels, check_labels, join_labels
from captionbias.captions.check import digest_of_rows
from captionbias.scores.omega import number_sets
from captionbias.statistics.samples import random_groups
from captionbias.text import Lexicon, LexiconSource, load_lexicon

P = ParamSpec("P")
TRAINING = ("training_attributes", "training_tasks")


def takes(*, without: Collection[str] = ()) -> Callable[[Callable[P, Scores]], Callable[P, Scores]]:
    """Make the `**inputs` of a metric, those of `read_labels` but these, arguments like its others."""
    left_out = {"captions", *without}
    inputs = [one for name, one in inspect.signature(read_labels).parameters.items() if name not in left_out]
    defaults = {one.name: one.default for one in inputs}

    def with_inputs(measure: Callable[P, Scores]) -> Callable[P, Scores]:
        @functools.wraps(measure)
        def measured(*captions: Any, **options: Any) -> Scores:
            return cast("Callable[..., Scores]", measure)(*captions, **defaults | options)

        captions, *own, _ = inspect.signature(measure).parameters.values()
        measured.__signature__ = inspect.Signature([captions, *inputs, *own])  # type: ignore[attr-defined]
        return measured

    return with_inputs


@dataclass(frozen=True, eq=False)
class Named:
    """Labels of some rows, each row about the image `image`: flags of shape `(rows, values)` and `(rows, tasks)`."""

    image: Integers
    attributes: Flags
    tasks: Flags


@dataclass(frozen=True, eq=False)
class ImageLabels:
    """What `n` images show and what is predicted for them."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    shown: Named  # a row an image
    predicted_attributes: Flags | None
    predicted_tasks: Flags | None
    human: Named | None  # what human captions name, a row each
    training: Named | None  # rows that tell which pairs belong together, if not the images themselves
    from_captions: bool  # the labels are a lexicon's, so that some may occur nowhere
    sources: dict[str, str]  # where labels come from, for a signature
    notes: list[str] = field(default_factory=list)
    copies: Integers | None = None  # see `Captions.copies`

    def __len__(self) -> int:
        return len(self.shown.image)

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
            raise ValueError(NO_TASKS)
        return replace(
            self,
            attributes=tuple(itertools.compress(self.attributes, values)),
            tasks=tuple(itertools.compress(self.tasks, tasks)),
            shown=Named(shown.image, shown.attributes[:, values], shown.tasks[:, tasks]),
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
            have = f"attributes: {rarest} images have {' and '.join(values) or 'no value'}"
            raise ValueError(f"{have}; an attacker needs at least {SMALLEST_CLASS}. Add images, or leave these out")
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
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
) -> ImageLabels:
    """The labels of captions if there are any, else those given.

    Args:
        captions: from `check_captions` or `read_captions`; None for labels.
        attributes, ...: those of metrics that take labels, such as `captionbias.metrics.directional_ba`.

    Raises:
        ValueError: captions and predicted labels, no predictions at all, or what `check_captions`, `check_labels` or
            `load_lexicon` refuse.
    """
    shown = {"attributes": attributes, "tasks": tasks}
    predicted = {"attributes": predicted_attributes, "tasks": predicted_tasks}
    training = {"attributes": training_attributes, "tasks": training_tasks}
    if captions is None:
        return _from_labels(shown, predicted, training)
    for kind, labels in (("predicted", predicted), ("training", training)):
        for side, value in labels.items():
            if value is not None:
                raise ValueError(f"{kind}_{side}: labels are found in captions; give either captions or labels")
    if captions.predictions is None:
        raise ValueError("predictions is missing: without a captioner's captions there is nothing to compare")
    return labels_of_captions(captions, attribute_lexicon, task_lexicon, tokenizer)


# Labels as they are given


def _from_labels(
    shown_labels: Mapping[str, Any], predicted_labels: Mapping[str, Any], training_labels: Mapping[str, Any]
) -> ImageLabels:
    if missing := [side for side, value in shown_labels.items() if value is None]:
        raise ValueError(
            f"{missing[0]} is missing: give predictions and references (captions), or attributes and tasks (labels)"
        )
    if all(value is None for value in predicted_labels.values()):
        raise ValueError("predicted_tasks and predicted_attributes are both missing: give one of them, or predictions")
    shown = {side: check_labels(side, value) for side, value in shown_labels.items()}
    training, given = None, {side: value for side, value in training_labels.items() if value is not None}
    if len(given) == 1:
        raise ValueError("training_attributes and training_tasks belong together: give both or neither")
    if given:
        known = {}
        for side, value in given.items():
            argument = f"training_{side}"
            shown[side], known[side] = join_labels(side, shown[side], argument, check_labels(argument, value))
        _check_lengths({f"training_{side}": labels for side, labels in known.items()})
        training = _named(known)
    predicted = {
        side: check_labels(f"predicted_{side}", value, known=shown[side], known_as=side)
        for side, value in predicted_labels.items()
        if value is not None
    }
    _check_lengths(shown | {f"predicted_{side}": labels for side, labels in predicted.items()})
    return ImageLabels(
        shown["attributes"].names,
        shown["tasks"].names,
        _named(shown),
        predicted["attributes"].flags if "attributes" in predicted else None,
        predicted["tasks"].flags if "tasks" in predicted else None,
        None,
        training,
        False,
        {"labels": "given"}
        | ({"training": "given"} if training else {})
        # Whatever the labels are called, and in whatever order these are.
        | {"rows": digest_of_rows(*(sorted(column.tobytes() for column in of.flags.T) for of in shown.values()))},
    )


def _named(labels: Mapping[str, Labels]) -> Named:
    return Named(np.arange(len(labels["tasks"])), labels["attributes"].flags, labels["tasks"].flags)


def _check_lengths(labels: dict[str, Labels]) -> None:
    first, *others = labels
    for name in others:
        if len(labels[name]) != len(labels[first]):
            raise ValueError(
                f"{first} has length {len(labels[first]):,} and {name} has length {len(labels[name]):,}: entry i of "
                "each belongs to image i, so give as many of one as of the other"
            )


# Labels that captions name


def labels_of_captions(
    captions: Captions, attribute_lexicon: LexiconSource, task_lexicon: LexiconSource, tokenizer: str
) -> ImageLabels:
    """What images show, the captioner names and people name."""
    sources = {"attribute": attribute_lexicon, "task": task_lexicon}
    lexicons = {kind: load_lexicon(source) for kind, source in sources.items()}
    notes: list[str] = []
    captions = with_values(captions, check_whole(lexicons["attribute"]), tokenizer, notes)
    value = value_numbers(captions, lexicons["attribute"].labels)
    shown_values = value[:, None] == np.arange(len(lexicons["attribute"].labels))
    if captions.tasks is None and captions.references is None:
        raise ValueError(
            "tasks is missing: what images show is given, or found in human captions beside predictions; give tasks, "
            "or both sides' captions"
        )
    words = captions.words(tokenizer)
    values, tasks = (named_in(words.tokens, check_whole(lexicon), tokenizer) for lexicon in lexicons.values())
    note_labels_from_captions(words, values, value, notes)
    model, people = slice(0, words.model_rows), slice(words.model_rows, None)
    if captions.tasks is not None:
        shown_tasks = given_tasks(captions.tasks, lexicons["task"], notes)
    else:
        shown_tasks = named_by_any(words.human_image, len(captions), tasks[people])
    human = Named(words.human_image, values[people], tasks[people]) if captions.references else None
    shown = Named(np.arange(len(captions)), shown_values, shown_tasks)
    return ImageLabels(
        lexicons["attribute"].labels,
        lexicons["task"].labels,
        shown,
        values[model],
        tasks[model],
        human,
        None,
        True,
        {"tok": tokenizer}
        | {kind: lexicon_name(lexicons[kind], source) for kind, source in sources.items()}
        | {"tasks": "named" if captions.tasks is None else "given"}
        | captions.rows(),
        notes,
        copies_of(captions, notes),
    )


def value_numbers(captions: Captions, labels: tuple[str, ...]) -> Integers:
    """The number of each image's label among these `labels` of a lexicon, see `with_values`."""
    numbers = {label.casefold(): number for number, label in enumerate(labels)}
    for row, value in enumerate(captions.attributes):
        if value.casefold() not in numbers:  # a part of a crossing
            raise ValueError(
                f"attributes[{row}] is {value!r}, which is not one of {', '.join(labels)}: leave such images out, or "
                "give a lexicon of these labels"
            )
    return np.array([numbers[value.casefold()] for value in captions.attributes], np.int64)


def check_whole(lexicon: Lexicon) -> Lexicon:
    """The lexicon; ValueError for a crossing: a caption of a dark woman that names a woman predicts no value of it."""
    if lexicon.parts:
        raise ValueError(
            f"attribute_lexicon {lexicon.name!r} is a crossing, of which captions often name a part only, and this "
            "metric compares whole labels; measure each attribute alone, measure dbac or lic, or give labels instead "
            "of captions"
        )
    return lexicon
