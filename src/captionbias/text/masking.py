"""Where the words of a lexicon are in captions, and captions with those words masked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from captionbias.arrays import Array, Flags, Ids, Integers
from captionbias.text.lexicon import Lexicon
from captionbias.text.tokens import Tokens, tokenizer

NO_LABEL = -1


class Mentions(NamedTuple):
    """`m` places of a lexicon's words: token position, number of tokens, label number (-1: masked only)."""

    starts: Integers
    lengths: Integers
    labels: Integers

    def select(self, chosen: Array) -> Mentions:
        return Mentions(*(column[chosen] for column in self))

    def without_overlaps(self) -> Mentions:
        """The mentions, left to right, without those that start inside the one before."""
        ends, keep = self.starts + self.lengths, np.ones(len(self.starts), bool)
        inside = np.concatenate(([False], self.starts[1:] < np.maximum.accumulate(ends)[:-1]))[: len(keep)]
        end = 0  # of the last one kept
        for place in np.flatnonzero(inside).tolist():  # which are few
            end = end if inside[place - 1] else int(ends[place - 1])
            keep[place] = self.starts[place] >= end
            end = int(ends[place]) if keep[place] else end
        return self.select(keep)

    def named(self, tokens: Tokens, labels: int) -> Flags:
        """Flags of the labels that each caption names, `(captions, labels)`."""
        named = np.zeros((len(tokens), labels), bool)
        labelled = self.labels != NO_LABEL
        rows = np.searchsorted(tokens.offsets, self.starts[labelled], side="right") - 1
        named[rows, self.labels[labelled]] = True
        return named

    def of_rows(self, tokens: Tokens, rows: Integers) -> Mentions:
        """Those in some of the captions that were searched, as though these alone had been, in that order."""
        first, last = (np.searchsorted(self.starts, tokens.offsets[of]) for of in (rows, rows + 1))
        counts, lengths = last - first, tokens.lengths[rows]
        places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        moved = np.cumsum(lengths) - lengths - tokens.offsets[rows]
        selection = self.select(places)
        return selection._replace(starts=selection.starts + np.repeat(moved, counts))


def find_mentions(tokens: Tokens, lexicon: Lexicon, split: str = "words") -> Mentions:
    """Every mention of a lexicon's words, the longest first: in "hot dog" there is no "dog".

    The lexicon's own words are split by the tokenizer `split`, as the captions were. Of a crossing, whatever any of its
    parts finds, without labels: see `named_values`.
    """
    if lexicon.parts:
        return merge([find_mentions(tokens, part, split) for part in lexicon.parts])
    nodes = _Trie(tokens.words, lexicon, split)
    starts = np.flatnonzero((nodes.root > 0)[tokens.ids])
    state = nodes.root[tokens.ids[starts]]
    ends = tokens.offsets[np.searchsorted(tokens.offsets, starts, side="right")]
    best_label, best_length = nodes.label[state].copy(), np.where(nodes.label[state] != nodes.NOTHING, 1, 0)
    alive, depth = np.arange(len(starts)), 1
    while len(alive):
        alive = alive[starts[alive] + depth < ends[alive]]
        following = nodes.step(state[alive], tokens.ids[starts[alive] + depth])
        alive, following, depth = alive[following > 0], following[following > 0], depth + 1
        state[alive] = following
        final = nodes.label[following] != nodes.NOTHING
        best_label[alive[final]], best_length[alive[final]] = nodes.label[following[final]], depth
    return Mentions(starts, best_length, best_label).select(best_length > 0).without_overlaps()


def named_by_words(words: Sequence[str], *lexicons: Lexicon) -> Integers:
    """The number of what each word alone names, by any of the lexicons, from 1; 0 for nothing: shape `(words,)`."""
    parts = (part for lexicon in lexicons for part in lexicon.parts or (lexicon,))
    groups = (group for part in parts for group in (*part.groups.values(), part.masked_only))
    numbers = {word: number for number, group in enumerate(groups, start=1) for word in group}
    return np.fromiter((numbers.get(word, 0) for word in words), np.int64, len(words))


