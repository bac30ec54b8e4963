"""Whether predictions, human captions and tasks belong together: what one says of an image, another must say of it more
often than of other images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import sparse
from captionbias.captions.tables import PERSON
from captionbias.captions.words import Words
from captionbias.errors import InputError, phrase
from captionbias.text import Lexicon, Mentions, Tokens, find_mentions, load_lexicon
from captionbias.text.languages import ENGLISH, function_words
from captionbias.text.main_person import person_nouns

# Beyond chance, as Cohen's kappa: of nine captioners of COCO 0.37 to 0.66, of masked pictures beside a single human
# caption 0.07, one row off 0.00; of labels above 0.9.
LEAST_AGREEMENT, LABELS_AGREE = 0.05, 0.3
COMMON = 0.5  # of the images
COPIED = 0.95  # of the images
LEAST_COPIES, LEAST_IMAGES = 20, 100  # images, of which fewer tell nothing
SURE, BY_CHANCE = 0.99, 4.0  # of the upper end; standard deviations, as words of an image are not independent


# Of a stray text: images, of all, and times what people say most often; beyond chance, of which the texts of nine
# captioners have more. Of all captions, of a captioner that says little else than such texts: half trained, say.
OFTEN, MANY, FAR_MORE, STRAY, FEW_TEXTS = 10, 0.02, 2, 0.15, 0.75
TELLING, ENOUGH = {"coco_objects": 4, "gender": 3}, 5  # how many words what is named is worth, of how many


class Agreement(NamedTuple):
    """Of so many `cases`, in how many what is said of an image is `right`, and in how many it would be by chance."""

    cases: float
    right: float
    chance: float

    def is_chance(self, least: float) -> bool:
        """Whether it is no more often right than by chance may be, and surely by less than `least` of what is left."""
        by_chance = self.chance / max(self.cases, 1)
        return self.right < self.chance + BY_CHANCE * self.chance**0.5 and (
            self._most - by_chance < least * (1 - by_chance)
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether it is wrong in most cases, for sure."""
        return self._most < 0.5

    @property
    def _most(self) -> float:
        """The upper end of the share that may be right (Clopper and Pearson 1934)."""
        from scipy.special import betaincinv

        return 1.0 if self.right >= self.cases else float(betaincinv(self.right + 1, self.cases - self.right, SURE))

    def __str__(self) -> str:
        of_100 = (100 / max(self.cases, 1) * number for number in (self.right, self.chance))
        return "in {:.0f} of 100 cases, as often as by chance ({:.0f})".format(*of_100)


def agreement(claims: Any, truth: Any) -> Agreement:
    """Of the flags of what is said of images, `(images, things)`, how many are also in `truth`. What none of these has,
    or more than half of the images on a side, is not a case."""
    share, often = (np.asarray(side.mean(axis=0)).ravel() for side in (truth, claims))
    telling = (share > 0) & (share <= COMMON) & (often <= COMMON)
    claims, truth, share = claims[:, telling], truth[:, telling], share[telling]
    cases = np.asarray(claims.sum(axis=0)).ravel()
    return Agreement(float(cases.sum()), float((claims * truth).sum()), float(cases @ share))


def mismatches(
    words: Words,
    images: int,
    tasks: Sequence[Sequence[str]] | None,
    language: str | None,
    find: Callable[[Lexicon], Mentions],
) -> list[InputError]:
    """What does not belong together in the captions of so many images, each as an error: predictions that are the human
    captions; predictions, or tasks, of other images than the human captions. Tasks are looked for in these, else in
    predictions; `find` gives the mentions of a lexicon in the words."""
    trust = phrase("measure them anyway, with {trust_rows}", trust_rows=True)
    ways = "check that the rows, or the image ids, belong together", trust
    errors: list[InputError] = []
    both = words.model_rows and len(words.human)
    if both and images >= LEAST_COPIES and _copied(words, images):
        fault = phrase(": nearly every one is also among the {references} of its image:")
        errors.append(InputError("predictions", fault, "give what people said, not what the captioner says", trust))
    if images < LEAST_IMAGES:
        return errors
    if both and (overlap := _by_words(words, images)).is_chance(LEAST_AGREEMENT):
        errors.append(_of_others("predictions", "what they say is in the human captions", overlap, ways))
    if tasks is not None and (overlap := _by_tasks(words, tasks, language, find)).is_chance(LEAST_AGREEMENT):
        errors.append(_of_others("tasks", "what captions name is among those", overlap, ways))
    return errors


