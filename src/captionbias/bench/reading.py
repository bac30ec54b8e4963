"""The one reading: what images are and what is said of them, by captions or by labels as they are given. Everything is
checked here, and nothing again inside a metric."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.catalogue import scores_of
from captionbias.bench.checks import (
    EVERY_METRIC,
    Naming,
    Rules,
    count_naming,
    flags_of_tasks,
    label_contradiction,
    labels_from_captions,
    no_tasks,
    no_word_occurs,
    of_known_labels,
    other_labels,
    value_never_named,
)
from captionbias.bench.measurement import Counts, Prepared
from captionbias.bench.protocol import lexicon_name
from captionbias.captions import Captions, Labels, check_labels, join_labels
from captionbias.captions.check import digest_of_rows
from captionbias.captions.entries import as_lists, check_lengths, checked_weights
from captionbias.captions.labels import value_names
from captionbias.captions.names import SIDES
from captionbias.errors import InputError, Message, few, message_of, missing, phrase
from captionbias.hashes import Hashes, hashes_of, seeded
from captionbias.scores.omega import number_sets
from captionbias.statistics.groups import random_groups, totals, units_of
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.guess import guess_language
from captionbias.text.languages import ENGLISH
from captionbias.text.lexicon import SEPARATOR
from captionbias.warnings import note

P = ParamSpec("P")
T = TypeVar("T")
ATTRIBUTES, TASKS = "attributes", "tasks"
LONGER = 1.5  # as many words, or tasks, as people
TRAINING = ("training_attributes", "training_tasks")
IMAGES, SAID, SAID_BY_PEOPLE = "images", "said", "said by people"  # tables of an overview


@dataclass(frozen=True, eq=False)
class Side:
    """Captions, or rows of labels: the image of each, in ascending order, what it names, flags `(rows, values)` and
    `(rows, tasks)`, and as how many images it counts; a number by which one of an image's is drawn, of what images show
    that of their pictures, see `Captions.keys`; where rules ask for it the value of the person who is meant, flags; of
    captions their rows in `Captions.words`."""

    image: Integers
    values: Flags
    tasks: Flags
    weight: Floats
    key: Hashes
    main: Flags | None = None
    row: Integers | None = None

    def select(self, rows: Integers, number: Integers) -> Side:
        """Some of the rows, with other numbers of images, `(images,)`."""
        main, row = None if self.main is None else self.main[rows], None if self.row is None else self.row[rows]
        columns = (self.values[rows], self.tasks[rows], self.weight[rows], self.key[rows])
        return Side(number[self.image[rows]], *columns, main, row)


class PersonDraw(NamedTuple):
    """One human caption of each image with two or more, for one more person, beside the others of these images."""

    images: Integers  # those images
    number: Integers  # of every image its number among these
    person: Integers  # the row of each human caption that is drawn
    others: Integers  # the rows of the others
    copies: Integers | None  # of those images, see `Captions.copies`


@dataclass(frozen=True, eq=False)
class Reading:
    """What `n` images are and what is said of them.

    Attributes:
        values, tasks: the names of attribute values and tasks.
        truth: what each image is and shows, a row an image.
        predictions: what is predicted, a caption or an image a row; what is not predicted is as shown.
        predicted: `ATTRIBUTES` and `TASKS`, or one of them.
        human: what human captions name; None without.
        training: rows that tell which pairs belong together, if not the images themselves.
        given: whether tasks are given, not named by people.
        signed: entries of a signature.
        notes: what to know before a number is believed.
        copies: see `Captions.copies`.
        captions: those that were read; None of labels, and where a person takes the captioner's place.
        counted: of images that are not here the tables of units that a metric counted, of each side: the captioner, and
            the captioner and one more person on the images that two people describe.
    """

    values: tuple[str, ...]
    tasks: tuple[str, ...]
    truth: Side
    predictions: Side
    predicted: frozenset[str]
    human: Side | None
    training: Side | None
    given: bool
    signed: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    copies: Integers | None = None
    captions: Captions | None = None
    several: Flags | None = None  # which captions of both sides tell of several persons
    from_captions: bool = False  # values and tasks are a lexicon's, so that some may occur nowhere
    part: bool = False  # see `Captions.part`
    counted: Sequence[Mapping[Any, Any]] = ()

    def __len__(self) -> int:
        return len(self.truth.image)

    @property
    def value(self) -> Integers:
        """The number of each image's value."""
        return np.asarray(self.truth.values.argmax(axis=1))

    @property
    def data_source(self) -> dict[str, str]:
        """What predictions are compared with, for a signature."""
        return {"data": "references" if self.human else "images"} if self.from_captions else {}

    def groups(self, seed: int) -> Integers:
        """The group of each image, `(n,)`, see `random_groups`."""
        return random_groups(self.truth.key, seed)

    def overview(self, groups: Integers) -> dict[str, Any]:
        """In units of images in groups: all images, those with each value, those that show each task; and the captions
        of either side, and the tasks that they name."""
        truth, sides = self.truth, {SAID: self.predictions} | ({SAID_BY_PEOPLE: self.human} if self.human else {})
        shown = np.column_stack((np.ones(len(self)), truth.values, truth.tasks))
        return {IMAGES: units_of(shown, np.ones(len(self)), groups)} | {
            name: units_of(
                np.column_stack((np.ones(len(side.image)), side.tasks.sum(axis=1))), side.weight, groups[side.image]
            )
            for name, side in sides.items()
        }

    @cached_property
    def sums(self) -> dict[Any, Floats]:
        """The sums of the overview, and of all that is counted of images that are not here, `(columns, 1)` each."""
        return totals(self.counted[0] if self.counted else self.overview(np.zeros(len(self), np.int64)))

    @property
    def shown(self) -> tuple[Integers, Integers]:
        """How many images have each value, and how many show each task."""
        counts = self.sums[IMAGES][1:, 0].round().astype(np.int64)
        return counts[: len(self.values)], counts[len(self.values) :]

    def draw(self, seed: int) -> PersonDraw | None:
        """Draw one more person with this seed; None where no image has two human captions."""
        return draw_person(self.human.image, len(self), self.human.key, seed, self.copies) if self.human else None

    def beside(self, drawn: PersonDraw) -> tuple[Reading, Reading]:
        """The captioner, and the person who is drawn in its place, both beside the other people."""
        people = cast(Side, self.human)
        human, truth = people.select(drawn.others, drawn.number), self.truth.select(drawn.images, drawn.number)
        if not self.given:
            truth = replace(truth, tasks=named_by_any(human.image, len(drawn.images), human.tasks))
        # Notes are of no interest beside those of all images.
        part = replace(self, truth=truth, human=human, copies=drawn.copies, notes=[], captions=None)
        compared = np.flatnonzero(np.isin(self.predictions.image, drawn.images))
        return (
            replace(part, predictions=self.predictions.select(compared, drawn.number)),
            replace(part, predictions=people.select(drawn.person, drawn.number)),
        )

    def prepare_with_person(self, prepare: Callable[[Reading], T], controls: bool, seed: int) -> list[T]:
        """What is prepared of the reading and, with `controls`, of the captioner and one more person on the images that
        two people describe, with a note if it cannot be."""
        if self.counted:
            return [prepare(replace(self, counted=self.counted[side:])) for side in range(len(self.counted))]
        prepared = [prepare(self)]
        try:
            drawn = self.draw(seed) if controls and len(self.predicted) == 2 else None
            return prepared + [prepare(side) for side in (self.beside(drawn) if drawn else ())]
        except ValueError as error:
            note(self.notes, Message("not compared with one more person: ", message_of(error)))
            return prepared

    def doubts(self, metric: str) -> dict[str, str]:
        """Why one cannot tell by any score of a metric, where captions name so many more tasks than people's: they may
        be there."""
        if SAID_BY_PEOPLE not in self.sums:
            return {}
        (captions, tasks), (human, human_tasks) = (self.sums[name][:, 0] for name in (SAID, SAID_BY_PEOPLE))
        more = human_tasks > 0 and tasks / captions >= LONGER * human_tasks / human
        judged = (score.key for score in scores_of(metric) if score.judged)
        return dict.fromkeys(judged, "more tasks than people name") if more else {}

    def occurring(self) -> Reading:
        """Without the values and tasks of a lexicon that no image shows."""
        values, tasks = (
            np.asarray(flags.any(axis=0)) if self.from_captions else np.ones(flags.shape[1], bool)
            for flags in (self.truth.values, self.truth.tasks)
        )
        if not tasks.any():
            raise no_tasks()
        truth, predictions = (
            replace(side, values=side.values[:, values], tasks=side.tasks[:, tasks])
            for side in (self.truth, self.predictions)
        )
        return replace(
            self,
            values=tuple(itertools.compress(self.values, values)),
            tasks=tuple(itertools.compress(self.tasks, tasks)),
            truth=truth,
            predictions=predictions,
            human=None,
            training=None,
        )

    def classes(self) -> Integers:
        """A number for each image's set of attribute values, as a split by them needs it."""
        numbers, _ = number_sets(self.truth.values)
        rarest = int(np.bincount(numbers).min())
        if rarest < SMALLEST_CLASS:
            image = int(np.flatnonzero(np.bincount(numbers)[numbers] == rarest)[0])
            values = itertools.compress(self.values, self.truth.values[image])
            have = f": {rarest} images have {' and '.join(values) or 'no value'}, and an attacker needs"
            raise InputError("attributes", f"{have} at least {SMALLEST_CLASS}; add images, or leave these out")
        return numbers

    def image_counts(self, values: Collection[str] | None = None) -> dict[str, Any]:
        """How many images there are, and with each attribute value, or each of these `values`: for details."""
        counts = zip(self.values, self.shown[0].tolist(), strict=True)
        return {
            "images": round(self.sums[IMAGES][0, 0]),
            "attribute_counts": {value: count for value, count in counts if values is None or value in values},
        }


