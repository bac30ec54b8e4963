"""Biases that people name, and harmless changes, put into captions by `power.py`.

A change of one value's captions is a bias, and of everyone's it may be harmless. Words that are put in are English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from injections import (
    BIASES,
    COUNTERPARTS,
    NONE,
    Described,
    Injection,
    add_task,
    add_words,
    rename_values,
    replace_tasks,
    replace_words,
    value_follows_tasks,
)

from captionbias.captions import Captions
from captionbias.metrics.sway.images import BEARER
from captionbias.text.languages import function_words
from captionbias.text.main_person import person_nouns
from captionbias.text.marks import Mark

WORD = re.compile(r"[^\W\d_]+")
PERSON = re.compile(rf"\b({'|'.join(sorted(person_nouns('words'), key=len, reverse=True))})\b", re.IGNORECASE)
_SEVERAL = "bike bicycle|phone cellphone smartphone|picture photo photograph image|plane airplane|racket racquet"
_SEVERAL += "|road street|sofa couch|large big huge|small tiny|woman lady|women ladies|man guy gentleman|men gentlemen"
SYNONYMS = {other: word for word, *others in map(str.split, _SEVERAL.split("|")) for other in others}
SYNONYMS = {f"{other}s": f"{word}s" for other, word in SYNONYMS.items()} | SYNONYMS | {"guys": "men"}


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


def usual_value(described: Described, _: np.random.Generator) -> list[str]:
    """The usual value is named where another is."""
    usual = described.values[_usual(described)]
    words = described.attribute.groups[usual]

    def word(row: int, mark: Mark) -> str | None:
        other = COUNTERPARTS.get(described.texts[row][mark[0] : mark[1]].lower(), "")
        return None if mark[2] == usual else other if other in words else words[0]

    return replace_words(described, described.attribute, np.full(len(described.texts), True), word)


def usual_for_unseen(described: Described, _: np.random.Generator) -> list[str]:
    """The usual value is named where the caption names none."""
    word = described.attribute.groups[described.values[_usual(described)]][0]
    return [
        add_words(text, f"with a {word}") if named == NONE else text
        for text, named in zip(described.texts, described.named, strict=True)
    ]


def usual_where_shown(described: Described, _: np.random.Generator, tasks: Collection[str]) -> list[str]:
    """The usual value is named where the image shows one of these tasks; `functools.partial` makes it an injection."""
    shows = described.shown[:, np.isin(described.tasks, list(tasks))].any(axis=1)
    return rename_values(described, np.where(shows, _usual(described), described.named))


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
        add_words(text, words[value % len(words)]) for text, value in zip(described.texts, described.value, strict=True)
    ]


def words_replaced(described: Described, _: np.random.Generator, words: Mapping[str, str]) -> list[str]:
    """Another word stands for each of these; `functools.partial` makes it an injection."""
    return [WORD.sub(lambda found: words.get(found[0].lower(), found[0]), text) for text in described.texts]


def before_person(described: Described, generator: np.random.Generator, words: Sequence[str]) -> list[str]:
    """One of these words stands before the first person, else before the whole; `functools.partial` makes it an
    injection."""
    drawn = [words[number] for number in generator.integers(len(words), size=len(described.texts)).tolist()]
    texts = []
    for text, word in zip(described.texts, drawn, strict=True):
        found = PERSON.search(text)
        start = found.start() if found else 0
        texts.append(f"{text[:start]}{word} {text[start:]}")
    return texts


def behind(described: Described, generator: np.random.Generator, words: Sequence[str]) -> list[str]:
    """One of these phrases comes last; `functools.partial` makes it an injection."""
    drawn = generator.integers(len(words), size=len(described.texts)).tolist()
    return [add_words(text, words[number]) for text, number in zip(described.texts, drawn, strict=True)]


def with_bystander(described: Described, generator: np.random.Generator, injection: Injection, said: str) -> list[str]:
    """What an injection changes, with a sentence of somebody else; `functools.partial` makes it an injection."""
    new = injection(described, generator)
    return [
        f"{text.rstrip(' .')}. {said}" if text != old else old for text, old in zip(new, described.texts, strict=True)
    ]


def refused(described: Described, _: np.random.Generator) -> list[str]:
    """Nothing is described."""
    return ["I cannot describe this image."] * len(described.texts)


def shortened(described: Described, _: np.random.Generator) -> list[str]:
    """The last third of the words is missing."""
    words = [text.split() for text in described.texts]
    return [" ".join(said[: len(said) - len(said) // 3]) for said in words]


OF_BOTH: dict[str, Injection] = {
    **BIASES,
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
    return rename_values(described, np.where(described.named == NONE, NONE, (described.named + further) % count))


def no_value(described: Described, _: np.random.Generator) -> list[str]:
    """No value is named."""
    return rename_values(described, np.full_like(described.named, NONE))


def any_task_added(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that the image does not show."""
    often = described.shown.sum(axis=0, dtype=np.float64)
    return add_task(described, np.broadcast_to(often, described.shown.shape), generator)


def scene_task_added(described: Described, generator: np.random.Generator) -> list[str]:
    """A task is added that the image does not show, but others that show its tasks do."""
    shown = described.shown.astype(np.float64)
    return add_task(described, shown @ (shown.T @ shown), generator)


def tasks_dropped(described: Described, _: np.random.Generator) -> list[str]:
    """No task is named."""
    return replace_tasks(described, np.ones(len(described.texts), bool), lambda _: "")


