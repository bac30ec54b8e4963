"""What metrics that count stand on: columns of each caption, whose sums are resampled, and a formula of these sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.bench.catalogue import EXCESS, HUMAN, scores_of
from captionbias.bench.measurement import Prepared, Scores
from captionbias.bench.reading import IMAGES, Reading, Side
from captionbias.statistics.groups import GROUPS, UNIT, NamedUnits, totals, units_of
from captionbias.statistics.samples import LargestOf, Sample, bootstrap_samples


class Columns(NamedTuple):
    """What each caption, or row of labels, counts in: `(rows, columns)`, dense or sparse. Those of images that are not
    resampled count once in every replicate. `names`: of columns of which other images have others."""

    side: Side
    counts: Any
    resampled: bool = True
    names: Sequence[str] | None = None

    def units(self, groups: Integers) -> Any:
        """See `units_of`; `groups`: of each image."""
        rows = groups[self.side.image] if self.resampled else np.zeros_like(self.side.image)
        units = units_of(self.counts, self.side.weight, rows)
        return units if self.names is None else NamedUnits(self.names, units)


Sums = Mapping[Any, Floats]  # of each table of columns the sums, `(columns, replicates)`


def sums_of_rows(columns: Mapping[Any, Columns]) -> Sums:
    """The sums of all rows, each once."""
    return totals({name: of._replace(resampled=False).units(of.side.image) for name, of in columns.items()})


class Counted(NamedTuple):
    """What a metric counts of a reading.

    Attributes:
        columns: tables of columns, by any name.
        formula: each score, `(replicates,)`, of the sums of each table, `(columns, replicates)`; `(parts, replicates)`
            of a score that is the largest of several.
        told: what has no interval, by its key, and nested tables, of the sums of all images, `(columns, 1)`.
    """

    columns: Mapping[Any, Columns]
    formula: Callable[[Sums], Mapping[str, Floats]]
    told: Callable[[Sums], tuple[Mapping[str, float], Mapping[str, Any]]]


def count(
    metric: str,
    reading: Reading,
    counted: Callable[[Reading], Counted],
    signed: Mapping[str, Any],
    *,
    controls: bool,
    seed: int,
    bootstrap: int,
) -> Prepared:
    """The scores of a reading and, with `controls`, of one more person in the captioner's place. `counted`: what the
    metric counts of either; `signed`: what else is in the signature."""

    def sides() -> list[tuple[Counted, Mapping[Any, Any], Integers]]:
        """What is counted of each side, its units, and the groups that its images are in."""

        def prepare(side: Reading) -> tuple[Counted, Mapping[Any, Any], Integers]:
            # Of images that are not here each group is one.
            made, groups = counted(side), np.arange(GROUPS) if side.counted else side.groups(seed)
            rows = {name: of.units(groups) for name, of in made.columns.items()}
            units = {**rows, **(side.counted[0] if side.counted else side.overview(groups))}
            return made, units, np.flatnonzero(units[IMAGES].sum(axis=0))

        return reading.prepare_with_person(prepare, controls, seed)

    def samples(made: Counted, units: Mapping[Any, Any], groups: Integers) -> dict[str, Sample]:
        fixed = {name for name, of in made.columns.items() if not of.resampled}
        tables = {name: units[name][:, groups] for name in made.columns if name not in fixed}
        once = totals({name: units[name] for name in fixed})

        def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
            sums = {name: np.asarray(table @ multiplicity) / UNIT for name, table in tables.items()}
            with np.errstate(invalid="ignore", divide="ignore"):
                return {key: values[..., None, :] for key, values in made.formula({**sums, **once}).items()}

        found = bootstrap_samples(quantities, len(groups), 1, bootstrap, seed)
        return {
            key: of if of.values.ndim == 1 else LargestOf.of(map(of.__getitem__, range(len(of.values))))
            for key, of in found.items()
        }

    def measured() -> Scores:
        every = sides()
        scores = excess_over_person(metric, *(samples(*side) for side in every))
        made, units, _ = every[0]
        facts, details = made.told(totals(units))
        return Scores(scores, dict(facts), reading.notes, dict(details), doubts=reading.doubts(metric))

    settings = {**reading.signed, **signed, "controls": controls, "seed": seed, "bootstrap": bootstrap}
    return Prepared(settings, measured, lambda: [units for _, units, _ in sides()])


def gaps(of_values: Floats) -> Floats:
    """How much more each value has than the others on average, `(..., values, replicates)`; of two, than the other.

    >>> gaps(np.array([[3.0], [1.0], [2.0]])).tolist()
    [[1.5], [-1.5], [0.0]]
    """
    values = of_values.shape[-2]
    return np.asarray((values * of_values - of_values.sum(axis=-2, keepdims=True)) / max(values - 1, 1))


def excess_over_person(metric: str, captioner: Mapping[str, Sample], *pair: Mapping[str, Sample]) -> dict[str, Sample]:
    """The captioner's scores and, if there is a pair of the captioner and one more person on the same images, what the
    person scores, and the captioner beyond it, of the metric's scores that are compared with a person's."""
    if not pair:
        return dict(captioner)
    of_captioner, person = pair
    keys = [score.key for score in scores_of(metric) if score.against_a_person and score.key in person]
    beyond = {f"{key}{EXCESS}": of_captioner[key] - person[key] for key in keys if key in of_captioner}
    return {**captioner, **{f"{key}{HUMAN}": person[key] for key in keys}, **beyond}