def draw_person(image: Integers, images: int, keys: Hashes, seed: int, copies: Integers | None) -> PersonDraw | None:
    """Draw one more person with this seed; `image`, `keys`: see `draw_captions`. None if no image has two captions."""
    several = np.bincount(image, minlength=images) > 1
    if not several.any():
        return None
    eligible, rows = np.flatnonzero(several), np.flatnonzero(several[image])
    person = np.intersect1d(draw_captions(image, keys, seed), rows)
    copies_left = None if copies is None else np.unique(copies[eligible], return_inverse=True)[1]
    return PersonDraw(eligible, np.cumsum(several) - 1, person, np.setdiff1d(rows, person), copies_left)


def captions_of_a_person(captions: Captions, seed: int) -> Captions | None:
    """One human caption of each image in the captioner's place, and the others; None where no image has two."""
    references = captions.references or ()
    image = np.repeat(np.arange(len(captions)), list(map(len, references)) if references else 0)
    drawn = draw_person(image, len(captions), captions.words().keys_by_side[1], seed, captions.copies)
    if drawn is None:
        return None
    texts = list(itertools.chain.from_iterable(references))
    others = itertools.groupby(drawn.others, key=image.__getitem__)
    person = captions.select(drawn.images, references=tuple(tuple(texts[row] for row in rows) for _, rows in others))
    person.cached("keys", None, lambda: captions.keys[drawn.images])
    if drawn.copies is not None:  # which the others alone may be too few to tell
        person.cached("copies", None, lambda: drawn.copies)
    return person.with_unchecked_predictions(texts[row] for row in drawn.person)


