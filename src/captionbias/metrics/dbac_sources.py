"""Where a DBAC comes from: what each attribute value with each task adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench import catalogue
from captionbias.metrics.dbac_direction import BOTH, SHOWN_NAMED, ByForm, Compared, Direction, Key, differences
from captionbias.scores.omega import BLIND, MATCHED, NET, PUBLISHED, Told, mean, normalized_difference
from captionbias.statistics.intervals import bootstrap_interval

MOST_INTERVALS = 300  # replicates are kept for the largest pairs alone: lists of thousands of tasks fit into memory


@dataclass(frozen=True, eq=False)
class Sources:
    """The omegas and the score of one direction, divided among pairs of an attribute value and a task. A test caption's
    part of omega, its quality times its weight over the number of test captions, goes to what its image shows with what
    it names; several share it equally, and what is not there (a caption that names nothing) is None. The pairs with the
    largest parts come first."""

    direction: Direction
    pairs: Integers  # `shown label * (named labels + 1) + named label`; the last label of either is "nothing"
    estimate: dict[Key, Floats]  # each quantity of theirs, `(pairs,)`
    shares: list[dict[str, Any]]  # of those with intervals, by trial and side: see `_shares`
    drawn: list[dict[Key, Floats]] = field(default_factory=list)  # what they add in the blocks of replicates so far

    @classmethod
    def of(cls, direction: Direction) -> Sources:
        """The pairs that occur, in order, without replicates yet."""
        counts, named = _counts(direction)
        pairs = np.flatnonzero(np.any([of_side > 0 for of_side in counts.values()], axis=0))
        shares = [
            {side: _shares(direction, compared, told)[:, pairs].T.tocsr() for side, told in tested.items()}
            for compared, tested in zip(direction.compared, direction.tested, strict=True)
        ]
        _, parts = _with_parts(direction, direction.every_image, shares, np.ones((len(shares), 1)))
        ranks = [key for form in (NET, MATCHED, PUBLISHED) if (key := ("amplification", form)) in parts] or [*parts]
        # All pairs of a direction have a part of a quantity, or none has.
        rank = next((key for key in ranks if not np.isnan(parts[key]).any()), ranks[-1])
        order = np.argsort(-np.abs(parts[rank][:, 0]), kind="stable")
        omegas_first = sorted(parts.items(), key=lambda part: part[0][0] == "amplification")
        estimate = {key: of[order, 0] for key, of in omegas_first}
        for form in (PUBLISHED, MATCHED) if len(counts) == 2 else ():
            estimate["difference", form] = normalized_difference(*(estimate[f"omega_{side}", form] for side in "mh"))
        for side in counts:
            estimate[f"named_{side}", ""] = named[side][pairs[order]]
            estimate[f"test_captions_{side}", ""] = counts[side][pairs[order]]
        first = [{side: of[order[:MOST_INTERVALS]] for side, of in trial.items()} for trial in shares]
        return cls(direction, pairs[order], estimate, first)

    def quantities(self, multiplicity: Floats, weights: Floats | None) -> dict[str, Floats]:
        """The direction's scores; what the pairs add in these replicates is kept."""
        if weights is None:
            return self.direction.quantities(multiplicity)
        scores, parts = _with_parts(self.direction, multiplicity, self.shares, weights)
        added = {key: of for key, of in parts.items() if key[0] == "amplification"}
        self.drawn.append(added or parts)
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
        name, shown_named = self.direction.name, np.divmod(self.pairs, len(self.direction.named_labels) + 1)
        labels = dict(zip(SHOWN_NAMED[name], (self.direction.shown_labels, self.direction.named_labels), strict=True))
        numbers = dict(zip(SHOWN_NAMED[name], shown_named, strict=True))
        numbered = range(len(self.pairs))
        rows = [{f"{key}{form}": float(of[row]) for (key, form), of in self.estimate.items()} for row in numbered]
        for key, form in self.drawn[0] if self.drawn else ():
            replicates = np.concatenate([block[key, form] for block in self.drawn], axis=-1)
            signed = catalogue.NET if form == NET else catalogue.NORMALIZED
            ends = (catalogue.RATIO if key != "amplification" else signed).ends
            for row, of_pair in zip(rows, replicates, strict=False):
                interval = bootstrap_interval(row[f"{key}{form}"], of_pair, ends)
                row |= zip((f"{key}{form}_ci_low", f"{key}{form}_ci_high"), interval, strict=True)
        return [
            {"direction": name}
            | {kind: (*labels[kind], None)[numbers[kind][number]] for kind in BOTH}
            | {key: value for key, value in row.items() if not np.isnan(value)}
            for number, row in enumerate(rows)
        ]


def _with_parts(
    direction: Direction, multiplicity: Floats, shares: Sequence[Mapping[str, Any]], weights: Floats
) -> tuple[dict[str, Floats], dict[Key, Floats]]:
    """The direction's scores, and the means over trials, `weights` `(trials, replicates)`, of what pairs of labels add,
    `(pairs, replicates)`; a trial is left out where it is undefined."""
    sums: dict[Key, Any] = defaultdict(float)
    counted: dict[Key, Any] = defaultdict(float)
    trials: list[ByForm] = []
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
    return direction.keyed(direction.scores(trials)), means


def _counts(direction: Direction) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Test captions with each pair of labels, a trial, by side; and the share that names the one where the other is."""
    tested: dict[str, Any] = defaultdict(list)
    named: dict[str, Any] = defaultdict(float)
    showing: dict[str, Any] = defaultdict(float)

    def counted(shares: Any, told: Told) -> Floats:
        """How many captions have each label, or each pair of labels."""
        return np.asarray((shares > 0).T @ told.drawn(direction.every_image)[-1][:, 0])

    for compared, trial in zip(direction.compared, direction.tested, strict=True):
        for side, told in trial.items():
            tested[side].append(counted(_shares(direction, compared, told), told))
    for compared in dict.fromkeys(direction.compared):
        for side, every in compared.every.items():
            named[side] += counted(_shares(direction, compared, every), every)
            showing[side] += counted(_label_shares(compared.shown[1])[every.shown], every)
    with np.errstate(invalid="ignore"):
        shares = {side: of / showing[side].repeat(len(of) // len(showing[side])) for side, of in named.items()}
    return {side: sum(of) / len(of) for side, of in tested.items()}, shares


def _shares(direction: Direction, compared: Compared, told: Told) -> Any:
    """How captions with each pair of numbers are shared among all pairs of labels, equally: sparse, `(pairs of numbers,
    pairs of labels)`."""
    shown, named = _label_shares(compared.shown[1])[told.shown].tocoo(), _label_shares(direction.named_sets)
    entries = named[told.named[shown.coords[0]]].tocoo()
    entry, label = entries.coords
    row, shown_label = (of[entry] for of in shown.coords)
    shape = len(told.named), shown.shape[1] * named.shape[1]
    return sparse(shown.data[entry] * entries.data, (row, shown_label * named.shape[1] + label), shape)


def _label_shares(sets: Flags) -> Any:
    """Each set shared equally among its labels, sparse, `(sets, labels + 1)`: the last column is of no label."""
    flags = np.column_stack([sets, ~sets.any(axis=1)])
    row, label = np.nonzero(flags)
    return sparse(1 / flags.sum(axis=1)[row], (row, label), flags.shape)