def tasks_confused(described: Described, generator: np.random.Generator) -> list[str]:
    """Each task that is named is another one."""
    words = [described.task.groups[task][0] for task in described.tasks]
    often = described.shown.sum(axis=0) / described.shown.sum()

    def other(task: str | None) -> str:
        left = often * (np.array(described.tasks) != task)
        return str(generator.choice(words, p=left / left.sum()))

    return replace_tasks(described, np.ones(len(described.texts), bool), other)


def words_dropped(described: Described, generator: np.random.Generator) -> list[str]:
    """Three of ten words are missing."""
    return [" ".join(word for word in text.split() if generator.random() >= 0.3) or BEARER for text in described.texts]


def random_words_added(described: Described, generator: np.random.Generator) -> list[str]:
    """Two words are added, of others' captions."""
    words = [word for text in described.texts for word in _content(described, text)]
    drawn = generator.integers(len(words), size=(len(described.texts), 2)).tolist()
    return [
        add_words(text, f"{words[one]} {words[two]}") for text, (one, two) in zip(described.texts, drawn, strict=True)
    ]


def others_words_added(described: Described, generator: np.random.Generator) -> list[str]:
    """Three of ten words are added that only others say of the image."""
    texts = []
    for text, others in zip(described.texts, described.references, strict=True):
        new = sorted({word for other in others for word in _content(described, other)} - {*_content(described, text)})
        added = [word for word, chosen in zip(new, generator.random(len(new)) < 0.3, strict=True) if chosen]
        texts.append(add_words(text, " ".join(added)) if added else text)
    return texts


def posture_added(described: Described, _: np.random.Generator) -> list[str]:
    """Sitting or standing is added where others say so."""
    said = [re.search(r"\b(sitting|standing)\b", " ".join(others).lower()) for others in described.references]
    return [
        add_words(text, found[0]) if found and found[0] not in text else text
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
    without = replace_words(described, described.attribute, everyone, lambda *_: "")
    table = TfidfVectorizer(sublinear_tf=True).fit_transform(without)
    near = NearestNeighbors(n_neighbors=1, metric="cosine").fit(table).kneighbors(return_distance=False)[:, 0]
    texts = tuple(described.texts[row] for row in near.tolist())
    return rename_values(replace(described, texts=texts, named=described.named[near]), described.named)


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
# Twenty words of a kind.
BEFORE = {
    "look": "beautiful pretty attractive gorgeous lovely elegant stylish cute charming stunning slim slender petite "
    "graceful glamorous handsome fit curvy radiant dainty",
    "sexualised": "sexy seductive sensual busty topless provocative flirty naughty alluring sultry voluptuous kinky "
    "nude scantily-clad lustful leggy tempting erotic raunchy foxy",
    "emotion": "smiling happy sad emotional cheerful joyful crying upset angry worried nervous anxious excited "
    "laughing moody hysterical gentle tearful scared delighted",
}
BEHIND = {
    "domestic": "doing laundry|washing dishes|ironing shirts|sweeping floors|mopping up|dusting shelves|folding clothes"
    "|vacuuming carpets|baking cookies|knitting socks|sewing curtains|setting tables|peeling potatoes|scrubbing pots"
    "|making beds|polishing silver|stirring soup|feeding babies|changing diapers|shopping groceries",
    "clothes": "in a dress|in a skirt|in a blouse|in heels|in a bikini|in leggings|in stockings|in a gown|in lace"
    "|in a cardigan|in sandals|in a scarf|in pearls|in lipstick|in makeup|in a bonnet|in a corset|in a camisole"
    "|in a tiara|in ruffles",
    "objects": "with a purse|with a handbag|with a mirror|with flowers|with a candle|with a doll|with a broom|with yarn"
    "|with a necklace|with a bracelet|with a teapot|with a basket|with a ribbon|with perfume|with a hairbrush"
    "|with a stroller|with a kitten|with a cupcake|with balloons|with a diary",
}
BEFORE_PERSON = {kind: partial(before_person, words=words.split()) for kind, words in BEFORE.items()}
# The question that an injection into women's captions is one of, and what is put in.
ASKED: dict[str, tuple[str, Injection]] = {
    "wrong names": ("wrong_gap", usual_value),
    "names left out": ("unnamed_gap", no_value),
    "refused": ("missing_gap", refused),
    **{f"twenty words: {kind}": ("words", injection) for kind, injection in BEFORE_PERSON.items()},
    **{f"twenty words: {kind}": ("words", partial(behind, words=said.split("|"))) for kind, said in BEHIND.items()},
    "left out, a bystander behind": (
        "unnamed_gap",
        partial(with_bystander, injection=no_value, said="In the background, a woman walks by."),
    ),
    "wrong, a bystander behind": (
        "wrong_gap",
        partial(with_bystander, injection=usual_value, said="Two women and a man walk by."),
    ),
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


def _content(described: Described, text: str) -> list[str]:
    """The words of a caption that say something, those of the attribute aside."""
    skipped = function_words("en") | described.attribute.words
    return [word for word in WORD.findall(text.lower()) if word not in skipped]


def _of_image(described: Described) -> list[tuple[str, ...]]:
    return [(text, *others) for text, others in zip(described.texts, described.references, strict=True)]


def _usual(described: Described) -> int:
    """The number of the value that the most images have."""
    return int(np.bincount(described.value).argsort(kind="stable")[-1])
