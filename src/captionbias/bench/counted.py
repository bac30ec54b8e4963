"""What metrics that count stand on: labels or captions read once, sums resampled, one more person counted beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Array, Floats, Integers, sparse
from captionbias.bench.labels import ImageLabels
from captionbias.bench.measurement import Scores
from captionbias.bench.person import beyond_a_person
from captionbias.statistics.samples import Sample, bootstrap_samples


class Counted(NamedTuple):
    """What a metric makes of the labels of some images and captions.

    Attributes:
        formula: each score, `(replicates,)`, with group `g` of images drawn `multiplicity[g, r]` times; None: once.
        facts: what has no interval, by its key.
        details: nested tables.
    """

    formula: Callable[[Floats | None], Mapping[str, Floats]]
    facts: Mapping[str, float] = {}
    details: Mapping[str, Any] = {}


def sums_by_value(labels: ImageLabels, groups: Integers, columns: Array) -> Callable[[Floats | None], Floats]:
    """The sums, by the value of the image, of what each prediction counts, `(predictions, columns)`: `(values, columns,
    replicates)` of the multiplicity of groups, as `Counted` has it."""
    value, width = labels.shown.attributes.argmax(axis=1)[labels.image], columns.shape[1]
    row, column = np.nonzero(columns)
    places = value[row] * width + column, groups[labels.image[row]]
    shape = len(labels.attributes) * width, int(groups.max()) + 1
    table = sparse(columns[row, column] * labels.weight[row], places, shape)

    def sums(multiplicity: Floats | None) -> Floats:
        flat = table.sum(axis=1)[:, None] if multiplicity is None else table @ multiplicity
        return np.asarray(flat, np.float64).reshape(-1, width, flat.shape[1])

    return sums


def count(
    metric: str,
    labels: ImageLabels,
    counted: Callable[[ImageLabels, Integers], Counted],
    signed: Mapping[str, Any],
    *,
    controls: bool,
    seed: int,
    bootstrap: int,
) -> Scores:
    """The scores of labels and, with `controls`, of one more person in the captioner's place. `counted`: what the
    metric makes of labels and of the group of each image; `signed`: what else is in the signature."""

    def prepared(side: ImageLabels) -> tuple[Counted, int]:
        groups = side.groups(seed)
        return counted(side, groups), int(groups.max()) + 1

    def samples(made: Counted, groups: int) -> dict[str, Sample]:
        def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
            with np.errstate(invalid="ignore", divide="ignore"):
                return {key: values[None] for key, values in made.formula(multiplicity).items()}

        return bootstrap_samples(quantities, groups, 1, bootstrap, seed)

    sides = labels.and_a_person(prepared, controls, seed)
    scores = beyond_a_person(metric, *(samples(*side) for side in sides))
    settings = {**labels.sources, **signed, "seed": seed, "bootstrap": bootstrap}
    made, _ = sides[0]
    return Scores(scores, dict(made.facts), settings, labels.notes, dict(made.details))
