"""A to T: what a picture shows being the same, are tasks named more often with the value that they go with?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import numpy as np

from captionbias.arrays import Array, Floats, Integers
from captionbias.bench.catalogue import MENTIONS, PERCENT
from captionbias.metrics.sway.images import NamedImages
from captionbias.metrics.sway.misnaming import LEAST_NAMED, NAMES_BOTH
from captionbias.metrics.sway.question import (
    Counted,
    Draw,
    Numbers,
    QuestionResult,
    SwayInput,
    constant,
    entry,
    mean_of_known,
    numbers,
)
from captionbias.scores.misnaming import share_of
from captionbias.scores.sway import naming_rates, residuals, within_scenes
from captionbias.statistics.samples import ExtremeOf, Sample
from captionbias.warnings import note

_entry = partial(entry, "sway A to T", MENTIONS, sense="amplification", direction="a_to_t")
RANGE = (
    "The {} value it can have: people do not name everything that is there, so what a captioner names beyond them "
    "may all be there or all be made up. With complete tasks there is no such range."
)
TASKS_NAMED = "sway_tasks_named"
LEAST_IMAGES = 300  # with fewer, 2 of 60 persons read more than people
WITHOUT = "The same without the one task whose omission leaves the {}."
ENTRIES = (
    _entry(
        "sway_a_to_t",
        "",
        "Per 100 captions, how many more mentions than a person's of tasks that go with an attribute value if the "
        "image has that value, in pictures that show the same. 0 is a person.",
        judged=True,
        beyond_margin=True,
        headline=True,
        claim="the {tasks} named follow {attribute}",
        above=("sway_a_to_t_low", "sway_a_to_t_least"),
        like_if=(*NAMES_BOTH, (TASKS_NAMED, LEAST_NAMED)),
        below=("sway_a_to_t_high", "sway_a_to_t_most"),
    ),
    entry(
        "captions that name a task",
        PERCENT,
        TASKS_NAMED,
        "",
        "How many of 100 captions name a task that goes with a value. Below 5, A to T is not like people.",
        in_tables=False,
        task=None,
    ),
    _entry("sway_a_to_t_low", "lowest possible", RANGE.format("lowest")),
    _entry("sway_a_to_t_high", "highest possible", RANGE.format("highest")),
    _entry("sway_a_to_t_least", "least without a task", WITHOUT.format("least"), in_tables=False, task=None),
    _entry("sway_a_to_t_most", "most without a task", WITHOUT.format("most"), in_tables=False, task=None),
)


@dataclass(frozen=True, eq=False)
class Followed(Generic[Numbers]):
    """How much more often tasks are named with the value that they go with, in mentions in 100 captions."""

    score: Numbers  # `()`
    ends: Numbers  # if all that is named beyond the tasks known is there, people not mentioning it, or made up, `(2,)`
    without: Numbers  # the same without each of the tasks, `(tasks, 2)`
    pairs: Numbers  # of each task and value: beyond the person, the captioner, the person, `(pairs, 3)`


def counted(inputs: SwayInput) -> Counted:
    """How much more often captions of each draw name tasks with the value that they go with."""
    pairs = _pairs(inputs)
    return [partial(_followed, _sums(draw, pairs), pairs, inputs.named) for draw in inputs.draws]


def answer(inputs: SwayInput, samples: dict[str, Sample]) -> QuestionResult:
    """The scores from attribute to task."""
    named, draws = inputs.named, inputs.draws
    if named.given_tasks is None:
        note(
            inputs.notes,
            "what people do not name may be there or not, so the score has a range; complete tasks close it",
            about="a_to_t",
        )
    followed = Followed[Sample](**samples)
    ends = [followed.ends[end] for end in range(2)]
    places = np.ndindex(followed.without.values.shape[:2])
    left = [replace(followed.without[place], replicates=np.zeros(0)) for place in places]
    goes = draws[0].leans.goes_with.any(axis=1)
    names = 100 * np.average(named.captioner.tasks[:, goes].toarray().max(axis=1, initial=0.0), weights=named.weight)
    scores = {"sway_a_to_t": followed.score, TASKS_NAMED: constant(float(names))}
    scores |= {"sway_a_to_t_low": ExtremeOf.of(min, ends), "sway_a_to_t_high": ExtremeOf.of(max, ends)}
    scores |= {"sway_a_to_t_least": ExtremeOf.of(min, left), "sway_a_to_t_most": ExtremeOf.of(max, left)}
    return QuestionResult(scores, partial(_details, followed, _pairs(inputs), inputs))


def _pairs(inputs: SwayInput) -> Integers:
    """The numbers of the tasks that go with a value, and of that value, `(2, pairs)`."""
    return np.stack(np.nonzero(inputs.draws[0].leans.goes_with))


def _sums(draw: Draw, pairs: Integers) -> tuple[Floats, Any]:
    """The sums over each group of images. Of each pair of a task and a value the products of what is left of having the
    value with what is left of the captioner's mentions of the task, of the person's where the image shows it, and of
    the person's others; of each value the squares of what is left of having it: `(3 pairs + values, groups)`. Of each
    pair the captioner's mentions where the image shows the task, and where not, and the person's, which are few:
    `(4 pairs, groups)`, sparse."""
    from scipy.sparse import csr_array, hstack

    named, of_values, (task, value) = draw.named, np.arange(len(draw.named.values)), pairs
    used, column = np.unique(task, return_inverse=True)
    captioner, person, tasks_shown = (
        table[:, used] for table in (named.captioner.tasks, draw.person.tasks, draw.tasks_shown)
    )
    there = [tasks.multiply(tasks_shown) for tasks in (captioner, person)]
    mentions = there[0], captioner - there[0], there[1], person - there[1]
    has_value = csr_array(named.value[:, None] == of_values, dtype=np.float64)
    outcomes = hstack((has_value, captioner, *mentions[2:]), format="csr")
    if named.scene is None:
        contents = hstack((draw.tasks_shown, draw.shares), format="csr")
        contents = contents[:, np.unique(contents.indices)]
        left = residuals(contents, outcomes, draw.seed, named.picture, named.weight)
    else:
        left = within_scenes(outcomes.toarray(), named.scene, named.weight)
    products = np.stack([named.sums(left * left[:, [of]]) for of in of_values])
    kinds = (len(used) * np.arange(4)[:, None] + column).ravel()
    of_pairs = products[np.tile(value, 3), len(of_values) + kinds[: 3 * len(task)]]
    mentioned = named.sums(hstack(mentions, format="csr")).tocsr()[kinds]
    return np.concatenate((of_pairs, products[of_values, of_values])), mentioned


def _followed(sums: tuple[Floats, Any], pairs: Integers, named: NamedImages, multiplicity: Floats) -> Followed[Floats]:
    tasks, values = pairs
    products, mentions = (of_groups @ multiplicity for of_groups in sums)
    spread, shape = products[3 * len(tasks) :][values], (len(tasks), multiplicity.shape[1])
    # In a replicate that has a value in no image there is nothing to divide.
    captioner, person_shown, other = products[: 3 * len(tasks)].reshape(3, *shape) / np.where(
        spread > 0, spread, np.nan
    )
    rows = mentions.reshape(4, *shape)
    rate, elsewhere = naming_rates(rows[0], rows[2]), naming_rates(rows[1], rows[3])
    made_up, beyond = captioner - rate * person_shown, captioner - rate * (person_shown + other)
    parts = np.stack([beyond] * 3 if named.given_tasks is not None else [beyond, made_up - elsewhere * other, made_up])
    whole = parts.sum(axis=1) if len(tasks) else np.full((3, multiplicity.shape[1]), np.nan)
    without = [whole - parts[:, tasks == task].sum(axis=1) for task in np.unique(tasks)] or [whole]
    (score, *ends), left = 100 / len(named.values) * whole, 100 / len(named.values) * np.stack(without)[:, 1:]
    return Followed(score, np.stack(ends), left, 100 * np.stack((beyond, captioner, person_shown + other), axis=1))


def _details(followed: Followed[Sample], pairs: Integers, inputs: SwayInput) -> dict[str, Any]:
    named, draws = inputs.named, inputs.draws
    captions, images = (named.captioner, named.people), (np.arange(len(named.value)), named.image)
    columns = ("beta", *(f"beta_{side}" for side in inputs.sides))
    tasks = [
        {"task": named.tasks[task], "attribute": named.values[value]}
        | numbers({name: followed.pairs[pair, column] for column, name in enumerate(columns)})
        | {
            f"named_{side}": _named_shares(named, flags.tasks[:, [task]].toarray()[:, 0], image)
            for side, flags, image in zip(inputs.sides, captions, images, strict=False)
        }
        for pair, (task, value) in enumerate(pairs.T)
    ]
    level = mean_of_known([_naming_level(draw) for draw in draws])
    return {
        "tasks": sorted(tasks, key=lambda row: -abs(row.get("beta", 0.0))),
        "naming_level": {value: float(of) for value, of in zip(named.values, level, strict=True) if np.isfinite(of)},
    }


def _named_shares(named: NamedImages, names: Array, image: Integers) -> dict[str, float]:
    """Of 100 captions of each value's images, how many name a task."""
    value, weight = named.value[image], named.weight[image]
    captions, uses = (np.bincount(value, of, len(named.values)) for of in (weight, weight * names))
    return dict(zip(named.values, (100 * (uses / captions)).tolist(), strict=True))


def _naming_level(draw: Draw) -> Floats:
    """How completely the captioner names tasks without a lean, for each value; a person who names as many is at 1."""
    named, plain = draw.named, ~draw.leans.goes_with.any(axis=1)
    has_value = named.weight * (named.value == np.arange(len(named.values))[:, None])
    tasks_shown = draw.tasks_shown[:, plain]
    captioner, person = (
        has_value @ flags.tasks[:, plain].multiply(tasks_shown) for flags in (named.captioner, draw.person)
    )
    rate = naming_rates(captioner.sum(axis=0), person.sum(axis=0))
    return np.asarray(share_of(captioner.sum(axis=1), (person * rate).sum(axis=1)))
