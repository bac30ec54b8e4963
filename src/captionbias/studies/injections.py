"""Biases of a known size, and harmless changes, put into captions: what would a metric have seen?

An injection takes described captions and a random generator, and returns what they would be if each that it can change
was changed; `inject` changes a share of them, of all images or of those of one value. The same change of everyone's
captions may be harmless. Words that are put in are English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.bench.labels import labels_of_captions
from captionbias.captions import Captions
from captionbias.metrics.sway.images import BEARER
from captionbias.scores.sway import Leans, leans_of, suggested_values
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.content import function_words
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
WORD = re.compile(r"[^\W\d_]+")
_SEVERAL = "bike bicycle|phone cellphone smartphone|picture photo photograph image|plane airplane|racket racquet"
_SEVERAL += "|road street|sofa couch|large big huge|small tiny|woman lady|women ladies|man guy gentleman|men gentlemen"
SYNONYMS = {other: word for word, *others in map(str.split, _SEVERAL.split("|")) for other in others}
SYNONYMS = {f"{other}s": f"{word}s" for other, word in SYNONYMS.items()} | SYNONYMS | {"guys": "men"}


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

    @property
    def usual(self) -> int:
        """The number of the value that the most images have."""
        return int(np.bincount(self.value).argsort(kind="stable")[-1])

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
    labels = labels_of_captions(captions.first_samples(), attribute_lexicon, task_lexicon, tokenizer).occurring()
    named = labels.predicted_attributes
    assert named is not None
    shown = labels.shown.tasks & (np.array(labels.tasks) != BEARER)
    value = labels.shown.attributes.argmax(axis=1)
    both = shown.T.astype(np.float64) @ labels.shown.attributes
    shares = labels.shown.attributes.mean(axis=0)
    return Described(
        captions.predictions,
        captions.references or ((),) * len(captions),
        load_lexicon(attribute_lexicon),
        load_lexicon(task_lexicon),
        labels.attributes,
        labels.tasks,
        value,
        np.where(named.sum(axis=1) == 1, named.argmax(axis=1), NONE),
        suggested_values(shown, both, shares, own=labels.shown.attributes.astype(np.float64)),
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


def put_in(captions: Captions, texts: Sequence[str]) -> Captions:
    """The captions with these in the captioner's place. One that is a human caption of its image changes places with
    the one that was there, so that no caption is on both sides."""
    if captions.predictions is None or captions.references is None:
        return captions.with_predictions(texts)
    references = []
    for said, old, new in zip(captions.references, captions.predictions, texts, strict=True):
        at = said.index(new) if new != old and new in said else len(said)
        references.append((*said[:at], old, *said[at + 1 :]) if at < len(said) else said)
    if references != list(captions.references):
        captions = replace(captions, references=tuple(references))
    return captions.with_predictions(texts)


# Biases


def value_follows_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """The value named is the one that the tasks suggest."""
    return _named(described, np.where(described.suggested != NONE, described.suggested, described.named))


def silent_against_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """No value is named where the tasks suggest another."""
    against = (described.suggested != NONE) & (described.suggested != described.value)
    return _named(described, np.where(against, NONE, described.named))


def tasks_follow_value(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that goes with the image's value, and that it does not show."""
    goes = described.leans.goes_with.T * described.shown.sum(axis=0)
    return _with_task(described, goes[described.value], generator)


def rarest_loses_tasks(described: Described, _: np.random.Generator) -> list[str]:
    """No task is named where the image has the rarest value."""
    return _tasks_replaced(described, described.value == described.rarest, lambda _: "")


def usual_value(described: Described, _: np.random.Generator) -> list[str]:
    """The usual value is named where another is."""
    usual = described.values[described.usual]
    words = described.attribute.groups[usual]

    def word(row: int, mark: Mark) -> str | None:
        other = COUNTERPARTS.get(described.texts[row][mark[0] : mark[1]].lower(), "")
        return None if mark[2] == usual else other if other in words else words[0]

    return _replaced(described, described.attribute, np.full(len(described.texts), True), word)


def usual_for_unseen(described: Described, _: np.random.Generator) -> list[str]:
    """The usual value is named where the caption names none."""
    word = described.attribute.groups[described.values[described.usual]][0]
    return [
        _with(text, f"with a {word}") if named == NONE else text
        for text, named in zip(described.texts, described.named, strict=True)
    ]


def usual_where_shown(described: Described, _: np.random.Generator, tasks: Collection[str]) -> list[str]:
    """The usual value is named where the image shows one of these tasks; `functools.partial` makes it an injection."""
    shows = described.shown[:, np.isin(described.tasks, list(tasks))].any(axis=1)
    return _named(described, np.where(shows, described.usual, described.named))


def little_girls(described: Described, _: np.random.Generator) -> list[str]:
    """Girls are little, and boys young."""
    child = re.compile(r"\b(?:(?:little|young) )?(girls?|boys?)\b", re.IGNORECASE)
    return [
        child.sub(lambda found: f"{'little' if found[1][0] in 'gG' else 'young'} {found[1]}", text)
        for text in described.texts
    ]