def draw_captions(image: Integers, keys: Hashes, seed: int) -> Integers:
    """The row of one caption of each image that has any, drawn with this seed by the captions' keys, see `Words`;
    `image`: of each caption, in ascending order."""
    if not len(image):
        return image
    chance = seeded(keys, seed)
    first = np.flatnonzero(np.diff(image, prepend=-1))
    least = np.flatnonzero(chance == np.repeat(np.minimum.reduceat(chance, first), np.diff(first, append=len(image))))
    return least[np.flatnonzero(np.diff(image[least], prepend=-1))]  # of equal captions the first


def named_by_any(image: Integers, images: int, named: Flags) -> Flags:
    """What any caption of each image names, `(images, labels)`."""
    return count_naming(image, images, named) > 0


def share_naming(image: Integers, images: int, named: Any) -> Any:
    """The share of each image's captions that name each label, sparse, `(images, labels)`; `named` may be sparse."""
    from scipy.sparse import csr_array

    together = sparse(np.ones(len(image)), (image, np.arange(len(image))), (images, len(image)))
    shares = together @ csr_array(named, dtype=np.float64)
    shares.data /= np.repeat(np.bincount(image, minlength=images), np.diff(shares.indptr))
    return shares


# Captions


def read(
    captions: Captions | Counts,
    attribute: LexiconSource,
    task: LexiconSource | None = None,
    tokenizer: str = "words",
    rules: Rules = EVERY_METRIC,
) -> Reading:
    """What images show, the captioner names and people name, checked by the rules; without a task lexicon no tasks."""
    values, tasks = load_lexicon(attribute), None if task is None else load_lexicon(task)
    if not rules.crossed:
        values, tasks = check_whole(values), tasks and check_whole(tasks)
    if isinstance(captions, Counts):
        return _of_counts(captions, values, tasks)
    if rules.captioner and captions.predictions is None:
        raise missing("predictions", "is missing: without a captioner's captions there is nothing to compare")
    notes: list[str] = []
    if captions.part:
        rules = rules._replace(names_compared=False)
    elif rules.unmasked is not True:
        before, captions = len(captions.people_notes), of_known_labels(captions, values)
        notes += captions.people_notes[before:]
    captions = captions if captions.part else _admit(captions, values, tokenizer, rules, notes)
    if tasks and rules.tasks_needed and captions.tasks is None and captions.references is None:
        raise missing(
            "tasks",
            "is missing: the tasks that images show must be given, or named in human captions beside predictions",
            phrase("give {tasks}"),
            "both sides' captions",
        )
    whole = _whole(values)
    labels, words = tuple(itertools.compress(values.labels, whole)), captions.words(tokenizer)
    value = _value_numbers(captions.attributes, labels, every=rules.unmasked is None)
    named = captions.named(values, tokenizer)[:, whole]
    named_tasks = captions.named(tasks, tokenizer) if tasks else np.zeros((len(named), 0), bool)
    if tasks and rules.tasks_named and captions.references and not named_tasks.any():
        raise no_word_occurs("task_lexicon", tasks)
    weight = np.ones(len(captions)) if captions.weights is None else np.array(captions.weights)
    model, people = slice(0, words.model_rows), slice(words.model_rows, None)
    share = weight / np.maximum(np.bincount(words.model_image, minlength=len(weight)), 1)
    main = several = None
    if rules.main_person:
        main, several = captions.main_values(values, tokenizer)
        main = main[:, whole]

    def side(rows: slice, image: Integers, weight: Floats) -> Side:
        of_main, row = None if main is None else main[rows], np.arange(len(named))[rows]
        return Side(image, named[rows], named_tasks[rows], weight[image], words.keys[rows], of_main, row)

    predictions, human = side(model, words.model_image, share), side(people, words.human_image, weight)
    if captions.references and rules.names_compared and not captions.part:
        votes = count_naming(human.image, len(captions), human.values)
        if fault := labels_from_captions(votes, value):
            note(notes, fault.message)
    if captions.samples:
        counts = sorted(set(map(len, captions.samples)))
        many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        note(notes, f"each image has {many} captions, which together count as one", about="predictions")
    if tasks and captions.tasks is not None:
        tasks_shown = flags_of_tasks(captions.tasks, tasks, notes)
    else:
        tasks_shown = named_by_any(human.image, len(captions), human.tasks)
    if captions.copies is not None and not captions.scene:
        pictures = int(captions.copies.max()) + 1
        text = f"{len(captions):,} images have the human captions of {pictures:,} pictures: copies count as one"
        note(notes, text, about="references")
    tok = captions.signed_tokenizer(tokenizer, *filter(None, (values, tasks)))
    signed: dict[str, Any] = {"tok": tok, "attribute": lexicon_name(values, attribute)}
    if tasks:
        signed |= {"task": lexicon_name(tasks, task), "tasks": "given" if captions.tasks else "named"}
    return Reading(
        labels,
        tasks.labels if tasks else (),
        Side(np.arange(len(captions)), value[:, None] == np.arange(len(labels)), tasks_shown, weight, captions.keys),
        predictions,
        frozenset((ATTRIBUTES, TASKS)),
        human if captions.references else None,
        None,
        given=captions.tasks is not None,
        signed=signed | captions.rows(),
        notes=notes,
        copies=captions.copies,
        captions=captions,
        several=several,
        from_captions=True,
        part=captions.part,
    )


