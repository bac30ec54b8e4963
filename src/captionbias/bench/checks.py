"""Whether the labels and words of captions fit a lexicon: checked once, where captions are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.captions import Captions, Words
from captionbias.captions.belonging import LABELS_AGREE, Agreement
from captionbias.captions.labels import value_names
from captionbias.errors import Argument, InputError, Message, few, naming
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.guess import guess_language
from captionbias.text.languages import ENGLISH
from captionbias.text.lexicon import SEPARATOR, builtin_lexicons
from captionbias.warnings import note

FEW_IMAGES = 100
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


def count_naming(image: Integers, images: int, named: Flags) -> Integers:
    """How many captions of each image name each label, `(images, labels)`; `image`: of each caption, `named`: what each
    names, `(captions, labels)`."""
    row, label = np.nonzero(named)
    labels = named.shape[1]
    return np.bincount(image[row] * labels + label, minlength=images * labels).reshape(images, labels)


EVERY_METRIC = Rules()


def checked(captions: Captions, lexicon: Lexicon, tokenizer: str, rules: Rules, notes: list[str]) -> Captions:
    """The captions, with the lexicon's values for labels; ValueError for what the rules do not admit."""
    faults = other_labels(captions, lexicon, tokenizer), _unsaid(captions, lexicon, tokenizer, rules.one_language)
    silent = bool(rules.silent and captions.references is None and faults[1]) and (
        guess_language(captions.predictions or ()) == (captions.language or ENGLISH)
    )
    allowed = rules.unmasked, True if silent else None if rules.words_needed else rules.unmasked
    for fault, allow in zip(faults, allowed, strict=True):
        if fault and not allow:
            as_they_are = naming("measure them as they are, with {allow_unmasked}", allow_unmasked=True)
            raise InputError(*fault.args, *[as_they_are] * (allow is False))
        if fault:
            note(notes, fault.message)
    captions = labelled(captions, lexicon, notes)
    if fault := _contradicted(captions, lexicon, tokenizer):
        if not captions.trust_rows:
            raise fault
        note(notes, fault.message)
    return captions


def labelled(captions: Captions, lexicon: Lexicon, notes: list[str]) -> Captions:
    """The captions with the lexicon's values for labels such as "women" and "F", noted; case stays as it is."""
    names = value_names(set(captions.attributes), lexicon)
    if len({*names.values()}) == len(names) and all(one.casefold() == name.casefold() for one, name in names.items()):
        return captions
    listed = [f"{label!r} is read as {name!r}" for label, name in sorted(names.items()) if label != name]
    note(notes, few(listed), about="attributes")
    return captions.with_attributes([names.get(label, label) for label in captions.attributes])


def note_labels_from_captions(words: Words, named: Flags, value: Integers, notes: list[str]) -> None:
    """Labels that were made from the human captions: then people never err, and whoever errs at random looks biased. Of
    7,038 images of COCO whose labels annotators gave, captions name a value in 93% and most of them the label in 98.7%
    of these. `named`: which values each caption names; `value`: the number of each image's label."""
    votes = count_naming(words.human_image, len(value), named[words.model_rows :])
    some = votes.any(axis=1)
    agree = (votes[np.arange(len(value)), value] == votes.max(axis=1))[some]
    if len(words.human_image) and len(value) >= FEW_IMAGES and some.mean() >= ALL_NAMED and agree.mean() >= ALL_AGREE:
        note(
            notes,
            naming(
                "the label is what most human captions say in {:.1%} of {:,} images, as though made from them: then "
                "people are never wrong, and captioners that err at random look biased. Make labels from captions that "
                "are not among the {references}",
                *(agree.mean(), len(value)),
            ),
            about="attributes",
        )


