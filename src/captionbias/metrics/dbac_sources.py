"""Where a DBAC comes from: what each attribute value with each task adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.catalogue import NET as NET_SCALE
from captionbias.bench.catalogue import RATIO, SIGNED
from captionbias.metrics.dbac_direction import Direction, Key, Omegas, differences
from captionbias.scores.omega import BLIND, MATCHED, NET, PUBLISHED, Told, mean, normalized_difference
from captionbias.statistics.intervals import bootstrap_interval

MOST_INTERVALS = 300  # replicates are kept for the largest pairs alone: lists of thousands of tasks fit into memory


@dataclass(frozen=True, eq=False)
class Sources:
    """The omegas and the score of one direction, divided among pairs of an attribute value and a task. A test caption's
    part of omega, its quality times its weight over the number of test captions, goes to what its image shows with what
    it names; several share it equally, and what is not there (a caption that names nothing) is None. The pairs with the
    largest parts come first: net ones, if there are any, else matched, else published."""

    direction: Direction
    pairs: (
        Integers  # `shown label * (named labels + 1) + named label`, `(pairs,)`; the last label of either is "nothing"
    )
    estimate: dict[Key, Floats]  # each quantity of theirs, `(pairs,)`
    shares: list[dict[str, Any]]  # of the pairs with intervals in each trial's pairs of numbers, by side, sparse
    drawn: list[dict[Key, Floats]] = field(default_factory=list)  # what they add in the blocks of replicates so far

    @classmethod
    def of(cls, direction: Direction) -> Sources:
        """The pairs that occur, in order, without replicates yet."""
        counts, named = _counts(direction)
        pairs = np.flatnonzero(np.any([of_side > 0 for of_side in counts.values()], axis=0))
        shares = [{side: of[:, pairs].T.tocsr() for side, of in trial.items()} for trial in _shares(direction)]
        _, parts = _with_parts(direction, direction.every_image, shares, np.ones((len(shares), 1)))
        estimate = {key: of[:, 0] for key, of in parts.items()}
        order = np.argsort(-np.abs(estimate[_ranked_by(estimate)]), kind="stable")
        pairs, estimate = pairs[order], {key: of[order] for key, of in estimate.items()}
        if len(counts) == 2:
            for form in (PUBLISHED, MATCHED):
                omegas = (estimate[f"omega_{side}", form] for side in "mh")
                estimate["difference", form] = normalized_difference(*omegas)
        for side in counts:
            estimate |= {(f"named_{side}", ""): named[side][pairs], (f"test_captions_{side}", ""): counts[side][pairs]}
        first = [{side: of[order[:MOST_INTERVALS]] for side, of in trial.items()} for trial in shares]
        return cls(direction, pairs, estimate, first)

    def quantities(self, multiplicity: Floats, weights: Floats | None) -> dict[str, Floats]:
        """The direction's scores; what the pairs add in these replicates is kept."""
        if weights is None:
            return self.direction.quantities(multiplicity)
        scores, parts = _with_parts(self.direction, multiplicity, self.shares, weights)
        scored = "amplification" if ("amplification", PUBLISHED) in parts else "omega_"
        self.drawn.append({key: of for key, of in parts.items() if key[0].startswith(scored)})
        return scores

    def rows(self) -> list[dict[str, Any]]:
        """One row a pair that occurs: `direction`, `attribute`, `task`; `omega_m` and `omega_h`, its parts of either
        omega; `amplification`, its part of the score, and `difference`, the normalized difference of its own two parts;
        these four also with `..._matched`; `amplification_net`, its part of the net score, with controls; `named_m` and
        `named_h`, the share of all captions of images that show the one which name the other; `test_captions_m` and
        `test_captions_h`, a trial's captions with both. `amplification_ci_low/high` (and `..._matched_ci_...`,
        `..._net_ci_...`): 95%, over images and trials, of the 300 first rows. Over all rows the parts sum to the omegas
        and the amplifications to the scores. With one side only its omega's parts, with their intervals.
        """
        direction = self.direction
        shown_labels, named_labels = (*direction.shown_labels, None), (*direction.named_labels, None)
        shown, named = np.divmod(self.pairs, len(named_labels))
        rows = [{f"{key}{form}": float(of[n]) for (key, form), of in self.estimate.items()} for n in range(len(shown))]
        for key, form in self.drawn[0] if self.drawn else ():
            replicates = np.concatenate([block[key, form] for block in self.drawn], axis=-1)
            scale = RATIO if key != "amplification" else NET_SCALE if form == NET else SIGNED
            for row, of_pair in zip(rows, replicates, strict=False):
                ends = bootstrap_interval(row[f"{key}{form}"], of_pair, scale.ends)
                row |= zip((f"{key}{form}_ci_low", f"{key}{form}_ci_high"), ends, strict=True)
        sides = ("attribute", "task") if direction.name == "a_to_t" else ("task", "attribute")
        return [
            {"direction": direction.name, sides[0]: shown_labels[first], sides[1]: named_labels[second]}
            | {key: value for key, value in row.items() if not np.isnan(value)}
            for first, second, row in zip(shown, named, rows, strict=True)
        ]