def _of_counts(counts: Counts, values: Lexicon, tasks: Lexicon | None) -> Reading:
    """A reading of images that are not here."""
    names, nothing = tuple(itertools.compress(values.labels, _whole(values))), np.zeros(0, np.int64)
    labels = tasks.labels if tasks else ()
    no_values, no_tasks = (np.zeros((0, len(of)), bool) for of in (names, labels))
    nobody = Side(nothing, no_values, no_tasks, np.zeros(0), np.zeros(0, np.uint64), no_values)
    return Reading(
        names,
        labels,
        nobody,
        nobody,
        frozenset((ATTRIBUTES, TASKS)),
        nobody if SAID_BY_PEOPLE in counts.sides[0] else None,
        None,
        given=counts.signed.get("tasks") == "given",
        signed=dict(counts.signed),
        notes=[],
        from_captions=True,
        counted=counts.sides,
    )


def _whole(values: Lexicon) -> Flags:
    """Which labels of a lexicon are of each of its crossed attributes."""
    return np.all(values.named_parts(), axis=1) if values.parts else np.ones(len(values.labels), bool)


def _admit(captions: Captions, values: Lexicon, tokenizer: str, rules: Rules, notes: list[str]) -> Captions:
    """The captions, with the lexicon's values for labels; ValueError for what the rules do not admit."""
    words, language, parts = (
        captions.words(tokenizer),
        captions.language or ENGLISH,
        namings(captions, values, tokenizer),
    )
    by_side = dict(zip(SIDES, (words.model, words.human), strict=True))
    unlike = {
        side: 1 - by_side[other].present()[tokens.ids].mean()
        for (side, tokens), other in zip(by_side.items(), SIDES[::-1], strict=True)
        if rules.one_language and len(tokens)
    }

    def guessed(sides: Iterable[str] = SIDES) -> str:
        texts = {"predictions": captions.predictions or (), "references": itertools.chain(*(captions.references or ()))}
        return guess_language(itertools.chain.from_iterable(texts[side] for side in sides))

    faults = other_labels(captions.attributes, values, parts), value_never_named(parts, unlike, language, guessed)
    silent = rules.silent and not captions.references and faults[1] and guessed(SIDES[:1]) == language
    allowed = rules.unmasked, True if silent else None if rules.words_needed else rules.unmasked
    for fault, allow in zip(faults, allowed, strict=True):
        if fault and not allow:
            as_they_are = phrase("measure them as they are, with {allow_unmasked}", allow_unmasked=True)
            raise InputError(*fault.args, *[as_they_are] * (allow is False))
        if fault:
            note(notes, fault.message)
    renamed = as_values(captions.attributes, values, notes)
    if renamed is not captions.attributes:
        captions = captions.with_attributes(renamed)
        parts = namings(captions, values, tokenizer)
    if fault := label_contradiction(parts):
        if not captions.trust_rows:
            raise fault
        note(notes, fault.message)
    return captions