def other_labels(captions: Captions, lexicon: Lexicon, tokenizer: str) -> InputError | None:
    """What is wrong with labels that are no values of the lexicon; None if all are."""
    fault, words = partial(InputError, "attributes"), naming("{attribute_lexicon} {!r}", lexicon.name)
    crossed = {label.count(SEPARATOR) + 1 for label in captions.attributes}
    if len(crossed) == 1 and 1 < max(crossed) > len(lexicon.parts):
        template = ": labels such as {!r} are of {} crossed attributes, and {} has the words of {}"
        return fault(
            naming(template, captions.attributes[0], max(crossed), words, len(lexicon.parts) or 1),
            naming("give a lexicon for each, as in {attribute_lexicon}", attribute_lexicon=["gender", "race"]),
        )
    counts = Counter(captions.attributes)
    names = value_names(counts, lexicon)
    others = sorted(counts.keys() - names)
    if not others:
        return None
    are_none, it, each = ("is not a label", "it", "it") if len(others) == 1 else ("are not labels", "them", "each")
    listed = naming(": {} {} of {} ({})", few(map(repr, others)), are_none, words, few(map(repr, lexicon.labels)))
    if names:
        images = sum(counts[label] for label in others)
        return fault(
            Message(listed, f", and {images:,} of {len(captions):,} images have {it}:"),
            naming("leave these out, with {keep} where they are read", keep=sorted(names)),
            f"give words for {each}",
        )
    for name in builtin_lexicons():
        if value_names(counts, load_lexicon(name)).keys() == counts.keys():
            give = naming("give {attribute_lexicon}", attribute_lexicon=name)
            return fault(Message(listed, f" but of {name!r}:"), give, f"labels of {lexicon.name!r}")
    told = {} if lexicon.parts else _told(captions, lexicon, 0, tokenizer)
    named = {label: _clear(lexicon.labels, told.get(label)) for label in others[:2]}
    return fault(
        Message(listed, ":"),
        naming("say which is which, as in {labels} where they are read", labels=named),
        naming("give the words of their attribute as {attribute_lexicon}"),
    )


