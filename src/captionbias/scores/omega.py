"""DBAC's omega, its weights and its matched form: pure functions on arrays.

Everything is summed over *cells*: a cell is a pair (what a caption names, what its image shows). The weights depend on
the cell alone, so an omega, the same omega on a resampled set of images, and its published and matched forms are all
sums over a few thousand cells, whatever the number of captions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from captionbias.scores.captions import Floats
from captionbias.text.tokens import Flags, Integers


@dataclass(frozen=True, eq=False)
class Side:
    """The captions of one side. A to T: a caption names a set of tasks and its image shows an attribute; T to A: a
    caption names attribute values (one, none, several) and its image shows a set of tasks.

    `image`: the image of each caption, shape `(captions,)`. `named`: the number of what it names, `(captions,)`.
    """

    image: Integers
    named: Integers


@dataclass(frozen=True, eq=False)
class Tested:
    """A trial's test captions on one side: their row numbers among the side's captions and the attacker's quality."""

    rows: Integers
    quality: Floats


@dataclass(frozen=True, eq=False)
class Omega:
    """One trial's omegas and their parts; every array has one entry a column of multiplicities.

    `published`, `matched`: omega of DBAC and of matched DBAC. `mean_quality`, `mean_weight`: the means that make up the
    published one. `coverage`: share of test captions that name something named on both sides. `effective_sample`,
    `effective_sample_matched`: `(sum w)^2 / sum w^2` for either kind of weight, in captions.
    """

    published: Floats
    matched: Floats
    mean_quality: Floats
    mean_weight: Floats
    coverage: Floats
    effective_sample: Floats
    effective_sample_matched: Floats


@dataclass(frozen=True, eq=False)
class Parts:
    """What pairs of labels add to one trial's omegas, `(pairs, replicates)`: over all pairs they sum to `omega`."""

    omega: Omega
    published: Floats
    matched: Floats


@dataclass(frozen=True, eq=False)
class _Cells:
    """One trial's cells: `pairs` of (named, shown), `(cells, 2)`; all else has the shape `(cells, replicates)`."""

    pairs: Integers
    counts: Floats
    quality: Floats
    weight: Floats
    matched_weight: Floats

    def omega(self, inverse: bool) -> Omega:
        return _omega(self.quality, self.counts, self.weight, self.matched_weight, inverse)


