"""Biases of a known size, put into captions: what would a metric have seen?

An injection takes described captions and a random generator, and returns what they would be if each that it can change
was changed; `inject` changes a share of them, of all images or of those of one value. `changes.py` has more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.bench.reading import read
from captionbias.captions import Captions
from captionbias.metrics.sway.images import BEARER
from captionbias.scores.sway import Leans, leans_of, suggested_values
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.marks import Mark, find_marks

NONE = -1
FEMALE = (
    "woman women lady ladies girl girls female females mother mothers sister sisters daughter daughters aunt aunts "
    "wife wives actress actresses princess princesses waitress waitresses queen queens pregnant she her hers herself "
    "her lady ladies girl girls woman women"
)
MALE = (
    "man men gentleman gentlemen boy boys male males father fathers brother brothers son sons uncle uncles "
    "husband husbands actor actors prince princes waiter waiters emperor emperors male he his his himself "
    "him guy guys dude dudes cowboy cowboys"
)
_PAIRS = list(zip(FEMALE.split(), MALE.split(), strict=True))  # of several pairs with a word, the first is for it
COUNTERPARTS = {word: other for female, male in reversed(_PAIRS) for word, other in ((female, male), (male, female))}
NEUTRAL = {word: "people" if word.endswith(("men", "s")) and word[-2:] != "ss" else "person" for word in COUNTERPARTS}
NEUTRAL |= {"she": "they", "he": "they", "her": "their", "his": "their", "hers": "theirs", "him": "them"}
NEUTRAL |= {"herself": "themselves", "himself": "themselves", "female": "", "male": "", "pregnant": ""}


@dataclass(frozen=True, eq=False)
class Described:
    """A caption of each of `n` images, and what is known of the images.

    `values`, `tasks`: the labels of the lexicons `attribute` and `task` that images have. `value`, `named`,
    `suggested`: numbers of values, `(n,)`: the image's own, the one that the caption names alone, and the one that the
    image's tasks suggest; -1 for none. `shown`: the image's tasks, `(n, tasks)`. `leans`: which tasks go with which
    values on these images. `references`: the human captions of each image, none where none are given.
    """

    texts: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    attribute: Lexicon
    task: Lexicon
    values: tuple[str, ...]
    tasks: tuple[str, ...]
    value: Integers
    named: Integers
    suggested: Integers
    shown: Flags
    leans: Leans

    @property
    def rarest(self) -> int:
        """The number of the value that the fewest images have."""
        return int(np.bincount(self.value).argsort(kind="stable")[0])

    def changed(self, texts: Sequence[str]) -> float:
        """The share of the captions that are others."""
        return sum(new != old for new, old in zip(texts, self.texts, strict=True)) / len(self.texts)


Injection = Callable[[Described, np.random.Generator], list[str]]


def describe(
    captions: Captions,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
) -> Described:
    """Describe the predictions, and what tasks or references say of the images.

    >>> from captionbias.captions import check_captions
    >>> from captionbias.synthetic import plant
    >>> people = describe(check_captions(**vars(plant(400))))
    >>> people.values, int((people.suggested != people.value).sum())
    (('female', 'male'), 247)
    """
    if captions.predictions is None:
        raise ValueError("predictions is missing: give the captions that are to be changed")
    reading = read(captions.first_samples(), attribute_lexicon, task_lexicon, tokenizer).occurring()
    named, values = reading.predictions.values, reading.truth.values
    shown = reading.truth.tasks & (np.array(reading.tasks) != BEARER)
    both, shares = shown.T.astype(np.float64) @ values, values.mean(axis=0)
    return Described(
        captions.predictions,
        captions.references or ((),) * len(captions),
        load_lexicon(attribute_lexicon),
        load_lexicon(task_lexicon),
        reading.values,
        reading.tasks,
        reading.value,
        np.where(named.sum(axis=1) == 1, named.argmax(axis=1), NONE),
        suggested_values(shown, both, shares, own=values.astype(np.float64)),
        shown,
        leans_of(both, shares),
    )


def inject(
    described: Described, injection: Injection, share: float = 1.0, seed: int = 0, value: int | None = None
) -> list[str]:
    """The captions, this share of them changed, or as many as can be; a larger share changes the same ones and more.

    `value`: the number of a value; only captions of its images are changed, and it is a share of those.
    """
    generator = np.random.default_rng([seed, 40])
    changed = injection(described, generator)
    of_value = np.full(len(changed), True) if value is None else described.value == value
    rows = [row for row in np.flatnonzero(of_value).tolist() if changed[row] != described.texts[row]]
    chosen = set(generator.permutation(rows)[: round(share * int(of_value.sum()))].tolist())
    return [changed[row] if row in chosen else text for row, text in enumerate(described.texts)]


# Biases


def value_follows_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """The value named is the one that the tasks suggest."""
    return rename_values(described, np.where(described.suggested != NONE, described.suggested, described.named))


def silent_against_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """No value is named where the tasks suggest another."""
    against = (described.suggested != NONE) & (described.suggested != described.value)
    return rename_values(described, np.where(against, NONE, described.named))


def tasks_follow_value(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that goes with the image's value, and that it does not show."""
    goes = described.leans.goes_with.T * described.shown.sum(axis=0)
    return add_task(described, goes[described.value], generator)


