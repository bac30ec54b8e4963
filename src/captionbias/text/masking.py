"""Where the words of a lexicon are in captions, and captions with those words masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from captionbias.arrays import Flags, Ids, Integers
from captionbias.text.lexicon import Lexicon
from captionbias.text.tokens import Tokens, tokenizer

NO_LABEL = -1


@dataclass(frozen=True)
class Mentions:
    """`m` places of a lexicon's words: token position, number of tokens, label number (-1: masked only)."""

    starts: Integers
    lengths: Integers
    labels: Integers


def find_mentions(tokens: Tokens, lexicon: Lexicon, split: str = "words") -> Mentions:
    """Every mention of a lexicon's words, the longest first: in "hot dog" there is no "dog".

    The lexicon's own words are split by the tokenizer `split`, as the captions were. Of a crossing, whatever any of its
    parts finds, without labels: see `named_values`.
    """
    if lexicon.parts:
        return _merged([find_mentions(tokens, part, split) for part in lexicon.parts])
    nodes = _Trie(tokens, lexicon, split)
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
    found = best_length > 0
    return _without_overlaps(Mentions(starts[found], best_length[found], best_label[found]))


def named_by_words(words: Sequence[str], *lexicons: Lexicon) -> Integers:
    """The number of what each word alone names, by any of the lexicons, from 1; 0 for nothing: shape `(words,)`.

    >>> from captionbias.text import load_lexicon
    >>> named_by_words(["a", "woman", "lady", "man"], load_lexicon("gender")).tolist()
    [0, 1, 1, 2]
    """
    parts = (part for lexicon in lexicons for part in lexicon.parts or (lexicon,))
    groups = (group for part in parts for group in (*part.groups.values(), part.masked_only))
    numbers = {word: number for number, group in enumerate(groups, start=1) for word in group}
    return np.fromiter((numbers.get(word, 0) for word in words), np.int64, len(words))


class _Trie:
    """The lexicon as a tree over word numbers, walked for all positions of all captions at once. Node 0 is nowhere."""

    NOTHING = -2

    def __init__(self, tokens: Tokens, lexicon: Lexicon, split: str) -> None:
        numbers = {word: number for number, word in enumerate(tokens.words)}
        self.width = len(tokens.words)
        edges: dict[tuple[int, int], int] = {}
        labels = [self.NOTHING, self.NOTHING]
        listed = [(word, number) for number, words in enumerate(lexicon.groups.values()) for word in words]
        for phrase, label in [*listed, *((word, NO_LABEL) for word in lexicon.masked_only)]:
            parts = [numbers.get(part) for part in tokenizer(split)(phrase)]
            if not parts or None in parts:
                continue
            node = 1
            for part in parts:
                assert part is not None
                if (node, part) not in edges:
                    edges[node, part] = len(labels)
                    labels.append(self.NOTHING)
                node = edges[node, part]
            labels[node] = label
        self.label = np.array(labels, np.int64)
        self.root = np.zeros(self.width, np.int64)
        for (node, part), child in edges.items():
            if node == 1:
                self.root[part] = child
        deeper = sorted((node * self.width + part, child) for (node, part), child in edges.items() if node != 1)
        self.keys = np.array([key for key, _ in deeper], np.int64)
        self.children = np.array([child for _, child in deeper], np.int64)

    def step(self, nodes: Integers, ids: Ids) -> Integers:
        if not len(self.keys):
            return np.zeros(len(nodes), np.int64)
        wanted = nodes * self.width + ids
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.children[place], 0)


def _without_overlaps(mentions: Mentions) -> Mentions:
    """Left to right: a mention that starts inside the one before it goes."""
    starts, lengths, labels = mentions.starts, mentions.lengths, mentions.labels
    while True:
        inside = np.concatenate(([False], starts[1:] < starts[:-1] + lengths[:-1]))
        # In a run of overlaps only the first is certain to go; the next may then be free.
        first = inside & ~np.concatenate(([False], inside[:-1]))
        if not first.any():
            return Mentions(starts, lengths, labels)
        starts, lengths, labels = starts[~first], lengths[~first], labels[~first]


def _merged(found: Sequence[Mentions]) -> Mentions:
    """All of these mentions, overlapping ones as one, without labels."""
    starts = np.concatenate([mentions.starts for mentions in found])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], (starts + np.concatenate([mentions.lengths for mentions in found]))[order]
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate(([True], starts[1:] >= reached[:-1]))[: len(starts)])
    reached = np.maximum.reduceat(ends, first) if len(first) else ends
    return Mentions(starts[first], reached - starts[first], np.full(len(first), NO_LABEL))


