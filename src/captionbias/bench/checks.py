"""Whether the labels and words of captions fit a lexicon: checked once, where captions are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.captions import Captions
from captionbias.captions.belonging import LABELS_AGREE, Agreement
from captionbias.captions.labels import NOT_TO_GUESS, is_open, value_names
from captionbias.captions.names import SIDES
from captionbias.errors import Argument, InputError, Message, few, phrase
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.lexicon import SEPARATOR, builtin_lexicons
from captionbias.warnings import note

FEW_IMAGES = 100
RARE = 0.05  # of the images, that have a label which the lexicon does not know
ALL_NAMED, ALL_AGREE = 0.99, 0.997  # of the images whose labels were made from their captions
SELDOM, HALF = 0.01, 0.5  # of a side's captions, of its words
NAMED, UNEVEN = 0.8, 0.75  # of the images, that people name a value of; of the cases, by chance
CLEAR, LEAST_CLEAR = 0.8, 10  # of the images of a label whose human captions name a value, and how many these must be


class Rules(NamedTuple):
    """What a metric admits.

    Attributes:
        unmasked: labels that are not values of the lexicon, and captions without its words: True with a note, False
            with an error that offers it, None with one that does not, as nothing could be measured.
        words_needed: captions without its words are an error all the same.
        one_language: a side that hardly names a value, in words that the other lacks, is an error.
        silent: a captioner that names none in its language is admitted with a note, where no people describe images.
        crossed: crossed attributes.
        tasks_needed: what images show must be given, or named by people.
        tasks_named: some caption must name a task, where people describe images.
        names_compared: names are compared with labels, so labels that were made from human captions are noted.
        captioner: there must be a captioner's captions.
        main_person: it goes by whom captions are about, not by any word that names a value.
    """

    unmasked: bool | None = None
    words_needed: bool = False
    one_language: bool = True
    silent: bool = False
    crossed: bool = False
    tasks_needed: bool = True
    tasks_named: bool = False
    names_compared: bool = True
    captioner: bool = True
    main_person: bool = False


def count_naming(image: Integers, images: int, named: Flags) -> Integers:
    """How many captions of each image name each label, `(images, labels)`; `image`: of each caption, `named`: what each
    names, `(captions, labels)`."""
    row, label = np.nonzero(named)
    labels = named.shape[1]
    return np.bincount(image[row] * labels + label, minlength=images * labels).reshape(images, labels)


EVERY_METRIC = Rules()


class Naming(NamedTuple):
    """How captions name the values of an attribute, or of one of crossed ones.

    Attributes:
        lexicon: its values and their words.
        labels: of each image what its label says of the attribute.
        named: the share of each side's captions that name a value, by `SIDES`; of those sides that there are.
        votes: of each label how many of its images are said to be of each value, by most people or, without people, by
            the captioner.
        people: whether people say so.
    """

    lexicon: Lexicon
    labels: list[str]
    named: dict[str, float]
    votes: dict[str, Integers]
    people: bool

    @classmethod
    def of(cls, lexicon: Lexicon, labels: list[str], named: Flags, model: Integers, human: Integers) -> Naming:
        """From what captions name, `(captions, values)`, and the images of the captioner's and of people's."""
        by_side = {side: of for side, of in zip(SIDES, np.split(named, [len(model)]), strict=True) if len(of)}
        people = len(human) > 0
        counts = count_naming(human if people else model, len(labels), by_side[SIDES[people]])
        most, sure = counts.argmax(axis=1), (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
        of_label = np.array(labels)
        votes = {
            str(label): np.bincount(most[sure & (of_label == label)], minlength=len(lexicon.labels))
            for label in np.unique(of_label)
        }
        return cls(lexicon, labels, {side: float(of.any(axis=1).mean()) for side, of in by_side.items()}, votes, people)


def other_labels(labels: Sequence[str], lexicon: Lexicon, naming_of_parts: Sequence[Naming]) -> InputError | None:
    """What is wrong with labels that are not values of the lexicon; None if all are."""
    fault, words = partial(InputError, "attributes"), phrase("{attribute_lexicon} {!r}", lexicon.name)
    crossed = {label.count(SEPARATOR) + 1 for label in labels}
    if len(crossed) == 1 and 1 < max(crossed) > len(lexicon.parts):
        template = ": labels such as {!r} are of {} crossed attributes, and {} has the words of {}"
        return fault(
            phrase(template, labels[0], max(crossed), words, len(lexicon.parts) or 1),
            phrase("give a lexicon for each, as in {attribute_lexicon}", attribute_lexicon=["gender", "race"]),
        )
    counts = Counter(labels)
    names = value_names(counts, lexicon)
    others = sorted(counts.keys() - names)
    if not others:
        return None
    are_none, it, each = ("is not a label", "it", "it") if len(others) == 1 else ("are not labels", "them", "each")
    listed = phrase(": {} {} of {} ({})", few(map(repr, others)), are_none, words, few(map(repr, lexicon.labels)))
    if names:
        images = sum(counts[label] for label in others)
        return fault(
            Message(listed, f", and {images:,} of {len(labels):,} images have {it}:"),
            phrase("leave these out, with {keep} where they are read", keep=sorted(names)),
            f"give words for {each}",
        )
    for name in builtin_lexicons():
        if value_names(counts, load_lexicon(name)).keys() == counts.keys():
            give = phrase("give {attribute_lexicon}", attribute_lexicon=name)
            return fault(Message(listed, f" but of {name!r}:"), give, f"labels of {lexicon.name!r}")
    votes = {} if lexicon.parts else naming_of_parts[0].votes
    unsaid = [label for label in others if not is_open(label)] or others
    named = {
        label: "..." if is_open(label, NOT_TO_GUESS) else _clear_majority(lexicon.labels, votes.get(label))
        for label in unsaid[:2]
    }
    return fault(
        Message(listed, ":"),
        phrase("say which is which, as in {labels} where they are read", labels=named),
        phrase("give the words of their attribute as {attribute_lexicon}"),
    )


def of_known_labels(captions: Captions, lexicon: Lexicon) -> Captions:
    """The images whose labels are values of the lexicon, noted, where others say that nobody knows, or are few."""
    counts = Counter(captions.attributes)
    names = value_names(counts, lexicon)
    others = counts.keys() - names
    rare = sum(counts[label] for label in others if not is_open(label)) <= RARE * len(captions)
    if not others or len({*names.values()}) < 2 or not rare:
        return captions
    rows = [row for row, label in enumerate(captions.attributes) if label in names]
    kinds = few(f"{label!r} {counts[label]:,}" for label in sorted(others))
    notes, lost = [*captions.people_notes], f"{len(captions) - len(rows):,} of {len(captions):,} images are left out"
    note(notes, f"{lost} ({kinds}): no label of {lexicon.name!r}", about="attributes")
    missing = {label: of for label, of in (captions.missing or {}).items() if label in names}
    return replace(captions.select(rows), people_notes=tuple(notes), missing=missing or None)


def _clear_majority(values: Sequence[str], votes: Integers | None) -> str:
    """The value that human captions clearly name of the images of a label; an open one where they do not."""
    if votes is None or votes.max() < max(LEAST_CLEAR, CLEAR * votes.sum()):
        return "..."
    return values[int(votes.argmax())]


def label_contradiction(naming_of_parts: Sequence[Naming]) -> InputError | None:
    """What is wrong with labels that are values, if human captions name others; without any, if the captioner's do so
    of the images of every value."""
    for part in naming_of_parts:
        names = {label.casefold(): number for number, label in enumerate(part.lexicon.labels)}
        votes = np.array([of_label for label, of_label in part.votes.items() if label.casefold() in names])
        value = [names[label.casefold()] for label in part.votes if label.casefold() in names]
        if not value:
            continue
        of_each = np.stack((votes.sum(axis=1), votes[np.arange(len(value)), value]), axis=1)
        cases, right = of_each.sum(axis=0)
        chance = (of_each[:, 0] * votes.sum(axis=0)[value]).sum() / max(cases, 1)
        agreed = Agreement(float(cases), float(right), float(chance))
        by_chance = cases > NAMED * len(part.labels) and chance < UNEVEN * cases and agreed.is_chance(LABELS_AGREE)
        another, who = agreed.is_contradicted, "human captions"
        if not part.people:  # a captioner may be as bad as chance, or name one value always
            another = all(Agreement(every, own, 0.0).is_contradicted for every, own in of_each)
            by_chance, who = False, "predictions"
        if another or by_chance:
            share = f"another value in {100 - 100 * right / cases:.0f} of 100 images"
            return InputError(
                "attributes",
                f": {who} name {share if another else f'this value {agreed}'}",
                "check that labels are neither swapped nor those of other images",
                phrase("measure them anyway, with {trust_rows}", trust_rows=True),
            )
    return None


def value_never_named(
    naming_of_parts: Sequence[Naming], unlike: Mapping[str, float], language: str, guessed: Callable[[], str]
) -> InputError | None:
    """What is wrong where captions name no value of a lexicon, or one side hardly does in another language.

    `unlike`: the share of each side's words that the other lacks, where that plays a part; `language`: what captions
    are said to be in; `guessed`: which language they seem to be in.
    """
    for part in naming_of_parts:
        if not any(part.named.values()):
            guess = guessed()
            way = phrase("give {language}", language=guess) if guess else phrase("give their {language}")
            return no_word_occurs("attribute_lexicon", part.lexicon, *[way] * (guess != language))
        for side, other in zip(SIDES, SIDES[::-1], strict=True) if len(part.named) > 1 else ():
            if part.named[side] < SELDOM and unlike.get(side, 0.0) > HALF:
                text = phrase(
                    ": {:.1%} of them name a value of {attribute_lexicon} {!r}, and {:.0%} of their words are not in "
                    "{}",
                    part.named[side],
                    part.lexicon.name,
                    unlike[side],
                    Argument(other),
                )
                words_too = phrase("give captions in one language, and its words as {attribute_lexicon}")
                return InputError(side, text, words_too)
    return None


def no_word_occurs(argument: str, lexicon: Lexicon, *ways: str) -> InputError:
    """The error that no caption has a word of the lexicon."""
    none = f"{lexicon.name!r}: none of its words occurs in any caption"
    return InputError(argument, none, *ways, "give the words that these captions use")


def labels_from_captions(votes: Integers, value: Integers) -> InputError | None:
    """Labels that were made from the human captions: then people never err, and whoever errs at random looks biased. Of
    7,038 images of COCO whose labels annotators gave, captions name a value in 93% and most of them the label in 98.7%
    of these. `votes`: how many of an image's human captions name each value; `value`: the number of its label's."""
    some = votes.any(axis=1)
    agree = (votes[np.arange(len(value)), value] == votes.max(axis=1))[some]
    if len(value) < FEW_IMAGES or some.mean() < ALL_NAMED or agree.mean() < ALL_AGREE:
        return None
    return InputError(
        "attributes",
        phrase(
            ": the label is what most human captions say in {:.1%} of {:,} images, as if it were made from them: "
            "people are then never wrong, and captioners that err at random look biased. Make labels from captions "
            "that are not among the {references}",
            *(agree.mean(), len(value)),
        ),
    )


def no_tasks() -> InputError:
    """The error that nothing is known of what the images show."""
    return InputError(
        "references",
        phrase(": no human caption names a task of {task_lexicon}, so the images show none"),
        phrase("give {tasks}"),
        phrase("the words that these captions use as {task_lexicon}"),
    )


def flags_of_tasks(
    tasks: Sequence[Sequence[str]], lexicon: Lexicon, notes: list[str], names: Sequence[str] | None = None
) -> Flags:
    """Which of the lexicon's labels each image shows, `(images, labels)`, or which of the tasks with these names."""
    names_given, unlisted = {name for row in tasks for name in row}, "their words are not masked"
    if names is None:
        names, unlisted = lexicon.labels, "captions cannot name them; left out"
    others = sorted(names_given.difference(lexicon.labels))
    if len(others) == len(names_given):
        unread = phrase(
            ": none of its names ({}) is a label of {task_lexicon} {!r}, whose words are looked for in captions",
            few(others, 3),
            lexicon.name,
        )
        raise InputError("tasks", unread, phrase("give a {task_lexicon} with these labels"))
    if others:
        lacking = phrase("{} not in {task_lexicon} {!r}: {}", few(others), lexicon.name, unlisted)
        note(notes, lacking, about="tasks")
    numbers = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(tasks), len(names)), bool)
    for row, row_tasks in enumerate(tasks):
        flags[row, [numbers[name] for name in row_tasks if name in numbers]] = True
    return flags
