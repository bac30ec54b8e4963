"""Multi-attribute bias amplification: directional bias amplification over combinations of tasks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.bench.catalogue import DIRECTIONS, DOUBLE_SHARE, SHARE, Scale, Score
from captionbias.bench.checks import no_tasks
from captionbias.bench.counted import Counted, Sums, count, sums_of_rows
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.pairs import (
    KNOWN,
    PREDICTED,
    SETS,
    UNDIRECTED,
    Expand,
    Pairs,
    as_pairs,
    compared_side,
    directions,
    in_parts,
    known_and_predicted,
    set_columns,
)
from captionbias.bench.protocol import whole_number
from captionbias.bench.reading import ATTRIBUTES, TASKS, Reading, read_labels, takes
from captionbias.captions import Captions
from captionbias.errors import InputError, phrase
from captionbias.scores.cooccurrence import mals, mean_of_defined
from captionbias.scores.omega import number_sets

MOST_COMBINATIONS = 5000
EXCHANGES = 40
CELLS_AT_ONCE = 2**24


def _entries(key: str, name: str, meaning: str, direction: str | None = None, scale: Scale = SHARE) -> Iterable[Score]:
    yield Score(
        key,
        f"multi-attribute BA {name}",
        4,
        scale,
        f"How far captions move {meaning}: 0 is best. It has no sign.",
        direction=direction,
        sense="size",
        recentred=True,  # resampling adds to sizes and to variances
        headline=True,
        against_a_person=True,
        task=key,
    )
    yield Score(
        f"{key}_variance",
        f"multi-attribute BA {name}, variance",
        5,
        SHARE,
        "How unequally they do so.",
        row="  variance",
        direction=direction,
        sense="size",
        recentred=True,
        published=True,
        on_cards=False,
    )


def _directed(direction: str, meaning: str) -> Iterable[Score]:
    return _entries(f"multi_directional_ba_{direction}", DIRECTIONS[direction], meaning, direction)


@metric(
    "Multi-attribute BA",
    "how much do predictions change the frequency of combinations of tasks, up or down?",
    [
        *_directed("a_to_t", "combinations of tasks for an attribute value"),
        *_directed("t_to_a", "attribute values for a combination of tasks"),
        *_entries(
            "multi_mals", "undirected", "the share of a combination's likelier attribute value", scale=DOUBLE_SHARE
        ),
    ],
    about={
        "references": "`n` lists of human captions. Predictions are compared with what they name; combinations are "
        "the whole sets of tasks of human captions",
        "training_attributes": "labels of other images, which say which combinations there are (those that some of "
        "these images have count) and which value is a combination's likelier one; when None, those of these images",
        "at_least": "keep combinations that at least this many images show exactly, in the training labels if there "
        "are any; with captions, that at least this many human captions name exactly",
        "details": "add the nested entry `details`, with each pair's counts, probabilities and share",
    },
    returns="`multi_directional_ba_a_to_t` and `multi_directional_ba_t_to_a`, the mean of `|Delta|` over pairs of a "
    "value and a combination, and `..._variance`, the variance of `Delta` with its sign; `multi_mals` and its "
    "variance, a mean over combinations; for each but the variances `..._human` and `..._excess`; all with "
    "`..._ci_low/high` (95%, over images). For labels, with `controls`, also `..._null` and `..._null_high`: the "
    "mean and the 95% point of a direction's score when the labels and predictions of images are exchanged at "
    "random. They are not 0, because sizes do not cancel: a score below `..._null_high` is no evidence, whatever its "
    "interval. `combinations`: how many; `undefined_pairs_a_to_t`, `undefined_pairs_t_to_a`; `signature`. A "
    "direction without predictions is absent.",
)
@takes()
def multi_directional_ba(
    captions: Captions | None = None,
    /,
    *,
    at_least: int = 1,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
    **inputs: Any,
) -> Prepared:
    """How far predictions move attribute values and combinations of tasks, up or down, and how unequally.

    Like directional bias amplification, but with combinations of tasks (knife and cake) instead of tasks, and the size
    of each pair's change instead of the change, so that amplification and mitigation do not cancel. `multi_mals` is the
    same for BA (MALS). 0 is best, and the scores cannot tell amplification from mitigation; read `directional_ba`
    beside them. A combination is the whole set of tasks of some image; an image has it if it has all of its tasks.

    Source: Zhao, Andrews and Xiang 2023.

    >>> women, men = ["female"] * 4, ["male"] * 4
    >>> shown = [["knife", "cake"], ["knife", "cake"], ["knife"], [], ["knife", "cake"], ["knife"], [], []]
    >>> told = [["knife", "cake"], ["knife", "cake"], ["knife", "cake"], [], ["knife"], ["knife"], [], []]
    >>> result = multi_directional_ba(attributes=women + men, tasks=shown, predicted_tasks=told)
    >>> result["combinations"], result["multi_directional_ba_a_to_t"]
    (2, 0.125)
    """
    at_least = whole_number("at_least", at_least, least=1)
    reading = read_labels(captions, **inputs)
    signed = {**reading.data_source, "at_least": at_least}
    exchanged = seed if controls and bootstrap and not reading.from_captions else None
    counted = partial(_counted, at_least=at_least, exchanged=exchanged)
    return count("multi_directional_ba", reading, counted, signed, controls=controls, seed=seed, bootstrap=bootstrap)


def _counted(reading: Reading, at_least: int, exchanged: int | None) -> Counted:
    """`exchanged`: the seed of exchanges that show what no bias reads; None for none."""
    if reading.part:  # other images have other combinations
        sides = itertools.product((*directions(reading.predicted), UNDIRECTED), (KNOWN, PREDICTED))
        return Counted(
            {(SETS, *of): set_columns(compared_side(reading, *of)) for of in sides}, dict, lambda _: ({}, {})
        )
    combinations = _combinations(reading, at_least)
    names = tuple(" + ".join(reading.tasks[task] for task in np.flatnonzero(flags)) for flags in combinations)
    expand = partial(_contained, combinations)
    pairs, values = Pairs.of(reading, names, expand), len(reading.values)

    def formula(sums: Sums) -> dict[str, Floats]:
        known, predicted = (as_pairs(sums[kind], values) for kind in (KNOWN, PREDICTED))
        undirected = _mean_and_variance("multi_mals", mals(known, predicted))
        # Of a combination all values together: at most one of two is its likelier one.
        undirected["multi_mals"] = undirected["multi_mals"] * values
        directed = (
            _mean_and_variance(f"multi_directional_ba_{name}", changes) for name, changes in pairs.changes(sums).items()
        )
        return {key: scores for of_direction in (*directed, undirected) for key, scores in of_direction.items()}

    def facts_and_tables(sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
        pairs.note_silence(sums, reading.notes)
        changes = pairs.changes(sums)
        facts: dict[str, float] = {"combinations": len(pairs.tasks)}
        facts |= {f"undefined_pairs_{name}": int(np.isnan(values).sum()) for name, values in changes.items()}
        facts |= {} if exchanged is None else _null(reading, names, expand, exchanged)
        return facts, reading.image_counts(pairs.attributes) | {"pairs": pairs.table(changes, sums)}

    return Counted({**pairs.columns, **known_and_predicted(reading, len(names), expand)}, formula, facts_and_tables)


def _null(reading: Reading, names: tuple[str, ...], expand: Expand, seed: int) -> dict[str, float]:
    """What each direction reads when images' labels and predictions change places at random: mean, and 95% point."""
    generator = np.random.default_rng([seed, 9])
    read: dict[str, list[float]] = {}
    truth, predictions = reading.truth, reading.predictions
    for _ in range(EXCHANGES):
        changed = generator.random((len(reading), 1)) < 0.5
        for direction, predicted, name in (("a_to_t", TASKS, "tasks"), ("t_to_a", ATTRIBUTES, "values")):
            if predicted not in reading.predicted:
                continue
            both = [getattr(side, name) for side in (truth, predictions)]
            exchanged = replace(
                reading,
                truth=replace(truth, **{name: np.where(changed, *both[::-1])}),
                predictions=replace(predictions, **{name: np.where(changed, *both)}),
                predicted=frozenset((predicted,)),
            )
            pairs = Pairs.of(exchanged, names, expand)
            sizes = np.abs(pairs.changes(sums_of_rows(pairs.columns))[direction])
            read.setdefault(f"multi_directional_ba_{direction}_null", []).append(float(np.nanmean(sizes)))
    means = {key: float(np.mean(values)) for key, values in read.items()}
    return means | {f"{key}_high": float(np.quantile(values, 0.95)) for key, values in read.items()}