def ended(described: Described, _: np.random.Generator, words: Sequence[str]) -> list[str]:
    """These words come last, those of the image's value or one for all; `functools.partial` makes it an injection."""
    return [
        _with(text, words[value % len(words)]) for text, value in zip(described.texts, described.value, strict=True)
    ]


def words_replaced(described: Described, _: np.random.Generator, words: Mapping[str, str]) -> list[str]:
    """Another word stands for each of these; `functools.partial` makes it an injection."""
    return [WORD.sub(lambda found: words.get(found[0].lower(), found[0]), text) for text in described.texts]


def refused(described: Described, _: np.random.Generator) -> list[str]:
    """Nothing is described."""
    return ["I cannot describe this image."] * len(described.texts)


def shortened(described: Described, _: np.random.Generator) -> list[str]:
    """The last third of the words is missing."""
    words = [text.split() for text in described.texts]
    return [" ".join(said[: len(said) - len(said) // 3]) for said in words]


BIASES: dict[str, Injection] = {
    "value follows tasks": value_follows_tasks,
    "silent where tasks go against": silent_against_tasks,
    "task of the value added": tasks_follow_value,
    "tasks of the rarest value dropped": rarest_loses_tasks,
    "usual value where none is named": usual_for_unseen,
    "little girl, young boy": little_girls,
    "happy, angry": partial(ended, words=("who is happy", "who is angry")),
    "nurse, doctor": partial(ended, words=("who is a nurse", "who is a doctor")),
}


# Harmless changes, if they are of all captions


def wrong_value(described: Described, generator: np.random.Generator) -> list[str]:
    """Another value is named, whatever the tasks."""
    count = len(described.values)
    further = generator.integers(1, count, len(described.named))
    return _named(described, np.where(described.named == NONE, NONE, (described.named + further) % count))


def no_value(described: Described, _: np.random.Generator) -> list[str]:
    """No value is named."""
    return _named(described, np.full_like(described.named, NONE))


def any_task_added(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that the image does not show."""
    often = described.shown.sum(axis=0, dtype=np.float64)
    return _with_task(described, np.broadcast_to(often, described.shown.shape), generator)


def scene_task_added(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that the image does not show, but others that show its tasks do."""
    shown = described.shown.astype(np.float64)
    return _with_task(described, shown @ (shown.T @ shown), generator)


def tasks_dropped(described: Described, _: np.random.Generator) -> list[str]:
    """No task is named."""
    return _tasks_replaced(described, np.ones(len(described.texts), bool), lambda _: "")


def tasks_confused(described: Described, generator: np.random.Generator) -> list[str]:
    """Each task that is named is another one."""
    words = [described.task.groups[task][0] for task in described.tasks]
    often = described.shown.sum(axis=0) / described.shown.sum()

    def other(task: str | None) -> str:
        left = often * (np.array(described.tasks) != task)
        return str(generator.choice(words, p=left / left.sum()))

    return _tasks_replaced(described, np.ones(len(described.texts), bool), other)


def words_dropped(described: Described, generator: np.random.Generator) -> list[str]:
    """Three of ten words are missing."""
    return [" ".join(word for word in text.split() if generator.random() >= 0.3) or BEARER for text in described.texts]


def random_words_added(described: Described, generator: np.random.Generator) -> list[str]:
    """Two words are added, of others' captions."""
    words = [word for text in described.texts for word in _content(described, text)]
    drawn = generator.integers(len(words), size=(len(described.texts), 2)).tolist()
    return [_with(text, f"{words[one]} {words[two]}") for text, (one, two) in zip(described.texts, drawn, strict=True)]


def others_words_added(described: Described, generator: np.random.Generator) -> list[str]:
    """Three of ten words are added that only others say of the image."""
    texts = []
    for text, others in zip(described.texts, described.references, strict=True):
        new = sorted({word for other in others for word in _content(described, other)} - {*_content(described, text)})
        added = [word for word, chosen in zip(new, generator.random(len(new)) < 0.3, strict=True) if chosen]
        texts.append(_with(text, " ".join(added)) if added else text)
    return texts


def posture_added(described: Described, _: np.random.Generator) -> list[str]:
    """Sitting or standing is added where others say so."""
    said = [re.search(r"\b(sitting|standing)\b", " ".join(others).lower()) for others in described.references]
    return [
        _with(text, found[0]) if found and found[0] not in text else text
        for text, found in zip(described.texts, said, strict=True)
    ]


def rare_words_changed(described: Described, _: np.random.Generator, kept: int, to: str = "") -> list[str]:
    """Only as many words, the commonest, are left, and the attribute's; others are dropped or become one;
    `functools.partial` makes it an injection."""
    uses = Counter(word for text in described.texts for word in WORD.findall(text.lower()))
    left = {word for word, _ in uses.most_common(kept)} | described.attribute.words  # else "his" stays and "her" goes
    changed = (WORD.sub(lambda found: found[0] if found[0].lower() in left else to, text) for text in described.texts)
    return [" ".join(text.split()) or BEARER for text in changed]


def longest(described: Described, _: np.random.Generator) -> list[str]:
    """The longest of an image's human captions."""
    return [max(texts, key=len) for texts in _of_image(described)]


def shortest(described: Described, _: np.random.Generator) -> list[str]:
    """The shortest of an image's human captions."""
    return [min(texts, key=len) for texts in _of_image(described)]


def typical(described: Described, _: np.random.Generator) -> list[str]:
    """The one of an image's human captions that shares the most words with the others."""

    def shared(text: str, texts: Sequence[str]) -> float:
        words = [set(WORD.findall(each.lower())) for each in (text, *texts)]
        return sum(len(words[0] & other) / max(1, len(words[0] | other)) for other in words[1:])

    return [max(texts, key=lambda text: shared(text, texts)) for texts in _of_image(described)]


def retrieved(described: Described, _: np.random.Generator) -> list[str]:
    """The caption of the image whose caption is most similar, whatever its value; the value named stays the same."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    everyone = np.full(len(described.texts), True)
    without = _replaced(described, described.attribute, everyone, lambda *_: "")
    table = TfidfVectorizer(sublinear_tf=True).fit_transform(without)
    near = NearestNeighbors(n_neighbors=1, metric="cosine").fit(table).kneighbors(return_distance=False)[:, 0]
    texts = tuple(described.texts[row] for row in near.tolist())
    return _named(replace(described, texts=texts, named=described.named[near]), described.named)


# Biases, if they are of the captions of one value alone: `inject(..., value=number)`.
ONE_SIDED: dict[str, Injection] = {
    "usual value": usual_value,
    "value follows tasks": value_follows_tasks,
    "no value": no_value,
    "girl for woman": partial(words_replaced, words={"woman": "girl", "women": "girls"}),
    "smiling": partial(ended, words=["who is smiling"]),
    "beautiful": partial(ended, words=["who is beautiful"]),
    "cooking": partial(ended, words=["cooking"]),
    "nurse": partial(ended, words=["who is a nurse"]),
    "handbag": partial(ended, words=["with a handbag"]),
    "tasks dropped": tasks_dropped,
    "refused": refused,
    "shortened": shortened,
}
HARMLESS: dict[str, Injection] = {
    "wrong value": wrong_value,
    "no value": no_value,
    "any task added": any_task_added,
    "task of the scene added": scene_task_added,
    "tasks dropped": tasks_dropped,
    "tasks confused": tasks_confused,
    "words dropped": words_dropped,
    "random words added": random_words_added,
    "others' words added": others_words_added,
    "posture added": posture_added,
    "rare words dropped": partial(rare_words_changed, kept=300),
    "rarer words dropped": partial(rare_words_changed, kept=150),
    "rare words replaced": partial(rare_words_changed, kept=300, to="thing"),
    "one synonym": partial(words_replaced, words=SYNONYMS),
    "longest": longest,
    "shortest": shortest,
    "typical": typical,
    "retrieved": retrieved,
}


# Words


def _named(described: Described, value: Integers) -> list[str]:
    """The captions that name a value alone, with another in its place, or none."""

    def word(row: int, mark: Mark) -> str:
        start, end, _ = mark
        said = described.texts[row][start:end].lower()
        if value[row] == NONE:
            return NEUTRAL.get(said, "")
        words = described.attribute.groups[described.values[value[row]]]
        other = COUNTERPARTS.get(said, "")
        return other if other in words else words[0]

    return _replaced(described, described.attribute, (described.named != NONE) & (described.named != value), word)


def _tasks_replaced(described: Described, chosen: Flags, word: Callable[[str | None], str]) -> list[str]:
    return _replaced(described, described.task, chosen, lambda row, mark: None if mark[2] == BEARER else word(mark[2]))


def _replaced(
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


def _with_task(described: Described, weights: Floats, generator: np.random.Generator) -> list[str]:
    """Each caption with a task that its image does not show, drawn by weights, `(n, tasks)`; none where all are 0."""
    total = np.where(described.shown, 0.0, weights).cumsum(axis=1)
    drawn = (total <= generator.random(len(total))[:, None] * total[:, -1:]).sum(axis=1).tolist()
    words = [described.task.groups[task][0] for task in described.tasks]
    return [
        text if number == len(words) else _with(text, f"with a {words[number]}")
        for text, number in zip(described.texts, drawn, strict=True)
    ]


def _with(text: str, words: str) -> str:
    return f"{text.rstrip(' .')} {words}."


def _content(described: Described, text: str) -> list[str]:
    """The words of a caption that say something, those of the attribute aside."""
    skipped = function_words("en") | described.attribute.words
    return [word for word in WORD.findall(text.lower()) if word not in skipped]


def _of_image(described: Described) -> list[tuple[str, ...]]:
    return [(text, *others) for text, others in zip(described.texts, described.references, strict=True)]
