"""DBAC's omega, its matched form, and what two of them make: pure functions on arrays.

Everything is summed over *pairs* of what a caption names and what its image shows. The weights depend on the pair
alone, so an omega, the same omega of resampled images, and its published and matched forms are all sums over a few
thousand pairs, whatever the number of captions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse

FORMS = PUBLISHED, MATCHED, BLIND, NET, PRIOR = "", "_matched", "_blind", "_net", "_prior"  # how keys of scores end


@dataclass(frozen=True, eq=False)
class PairSums:
    """Captions by pair: the number of what they name and of what their image shows, `(pairs,)`, and of each image's
    captions the sum of what each attacker answered and of what a caption counts, `((answers + 1) * pairs, images)`."""

    named: Integers
    shown: Integers
    sums: Any

    @classmethod
    def of(
        cls, named: Integers, shown: Integers, image: Integers, counts: Floats, images: int, *answers: Floats
    ) -> PairSums:
        """From each caption's numbers, image and count, `(captions,)`, and the quality of attackers' answers."""
        width = int(shown.max(initial=0)) + 1
        keys, pair = np.unique(named * width + shown, return_inverse=True)
        sums = [counts * quality for quality in answers] + [counts]
        rows = np.concatenate([pair.reshape(-1) + block * len(keys) for block in range(len(sums))])
        table = sparse(np.concatenate(sums), (rows, np.tile(image, len(sums))), (len(sums) * len(keys), images))
        return cls(*np.divmod(keys, width), table)

    def resample(self, multiplicity: Floats) -> list[Floats]:
        """The sums over images that are drawn so often, `(images, replicates)`: of each attacker's answers, and last
        the counts, `(pairs, replicates)`."""
        return [*np.asarray(self.sums @ multiplicity).reshape(-1, len(self.named), multiplicity.shape[1])]

    def name_frequencies(self, counts: Floats, names: int) -> Floats:
        """The relative frequency of each number that captions name, `(names, replicates)`; `counts`: by pair."""
        pairs = np.arange(len(self.named))
        totals = sparse(np.ones(len(pairs)), (self.named, pairs), (names, len(pairs))) @ counts
        return np.asarray(totals / totals.sum(axis=0))

    def weights(self, per_named: Floats, per_shown: Floats) -> Floats:
        """The weight of a caption of each pair, `(pairs, replicates)`: the product of what its two numbers weigh."""
        return per_named[self.named] * per_shown[self.shown]


def omega_forms(sums: Sequence[Floats], weights: Mapping[str, Floats], inverse: bool = False) -> dict[str, Floats]:
    """Each form of omega, `(replicates,)`. Published, it is the mean of quality times weight (Eq. 5 and 6); matched,
    the weighted mean of quality; blind, the same of another attacker's quality.

    `sums`: see `PairSums.resample`. `weights`: of pairs, published and perhaps matched. `inverse`: the quality is an
    error, by which one divides.
    """
    *answered, counts = sums
    forms = [(PUBLISHED, answered[0], weights[PUBLISHED], np.ones(1))]
    if MATCHED in weights:
        weight = weights[MATCHED]
        forms += [(form, of, weight, weight) for form, of in zip((MATCHED, BLIND), answered, strict=False)]
    omegas = {}
    for form, quality, weight, base in forms:
        over, under = (counts, quality) if inverse else (quality, counts)
        omegas[form] = mean((over * weight).sum(axis=0), np.asarray((under * base).sum(axis=0)))
    return omegas


def omega_parts(sums: Sequence[Floats], weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """The parts of an omega. `effective_sample`: `(sum w)^2 / sum w^2`; `coverage`: who names what both sides do."""
    quality, counts = sums[0], sums[-1]
    total = counts.sum(axis=0)

    def effective_sample(weight: Floats) -> Floats:
        return ratio((counts * weight).sum(axis=0) ** 2, (counts * weight**2).sum(axis=0))

    parts = {
        "test_captions": total,
        "mean_quality": mean(quality.sum(axis=0), total),
        "mean_weight": mean((counts * weights[PUBLISHED]).sum(axis=0), total),
        "effective_sample": effective_sample(weights[PUBLISHED]),
    }
    if (matched := weights.get(MATCHED)) is not None:
        parts["coverage"] = mean((counts * (matched > 0)).sum(axis=0), total)
        parts["effective_sample_matched"] = effective_sample(matched)
    return parts


def number_sets(flags: Flags) -> tuple[Integers, Flags]:
    """A number for each row of flags `(n, labels)`, and the set of each number, `(numbers, labels)`."""
    packed = np.packbits(flags, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, numbers = np.unique(rows, return_index=True, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), flags[first]


def normalized_difference(model: Any, human: Any) -> Any:
    """DBAC (Eq. 7 and 8): `(omega_M - omega_H) / (omega_M + omega_H)`, in (-1, 1); 0 where both are 0."""
    return ratio(np.asarray(model) - np.asarray(human), np.asarray(model) + np.asarray(human))


def mean(total: Any, count: Any) -> Floats:
    """The quotient, and nan where nothing was counted."""
    return ratio(total, count, np.nan)


def ratio(numerator: Any, denominator: Any, otherwise: float = 0.0) -> Floats:
    """The quotient, and something else where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Floats = np.divide(top, bottom, out=np.full_like(bottom, otherwise), where=bottom != 0)
    return quotient