def mask_mentions(tokens: Tokens, mentions: Mentions, mask: str) -> Tokens:
    """Captions in which each mention, however many words it has, is the one token `mask`."""
    words = tokens.words if mask in tokens.words else (*tokens.words, mask)
    ids = tokens.ids.copy()
    ids[mentions.starts] = words.index(mask)
    dropped = _further_places(mentions)
    return Tokens(np.delete(ids, dropped), tokens.offsets - np.searchsorted(dropped, tokens.offsets), words)


def mask_both(tokens: Tokens, words: Mentions, mask: str, phrases: Mentions, phrase_mask: str) -> Tokens:
    """Captions in which two kinds of mentions of these tokens are masked, so that nothing of either is left.

    Where they overlap, phrases of several words are masked whole, then `words`, or what is left of them, then phrases
    of one word.

    >>> from captionbias.text import load_lexicon, tokenize
    >>> tokens = tokenize(["a baby with a baby doll"])
    >>> babies, toys = (find_mentions(tokens, load_lexicon({"x": [word]})) for word in ("baby", "baby doll"))
    >>> mask_both(tokens, babies, "<age>", toys, "<task>").texts()
    ['a <age> with a <task>']
    """
    several = phrases.lengths > 1
    words = _outside(words, _places(_only(phrases, several)))
    phrases = _only(phrases, several | ~np.isin(phrases.starts, _places(words)))
    moved = replace(phrases, starts=phrases.starts - np.searchsorted(_further_places(words), phrases.starts))
    return mask_mentions(mask_mentions(tokens, words, mask), moved, phrase_mask)


def _places(mentions: Mentions) -> Integers:
    """The tokens of all mentions."""
    first = np.cumsum(mentions.lengths) - mentions.lengths
    return np.repeat(mentions.starts - first, mentions.lengths) + np.arange(int(mentions.lengths.sum()))


def _further_places(mentions: Mentions) -> Integers:
    """Those that go when each mention becomes one token: all but its first."""
    return _places(replace(mentions, starts=mentions.starts + 1, lengths=mentions.lengths - 1))


def _only(mentions: Mentions, kept: Flags) -> Mentions:
    return Mentions(mentions.starts[kept], mentions.lengths[kept], mentions.labels[kept])


def _outside(mentions: Mentions, taken: Integers) -> Mentions:
    """What is left of the mentions without the tokens that are taken."""
    number, place = np.repeat(np.arange(len(mentions.starts)), mentions.lengths), _places(mentions)
    left = ~np.isin(place, taken)
    number, place = number[left], place[left]
    first = np.flatnonzero((np.diff(place, prepend=-2) > 1) | (np.diff(number, prepend=-1) > 0))
    return Mentions(place[first], np.diff(first, append=len(place)), mentions.labels[number[first]])


def named_labels(tokens: Tokens, mentions: Mentions, labels: int) -> Flags:
    """Which labels each caption names: flags of shape `(n captions, labels)`."""
    named = np.zeros((len(tokens), labels), bool)
    labelled = mentions.labels != NO_LABEL
    rows = np.searchsorted(tokens.offsets, mentions.starts[labelled], side="right") - 1
    named[rows, mentions.labels[labelled]] = True
    return named


def named_values(tokens: Tokens, mentions: Mentions, lexicon: Lexicon, split: str = "words") -> Flags:
    """Which of the lexicon's labels each caption names, flags of shape `(n captions, labels)`, also of a crossing.

    Of a crossing a caption names what it names of each attribute, together: "a black woman" is "female, dark", "a
    woman" is "female", which is a value of its own, and "a dog" is none. A caption that names several values of an
    attribute names each of them with what it names of the others, since it does not say who is who. So two captions
    name the same if, and only if, they name the same of every attribute.

    `mentions`: the lexicon's, see `find_mentions`; those of a crossing's parts are found here.

    >>> from captionbias.text import load_lexicon, tokenize
    >>> tokens, lexicon = tokenize(["a woman and a black man"]), load_lexicon(["gender", "race"])
    >>> (named,) = named_values(tokens, find_mentions(tokens, lexicon), lexicon)
    >>> [label for label, flag in zip(lexicon.labels, named) if flag]
    ['female, dark', 'male, dark']
    """
    if not lexicon.parts:
        return named_labels(tokens, mentions, len(lexicon.labels))
    of_parts = (named_labels(tokens, find_mentions(tokens, part, split), len(part.labels)) for part in lexicon.parts)
    with_none = (np.column_stack([named, ~named.any(axis=1)]) for named in of_parts)
    every = reduce(lambda one, two: (one[:, :, None] & two[:, None, :]).reshape(len(tokens), -1), with_none)
    return np.asarray(every[:, :-1])  # the last is none of any attribute
