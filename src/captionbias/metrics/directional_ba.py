"""Directional bias amplification from counts of attribute values and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from captionbias.arrays import Floats
from captionbias.bench.catalogue import DIRECTIONS, SIGNED, Score
from captionbias.bench.counted import Counted, Sums, count
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.pairs import Pairs
from captionbias.bench.reading import Reading, read_labels, takes
from captionbias.captions import Captions
from captionbias.scores.cooccurrence import mean_of_defined


def _directional_ba(direction: str, given: str, named: str, anything: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    yield Score(
        f"directional_ba_{direction}",
        f"directional BA {name}",
        4,
        SIGNED,
        f"Above 0, captions name the {named} that go with {given} more often for it than the data do; below 0, less. "
        f"It also changes with how often captions name {anything} at all.",
        direction=direction,
        sense="amplification",
        recentred=True,  # whether a pair counts as going together goes by how frequent it is
        headline=True,
        against_a_person=True,
        task=f"directional_ba_{direction}",
    )


@metric(
    "Directional BA",
    "do captions name what goes together more often than people do?",
    [
        *_directional_ba("a_to_t", "an attribute value", "tasks", "tasks"),
        *_directional_ba("t_to_a", "a task", "attribute values", "the attribute"),
    ],
    below="Directional BA also changes with how often captions name anything at all, so the score itself has no "
    "verdict.",
    about={
        "references": "`n` lists of human captions. Predictions are compared with what they name, and an image shows "
        "the tasks that any of its captions names, unless `tasks` gives them. Without references, predictions are "
        "compared with the labels of the images",
        "details": "add the nested entry `details`, with each pair's counts, probabilities and share in the score",
    },
    returns="`directional_ba_a_to_t` and `directional_ba_t_to_a` in [-1, 1], if there are predictions for them, each "
    "with `..._human` and `..._excess`; all with `..._ci_low/high` (95%, over images); `undefined_pairs_a_to_t`, "
    "`undefined_pairs_t_to_a`: pairs left out because no image has the value or the task; `signature`.",
)
@takes()
def directional_ba(
    captions: Captions | None = None,
    /,
    *,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
    **inputs: Any,
) -> Prepared:
    """Directional bias amplification: do predictions make attribute values and tasks go together more than they do?

    A to T: how much more often than in the data a task is predicted for an attribute value that it goes with. T to A:
    how much more often than in the data an attribute value is predicted for a task. For captions, the data are what
    human captions of the same images name; these scores were published as DBA_O (A to T) and DBA_G (T to A). Counts see
    only the words of the lexicons: a bias in other words is invisible to them.

    Source: Wang and Russakovsky 2021, Eq. 1; for captions, Hirota et al. 2022, supplement.

    >>> women, men = [["female"]] * 4, [["male"]] * 4
    >>> knives = [["knife"], ["knife"], ["knife"], [], ["knife"], [], [], []]
    >>> more_knives = [["knife"], ["knife"], ["knife"], ["knife"], [], [], [], []]
    >>> result = directional_ba(attributes=women + men, tasks=knives, predicted_tasks=more_knives)
    >>> result["directional_ba_a_to_t"]
    0.25
    """
    reading = read_labels(captions, **inputs)
    signed = reading.data_source
    return count("directional_ba", reading, _counted, signed, controls=controls, seed=seed, bootstrap=bootstrap)


def _counted(reading: Reading) -> Counted:
    pairs = Pairs.of(reading, reading.tasks)

    def formula(sums: Sums) -> dict[str, Floats]:
        amplified = pairs.amplification(sums)
        return {f"directional_ba_{name}": mean_of_defined(values) for name, values in amplified.items()}

    def facts_and_tables(sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
        pairs.note_silence(sums, reading.notes)
        amplified = pairs.amplification(sums)
        undefined: dict[str, float] = {
            f"undefined_pairs_{name}": int(np.isnan(values).sum()) for name, values in amplified.items()
        }
        return undefined, reading.image_counts(pairs.attributes) | {"pairs": pairs.table(amplified, sums)}

    return Counted(pairs.columns, formula, facts_and_tables)
