"""What the metrics that attack captions do first: number classes, find tasks, align human captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import CAPTIONS, load_vectors
from captionbias.arrays import Flags, Integers
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.pairing import Pairing, count_naming, named_by_any, named_by_others
from captionbias.bench.protocol import Alignment
from captionbias.captions import Captions, Words
from captionbias.captions.belonging import LABELS_AGREE, Agreement
from captionbias.captions.labels import value_names
from captionbias.errors import Argument, InputError, Message, few, missing, naming
from captionbias.io.formats import read_json
from captionbias.text import Lexicon, Tokens, find_mentions, load_lexicon, named_by_words, named_values, tokenize
from captionbias.text.guess import guess_language
from captionbias.text.languages import ENGLISH
from captionbias.text.lexicon import SEPARATOR, builtin_lexicons
from captionbias.warnings import note

FEW_IMAGES = 100
ALL_NAMED, ALL_AGREE = 0.99, 0.997  # of the images whose labels were made from their captions
LONGER = 1.5  # as many words
SELDOM, HALF = 0.01, 0.5  # of a side's captions, of its words
COPIED_SHARE = 0.99  # of the images; annotators agree with captions on far fewer
NAMED, UNEVEN = 0.8, 0.75  # of the images, that people name a value of; of the cases, by chance
CLEAR, LEAST_CLEAR = 0.8, 10  # of the images of a label whose human captions name a value, and how many these must be


def no_tasks() -> InputError:
    """The error that nothing is known of what the images show."""
    return InputError(
        "references",
        naming(": no human caption names a task of {task_lexicon}, so the images show none"),
        naming("give {tasks}"),
        naming("the words that these captions use as {task_lexicon}"),
    )


def number_classes(captions: Captions, notes: list[str]) -> tuple[tuple[str, ...], Integers]:
    """The attribute's values, sorted, and the number of each image's; classes must not be too small to split."""
    values, classes, counts = np.unique(captions.attributes, return_inverse=True, return_counts=True)
    counted = list(zip(values.tolist(), counts.tolist(), strict=True))
    if small := [f"{value!r} has {count} images" for value, count in counted if count < SMALLEST_CLASS]:
        raise InputError(
            "attributes",
            f": {', '.join(small)}, and an attacker needs at least {SMALLEST_CLASS} a value",
            "add images",
            naming("leave that value out ({keep} names those to use)"),
            "give its images the label of another",
        )
    for value, count in counted:
        if count < FEW_IMAGES:
            note(notes, f"{value!r} has only {count} images; its scores are uncertain", about="attributes")
    return tuple(map(str, values)), classes.reshape(-1).astype(np.int64)


def copies_of(captions: Captions, notes: list[str]) -> Integers | None:
    """`captions.copies`, which are split, drawn and resampled together, with a note."""
    if captions.copies is not None and not captions.scene:
        pictures = int(captions.copies.max()) + 1
        text = f"{len(captions):,} images have the human captions of {pictures:,} pictures: copies are as one"
        note(notes, text, about="references")
    return captions.copies


def note_samples(captions: Captions, notes: list[str]) -> None:
    """Several captions of the captioner's of an image, which count as one together."""
    if captions.samples:
        counts = sorted(set(map(len, captions.samples)))
        many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        note(notes, f"each image has {many} captions, which together count as one", about="predictions")


def of_one_length(captions: Captions, join_references: bool, notes: list[str]) -> tuple[Captions, dict[str, int]]:
    """The captions, human ones joined to the length of the captioner's if wanted, and how many, for the signature; with
    a note of lengths that differ, for attackers read more from more words."""
    joined: dict[str, int] = {}
    if join_references:
        joined, images = {"join": captions.references_to_join}, len(captions)
        captions = captions.join_references(joined["join"])
        if left_out := images - len(captions):
            note(
                notes,
                f"{left_out:,} of {images:,} images have fewer than {joined['join']} human captions and are left out",
                about="join_references",
            )
    model, human = captions.mean_words or (0, 0)
    if human and max(model / human, human / model) >= LONGER:
        joining = naming("{join_references} joins human captions to that length", join_references=True)
        note(
            notes,
            naming(
                "{predictions} have {:.1f} words on average and {references} {:.1f}, and longer captions give more "
                "away whatever their bias",
                *(model, human),
            ),
            joining if model > human else "give human captions as short",
        )
    return captions, joined


def named_in(tokens: Tokens, lexicon: Lexicon, tokenizer: str) -> Flags:
    """Which of the lexicon's labels each caption names: flags of shape `(captions, labels)`."""
    return named_values(tokens, find_mentions(tokens, lexicon, tokenizer), lexicon, tokenizer)


