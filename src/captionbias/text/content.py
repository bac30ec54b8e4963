"""The words of captions, one for what is the same: lemmas, names of several words, and what is said alike of every
value of an attribute; and which of them say something."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, sparse
from captionbias.text.languages import ENGLISH, closed_words, function_words, languages
from captionbias.text.lexicon import Lexicon, load_lexicon
from captionbias.text.main_person import person_nouns
from captionbias.text.masking import find_mentions
from captionbias.text.tokens import Tokens

# Typography, which says nothing of anybody; also the marks of other scripts.
MARKS = frozenset(
    ".,;:'\"()-`/_*[]\u2018\u2019\u201c\u201d\u2013\u2014\u3001\u3002\u300c\u300d\uff08\uff09\uff0c\uff1a\uff1b"
)


POOLS = "before the person", "-ly"
CONTENT = "appearance", "body", "emotion", "age", "kinship", "occupation", "agency"  # what a word may be about


class ContentWords(NamedTuple):
    """Which of the `words` each caption uses, `(captions, words)`, and which are content words, no function words,
    numbers or symbols; words of the attribute; those that say the same of any value, for they are all words of a role;
    and words of tasks. `POOLS`, two columns of many words, are none of these."""

    used: Any
    words: tuple[str, ...]
    content: Flags
    of_attribute: Flags
    of_role: Flags
    of_task: Flags

    @property
    def lengths(self) -> Floats:
        """How many content words each caption has, `(captions,)`."""
        return np.asarray(self.used @ self.content.astype(np.float64))


def content_words(tokens: Tokens, attribute: Lexicon, task: Lexicon, tokenizer: str = "words") -> ContentWords:
    """The words of captions without punctuation. A task's name of several words is one, and so are all words of a role
    of the attribute: "girls|boys". English plurals are as their singular; tokens of other languages are lemmas.

    >>> from captionbias.text import load_lexicon, tokenize
    >>> lexicons = load_lexicon("gender"), load_lexicon("coco_objects")
    >>> found = content_words(tokenize(["Two girls with their cell phones."]), *lexicons)
    >>> [word for word, says in zip(found.words, found.content) if says]
    ['their', 'girls|boys', 'cell phone']
    """
    lemma = _lemma(tokenizer)
    terms, names, roles = _terms(attribute, task, tokenizer)
    mentions = find_mentions(tokens, Lexicon("terms", "", terms), tokenizer)
    closed = _closed(tokenizer)
    single = [lemma(word) for word in tokens.words]
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*single, *names, *POOLS]))}
    content = [word not in closed and any(map(str.isalpha, word)) for word in single]
    is_content = np.array([word not in MARKS for word in tokens.words], bool)
    ends, places = mentions.starts + mentions.lengths, len(tokens.ids) + 1
    covered = np.cumsum(np.bincount(mentions.starts, minlength=places) - np.bincount(ends, minlength=places))
    alone = is_content[tokens.ids] & (covered[:-1] == 0)
    of_token, of_term = (np.array([numbers[word] for word in each], np.int64) for each in (single, names))
    is_adverb = np.array([says and word.endswith("ly") for word, says in zip(tokens.words, content, strict=True)], bool)
    pools = np.flatnonzero(_describes(tokens, attribute, tokenizer)), np.unique(tokens.rows[is_adverb[tokens.ids]])
    rows = np.concatenate([tokens.rows[alone], tokens.rows[mentions.starts], *pools])
    of_pool = (np.full(len(pool), numbers[name]) for name, pool in zip(POOLS, pools, strict=True))
    column = np.concatenate([of_token[tokens.ids[alone]], of_term[mentions.labels], *of_pool])
    used = sparse(np.ones(len(rows)), (rows, column), (len(tokens), len(numbers)))
    used.data[:] = 1.0
    present = np.flatnonzero(used.sum(axis=0))
    pooled = set(names[:roles])
    own = {lemma(word) for word in attribute.words} | pooled
    of_content = {*itertools.compress(single, content), *names}
    of_task = {lemma(word) for word in (*itertools.chain(*task.groups.values()), *task.masked_only)}
    words = list(numbers)
    present_words = tuple(words[number] for number in present)
    flags = (np.array([word in known for word in present_words], bool) for known in (of_content, own, pooled, of_task))
    return ContentWords(used[:, present], present_words, *flags)


def _describes(tokens: Tokens, attribute: Lexicon, tokenizer: str) -> Flags:
    """Whether a caption has a word of its own directly before a noun of a person, "a smiling woman", `(captions,)`."""
    nouns, closed = person_nouns(tokenizer), function_words(tokenizer) | closed_words()
    is_noun = tokens.among(nouns)
    says = tokens.among({word for word in tokens.words if word.isalpha()} - closed - attribute.words)
    last = np.zeros(len(tokens.ids), bool)
    last[tokens.offsets[1:][tokens.lengths > 0] - 1] = True  # what follows is another caption's
    return np.bincount(tokens.rows[says & np.roll(is_noun, -1) & ~last], minlength=len(tokens)) > 0


def join_sides(own: ContentWords, human: ContentWords) -> ContentWords:
    """Of the captions of both, one after the other; the words of the second come first."""
    from scipy.sparse import vstack

    both = human, own
    words = tuple(dict.fromkeys((*human.words, *own.words)))
    numbers = {word: number for number, word in enumerate(words)}
    places = [np.array([numbers[word] for word in side.words], np.int64) for side in both]
    tables = [side.used.tocoo() for side in both]
    used = [
        sparse(table.data, (table.row, place[table.col]), (table.shape[0], len(words)))
        for table, place in zip(tables, places, strict=True)
    ]
    flags = np.zeros((4, len(words)), bool)
    for side, place in zip(both, places, strict=True):
        flags[:, place] |= side[2:]
    return ContentWords(vstack(used[::-1], format="csr"), words, *flags)


def kinds_of_content(words: Iterable[str]) -> list[str]:
    """What each word is about, of `CONTENT`; "" of others.

    >>> kinds_of_content(["smiling", "mother|father", "dogs"])
    ['emotion', 'kinship', '']
    """
    kinds = {word: kind for kind, listed in load_lexicon("content").groups.items() for word in listed}
    return [kinds.get(singular(word.split("|")[0]), kinds.get(word, "")) for word in words]


def word_forms(tokens: Tokens, attribute: Lexicon, task: Lexicon, tokenizer: str = "words") -> dict[str, list[str]]:
    """What `content_words` takes for one word, by that word: the tokens, and names of several, that captions may have.

    >>> from captionbias.text import load_lexicon, tokenize
    >>> forms = word_forms(tokenize(["Two ties, one tie."]), load_lexicon("gender"), load_lexicon("coco_objects"))
    >>> forms["tie"], forms["girl|boy"], forms["cell phone"]
    (['ties', 'tie'], ['girl', 'boy'], ['cell phone', 'cell phones'])
    """
    forms: dict[str, list[str]] = {}
    lemma, (terms, names, _) = _lemma(tokenizer), _terms(attribute, task, tokenizer)
    for name, words in zip(names, terms.values(), strict=True):
        forms.setdefault(name, []).extend(words)
    for word in tokens.words:
        forms.setdefault(lemma(word), []).append(word)
    return forms


def _lemma(tokenizer: str) -> Callable[[str], str]:
    """The lemma of a token that is no function word; those of other languages are lemmas."""
    closed = _closed(tokenizer)
    return (lambda word: word if word in closed else singular(word)) if _is_english(tokenizer) else str


def _closed(tokenizer: str) -> frozenset[str]:
    return function_words(ENGLISH if _is_english(tokenizer) else tokenizer)


def _is_english(tokenizer: str) -> bool:
    return tokenizer not in languages() or tokenizer == ENGLISH


def _terms(attribute: Lexicon, task: Lexicon, tokenizer: str) -> tuple[dict[str, tuple[str, ...]], list[str], int]:
    """Words that stand for each other, by a term; the name of each term; and how many are roles, which come first."""
    parts, lemma = attribute.parts or (attribute,), _lemma(tokenizer)
    terms = {f"{part.name} {role}": words for part in parts for role, words in part.roles.items()}
    names = [role for part in parts for role in part.roles]
    roles = len(terms)
    known = {word for words in terms.values() for word in words}
    named = (*task.groups.values(), task.masked_only, sorted(attribute.words))
    phrases = [word for words in named for word in words if " " in word]
    terms |= {phrase: (phrase,) for phrase in phrases if phrase not in known}
    return terms, names + [lemma(term) for term in list(terms)[roles:]], roles


def singular(word: str) -> str:
    """The singular of an English plural; what is none stays, or loses an -s that is not an ending.

    >>> [singular(word) for word in ("ties", "benches", "dresses", "racquets", "tennis", "bus")]
    ['tie', 'bench', 'dress', 'racquet', 'tennis', 'bus']
    """
    *front, last = word.split(" ")
    return " ".join([*front, _singular(last)])


@cache
def _singular(word: str) -> str:
    """By Harman's S stemmer (1991) with the plurals of sibilants, and by the plurals that are listed."""
    listed = _plurals()
    if word in listed["irregular"]:
        return str(listed["irregular"][word])
    if len(word) < 4 or word in listed["same"] or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) < 5 else f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1]


@cache
def _plurals() -> dict[str, Any]:
    return dict(json.loads((resources.files("captionbias.text") / "plurals.json").read_text(encoding="utf-8")))
