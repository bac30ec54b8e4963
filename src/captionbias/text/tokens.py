"""Captions as one ragged table of word numbers, so that every later step is an array operation."""

from __future__ import annotations

import itertools
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import regex

from captionbias.arrays import Array, Flags, Ids, Integers
from captionbias.errors import InputError
from captionbias.hashes import Hashes, mix

UNKNOWN = "<unk>"
FEW_WORDS, LONG_WORDS = 2, 7  # of captions that are not split: words in one, letters in a word
# The marks of Indic and Arabic letters are part of a word for `regex`, unlike for `re`.
WORDS = regex.compile(r"\w+|[^\w\s]")
_INVISIBLE = regex.compile(r"\p{Cf}+")  # zero-width spaces, soft hyphens, marks of direction
# Scripts that set no blanks between words, and the lengthening mark of Japanese.
_WITHOUT_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
ASCII_WORDS = re.compile(r"\w+|[^\w\s]", re.ASCII)  # the same words, in half the time


def split_words(caption: str) -> list[str]:
    """Lower-case words of any script, each mark of punctuation a token of its own."""
    if caption.isascii():
        return ASCII_WORDS.findall(caption.lower())
    words: list[str] = WORDS.findall(folded(caption))
    return words


def split_whitespace(caption: str) -> list[str]:
    """Split on blanks only, as published DBAC scores were made: a full stop sticks to its word."""
    return folded(caption).split()


def folded(caption: str) -> str:
    """Lower case, with one spelling of each letter: none full-width, and nothing invisible within a word."""
    return visible(caption).lower()


def visible(caption: str) -> str:
    """One spelling of each letter, as `folded`, in the case in which it is written."""
    return str(_INVISIBLE.sub("", unicodedata.normalize("NFKC", caption)))