def with_others(
    words: Words, named: Flags, others: Sequence[Sequence[str]], lexicon: Lexicon, tokenizer: str
) -> tuple[Words, Flags]:
    """The captions, then other human captions of each image, and which of the lexicon's labels each of these names."""
    if not others:
        return words, named
    image = np.repeat(np.arange(len(others)), list(map(len, others)))
    tokens = tokenize(list(chain.from_iterable(others)), tokenizer)
    also = named_in(tokens, lexicon, tokenizer)
    together = replace(
        words, tokens=Tokens.joined([words.tokens, tokens]), human_image=np.concatenate([words.human_image, image])
    )
    return together, np.concatenate([named, also])


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


def _told(captions: Captions, part: Lexicon, place: int, tokenizer: str) -> dict[str, Integers]:
    """Of each label, or of what it says of one of the crossed attributes, how many of its images' human captions, or
    the captioner's where there are none, name each value of the lexicon most."""
    words = captions.words(tokenizer)
    said, image = (words.human, words.human_image) if captions.references else (words.model, words.model_image)
    votes = count_naming(image, len(captions), named_in(said, part, tokenizer))
    most, sure = votes.argmax(axis=1), (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    labels = np.array([label.split(SEPARATOR)[place] for label in captions.attributes])
    return {
        str(label): np.bincount(most[sure & (labels == label)], minlength=len(part.labels))
        for label in np.unique(labels)
    }


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


def with_values(
    captions: Captions,
    lexicon: Lexicon,
    tokenizer: str,
    notes: list[str],
    allow_unmasked: bool | None = None,
    words_needed: bool = False,
    one_language: bool = True,
    silent_too: bool = False,
) -> Captions:
    """The captions, whose labels must be values of the lexicon and whose words must name some; else it is a ValueError.
    `allow_unmasked`: take others with a note; None where nothing could be measured. `one_language`: refuse a side that
    hardly names a value in words that the other lacks. `silent_too`: take a captioner that names none in its language,
    with a note."""
    faults = other_labels(captions, lexicon, tokenizer), _unsaid(captions, lexicon, tokenizer, one_language)
    silent = silent_too and faults[1] and guess_language(captions.predictions or ()) == (captions.language or ENGLISH)
    allowed = allow_unmasked, True if silent else None if words_needed else allow_unmasked
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


def _clear(values: Sequence[str], counts: Integers | None) -> str:
    """The value that human captions clearly name of the images of a label; an open one where they do not."""
    if counts is None or counts.max() < max(LEAST_CLEAR, CLEAR * counts.sum()):
        return "..."
    return values[int(counts.argmax())]


def _unsaid(captions: Captions, lexicon: Lexicon, tokenizer: str, one_language: bool) -> InputError | None:
    """What is wrong where captions name no value of a lexicon, or one side hardly does in another language."""
    words = captions.words(tokenizer)
    for part in lexicon.parts or (lexicon,):
        named = np.asarray(named_in(words.tokens, part, tokenizer).any(axis=1))
        if not named.any():
            language = guess_language(chain(captions.predictions or (), *(captions.references or ())))
            given = naming("give {language}", language=language) if language else naming("give their {language}")
            return _unheard("attribute_lexicon", part, *[given] * (language != (captions.language or ENGLISH)))
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


def _unheard(argument: str, lexicon: Lexicon, *ways: str) -> InputError:
    none = f"{lexicon.name!r}: none of its words occurs in any caption"
    return InputError(argument, none, *ways, "give the words that these captions use")


def check_tasks_named(named: Flags, lexicon: Lexicon) -> None:
    """Raise ValueError if no caption names anything of the lexicon."""
    if not named.any():
        raise _unheard("task_lexicon", lexicon)


def shown_tasks(
    captions: Captions, words: Words, named: Flags, lexicon: Lexicon, notes: list[str]
) -> tuple[Flags, tuple[str, ...]]:
    """Which tasks each image shows, `(images, tasks)`, and their names: those given, else all that people name."""
    flags = named_by_any(words.human_image, len(captions), named[words.model_rows :])
    if captions.tasks is not None:
        names = tuple(sorted({name for row in captions.tasks for name in row}))
        given = given_tasks(captions.tasks, lexicon, notes, names)
        by_label, never = dict(zip(lexicon.labels, flags.T, strict=True)), np.zeros(len(captions), bool)
        same = given == np.array([by_label.get(name, never) for name in names]).T
        if captions.references and same.all(axis=1).mean() > COPIED_SHARE:
            note(
                notes,
                "the tasks given are those that the human captions name: it leans below 0",
                naming("leave {tasks} out"),
                about="t_to_a",
            )
        return given, names
    if captions.references is None:
        template = "is missing: T to A needs the tasks that the images show, and without {references} none can be found"
        raise missing("tasks", naming(template), naming("give {tasks}"), naming("{directions}", directions=["a_to_t"]))
    if not flags.any():
        raise no_tasks()
    return flags, lexicon.labels


def shown_by_pairing(
    captions: Captions, words: Words, named: Flags, shown: Flags, pairings: Sequence[Pairing], notes: list[str]
) -> list[tuple[Flags, Flags]]:
    """Which tasks each image shows in each pairing, and whether that is known, `(images,)`: those given; by held-out
    pairing else those that the image's captions but the one compared name."""
    if captions.tasks is not None or not pairings[0].held_out:
        if captions.tasks is None and captions.predictions is not None:
            text = "the tasks are those that the scored human captions name themselves: it leans below 0"
            note(notes, text, about="t_to_a")
        return [(shown, np.ones(len(captions), bool))] * len(pairings)
    human = named[words.model_rows :]
    by_pairing = [named_by_others(words.human_image, len(captions), human, pairing.rows["h"]) for pairing in pairings]
    known = int(by_pairing[0][1].sum())
    if known < SMALLEST_CLASS:
        raise missing(
            "tasks",
            f"is missing: T to A needs to know what each image shows, and only {known} of {len(captions):,} images "
            "have a human caption besides the one that is scored",
            naming("give {tasks}"),
            naming("more {references}"),
            naming("{directions}", directions=["a_to_t"]),
        )
    if known < len(captions):
        note(
            notes,
            f"{len(captions) - known:,} of {len(captions):,} images have a single human caption and no tasks: left out",
            naming("give {tasks}"),
            about="t_to_a",
        )
    return by_pairing


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


def task_counts(flags: Flags, names: tuple[str, ...]) -> dict[str, int]:
    """Images of each task that occurs, the most frequent first."""
    counts = flags.sum(axis=0)
    return {names[task]: int(counts[task]) for task in np.argsort(-counts, kind="stable") if counts[task]}


def read_vocabulary(vocabulary: Any) -> frozenset[str] | None:
    """The words of a captioner's own vocabulary, from a list or a JSON file of one."""
    if vocabulary is None:
        return None
    words = vocabulary
    if isinstance(vocabulary, (str, Path)):
        try:
            words = read_json(Path(vocabulary))
        except (OSError, ValueError) as error:
            raise InputError("vocabulary", f"{str(vocabulary)!r} cannot be read: {error}") from error
    if not words or isinstance(words, Mapping) or not all(isinstance(word, str) for word in words):
        raise InputError("vocabulary", "must be a list of words, or a JSON file of such a list")
    return frozenset(words)


def words_of_captioner(masked: Words, vocabulary: frozenset[str] | None) -> tuple[Words, Flags]:
    """The captions over all words that human ones are aligned to, and which these are: the vocabulary's, or its own."""
    if vocabulary is None:
        return masked, masked.model.present()
    words = (*masked.tokens.words, *sorted(vocabulary.difference(masked.tokens.words)))
    flags = np.fromiter((word in vocabulary for word in words), bool, len(words))
    return replace(masked, tokens=replace(masked.tokens, words=words)), flags


def alignment_vectors(words: Words, masked: Iterable[Words], settings: Alignment) -> Any:
    """The word vectors that align captions, read even if no word needs them; "captions" are of human ones, the same
    beside any captioner, and made if some does."""
    vocabulary, vectors = settings.vocabulary, settings.vectors
    aligned = (words_of_captioner(table, vocabulary) for table in masked)
    needed = any((table.human.present() & ~flags).any() for table, flags in aligned)
    return load_vectors(vectors, words.human) if needed or vectors != CAPTIONS else None


def align_human(
    masked: Words, masks: Sequence[str], vectors: Any, settings: Alignment, lexicons: Iterable[Lexicon]
) -> tuple[Tokens, AlignmentReport | None]:
    """The masked human captions in the captioner's words, if these are known, but for words of the lexicons where names
    are kept."""
    vocabulary = settings.vocabulary
    if not len(masked.human) or not (masked.model_rows or vocabulary):
        return masked.human, None
    known, flags = words_of_captioner(masked, vocabulary)
    names = named_by_words(known.tokens.words, *lexicons) if settings.names_kept else None
    return align(known.human, flags, frozenset(masks), vectors, settings.delta, names)
