"""DBAC's omega, its weights and its matched form: pure functions on arrays.

Everything is summed over *cells*: a cell is a pair (what a caption names, what its image shows). The weights depend on
the cell alone, so an omega, the same omega on a resampled set of images, and its published and matched forms are all
sums over a few thousand cells, whatever the number of captions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers

NOT_SHOWN = -1  # in place of the number of what an image shows, where the image takes no part


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
    """A trial's test captions on one side: their row numbers among the side's captions and the attacker's quality.

    `blind`: the quality of the attacker that sees neither attribute nor task words, if there is one.
    """

    rows: Integers
    quality: Floats
    blind: Floats | None = None


@dataclass(frozen=True, eq=False)
class Cells:
    """Captions by cell. `place`: which of the side's cells these are, `(cells,)`. `counts`, `quality`: how many
    captions each image has in each cell and the sum of their quality, sparse, `(cells, images)`; `blind`: of that of
    the blind attacker.
    """

    place: Integers
    counts: Any
    quality: Any
    blind: Any = None


@dataclass(frozen=True, eq=False)
class Table:
    """One side by cell: what its omegas are sums of, whatever the multiplicities.

    `pairs`: the (named, shown) of each cell, `(cells, 2)`. `captions`: all of the side's, each of quality 1. `trials`:
    each trial's test captions. `naming`: which cells have each named number, sparse, `(names, cells)`. `showing`: which
    images show each shown number, sparse, `(shown, images)`.
    """

    pairs: Integers
    captions: Cells
    trials: list[Cells]
    naming: Any
    showing: Any


@dataclass(frozen=True, eq=False)
class Omega:
    """One trial's omegas and their parts, each computed when asked for; arrays have one entry a column of
    multiplicities.

    `cells`: its captions. `weight`, `matched_weight`: of DBAC and of matched DBAC, `(cells, replicates)`. `inverse`:
    quality is a cross-entropy, see `Weighted.omegas`.
    """

    cells: Cells
    multiplicity: Floats
    weight: Floats
    matched_weight: Floats
    inverse: bool = False

    @cached_property
    def published(self) -> Floats:
        """Omega of DBAC."""
        if self.inverse:
            return _mean(self.mean_weight, self.mean_quality)
        return _mean(self._weighted_quality.sum(axis=0), self._total)

    @cached_property
    def matched(self) -> Floats:
        """Omega of matched DBAC."""
        return self._matched(self._matched_quality)

    @property
    def has_blind(self) -> bool:
        return self.cells.blind is not None

    @cached_property
    def blind(self) -> Floats:
        """Matched omega of the blind attacker."""
        return self._matched(self._blind_quality)

    @property
    def mean_quality(self) -> Floats:
        """With `mean_weight` the means that make up the published omega."""
        return _mean(self._quality.sum(axis=0), self._total)

    @property
    def mean_weight(self) -> Floats:
        return _mean((self._counts * self.weight).sum(axis=0), self._total)

    @property
    def coverage(self) -> Floats:
        """Share of test captions that name something named on both sides."""
        return _mean((self._counts * (self.matched_weight > 0)).sum(axis=0), self._total)

    @property
    def effective_sample(self) -> Floats:
        """`(sum w)^2 / sum w^2`, in captions; `effective_sample_matched` likewise."""
        weight = (self._counts * self.weight).sum(axis=0)
        return _ratio(weight**2, (self._counts * self.weight**2).sum(axis=0))

    @property
    def effective_sample_matched(self) -> Floats:
        return _ratio(self._matched_total**2, (self._counts * self.matched_weight**2).sum(axis=0))

    def published_parts(self, shares: Any) -> Floats:
        """What pairs of labels add to the published omega, `(pairs, replicates)`; `shares` as of `pair_shares`."""
        return _mean(shares @ self._weighted_quality, self._total)

    def matched_parts(self, shares: Any) -> Floats:
        """What they add to the matched omega."""
        return _mean(shares @ self._matched_quality, self._matched_total)

    def blind_parts(self, shares: Any) -> Floats:
        """What they add to the matched omega of the blind attacker."""
        return _mean(shares @ self._blind_quality, self._matched_total)

    def _matched(self, quality: Floats) -> Floats:
        mean = _mean(quality.sum(axis=0), self._matched_total)
        return _mean(1.0, mean) if self.inverse else mean

    @cached_property
    def _counts(self) -> Floats:
        return np.asarray(self.cells.counts @ self.multiplicity)

    @cached_property
    def _quality(self) -> Floats:
        return np.asarray(self.cells.quality @ self.multiplicity)

    @cached_property
    def _total(self) -> Floats:
        return np.asarray(self._counts.sum(axis=0))

    @cached_property
    def _matched_total(self) -> Floats:
        return np.asarray((self._counts * self.matched_weight).sum(axis=0))

    @cached_property
    def _weighted_quality(self) -> Floats:
        return self._quality * self.weight

    @cached_property
    def _matched_quality(self) -> Floats:
        return self._quality * self.matched_weight

    @cached_property
    def _blind_quality(self) -> Floats:
        """As `_matched_quality`, of the blind attacker."""
        return np.asarray(self.cells.blind @ self.multiplicity) * self.matched_weight


@dataclass(frozen=True, eq=False)
class Weighted:
    """One side under multiplicities.

    `weight`, `matched_weight`: of each of its cells, `(cells, replicates)`. `prior`: omega with a perfect attacker, the
    mean weight over all the side's captions, `(replicates,)`.
    """

    table: Table
    multiplicity: Floats
    weight: Floats
    matched_weight: Floats
    prior: Floats

    def omegas(self, inverse: bool = False, bayes: bool = True) -> Iterator[Omega]:
        """The omegas of each trial, one after the other: they hold large arrays.

        Args:
            inverse: omega is the inverse of the mean quality times the mean weight (DBAC with Q = 1 / cross-entropy);
                the quality of the trials is a cross-entropy.
            bayes: False leaves the published weight out.
        """
        for cells in self.table.trials:
            matched_weight = self.matched_weight[cells.place]
            weight = self.weight[cells.place] if bayes else np.ones_like(matched_weight)
            yield Omega(cells, self.multiplicity, weight, matched_weight, inverse)


def number_sets(flags: Sequence[Flags]) -> list[Integers]:
    """Numbers for sets given as rows of flags `(n, labels)`: the same set has the same number in every array.

    >>> [numbers.tolist() for numbers in number_sets([np.array([[1, 0], [1, 1]], bool), np.array([[1, 0]], bool)])]
    [[0, 1], [0]]
    """
    packed = np.packbits(np.concatenate(flags), axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    numbers = np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.split(numbers, np.cumsum([len(part) for part in flags])[:-1])


def tabulate(side: Side, shown: Integers, trials: Sequence[Tested], names: int | None = None) -> Table:
    """A side's captions by cell.

    Args:
        side: the side's captions.
        shown: the number of what each image shows, shape `(images,)`, or `NOT_SHOWN`, of images without captions here.
        trials: test captions and quality of each trial.
        names: how many named numbers there are; those of the side alone when None.
    """
    from scipy.sparse import csr_array

    pairs, cell = _cells(side.named, shown[side.image])
    images = len(shown)

    def cells_of(rows: Integers, *quality: Floats | None) -> Cells:
        place, within = np.unique(cell[rows], return_inverse=True)
        where, shape = (within.reshape(-1), side.image[rows]), (len(place), images)
        values = (np.ones(len(rows)), *quality)
        return Cells(place, *(None if of is None else csr_array((of, where), shape=shape) for of in values))

    known = np.flatnonzero(shown != NOT_SHOWN)
    every = np.arange(len(cell))
    return Table(
        pairs,
        cells_of(every, np.ones(len(every))),
        [cells_of(trial.rows, trial.quality, trial.blind) for trial in trials],
        _members(pairs[:, 0], np.arange(len(pairs)), len(pairs), names),
        _members(shown[known], known, images),
    )


def weighted(table: Table, multiplicity: Floats, target: Floats | None = None, common: Flags | None = None) -> Weighted:
    """The weights of one side's cells.

    Args:
        multiplicity: how often each image counts, shape `(images, replicates)`: a column of ones for the estimate
            itself, multinomial counts for a bootstrap.
        target: `pi(k)`, the frequency of each named number that matched DBAC weighs the side to, `(names, replicates)`.
        common: which named numbers occur on both sides, `(names,)`.

    Source: DBAC Eq. 5, 6 and 8 for the published form; the matched one is this project's own.
    """
    named, shown = table.pairs.T
    counts = np.asarray(table.captions.counts @ multiplicity)
    named_share = (table.naming @ counts) / counts.sum(axis=0)
    showing = table.showing @ multiplicity
    per_shown = _ratio(1.0, showing / showing.sum(axis=0))[shown]
    weight = named_share[named] * per_shown
    if target is None or common is None:
        matched_weight = np.zeros_like(per_shown)
    else:
        matched_weight = (_ratio(target, named_share) * common[:, None])[named] * per_shown
    prior = _mean((counts * weight).sum(axis=0), counts.sum(axis=0))
    return Weighted(table, multiplicity, weight, matched_weight, prior)


def pair_shares(table: Table, pairs: Integers, shown_sets: Flags, named_sets: Flags) -> list[Any]:
    """How the captions in each of a trial's cells are shared among pairs of labels: sparse, `(pairs, cells)` a trial.

    A caption goes to the pairs of a label that its image shows with a label that it names, in equal shares. What has
    no label has one more, "nothing".

    Args:
        pairs: the pairs wanted, as numbers `shown label * (named labels + 1) + named label`; the last label of either
            kind, one more than there are, is "nothing".
        shown_sets: which labels each shown number stands for, `(shown, labels)`.
        named_sets: which labels each named number stands for, `(names, labels)`.
    """
    named, shown = table.pairs.T
    shares = _products(_shares(shown_sets)[shown], _shares(named_sets)[named])[:, pairs]
    return [shares[cells.place].T.tocsr() for cells in table.trials]


def occurrences(
    side: Side, shown: Integers, rows: Integers, shown_sets: Flags, named_sets: Flags
) -> tuple[Floats, Floats]:
    """How many of the captions `rows` have each pair of labels, and how many are of images that show its shown label.

    Both of shape `(pairs,)` over all pairs, numbered as in `pair_shares`. A caption with several pairs counts in each.

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
    totals = _members(side.named, side.image, len(multiplicity), names) @ multiplicity
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


def _mean(total: Any, count: Any) -> Floats:
    """The quotient, and nan where nothing was counted."""
    shape = np.broadcast_shapes(np.shape(total), np.shape(count))
    quotient: Floats = np.divide(total, count, out=np.full(shape, np.nan), where=np.asarray(count) != 0)
    return quotient


def _cells(named: Integers, shown: Integers) -> tuple[Integers, Integers]:
    """The distinct pairs, shape `(cells, 2)`, and the cell of each caption."""
    width = int(shown.max(initial=0)) + 1
    keys, cell = np.unique(named * width + shown, return_inverse=True)
    return np.stack(np.divmod(keys, width), axis=1), cell.reshape(-1)


def _members(group: Integers, member: Integers, members: int, groups: int | None = None) -> Any:
    """How often each group has each member, from one group and one member a row: sparse, `(groups, members)`."""
    from scipy.sparse import csr_array

    shape = (groups or int(group.max(initial=-1)) + 1, members)
    return csr_array((np.ones(len(group)), (group, member)), shape=shape)


def _ratio(numerator: Any, denominator: Any) -> Floats:
    """The quotient, and 0 where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Floats = np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom != 0)
    return quotient
