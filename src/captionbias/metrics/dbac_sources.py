"""Where a DBAC comes from: what each attribute value with each task adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.bench.catalogue import NET, RATIO, SIGNED
from captionbias.metrics.dbac_direction import Direction
from captionbias.scores.omega import BLIND, MATCHED, Omega, amplification_part, normalized_difference, occurrences
from captionbias.statistics.intervals import bootstrap_interval

MOST_INTERVALS = 300  # replicates are kept for the largest pairs alone: lists of thousands of tasks fit into memory

# What pairs of labels add to a trial's scores, from its number and both sides' omegas: `(pairs, replicates)` each.
PartsOf = Callable[[int, Mapping[str, Omega]], dict[str, Floats]]


@dataclass(frozen=True, eq=False)
class Sources:
    """The omegas and the score of one direction, divided among pairs of an attribute value and a task. A test caption's
    part of omega, its quality times its weight over the number of test captions, goes to what its image shows with what
    it names; several share it equally, and what is not there (a caption that names nothing) is None. The pairs with the
    largest parts come first, see `_ranked_by`."""

    direction: Direction
    numbers: Integers  # see `Table.shares`, `(pairs,)`
    estimate: dict[str, Floats]  # each quantity of theirs, `(pairs,)`
    parts_of: PartsOf  # what the largest of them add in a trial
    drawn: list[dict[str, Floats]] = field(default_factory=list)  # what they add in the blocks of replicates so far

    @classmethod
    def of(cls, direction: Direction) -> Sources:
        """The pairs that occur, in order, without replicates yet."""
        counts, named = _counts(direction)
        pairs = np.flatnonzero(np.any([of_side > 0 for of_side in counts.values()], axis=0))
        estimate = _estimate(direction, pairs)
        order = np.argsort(-np.abs(estimate[_ranked_by(estimate)]), kind="stable")
        pairs, estimate = pairs[order], {quantity: values[order] for quantity, values in estimate.items()}
        scored = "amplification" if len(counts) == 2 else "omega"
        drawn = [quantity for quantity in estimate if quantity.startswith(scored)]
        if len(counts) == 2:
            estimate |= {
                f"difference{form}": normalized_difference(estimate[f"omega_m{form}"], estimate[f"omega_h{form}"])
                for form in ("", MATCHED)
            }
        for side in counts:
            estimate |= {f"named_{side}": named[side][pairs], f"test_captions_{side}": counts[side][pairs]}
        return cls(direction, pairs, estimate, _parts_of(direction, pairs[:MOST_INTERVALS], drawn))

    def quantities(self, multiplicity: Floats, weights: Floats | None) -> dict[str, Floats]:
        """Those of the answers; what the pairs add in these replicates is kept."""
        if weights is None:
            return self.direction.quantities(multiplicity)
        scores, parts = _with_parts(self.direction, multiplicity, self.parts_of, weights)
        self.drawn.append(parts)
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
        intervals = self._intervals()
        shown_label, named_label = np.divmod(self.numbers, len(direction.named_labels) + 1)
        shown_names, named_names = [*direction.shown_labels, None], [*direction.named_labels, None]
        rows = []
        for number in range(len(self.numbers)):
            labels = shown_names[shown_label[number]], named_names[named_label[number]]
            attribute, task = labels if direction.name == "a_to_t" else labels[::-1]
            quantities = {quantity: float(values[number]) for quantity, values in self.estimate.items()}
            quantities |= intervals[number] if number < len(intervals) else {}
            rows.append(
                {"direction": direction.name, "attribute": attribute, "task": task}
                | {quantity: value for quantity, value in quantities.items() if not np.isnan(value)}
            )
        return rows

    def _intervals(self) -> list[dict[str, float]]:
        """The intervals of each of the first pairs."""
        intervals: list[dict[str, float]] = [{} for _ in self.numbers[:MOST_INTERVALS]]
        for quantity in self.drawn[0] if self.drawn else ():
            replicates = np.concatenate([block[quantity] for block in self.drawn], axis=-1)
            scale = RATIO if quantity.startswith("omega") else NET if quantity.endswith("_net") else SIGNED
            for number, of_pair in enumerate(replicates):
                low, high = bootstrap_interval(float(self.estimate[quantity][number]), of_pair, scale.ends)
                intervals[number] |= {f"{quantity}_ci_low": low, f"{quantity}_ci_high": high}
        return intervals


def _with_parts(
    direction: Direction, multiplicity: Floats, parts_of: PartsOf, weights: Floats
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The direction's scores, and the means over trials, `weights` `(trials, replicates)`, of what pairs of labels add,
    `(pairs, replicates)`; a trial is left out where it is undefined."""
    sums: dict[str, Any] = defaultdict(float)
    counted: dict[str, Any] = defaultdict(float)

    def add(number: int, omegas: Mapping[str, Omega]) -> None:
        for quantity, of_trial in parts_of(number, omegas).items():
            known = ~np.isnan(of_trial[:1])  # in a replicate all pairs are defined or none is
            sums[quantity] += weights[number] * np.where(known, of_trial, 0.0)
            counted[quantity] += weights[number] * known

    scores = direction.quantities(multiplicity, add)
    with np.errstate(invalid="ignore"):
        return scores, {quantity: np.asarray(total / counted[quantity]) for quantity, total in sums.items()}