class _Trie:
    """The lexicon as a tree over word numbers, walked for all positions of all captions at once. Node 0 is nowhere, 1
    the root."""

    NOTHING = -2

    def __init__(self, words: Sequence[str], lexicon: Lexicon, split: str) -> None:
        numbers = {word: number for number, word in enumerate(words)}
        self.width = len(words)
        children: dict[int, int] = {}
        labels = [self.NOTHING, self.NOTHING]
        listed = [(word, number) for number, group in enumerate(lexicon.groups.values()) for word in group]
        for phrase, label in [*listed, *((word, NO_LABEL) for word in lexicon.masked_only)]:
            parts = tokenizer(split)(phrase)
            if not parts or not numbers.keys() >= set(parts):
                continue
            node = 1
            for part in parts:
                node = children.setdefault(node * self.width + numbers[part], len(labels))
                if node == len(labels):
                    labels.append(self.NOTHING)
            labels[node] = label
        self.label = np.array(labels, np.int64)
        self.keys = np.array(sorted(children), np.int64)
        self.children = np.array([children[key] for key in self.keys.tolist()], np.int64)
        self.root = self.step(np.ones(self.width, np.int64), np.arange(self.width, dtype=np.int32))

    def step(self, nodes: Integers, ids: Ids) -> Integers:
        if not len(self.keys):
            return np.zeros(len(nodes), np.int64)
        wanted = nodes * self.width + ids
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.children[place], 0)


def merge(parts: Sequence[Mentions]) -> Mentions:
    """All of these mentions, overlapping ones as one, without labels."""
    starts = np.concatenate([mentions.starts for mentions in parts])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], (starts + np.concatenate([mentions.lengths for mentions in parts]))[order]
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate(([True], starts[1:] >= reached[:-1]))[: len(starts)])
    reached = np.maximum.reduceat(ends, first) if len(first) else ends
    return Mentions(starts[first], reached - starts[first], np.full(len(first), NO_LABEL))


def mask_mentions(tokens: Tokens, *hidden: tuple[Mentions, str]) -> Tokens:
    """Captions in which each mention, however many words it has, is one token, the mask of its kind.

    Of two kinds nothing is left: where they overlap, those of the second of several words are masked whole, then the
    first, or what is left of them, then those of the second of one word.
    """
    layers = hidden
    if len(hidden) > 1:
        words, (phrases, mask) = hidden
        layers = (phrases.select(phrases.lengths == 1), mask), words, (phrases.select(phrases.lengths > 1), mask)
    words_and_masks = tuple(dict.fromkeys((*tokens.words, *(mask for _, mask in hidden))))
    ids, mention_of, number = tokens.ids.copy(), np.zeros(len(tokens.ids), np.int64), 1
    for mentions, mask in layers:
        first = np.cumsum(mentions.lengths) - mentions.lengths
        places = np.repeat(mentions.starts - first, mentions.lengths) + np.arange(int(mentions.lengths.sum()))
        mention_of[places] = np.repeat(np.arange(number, number + len(first)), mentions.lengths)
        ids[places] = words_and_masks.index(mask)
        number += len(first)
    remaining = (mention_of == 0) | (np.diff(mention_of, prepend=0) != 0)
    return Tokens(ids[remaining], np.concatenate(([0], np.cumsum(remaining)))[tokens.offsets], words_and_masks)


def named_values(tokens: Tokens, mentions: Mentions, lexicon: Lexicon, split: str = "words") -> Flags:
    """Flags of the lexicon's labels that each caption names, `(captions, labels)`, also of a crossing.

    Of a crossing a caption names what it names of each attribute, together: "a black woman" is "female, dark", "a
    woman" is "female", which is a value of its own, and "a dog" is none. A caption that names several values of an
    attribute names each of them with what it names of the others, since it does not say who is who. So two captions
    name the same if, and only if, they name the same of every attribute.

    `mentions`: the lexicon's, see `find_mentions`; those of a crossing's parts are found here.
    """
    if not lexicon.parts:
        return mentions.named(tokens, len(lexicon.labels))
    return crossed_labels(
        [find_mentions(tokens, part, split).named(tokens, len(part.labels)) for part in lexicon.parts]
    )


def crossed_labels(named: Sequence[Flags]) -> Flags:
    """Flags of a crossing's labels, `(captions, labels)`, from those of each of its parts; see `named_values`."""
    with_none = (np.column_stack([of_part, ~of_part.any(axis=1)]) for of_part in named)
    crossed = reduce(lambda left, right: (left[:, :, None] & right[:, None, :]).reshape(len(left), -1), with_none)
    return np.asarray(crossed[:, :-1])  # the last is none of any attribute