def _of_others(argument: str, what: str, overlap: Agreement, ways: tuple[str, ...]) -> InputError:
    return InputError(argument, f": {what} of the same image {overlap}, so they may be of other images:", *ways)


def _copied(words: Words, images: int) -> bool:
    """Whether nearly every image has a prediction that is, word for word, among its human captions."""
    from pandas import Index

    prints = words.tokens.fingerprints()
    image = np.concatenate((words.model_image, words.human_image)).astype(np.uint64)
    model, human = np.split(prints ^ (image << np.uint64(40)) ^ image, [words.model_rows])
    same = Index(model).isin(human)
    return len(np.unique(words.model_image[same])) > COPIED * images


def strays(words: Words, labels: Sequence[str], language: str | None) -> list[int]:
    """One of the model's captions, `0 ... model_rows - 1`, for each text that far more images have than people say any
    text of, and that fits these no better than others: the fault of a cache, say. What tells nothing of an image, what
    follows the labels and what is of few that are ever said are the captioner's own."""
    _, first, text, times = np.unique(words.model.fingerprints(), True, True, True)
    often = np.flatnonzero(times >= max(OFTEN, MANY * len(labels)))
    few_texts = times[often].sum() > FEW_TEXTS * len(text)
    own, human, split = words.model.select(first[often]), words.human, language or "words"
    vague = function_words(language or ENGLISH) | person_nouns(split)
    used = [word for word in np.unique(own.ids).tolist() if own.words[word].isalpha() and own.words[word] not in vague]
    number = np.full(len(own.words), len(used))  # the last is no word that tells anything
    number[used] = np.arange(len(used))
    telling = np.flatnonzero(number[human.ids] < len(used))
    shape = len(labels), len(used) + 1
    said = _flags(words.human_image[human.rows[telling]], number[human.ids[telling]], shape)
    share, of_label = said.mean(axis=0), np.unique(labels, return_inverse=True)[1]
    stray = []
    for place, row in enumerate([] if few_texts or not used else first[often].tolist()):
        images = words.model_image[text == often[place]]
        claims = np.unique(number[own.ids[own.rows == place]])
        claims = claims[(share[claims] > 0) & (share[claims] <= COMMON)]
        fit = Agreement(len(images) * len(claims), said[images][:, claims].sum(), len(images) * share[claims].sum())
        expected = np.bincount(of_label) * len(images) / len(labels)
        uneven = np.abs(np.bincount(of_label[images], minlength=len(expected)) - expected) / expected**0.5
        tells = len(claims) + sum(weight * _names(own, place, name, language) for name, weight in TELLING.items())
        if len(claims) and tells >= ENOUGH and uneven.max() < BY_CHANCE and fit.is_chance(STRAY):
            stray.append(row)
    most_said = np.unique(human.fingerprints(), return_counts=True)[1].max() if stray else 0
    return [row for row in stray if times[text[row]] > FAR_MORE * most_said]


def _names(own: Tokens, place: int, lexicon: str, language: str | None) -> bool:
    words = load_lexicon(f"{lexicon}-{language}" if language else lexicon)
    labels = find_mentions(own.between(place, place + 1), words, language or "words").labels
    return any(words.labels[label] != PERSON for label in labels)


def _by_words(words: Words, images: int) -> Agreement:
    sides = (words.model, words.model_image), (words.human, words.human_image)
    return agreement(*(_flags(image[of.rows], of.ids, (images, len(of.words))) for of, image in sides))


def _by_tasks(
    words: Words, tasks: Sequence[Sequence[str]], language: str | None, find: Callable[[Lexicon], Mentions]
) -> Agreement:
    """By the words of COCO's objects, and of others by their names."""
    names = sorted({*chain.from_iterable(tasks)})
    known = load_lexicon(f"coco_objects-{language}" if language else "coco_objects").groups
    mentions = find(Lexicon("tasks", "<tasks>", {name: known.get(name, (name.lower(),)) for name in names}))
    caption = words.tokens.rows[mentions.starts]
    of_side = caption >= words.model_rows if len(words.human_image) else caption >= 0
    number = {name: place for place, name in enumerate(names)}
    task_numbers = np.array([number[name] for name in chain.from_iterable(tasks)], np.int64)
    rows = np.repeat(np.arange(len(tasks)), list(map(len, tasks)))
    image = np.concatenate((words.model_image, words.human_image))[caption[of_side]]
    shape = len(tasks), len(names)
    return agreement(_flags(image, mentions.labels[of_side], shape), _flags(rows, task_numbers, shape))


def _flags(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    return (sparse(np.ones(len(rows)), (rows, columns), shape) > 0).astype(np.float64)