def _ranked_by(estimate: Mapping[str, Floats]) -> str:
    """The quantity whose size puts the pairs in order; all of a direction's pairs have a part of it or none has."""
    by = [name for name in ("amplification_net", "amplification_matched", "amplification") if name in estimate] or list(
        estimate
    )
    return next((name for name in by if not np.isnan(estimate[name]).any()), by[-1])


def _counts(direction: Direction) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Test captions with each pair, a trial, by side; and the share that names the one where the other is."""
    counts: dict[str, Any] = defaultdict(float)
    totals: dict[str, Any] = defaultdict(float)
    for design in direction.designs:
        sets = design.shown_sets, direction.named_sets
        for side, captions in design.captions.items():
            tested = np.concatenate([trial.rows for trial in design.tested[side]])
            counts[side] += occurrences(captions, design.shown, tested, *sets)[0] / direction.trials
            totals[side] += np.stack(occurrences(captions, design.shown, np.arange(len(captions.image)), *sets))
    with np.errstate(invalid="ignore"):
        return counts, {side: both / base for side, (both, base) in totals.items()}


def _estimate(direction: Direction, pairs: Integers) -> dict[str, Floats]:
    """The means over trials of the pairs' parts of the omegas and of the scores, with every image once: `(pairs,)`."""
    weights = np.ones((direction.trials, 1))
    _, parts = _with_parts(direction, direction.every_image, _parts_of(direction, pairs), weights)
    return {quantity: values[:, 0] for quantity, values in parts.items()}


def _parts_of(direction: Direction, pairs: Integers, quantities: Collection[str] | None = None) -> PartsOf:
    """Reads off a trial what the pairs add to its omegas and to its scores, or these `quantities` of all that."""
    shares = direction.shares(pairs)

    def read(number: int, omegas: Mapping[str, Omega]) -> dict[str, Floats]:
        forms = next(iter(omegas.values())).weight
        of_side = {
            form: {side: omega.parts(form, shares[number][side]) for side, omega in omegas.items()} for form in forms
        }
        parts = {f"omega_{side}{form}": of for form in forms if form != BLIND for side, of in of_side[form].items()}
        if len(omegas) == 2:
            added = {
                form: amplification_part(of["m"], of["h"], omegas["m"].value(form), omegas["h"].value(form))
                for form, of in of_side.items()
            }
            if BLIND in added:
                added["_net"] = added[MATCHED] - added.pop(BLIND)
            parts |= {f"amplification{form}": of for form, of in added.items()}
        return parts if quantities is None else {quantity: parts[quantity] for quantity in quantities}

    return read