def _mean_and_variance(key: str, changes: Floats) -> dict[str, Floats]:
    """The mean size of the changes `(values, combinations, replicates)` that are defined, and their variance."""
    mean = mean_of_defined(changes)
    return {key: mean_of_defined(np.abs(changes)), f"{key}_variance": mean_of_defined((changes - mean) ** 2)}


def _combinations(reading: Reading, at_least: int) -> Flags:
    """The sets of tasks that images show, or human captions name: flags of shape `(combinations, tasks)`."""
    rows = reading.training or compared_side(reading, UNDIRECTED, KNOWN)
    some = rows.tasks.any(axis=1)
    numbers, combinations = number_sets(rows.tasks[some])
    if not len(combinations):
        raise no_tasks()
    chosen = combinations if at_least == 1 else combinations[np.bincount(numbers, rows.weight[some]) >= at_least]
    if not len(chosen):
        raise InputError(
            "at_least", f": no set of tasks is shared by {at_least} images or captions; give a smaller number"
        )
    if reading.training is not None:
        chosen = chosen[_shown(chosen, reading.truth.tasks)]
        if not len(chosen):
            raise InputError(
                "tasks", phrase(": no image shows any of the combinations of {training_tasks}; give images that do")
            )
    if len(chosen) > MOST_COMBINATIONS:
        raise InputError(
            "tasks",
            f": {len(chosen):,} sets of tasks are those of {at_least} or more images or captions, and no more than "
            f"{MOST_COMBINATIONS:,} can be compared",
            phrase("give a larger {at_least}"),
        )
    return chosen


def _shown(combinations: Flags, tasks: Flags) -> Flags:
    """Which combinations some image contains."""
    _, images = number_sets(tasks)
    contained = np.zeros(len(combinations), bool)
    for part in in_parts(len(images), CELLS_AT_ONCE // len(combinations) + 1):
        contained[~contained] = _contained(combinations[~contained], images[part]).any(axis=0)
    return contained


def _contained(combinations: Flags, tasks: Flags) -> Flags:
    """Which combinations each row has all tasks of, and perhaps others: `(rows, combinations)`."""
    return np.asarray(tasks.astype(np.float32) @ combinations.T.astype(np.float32) >= combinations.sum(axis=1))