def namings(captions: Captions, values: Lexicon, tokenizer: str) -> list[Naming]:
    """How captions name the values of the lexicon, or of each one of a crossing."""
    words, parts = captions.words(tokenizer), values.parts or (values,)
    apart = [label.split(SEPARATOR) if values.parts else [label] for label in captions.attributes]
    return [
        Naming.of(
            part,
            ["".join(label[place : place + 1]) for label in apart],
            captions.named(part, tokenizer),
            words.model_image,
            words.human_image,
        )
        for place, part in enumerate(parts)
    ]


def as_values(labels: Sequence[str], values: Lexicon, notes: list[str]) -> Sequence[str]:
    """The lexicon's values for labels such as "women" and "F", noted; case stays as it is."""
    names = value_names(set(labels), values)
    if len({*names.values()}) == len(names) and all(one.casefold() == name.casefold() for one, name in names.items()):
        return labels
    listed = [f"{label!r} is read as {name!r}" for label, name in sorted(names.items()) if label != name]
    note(notes, few(listed), about="attributes")
    return [names.get(label, label) for label in labels]


def _value_numbers(attributes: Sequence[str], labels: Sequence[str], every: bool) -> Integers:
    """The number of each image's label among these of a lexicon; of others -1, or an error where `every` one must be
    among them."""
    numbers = {label.casefold(): number for number, label in enumerate(labels)}
    number_of = {value: numbers.get(value.casefold(), -1) for value in {*attributes}}
    for row, value in enumerate(attributes if every and -1 in number_of.values() else ()):
        if number_of[value] < 0:  # a part of a crossing
            raise InputError(
                "attributes",
                f"is {value!r}, which is not one of {', '.join(labels)}: leave such images out, or give a lexicon of "
                "these labels",
                row=row,
            )
    return np.array([number_of[value] for value in attributes], np.int64)


def check_whole(lexicon: Lexicon) -> Lexicon:
    """The lexicon; ValueError for a crossing: a caption of a dark woman that names a woman predicts no value of it."""
    if lexicon.parts:
        raise InputError(
            "attribute_lexicon",
            f"{lexicon.name!r} is a crossing, of which captions often name a part only, and this metric compares "
            "whole labels; measure each attribute alone, measure dbac or lic, or give labels instead of captions",
        )
    return lexicon


# Labels, in captions or as they are given


