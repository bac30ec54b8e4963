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

from captionbias.arrays import Flags, Floats, Integers, sparse

MATCHED, BLIND = "_matched", "_blind"
NOT_SHOWN = -1  # in place of the number of what an image shows, where the image takes no part


@dataclass(frozen=True, eq=False)
class Side:
    """The captions of one side: the image of each, and the number of the set of labels that it names, `(captions,)`."""

    image: Integers
    named: Integers

    def frequencies(self, multiplicity: Floats, names: int) -> Floats:
        """The relative frequency of each named number, shape `(names, replicates)`."""
        totals = _members(self.named, self.image, len(multiplicity), names) @ multiplicity
        return np.asarray(totals / totals.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Tested:
    """A trial's test captions: their rows and the quality of the attacker, `""`, and of the `BLIND` one, if any."""

    rows: Integers
    quality: dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Cells:
    """A trial's test captions by cell: which of the side's cells these are, `(cells,)`; how many captions each image
    has in each, and the sum of each attacker's quality, sparse, `(cells, images)`."""

    place: Integers
    counts: Any
    quality: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Omega:
    """One side's omegas in one trial: `""` as published, `MATCHED`, and `BLIND`, matched of the blind attacker."""

    counts: Floats  # its test captions by cell, `(cells, replicates)`
    quality: dict[str, Floats]  # the sum of theirs
    weight: dict[str, Floats]  # what one of them counts
    prior: Floats  # omega with a perfect attacker, `(replicates,)`
    inverse: bool = False  # of a cross-entropy: omega is the inverse of its mean, times the mean weight

    def value(self, form: str = "") -> Floats:
        """Omega, `(replicates,)`; nan where no test caption was drawn."""
        if self.inverse and not form:
            return _mean(self._mean_weight, self._mean_quality)
        mean = _mean(self._weighted(form).sum(axis=0), self._total(form))
        return _mean(1.0, mean) if self.inverse else mean

    def parts(self, form: str, shares: Any) -> Floats:
        """What pairs of labels add to it, `(pairs, replicates)`; `shares` as of `Table.shares`."""
        return _mean(shares @ self._weighted(form), self._total(form))

    def facts(self) -> dict[str, Floats]:
        """What it is made of; `effective_sample`: `(sum w)^2 / sum w^2`; `coverage`: who names what both sides name."""
        facts = {
            "mean_quality": self._mean_quality,
            "mean_weight": self._mean_weight,
            "effective_sample": self._effective_sample(""),
        }
        if MATCHED in self.weight:
            named_on_both = (self.counts * (self.weight[MATCHED] > 0)).sum(axis=0)
            facts["coverage"] = _mean(named_on_both, self._total(""))
            facts["effective_sample_matched"] = self._effective_sample(MATCHED)
        return facts

    @property
    def _mean_quality(self) -> Floats:
        return _mean(self.quality[""].sum(axis=0), self._total(""))

    @property
    def _mean_weight(self) -> Floats:
        return _mean((self.counts * self.weight[""]).sum(axis=0), self._total(""))

    def _effective_sample(self, form: str) -> Floats:
        weight = self.weight[form]
        return _ratio((self.counts * weight).sum(axis=0) ** 2, (self.counts * weight**2).sum(axis=0))

    def _weighted(self, form: str) -> Floats:
        return self.quality[form] * self.weight[form]

    def _total(self, form: str) -> Floats:
        return np.asarray((self.counts * self.weight[form] if form else self.counts).sum(axis=0))


@dataclass(frozen=True, eq=False)
class Table:
    """One side by cell: what its omegas are sums of, whatever the multiplicities; tables are sparse."""

    pairs: Integers  # the (named, shown) of each cell, `(cells, 2)`
    counts: Any  # how many of the side's captions each image has in each cell, `(cells, images)`
    trials: list[Cells]
    naming: Any  # which cells have each named number, `(names, cells)`
    showing: Any  # which images show each shown number, `(shown, images)`

    @classmethod
    def of(cls, side: Side, shown: Integers, trials: Sequence[Tested], names: int) -> Table:
        """A side's captions by cell. `shown`: the number of what each image shows; `names`: how many are named."""
        width = int(shown.max(initial=0)) + 1
        keys, cell = np.unique(side.named * width + shown[side.image], return_inverse=True)
        pairs, cell = np.stack(np.divmod(keys, width), axis=1), cell.reshape(-1)
        images, known = len(shown), np.flatnonzero(shown != NOT_SHOWN)

        def cells_of(trial: Tested) -> Cells:
            place, within = np.unique(cell[trial.rows], return_inverse=True)

            def by_cell(values: Floats) -> Any:
                return sparse(values, (within.reshape(-1), side.image[trial.rows]), (len(place), images))

            quality = {attacker: by_cell(values) for attacker, values in trial.quality.items()}
            return Cells(place, by_cell(np.ones(len(trial.rows))), quality)

        return cls(
            pairs,
            _members(cell, side.image, images, len(pairs)),
            [cells_of(trial) for trial in trials],
            _members(pairs[:, 0], np.arange(len(pairs)), len(pairs), names),
            _members(shown[known], known, images, int(shown.max(initial=-1)) + 1),
        )

    def omegas(
        self,
        multiplicity: Floats,
        target: Floats | None = None,
        common: Flags | None = None,
        *,
        inverse: bool = False,
        bayes: bool = True,
    ) -> Iterator[Omega]:
        """The omegas of each of a side's trials, one after the other: they hold large arrays. `multiplicity`: how often
        each image counts. `target`: `pi(k)`, the frequency of each named number, `(names, replicates)`, that matched
        DBAC weighs the side to; None for the published form alone. `common`: which named numbers occur on both sides.
        `bayes`: False leaves the published weight out. Source: DBAC Eq. 5, 6 and 8; the matched form is this project's
        own."""
        named, shown = self.pairs.T
        counts = np.asarray(self.counts @ multiplicity)
        named_share = (self.naming @ counts) / counts.sum(axis=0)
        showing = self.showing @ multiplicity
        per_shown = _ratio(1.0, showing / showing.sum(axis=0))[shown]
        weight = named_share[named] * per_shown
        prior = _mean((counts * weight).sum(axis=0), counts.sum(axis=0))
        weights = {"": weight if bayes else np.ones_like(weight)}
        if target is not None and common is not None:
            weights[MATCHED] = (_ratio(target, named_share) * common[:, None])[named] * per_shown
        for cells in self.trials:
            quality = {attacker: np.asarray(values @ multiplicity) for attacker, values in cells.quality.items()}
            of_cells = {form: weight[cells.place] for form, weight in weights.items()}
            if MATCHED in weights:
                quality[MATCHED] = quality[""]
                of_cells |= {BLIND: of_cells[MATCHED]} if BLIND in quality else {}
            yield Omega(np.asarray(cells.counts @ multiplicity), quality, of_cells, prior, inverse)

    def shares(self, pairs: Integers, shown_sets: Flags, named_sets: Flags) -> list[Any]:
        """How the captions in each of a trial's cells are shared among pairs of a label that the image shows with one
        that the caption names, equally: sparse, `(pairs, cells)`. The last label of either kind is "nothing". `pairs`:
        as `shown label * (named labels + 1) + named label`. `shown_sets`, `named_sets`: the labels of each number,
        `(numbers, labels)`."""
        named, shown = self.pairs.T
        shares = _products(_shares(shown_sets)[shown], _shares(named_sets)[named])[:, pairs]
        return [shares[cells.place].T.tocsr() for cells in self.trials]


def number_sets(flags: Flags) -> tuple[Integers, Flags]:
    """A number for each row of flags `(n, labels)`, and the set of each number, `(numbers, labels)`."""
    packed = np.packbits(flags, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, numbers = np.unique(rows, return_index=True, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), flags[first]


def occurrences(
    side: Side, shown: Integers, rows: Integers, shown_sets: Flags, named_sets: Flags
) -> tuple[Floats, Floats]:
    """How many captions have each of all pairs, see `Table.shares`, and how many an image with its shown label."""
    has_shown, has_named = ((_shares(sets) > 0).astype(np.float64) for sets in (shown_sets, named_sets))
    captions = _members(shown[side.image[rows]], side.named[rows], len(named_sets), len(shown_sets))
    both = (has_shown.T @ captions @ has_named).toarray()
    base = has_shown.T @ captions.sum(axis=1)
    return both.reshape(-1), np.repeat(base, both.shape[1])


def normalized_difference(model: Any, human: Any) -> Any:
    """DBAC (Eq. 7 and 8): `(omega_M - omega_H) / (omega_M + omega_H)`, in (-1, 1); 0 where both are 0."""
    return amplification_part(model, human, model, human)


def amplification_part(model: Any, human: Any, omega_model: Any, omega_human: Any) -> Any:
    """What parts of either omega add to DBAC: over all pairs they sum to the normalized difference of the omegas."""
    return _ratio(np.asarray(model) - np.asarray(human), np.asarray(omega_model) + np.asarray(omega_human))


def _shares(sets: Flags) -> Any:
    """Each set shared equally among its labels, sparse, `(sets, labels + 1)`: the last column is of no label."""
    flags = np.column_stack([sets, ~sets.any(axis=1)])
    row, label = np.nonzero(flags)
    return sparse(1 / flags.sum(axis=1)[row], (row, label), flags.shape)


def _products(left: Any, right: Any) -> Any:
    """The products of all entries of a row of `left` with all of that row of `right`: `(rows, columns * columns)`."""
    outer = left.tocoo()
    inner = right[outer.coords[0]].tocoo()
    entry, column = inner.coords
    values = outer.data[entry] * inner.data
    place = (outer.coords[0][entry], outer.coords[1][entry] * right.shape[1] + column)
    return sparse(values, place, (left.shape[0], left.shape[1] * right.shape[1]))


def _members(group: Integers, member: Integers, members: int, groups: int) -> Any:
    """How often each group has each member, from one group and one member a row: sparse, `(groups, members)`."""
    return sparse(np.ones(len(group)), (group, member), (groups, members))


def _mean(total: Any, count: Any) -> Floats:
    """The quotient, and nan where nothing was counted."""
    return _ratio(total, count, np.nan)


def _ratio(numerator: Any, denominator: Any, otherwise: float = 0.0) -> Floats:
    """The quotient, and something else where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Floats = np.divide(top, bottom, out=np.full_like(bottom, otherwise), where=bottom != 0)
    return quotient