def _told(captions: Captions, part: Lexicon, place: int, tokenizer: str) -> dict[str, Integers]:
    """Of each label, or of what it says of one of the crossed attributes, how many of its images' human captions, or
    the captioner's where there are none, name each value of the lexicon most."""
    words, named = captions.words(tokenizer), captions.named(part, tokenizer)
    split = words.model_rows
    said, image = (named[split:], words.human_image) if captions.references else (named[:split], words.model_image)
    votes = count_naming(image, len(captions), said)
    most, sure = votes.argmax(axis=1), (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    labels = np.array([label.split(SEPARATOR)[place] for label in captions.attributes])
    return {
        str(label): np.bincount(most[sure & (labels == label)], minlength=len(part.labels))
        for label in np.unique(labels)
    }


def _clear(values: Sequence[str], counts: Integers | None) -> str:
    """The value that human captions clearly name of the images of a label; an open one where they do not."""
    if counts is None or counts.max() < max(LEAST_CLEAR, CLEAR * counts.sum()):
        return "..."
    return values[int(counts.argmax())]


def _contradicted(captions: Captions, lexicon: Lexicon, tokenizer: str) -> InputError | None:
    """What is wrong with labels that are values of the lexicon, if human captions name others; without any, if the
    captioner's do so of the images of every value."""
    for place, part in enumerate(lexicon.parts or (lexicon,)):
        told = _told(captions, part, place, tokenizer)
        names = {label.casefold(): number for number, label in enumerate(part.labels)}
        counts = np.array([of_label for label, of_label in told.items() if label.casefold() in names])
        value = [names[label.casefold()] for label in told if label.casefold() in names]
        if not value:
            continue
        of_each = np.stack((counts.sum(axis=1), counts[np.arange(len(value)), value]), axis=1)
        cases, right = of_each.sum(axis=0)
        chance = (of_each[:, 0] * counts.sum(axis=0)[value]).sum() / max(cases, 1)
        agreed = Agreement(float(cases), float(right), float(chance))
        by_chance = cases > NAMED * len(captions) and chance < UNEVEN * cases and agreed.is_chance(LABELS_AGREE)
        contradicted, who = agreed.is_contradicted, "human captions"
        if not captions.references:  # a captioner may be as bad as chance, or name one value always
            contradicted = all(Agreement(every, own, 0.0).is_contradicted for every, own in of_each)
            by_chance, who = False, "predictions"
        if contradicted or by_chance:
            another = f"another value in {100 - 100 * right / cases:.0f} of 100 images"
            return InputError(
                "attributes",
                f": {who} name {another if contradicted else f'this value {agreed}'}",
                "check that labels are not swapped, nor those of other images",
                naming("measure them all the same, with {trust_rows}", trust_rows=True),
            )
    return None


def _unsaid(captions: Captions, lexicon: Lexicon, tokenizer: str, one_language: bool) -> InputError | None:
    """What is wrong where captions name no value of a lexicon, or one side hardly does in another language."""
    words = captions.words(tokenizer)
    for part in lexicon.parts or (lexicon,):
        named = np.asarray(captions.named(part, tokenizer).any(axis=1))
        if not named.any():
            language = guess_language(chain(captions.predictions or (), *(captions.references or ())))
            given = naming("give {language}", language=language) if language else naming("give their {language}")
            return unheard("attribute_lexicon", part, *[given] * (language != (captions.language or ENGLISH)))
        model = "predictions", words.model, named[: words.model_rows]
        human = "references", words.human, named[words.model_rows :]
        if not one_language or not len(words.model) or not len(words.human):
            continue
        for (side, tokens, names), (other, others, _) in ((model, human), (human, model)):
            if names.mean() < SELDOM and (known := others.present()[tokens.ids].mean()) < HALF:
                unlike = naming(
                    ": {:.1%} of them name a value of {attribute_lexicon} {!r}, and {:.0%} of their words are not in "
                    "{}",
                    names.mean(),
                    part.name,
                    1 - known,
                    Argument(other),
                )
                words_too = naming("give captions in one language, and its words as {attribute_lexicon}")
                return InputError(side, unlike, words_too)
    return None


def unheard(argument: str, lexicon: Lexicon, *ways: str) -> InputError:
    """The error that no caption has a word of the lexicon."""
    none = f"{lexicon.name!r}: none of its words occurs in any caption"
    return InputError(argument, none, *ways, "give the words that these captions use")


def no_tasks() -> InputError:
    """The error that nothing is known of what the images show."""
    return InputError(
        "references",
        naming(": no human caption names a task of {task_lexicon}, so the images show none"),
        naming("give {tasks}"),
        naming("the words that these captions use as {task_lexicon}"),
    )


def given_tasks(
    tasks: Sequence[Sequence[str]], lexicon: Lexicon, notes: list[str], names: Sequence[str] | None = None
) -> Flags:
    """Which of the lexicon's labels each image shows, `(images, labels)`, or which of the tasks with these names."""
    given, unlisted = {name for row in tasks for name in row}, "their words are not masked"
    if names is None:
        names, unlisted = lexicon.labels, "captions cannot name them; left out"
    others = sorted(given.difference(lexicon.labels))
    if len(others) == len(given):
        unread = naming(
            ": none of its names ({}) is a label of {task_lexicon} {!r}, whose words are looked for in captions",
            few(others, 3),
            lexicon.name,
        )
        raise InputError("tasks", unread, naming("give a {task_lexicon} with these labels"))
    if others:
        lacking = naming("{} not in {task_lexicon} {!r}: {}", few(others), lexicon.name, unlisted)
        note(notes, lacking, about="tasks")
    numbers = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(tasks), len(names)), bool)
    for row, shown in enumerate(tasks):
        flags[row, [numbers[name] for name in shown if name in numbers]] = True
    return flags