def is_unsplit(captions: Sequence[str]) -> bool:
    """Whether captions are mostly of a script without blanks and not split into words: two or fewer a caption, or seven
    letters long on average."""
    runs = [_WITHOUT_BLANKS.findall(caption) for caption in captions if not caption.isascii()]
    words = list(itertools.chain.from_iterable(runs))
    letters = sum(map(len, words))
    if not letters or letters <= sum(len("".join(caption.split())) for caption in captions) / 2:
        return False
    return len(words) <= FEW_WORDS * len(runs) or letters >= LONG_WORDS * len(words)


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"words": split_words, "whitespace": split_whitespace}
OTHER_TOKENIZERS: dict[str, Callable[[str], list[str]]] = {}  # of languages, and users' own


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokenizer called `name`; ValueError names those there are."""
    if name not in (known := TOKENIZERS | OTHER_TOKENIZERS):
        named = (name for name in known if "@" not in name)
        raise InputError("tokenizer", f"{name!r} is unknown; choose one of {', '.join(named)}, or give a function")
    return known[name]


def tokenizer_name(tokenizer: Any) -> str:
    """The name under which a function from a caption to its words is kept as a tokenizer; a name as it is.

    >>> tokenizer_name("words"), tokenizer_name(str.split).partition("@")[0]
    ('words', 'str.split')
    """
    if isinstance(tokenizer, str):
        return tokenizer
    if not callable(tokenizer):
        raise InputError("tokenizer", f"must be a name or a function, not of type {type(tokenizer).__name__}")
    name = f"{getattr(tokenizer, '__qualname__', type(tokenizer).__qualname__)}@{id(tokenizer)}"
    OTHER_TOKENIZERS[name] = tokenizer
    return name


@dataclass(frozen=True)
class Tokens:
    """`n` captions as word numbers: caption `i` is `ids[offsets[i]:offsets[i + 1]]`, number `j` the word `words[j]`."""

    ids: Ids
    offsets: Integers
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        return np.diff(self.offsets)

    @property
    def rows(self) -> Integers:
        """The caption that each token is in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def select(self, rows: Array) -> Tokens:
        """The captions `rows` (numbers or flags), in that order."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        lengths = self.lengths[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return replace(self, ids=self.ids[positions], offsets=offsets)

    def positions(self, rows: Integers) -> Ids:
        """The places in `ids` of the tokens of the captions `rows`, caption after caption."""
        return replace(self, ids=np.arange(len(self.ids), dtype=np.int32)).select(rows).ids

    def between(self, start: int, end: int) -> Tokens:
        """The captions from `start` up to `end`; the word numbers are not copied."""
        first, last = self.offsets[start], self.offsets[end]
        return replace(self, ids=self.ids[first:last], offsets=self.offsets[start : end + 1] - first)

    def used(self) -> Tokens:
        """The same captions over the words that occur in them, numbered in the same order."""
        present = self.present()
        numbers = (np.cumsum(present) - 1).astype(np.int32)
        words = tuple(itertools.compress(self.words, present.tolist()))
        return replace(self, ids=numbers[self.ids], words=words)

    def numbered(self) -> Tokens:
        """The same captions over the words that occur in them, numbered in order of first appearance, as by
        `tokenize`."""
        from pandas import factorize

        ids, first = factorize(self.ids)
        return replace(self, ids=ids.astype(np.int32), words=tuple(self.words[number] for number in first))

    @classmethod
    def joined(cls, tables: Sequence[Tokens]) -> Tokens:
        """The captions of all tables, one table after the other. Words keep their numbers in the first table; the new
        words of a later one follow in their order, as if `tokenize` had split all captions at once."""
        numbers: dict[str, int] = {}
        for word in itertools.chain.from_iterable(table.words for table in tables):
            numbers.setdefault(word, len(numbers))
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
        for table in tables:
            ids.append(np.array([numbers[word] for word in table.words], np.int32)[table.ids])
            lengths.append(table.lengths)
        return cls(np.concatenate(ids), np.cumsum(np.concatenate(lengths)), tuple(numbers))

    def among(self, words: Collection[str]) -> Flags:
        """Flags of the tokens that are one of the words, `(tokens,)`."""
        return np.array([word in words for word in self.words], bool)[self.ids]

    def present(self) -> Flags:
        """Flags of the words that occur at all, `(len(words),)`."""
        return np.bincount(self.ids, minlength=len(self.words)) > 0

    def fingerprints(self) -> Hashes:
        """A 64-bit number a caption: equal captions have equal numbers, other captions practically never."""
        place = np.arange(len(self.ids)) - self.offsets[:-1].repeat(self.lengths)
        mixed = mix(self.ids.astype(np.uint64) + (place.astype(np.uint64) << np.uint64(32)))
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
        return mix(totals[self.offsets[1:]] - totals[self.offsets[:-1]])

    def texts(self) -> list[str]:
        """The captions as text, words joined by blanks: for reports and tests."""
        words = np.array(self.words, dtype=object)[self.ids]
        return [" ".join(words[start:end]) for start, end in zip(self.offsets, self.offsets[1:], strict=False)]


def tokenize(captions: Sequence[str], name: str = "words") -> Tokens:
    """Split `n` captions with the tokenizer `name`; words are numbered in order of first appearance."""
    split = tokenizer(name)
    plain = np.array([split is split_words and caption.isascii() for caption in captions], bool)
    if plain.all() or not plain.any():
        return _split_together(captions) if len(plain) and plain.all() else _split_each(captions, split)
    together = _split_together(list(itertools.compress(captions, plain)))
    others = _split_each(list(itertools.compress(captions, ~plain)), split)
    places = np.argsort(np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)]))
    return Tokens.joined([together, others]).select(places).numbered()


def _split_together(captions: Sequence[str]) -> Tokens:
    """What `split_words` finds in captions of ASCII alone, five times as fast."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lower = pc.ascii_lower(pa.array(captions, pa.large_string()))
    apart = pc.replace_substring_regex(lower, r"([^\w \t\n\v\f\r])", r" \1 ")
    lists = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(apart))
    words = lists.flatten().dictionary_encode()
    ids, offsets = words.indices.to_numpy(), lists.offsets.to_numpy().astype(np.int64)
    tokens = Tokens(ids, offsets, tuple(words.dictionary.to_pylist()))
    if "" not in tokens.words:
        return tokens
    nonblank = ids != tokens.words.index("")  # which a caption of blanks has
    return Tokens(ids[nonblank], np.concatenate(([0], np.cumsum(nonblank)))[offsets], tokens.words).numbered()


def _split_each(captions: Sequence[str], split: Callable[[str], list[str]]) -> Tokens:
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    ids, offsets = array("i"), array("q", [0])
    for row, caption in enumerate(captions):
        words = split(caption)
        if not isinstance(words, (list, tuple)):
            fault = f": of caption {row}, {caption[:60]!r}, it returned {words!r:.60}; it must return a list of words"
            raise InputError("tokenizer", fault)
        ids.extend(map(numbers.__getitem__, words))
        offsets.append(len(ids))
    return Tokens(np.asarray(ids, np.int32), np.asarray(offsets, np.int64), tuple(numbers))
