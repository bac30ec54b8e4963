"""What metrics that count stand on: columns of each caption, whose sums are resampled, and a formula of these sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Floats, Integers, sparse
from captionbias.bench.catalogue import EXCESS, HUMAN, scores_of
from captionbias.bench.measurement import Prepared, Scores
from captionbias.bench.reading import Reading, Side
from captionbias.statistics.samples import Sample, bootstrap_samples


class Columns(NamedTuple):
    """What each caption, or row of labels, counts in: `(rows, columns)`, dense or sparse. Those of images that are not
    resampled count once in every replicate."""

    side: Side
    counts: Any
    resampled: bool = True


Sums = Mapping[Any, Floats]  # of each table of columns the sums, `(columns, replicates)`


class Counted(NamedTuple):
    """What a metric counts of a reading.

    Attributes:
        columns: tables of columns, by any name.
        formula: each score, `(replicates,)`, of the sums of each table, `(columns, replicates)`.
        told: what has no interval, by its key, and nested tables, of the sums of all images, `(columns, 1)`.
    """

    columns: Mapping[Any, Columns]
    formula: Callable[[Sums], Mapping[str, Floats]]
    told: Callable[[Sums], tuple[Mapping[str, float], Mapping[str, Any]]]


def totals(columns: Mapping[Any, Columns]) -> Sums:
    """The sums of all rows, each once."""
    return {name: np.asarray(of.counts.T @ of.side.weight)[:, None] for name, of in columns.items()}


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

    def samples(made: Counted, groups: Integers) -> dict[str, Sample]:
        number = int(groups.max()) + 1
        tables = {name: _by_group(of, groups, number) for name, of in made.columns.items() if of.resampled}
        fixed = totals({name: of for name, of in made.columns.items() if not of.resampled})

        def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
            sums = {name: np.asarray(table @ multiplicity, np.float64) for name, table in tables.items()}
            with np.errstate(invalid="ignore", divide="ignore"):
                return {key: values[None] for key, values in made.formula({**sums, **fixed}).items()}

        return bootstrap_samples(quantities, number, 1, bootstrap, seed)

    def measured() -> Scores:
        sides = reading.prepare_with_person(lambda side: (counted(side), side.groups(seed)), controls, seed)
        scores = excess_over_person(metric, *(samples(*side) for side in sides))
        made, _ = sides[0]
        facts, details = made.told(totals(made.columns))
        return Scores(scores, dict(facts), reading.notes, dict(details), doubts=reading.doubts(metric))

    return Prepared({**reading.signed, **signed, "controls": controls, "seed": seed, "bootstrap": bootstrap}, measured)


def _by_group(of: Columns, groups: Integers, number: int) -> Any:
    """The sums over the rows of each group of images, sparse, `(columns, groups)`."""
    from scipy.sparse import coo_array

    counts = coo_array(of.counts)
    row, column = counts.coords
    return sparse(counts.data * of.side.weight[row], (column, groups[of.side.image[row]]), (counts.shape[1], number))


def excess_over_person(metric: str, captioner: Mapping[str, Sample], *pair: Mapping[str, Sample]) -> dict[str, Sample]:
    """The captioner's scores and, if there is a pair of the captioner and one more person on the same images, what the
    person scores, and the captioner beyond it, of the metric's scores that are compared with a person's."""
    if not pair:
        return dict(captioner)
    of_captioner, person = pair
    keys = [score.key for score in scores_of(metric) if score.against_a_person and score.key in person]
    beyond = {f"{key}{EXCESS}": of_captioner[key] - person[key] for key in keys if key in of_captioner}
    return {**captioner, **{f"{key}{HUMAN}": person[key] for key in keys}, **beyond}