def _with_parts(
    direction: Direction, multiplicity: Floats, shares: Sequence[Mapping[str, Any]], weights: Floats
) -> tuple[dict[str, Floats], dict[Key, Floats]]:
    """The direction's scores, and the means over trials, `weights` `(trials, replicates)`, of what pairs of labels add,
    `(pairs, replicates)`; a trial is left out where it is undefined."""
    sums: dict[Key, Any] = defaultdict(float)
    counted: dict[Key, Any] = defaultdict(float)
    trials: list[Omegas] = []
    for (omegas, terms), of_trial, weight in zip(direction.omegas(multiplicity), shares, weights, strict=True):
        trials.append(omegas)
        parts = {
            side: {form: mean(of_trial[side] @ added, over) for form, (added, over) in of.items()}
            for side, of in terms.items()
        }
        for key, of in differences("amplification", parts, omegas).items():
            known = ~np.isnan(of[:1])  # in a replicate all pairs are defined or none is
            sums[key] += weight * np.where(known, of, 0.0)
            counted[key] += weight * known
    with np.errstate(invalid="ignore"):
        means = {key: np.asarray(total / counted[key]) for key, total in sums.items() if key[1] != BLIND}
    return direction.keyed(trials), means


def _ranked_by(estimate: Mapping[Key, Floats]) -> Key:
    """The quantity whose size puts the pairs in order; all of a direction's pairs have a part of it or none has."""
    by = [key for form in (NET, MATCHED, PUBLISHED) if (key := ("amplification", form)) in estimate] or [*estimate]
    return next((key for key in by if not np.isnan(estimate[key]).any()), by[-1])


def _counts(direction: Direction) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Test captions with each pair, a trial, by side; and the share that names the one where the other is."""
    counts: dict[str, Any] = defaultdict(float)
    totals: dict[str, Any] = defaultdict(float)
    for compared in direction.compared:
        sets = compared.shown[1], direction.named_sets
        for side, every in compared.every.items():
            totals[side] += np.stack(_occurrences(every, *sets))
            for tested in compared.tested:
                counts[side] += _occurrences(tested[side], *sets)[0]
    with np.errstate(invalid="ignore"):
        shares = {side: both / base for side, (both, base) in totals.items()}
    return {side: of / len(direction.seeds) for side, of in counts.items()}, shares


def _occurrences(told: Told, shown_sets: Flags, named_sets: Flags) -> tuple[Floats, Floats]:
    """How many captions have each of all pairs, see `Sources.pairs`, and how many an image with its shown label."""
    has_shown, has_named = ((_label_shares(sets) > 0).astype(np.float64) for sets in (shown_sets, named_sets))
    counts = told.drawn(np.ones((told.sums.shape[1], 1)))[-1][:, 0]
    captions = sparse(counts, (told.shown, told.named), (len(shown_sets), len(named_sets)))
    both = (has_shown.T @ captions @ has_named).toarray()
    base = has_shown.T @ captions.sum(axis=1)
    return both.reshape(-1), np.repeat(base, both.shape[1])


def _shares(direction: Direction) -> Iterator[dict[str, Any]]:
    """How the test captions with each pair of numbers are shared among all pairs of labels, equally, in each trial:
    sparse, `(pairs of numbers, pairs of labels)`, by side."""
    for compared in direction.compared:
        shown, named = _label_shares(compared.shown[1]), _label_shares(direction.named_sets)
        for tested in compared.tested:
            yield {side: _products(shown[told.shown], named[told.named]) for side, told in tested.items()}


def _label_shares(sets: Flags) -> Any:
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