def rarest_loses_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """No task is named where the image has the rarest value."""
    return replace_tasks(described, described.value == described.rarest, lambda _: "")


BIASES: dict[str, Injection] = {
    "value follows tasks": value_follows_tasks,
    "silent where tasks go against": silent_against_tasks,
    "task of the value added": tasks_follow_value,
    "tasks of the rarest value dropped": rarest_loses_tasks,
}


# Words


def rename_values(described: Described, value: Integers) -> list[str]:
    """The captions that name a value alone, with another in its place, or none."""

    def word(row: int, mark: Mark) -> str:
        start, end, _ = mark
        said = described.texts[row][start:end].lower()
        if value[row] == NONE:
            return NEUTRAL.get(said, "")
        words = described.attribute.groups[described.values[value[row]]]
        other = COUNTERPARTS.get(said, "")
        return other if other in words else words[0]

    return replace_words(described, described.attribute, (described.named != NONE) & (described.named != value), word)


def replace_tasks(described: Described, chosen: Flags, word: Callable[[str | None], str]) -> list[str]:
    """The chosen captions with another word for each task that they name; who bears the attribute is none."""
    return replace_words(
        described, described.task, chosen, lambda row, mark: None if mark[2] == BEARER else word(mark[2])
    )


def replace_words(
    described: Described, lexicon: Lexicon, chosen: Flags, word: Callable[[int, Mark], str | None]
) -> list[str]:
    """The chosen captions with another word, or none, for each that names a label; `word` says None for the same."""
    texts, rows = list(described.texts), np.flatnonzero(chosen).tolist()
    for row, marks in zip(rows, find_marks([texts[row] for row in rows], lexicon), strict=True):
        for mark in reversed(marks):
            new = None if mark[2] is None else word(row, mark)
            if new is not None:
                texts[row] = " ".join(f"{texts[row][: mark[0]]}{new}{texts[row][mark[1] :]}".split()) or BEARER
    return texts


def add_task(described: Described, weights: Floats, generator: np.random.Generator) -> list[str]:
    """Each caption with a task that its image does not show, drawn by weights, `(n, tasks)`; none where all are 0."""
    total = np.where(described.shown, 0.0, weights).cumsum(axis=1)
    drawn = (total <= generator.random(len(total))[:, None] * total[:, -1:]).sum(axis=1).tolist()
    words = [described.task.groups[task][0] for task in described.tasks]
    return [
        text if number == len(words) else add_words(text, f"with a {words[number]}")
        for text, number in zip(described.texts, drawn, strict=True)
    ]


def add_words(text: str, words: str) -> str:
    """The caption with these words at its end."""
    return f"{text.rstrip(' .')} {words}."
