"""Vocabulary alignment: human captions in the words of the captioner, with a report of what was replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.alignment.vectors import embed
from captionbias.arrays import Flags, Floats, Integers
from captionbias.errors import InputError
from captionbias.text.tokens import UNKNOWN, Tokens

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

# Files of vectors are good to seven digits: words equally close must tie, and a distance of delta is not below it.
_DIGITS = 6
_CELLS_AT_ONCE = 2**24


class Replacement(NamedTuple):
    """`word` became `replacement` (a word of the captioner, or `<unk>`) in `tokens` places. `distance`: to the closest
    word of the captioner, below delta or not; None without a vector."""

    word: str
    replacement: str
    distance: float | None
    tokens: int


@dataclass(frozen=True)
class AlignmentReport:
    """The replacements of an alignment: numbers of tokens, and every pair, the most frequent first."""

    tokens: int
    replaced_contextual: int
    replaced_unknown: int
    pairs: tuple[Replacement, ...]

    @property
    def share_contextual(self) -> float | None:
        """The share of replaced tokens that became a word and not `<unk>`; None when nothing was replaced."""
        replaced = self.replaced_contextual + self.replaced_unknown
        return self.replaced_contextual / replaced if replaced else None

    def as_dict(self, pairs: int = 50) -> dict[str, Any]:
        """The report for JSON, with the `pairs` most frequent pairs."""
        listed = [pair._asdict() for pair in self.pairs[:pairs]]
        return {**vars(self), "share_contextual": self.share_contextual, "pairs": listed}


def align(
    tokens: Tokens,
    model_words: Flags,
    specials: frozenset[str],
    vectors: KeyedVectors | None,
    delta: float = 0.4,
    names: Integers | None = None,
) -> tuple[Tokens, AlignmentReport]:
    """Masked human captions in which every word is one of the captioner's, a mask, or `<unk>`.

    With `vectors` None, every other word becomes `<unk>` (constant substitution: LIC, Hirota et al. 2022, section 3).
    With vectors, it becomes the closest of the captioner's words if their cosine distance is below `delta`, else
    `<unk>` (contextual substitution: DBAC, Eq. 9). Of equally close words the first in `tokens.words` is taken.

    With `names` (what each of `tokens.words` names, numbered from 1, 0 for nothing; see `named_by_words`) a word that
    names something becomes the closest one that names the same, however far, and is kept where the captioner has none;
    one that names nothing only becomes one that names nothing. So what is named stays. The paper has none of this.

    `model_words`: flags of shape `(len(tokens.words),)`. `specials`: mask tokens, which are never replaced and replace
    nothing. Returns captions of the same lengths over the same words (`<unk>` appended if missing), and the report.
    """
    if not isinstance(delta, Real) or not 0 < delta <= 2:
        raise InputError("delta", f"is {delta!r}: give a cosine distance above 0 and at most 2; the DBAC paper has 0.4")
    words = tokens.words if UNKNOWN in tokens.words else (*tokens.words, UNKNOWN)
    unknown = words.index(UNKNOWN)
    special = np.array([word == UNKNOWN or word in specials for word in tokens.words], bool)
    counts = np.bincount(tokens.ids, minlength=len(tokens.words))
    foreign = np.flatnonzero((counts > 0) & ~model_words & ~special)
    candidates = np.flatnonzero(model_words & ~special)
    names = np.zeros(len(tokens.words), np.int64) if names is None else names
    closest, distances = np.zeros(len(foreign), np.int64), np.full(len(foreign), math.nan)
    for number in np.unique(names[foreign]):
        alike = names[foreign] == number
        closest[alike], distances[alike] = _closest(
            foreign[alike], candidates[names[candidates] == number], words, vectors
        )
    # Comparison with NaN, the distance where there is no vector, is false.
    own = names[foreign] > 0
    chosen = np.where(distances < np.where(own, np.inf, delta), closest, np.where(own, foreign, unknown))
    changed = chosen != foreign
    foreign, chosen, distances = foreign[changed], chosen[changed], distances[changed]
    table = np.arange(len(words), dtype=np.int32)
    table[foreign] = chosen
    weights, contextual = counts[foreign], chosen != unknown
    order = np.argsort(-weights, kind="stable")
    rows = zip(foreign[order], chosen[order], distances[order].tolist(), weights[order].tolist(), strict=True)
    pairs = (
        Replacement(words[word], words[replacement], None if math.isnan(distance) else distance, times)
        for word, replacement, distance, times in rows
    )
    report = AlignmentReport(
        tokens=int(counts.sum()),
        replaced_contextual=int(weights[contextual].sum()),
        replaced_unknown=int(weights[~contextual].sum()),
        pairs=tuple(pairs),
    )
    return replace(tokens, ids=table[tokens.ids], words=words), report


def _closest(
    foreign: Integers, candidates: Integers, words: tuple[str, ...], vectors: KeyedVectors | None
) -> tuple[Integers, Floats]:
    """The closest of `candidates` to each word of `foreign`, and its cosine distance, NaN where there is none."""
    closest = np.zeros(len(foreign), np.int64)
    distances = np.full(len(foreign), math.nan)
    if vectors is None:
        return closest, distances
    targets, known = embed(vectors, [words[number] for number in candidates])
    targets, candidates = targets[known], candidates[known]
    if not len(candidates):
        return closest, distances
    sources, known = embed(vectors, [words[number] for number in foreign])
    places = np.flatnonzero(known)
    step = max(1, _CELLS_AT_ONCE // len(candidates))
    for start in range(0, len(places), step):
        rows = places[start : start + step]
        similarities = sources[rows] @ targets.T
        best = (similarities > similarities.max(axis=1, keepdims=True) - 10.0**-_DIGITS).argmax(axis=1)
        closest[rows] = candidates[best]
        distances[rows] = np.round(1 - similarities[np.arange(len(rows)), best], _DIGITS).clip(min=0)
    return closest, distances