def number_sets(flags: Sequence[Flags]) -> list[Integers]:
    """Numbers for sets given as rows of flags `(n, labels)`: the same set has the same number in every array.

    >>> [numbers.tolist() for numbers in number_sets([np.array([[1, 0], [1, 1]], bool), np.array([[1, 0]], bool)])]
    [[0, 1], [0]]
    """
    packed = np.packbits(np.concatenate(flags), axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    numbers = np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.split(numbers, np.cumsum([len(part) for part in flags])[:-1])


def omegas(
    side: Side,
    shown: Integers,
    trials: Sequence[Tested],
    multiplicity: Floats,
    *,
    target: Floats | None = None,
    common: Flags | None = None,
    inverse: bool = False,
    bayes: bool = True,
) -> list[Omega]:
    """The omegas of one side for every trial.

    Args:
        side: the side's captions.
        shown: the number of what each image shows, shape `(images,)`.
        trials: test captions and quality of each trial; with `inverse` the quality is a cross-entropy.
        multiplicity: how often each image counts, shape `(images, replicates)`: a column of ones for the estimate
            itself, multinomial counts for a bootstrap.
        target: `pi(k)`, the frequency of each named number that matched DBAC weighs the side to, `(names, replicates)`.
        common: which named numbers occur on both sides, `(names,)`.
        inverse: omega is the inverse of the mean quality times the mean weight (DBAC with Q = 1 / cross-entropy).
        bayes: False leaves the published weight out.

    Source: DBAC Eq. 5, 6 and 8 for the published form; the matched one is this project's own.
    """
    return [cells.omega(inverse) for cells in _weighted(side, shown, trials, multiplicity, target, common, bayes)]


def omega_parts(
    side: Side,
    shown: Integers,
    trials: Sequence[Tested],
    multiplicity: Floats,
    pairs: Integers,
    shown_sets: Flags,
    named_sets: Flags,
    *,
    target: Floats | None = None,
    common: Flags | None = None,
    bayes: bool = True,
) -> Iterator[Parts]:
    """What each pair of labels adds to the omegas of one side, trial by trial; arguments as `omegas` where they agree.

    A test caption's part of omega goes to the pairs of a label that its image shows with a label that it names, in
    equal shares. What has no label has one more, "nothing". An inverse cross-entropy is no sum over captions and has
    no such parts.

    Args:
        pairs: the pairs wanted, as numbers `shown label * (named labels + 1) + named label`; the last label of either
            kind, one more than there are, is "nothing".
        shown_sets: which labels each shown number stands for, `(shown, labels)`.
        named_sets: which labels each named number stands for, `(names, labels)`.
    """
    shown_shares, named_shares = _shares(shown_sets), _shares(named_sets)
    for cells in _weighted(side, shown, trials, multiplicity, target, common, bayes):
        shares = _products(shown_shares[cells.pairs[:, 1]], named_shares[cells.pairs[:, 0]])[:, pairs].T
        yield Parts(
            cells.omega(inverse=False),
            _mean(shares @ (cells.quality * cells.weight), cells.counts.sum(axis=0)),
            _mean(shares @ (cells.quality * cells.matched_weight), (cells.counts * cells.matched_weight).sum(axis=0)),
        )


def occurrences(
    side: Side, shown: Integers, rows: Integers, shown_sets: Flags, named_sets: Flags
) -> tuple[Floats, Floats]:
    """How many of the captions `rows` have each pair of labels, and how many are of images that show its shown label.

    Both of shape `(pairs,)` over all pairs, numbered as in `omega_parts`. A caption with several pairs counts in each.

    >>> side = Side(image=np.array([0, 1, 1]), named=np.array([0, 0, 1]))
    >>> sets = np.array([[True], [False]])
    >>> [counts.tolist() for counts in occurrences(side, np.array([0, 1]), np.arange(3), sets, sets)]
    [[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 2.0, 2.0]]
    """
    from scipy.sparse import csr_array

    has_shown, has_named = _shares(shown_sets) > 0, _shares(named_sets) > 0
    cells = (shown[side.image[rows]], side.named[rows])
    captions = csr_array((np.ones(len(rows)), cells), shape=(len(shown_sets), len(named_sets)))
    both = (has_shown.T.astype(np.float64) @ captions @ has_named.astype(np.float64)).toarray()
    base = has_shown.T.astype(np.float64) @ captions.sum(axis=1)
    return both.reshape(-1), np.repeat(base, both.shape[1])


def named_frequencies(side: Side, multiplicity: Floats, names: int | None = None) -> Floats:
    """The relative frequency of each named number among the side's captions, shape `(names, replicates)`."""
    totals = _sums(side.named, side.image, multiplicity, groups=names)
    return np.asarray(totals / totals.sum(axis=0))


def normalized_difference(model: Any, human: Any) -> Any:
    """DBAC (Eq. 7 and 8): `(omega_M - omega_H) / (omega_M + omega_H)`, in (-1, 1); 0 where both are 0.

    >>> float(normalized_difference(0.75, 0.25))
    0.5
    """
    return _ratio(np.asarray(model) - np.asarray(human), np.asarray(model) + np.asarray(human))


def amplification_part(model: Any, human: Any, omega_model: Any, omega_human: Any) -> Any:
    """What parts of either omega add to DBAC: over all pairs they sum to the normalized difference of the omegas.

    >>> amplification_part([0.5, 0.25], [0.125, 0.125], 0.75, 0.25).tolist()
    [0.375, 0.125]
    """
    return _ratio(np.asarray(model) - np.asarray(human), np.asarray(omega_model) + np.asarray(omega_human))


def _weighted(
    side: Side,
    shown: Integers,
    trials: Sequence[Tested],
    multiplicity: Floats,
    target: Floats | None,
    common: Flags | None,
    bayes: bool,
) -> Iterator[_Cells]:
    """The cells of each trial with both kinds of weight."""
    named_share = named_frequencies(side, multiplicity, names=len(target) if target is not None else None)
    shown_share = _sums(shown, np.arange(len(shown)), multiplicity) / multiplicity.sum(axis=0)
    for trial in trials:
        named, image = side.named[trial.rows], side.image[trial.rows]
        pairs, cell = _cells(named, shown[image])
        counts = _sums(cell, image, multiplicity)
        quality = _sums(cell, image, multiplicity, trial.quality)
        per_shown = _ratio(1.0, shown_share[pairs[:, 1]])
        weight = named_share[pairs[:, 0]] * per_shown if bayes else np.ones_like(per_shown)
        if target is None or common is None:
            matched_weight = np.zeros_like(per_shown)
        else:
            matched_weight = _ratio(target, named_share)[pairs[:, 0]] * per_shown * common[pairs[:, 0], None]
        yield _Cells(pairs, counts, quality, weight, matched_weight)


def _shares(sets: Flags) -> Any:
    """Each set shared equally among its labels, sparse, `(sets, labels + 1)`: the last column is of no label."""
    from scipy.sparse import csr_array

    flags = np.column_stack([sets, ~sets.any(axis=1)])
    row, label = np.nonzero(flags)
    return csr_array((1 / flags.sum(axis=1)[row], (row, label)), shape=flags.shape)


def _products(left: Any, right: Any) -> Any:
    """The products of all entries of a row of `left` with all of that row of `right`: `(rows, columns * columns)`."""
    from scipy.sparse import csr_array

    outer = left.tocoo()
    inner = right[outer.coords[0]].tocoo()
    entry, column = inner.coords
    values = outer.data[entry] * inner.data
    place = (outer.coords[0][entry], outer.coords[1][entry] * right.shape[1] + column)
    return csr_array((values, place), shape=(left.shape[0], left.shape[1] * right.shape[1]))


def _omega(quality: Floats, counts: Floats, weight: Floats, matched_weight: Floats, inverse: bool) -> Omega:
    total, matched_total = counts.sum(axis=0), (counts * matched_weight).sum(axis=0)
    mean_quality = _mean(quality.sum(axis=0), total)
    mean_weight = _mean((counts * weight).sum(axis=0), total)
    matched = _mean((quality * matched_weight).sum(axis=0), matched_total)
    return Omega(
        published=_mean(mean_weight, mean_quality) if inverse else _mean((quality * weight).sum(axis=0), total),
        matched=_mean(1.0, matched) if inverse else matched,
        mean_quality=mean_quality,
        mean_weight=mean_weight,
        coverage=_mean((counts * (matched_weight > 0)).sum(axis=0), total),
        effective_sample=_ratio((counts * weight).sum(axis=0) ** 2, (counts * weight**2).sum(axis=0)),
        effective_sample_matched=_ratio(matched_total**2, (counts * matched_weight**2).sum(axis=0)),
    )


def _mean(total: Any, count: Any) -> Any:
    """The quotient, and nan where nothing was counted."""
    shape = np.broadcast_shapes(np.shape(total), np.shape(count))
    return np.divide(total, count, out=np.full(shape, np.nan), where=np.asarray(count) != 0)


def _cells(named: Integers, shown: Integers) -> tuple[Integers, Integers]:
    """The distinct pairs, shape `(cells, 2)`, and the cell of each caption."""
    width = int(shown.max(initial=0)) + 1
    keys, cell = np.unique(named * width + shown, return_inverse=True)
    return np.stack(np.divmod(keys, width), axis=1), cell.reshape(-1)


def _sums(
    group: Integers, image: Integers, multiplicity: Floats, values: Floats | None = None, groups: int | None = None
) -> Floats:
    """Sums of `values` (or counts) in each group, for each column of multiplicities: shape `(groups, replicates)`."""
    from scipy.sparse import csr_array

    entries = np.ones(len(group)) if values is None else values
    shape = (groups or int(group.max(initial=-1)) + 1, len(multiplicity))
    sums: npt.NDArray[np.float64] = csr_array((entries, (group, image)), shape=shape) @ multiplicity
    return sums


def _ratio(numerator: Any, denominator: Any) -> Any:
    """The quotient, and 0 where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom != 0)