def takes(
    *bench: Callable[..., Any], without: Collection[str] = ()
) -> Callable[[Callable[P, Prepared]], Callable[P, Prepared]]:
    """Make the `**options` of a metric, those of `read_labels` and of functions of a bench but these, arguments like
    its others."""
    every = (one for function in (read_labels, *bench) for one in inspect.signature(function).parameters.values())
    options = [one for one in every if one.kind is one.KEYWORD_ONLY and one.name not in without]
    defaults = {one.name: one.default for one in options}

    def with_options(measure: Callable[P, Prepared]) -> Callable[P, Prepared]:
        @wraps(measure)
        def measured(*captions: Any, **arguments: Any) -> Prepared:
            return cast("Callable[..., Prepared]", measure)(*captions, **defaults | arguments)

        captions, *own, _ = inspect.signature(measure).parameters.values()
        measured.__signature__ = inspect.Signature([captions, *options, *own])  # type: ignore[attr-defined]
        return measured

    return with_options


def read_labels(
    captions: Captions | Counts | None,
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
) -> Reading:
    """The labels of captions if there are any, else those given.

    Args:
        captions: from `check_captions` or `read_captions`; None for labels.
        attributes, ...: those of metrics that take labels, such as `captionbias.metrics.directional_ba`.
    """
    truth = {ATTRIBUTES: attributes, TASKS: tasks}
    predicted = {ATTRIBUTES: predicted_attributes, TASKS: predicted_tasks}
    training = {ATTRIBUTES: training_attributes, TASKS: training_tasks}
    if captions is None:
        return _from_labels(truth, predicted, training, weights)
    for kind, labels in (("predicted", predicted), ("training", training)):
        for side, value in labels.items():
            if value is not None:
                raise ValueError(f"{kind}_{side}: labels are found in captions; give either captions or labels")
    return read(captions, attribute_lexicon, task_lexicon, tokenizer)


def _from_labels(
    shown_labels: Mapping[str, Any],
    predicted_labels: Mapping[str, Any],
    training_labels: Mapping[str, Any],
    weights: Any,
) -> Reading:
    if lacking := [side for side, value in shown_labels.items() if value is None]:
        raise missing(
            lacking[0],
            "is missing:",
            phrase("give {predictions} and {references} (captions)"),
            phrase("{attributes} and {tasks} (labels)"),
        )
    if all(value is None for value in predicted_labels.values()):
        raise missing(
            "predicted_tasks", phrase("and {predicted_attributes} are both missing: give one of them, or {predictions}")
        )
    truth = {side: check_labels(side, value) for side, value in shown_labels.items()}
    training, training_columns = None, {side: value for side, value in training_labels.items() if value is not None}
    if len(training_columns) == 1:
        raise InputError("training_attributes", phrase("and {training_tasks} belong together: give both or neither"))
    known: dict[str, Labels] = {}
    if training_columns:
        for side, value in training_columns.items():
            argument = f"training_{side}"
            truth[side], known[side] = join_labels(side, truth[side], argument, check_labels(argument, value))
        check_lengths({f"training_{side}": labels for side, labels in known.items()})
        training = _side(known, np.ones(len(known[TASKS])))
    predicted = {
        side: check_labels(f"predicted_{side}", value, known=truth[side], known_as=side)
        for side, value in predicted_labels.items()
        if value is not None
    }
    check_lengths(truth | {f"predicted_{side}": labels for side, labels in predicted.items()})
    images = len(truth[TASKS])
    lists = {} if weights is None else as_lists({"weights": weights, ATTRIBUTES: range(images)})
    counted = np.array(checked_weights(lists["weights"], None)) if lists else np.ones(images)
    signed = {"labels": "given", "rows": _digest(truth), "predictions": _digest(predicted)}
    signed |= {"training": _digest(known)} if training else {}
    return Reading(
        truth[ATTRIBUTES].names,
        truth[TASKS].names,
        _side(truth, counted),
        _side(truth | predicted, counted),
        frozenset(predicted),
        None,
        training,
        given=True,
        signed=signed | ({} if weights is None else {"weights": digest_of_rows(counted.tolist())}),
    )


def _digest(labels: Mapping[str, Labels]) -> str:
    """A digest of which images have which label, whatever these are called."""
    return digest_of_rows(*((side, of.flags.shape, np.packbits(of.flags).tobytes()) for side, of in labels.items()))


def _side(labels: Mapping[str, Labels], weight: Floats) -> Side:
    rows = np.arange(len(labels[TASKS]))
    return Side(rows, labels[ATTRIBUTES].flags, labels[TASKS].flags, weight, hashes_of(list(map(str, rows.tolist()))))
