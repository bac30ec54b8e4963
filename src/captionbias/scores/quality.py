"""How close captions are to human captions, caption by caption, as the field's own code counts it: BLEU-4, CIDEr and
METEOR. A caption is its words, joined by blanks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.errors import InputError

GRAMS = 4


def check_scorers() -> None:
    """ValueError where pycocoevalcap or nltk is not installed."""
    if lacking := [name for name in ("nltk", "pycocoevalcap") if find_spec(name) is None]:
        raise InputError("quality", f"needs {' and '.join(lacking)}:", "pip install '.[quality]' in a clone")


def bleu_counts(captions: Sequence[str], references: Sequence[Sequence[str]]) -> Integers:
    """What BLEU is made of, of each of `n` captions beside its references: `(n, 10)`, its 1- to 4-grams, those that a
    reference has, its words, and those of the reference that is nearest in length."""
    from pycocoevalcap.bleu.bleu_scorer import cook_refs, cook_test

    counted = (
        cook_test(caption, cook_refs(texts), eff="closest") for caption, texts in zip(captions, references, strict=True)
    )
    rows = [(*of["guess"], *of["correct"], of["testlen"], of["reflen"]) for of in counted]
    return np.array(rows, np.int64).reshape(-1, 2 * GRAMS + 2)


def bleu(counts: Floats) -> Floats:
    """BLEU-4 of the captions that these are the sums of, `(10, ...)`: `(...)` in [0, 1].

    >>> said = bleu_counts(["a man rides a brown horse"], [["a man rides a brown horse on the grass"]])
    >>> round(float(bleu(said.sum(axis=0))), 3)
    0.607
    """
    grams, shared, (words, nearest) = counts[:GRAMS], counts[GRAMS : 2 * GRAMS], counts[2 * GRAMS :]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.prod(shared / grams, axis=0) ** (1 / GRAMS) * np.exp(np.minimum(0, 1 - nearest / words)))


def cider(captions: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """CIDEr of each of `n` captions in [0, 10], `(n,)`. A word's weight is by how few pictures have it; images with the
    same references, and captions of one image, are of one picture.

    >>> cider(["a dog", "a dog", "a cat"], [["a dog"], ["a dog"], ["two boys"]]).round(1).tolist()
    [5.0, 5.0, 0.0]
    """
    from pycocoevalcap.cider.cider import Cider

    numbers: dict[tuple[str, ...], int] = {}
    picture = [numbers.setdefault(tuple(sorted(texts)), len(numbers)) for texts in references]
    of_pictures = {number: list(texts) for texts, number in numbers.items()}
    scores, waiting = np.zeros(len(captions)), dict(enumerate(picture))
    while waiting:  # one caption of each picture at a time, as the scorer has it
        chosen = {number: row for row, number in reversed(waiting.items())}
        said = {number: [captions[chosen[number]] if number in chosen else ""] for number in of_pictures}
        _, of_each = Cider().compute_score(of_pictures, said)
        scores[[*chosen.values()]] = of_each[[*chosen]]
        waiting = {row: number for row, number in waiting.items() if chosen[number] != row}
    return scores


def meteor(captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Floats:
    """METEOR of each of `n` captions, split into words, against the best of its references; shape `(n,)`."""
    from nltk.stem import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    known_words = wordnet()
    look_up = (PorterStemmer().stem, known_words.synsets if known_words else lambda word: [])
    stem, synsets = (lru_cache(maxsize=100_000)(function) for function in look_up)  # captions have few different words
    known = SimpleNamespace(stem=stem, synsets=synsets)
    same = {"preprocess": str, "stemmer": known, "wordnet": known}
    best = [
        max((single_meteor_score(reference, caption, **same) for reference in texts), default=0.0)
        for caption, texts in zip(captions, references, strict=True)
    ]
    return np.array(best, np.float64)


def wordnet() -> Any:
    """WordNet, by which METEOR matches synonyms; None where it is not installed."""
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet


def spoken(words: Sequence[str]) -> list[str]:
    """The words that have a letter or a digit, as COCO's evaluation has them."""
    return [word for word in words if any(map(str.isalnum, word))]
