"""One direction of DBAC: what its attackers are asked, and the omegas of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.splits import stratified_split
from captionbias.metrics.inputs import Sides
from captionbias.metrics.leakage_scores import known_means
from captionbias.metrics.measurement import Sample, defined, mean_over_trials, summarize_sample
from captionbias.scores import (
    QUALITIES,
    Omega,
    Side,
    Table,
    Tested,
    named_frequencies,
    normalized_difference,
    number_sets,
    pair_shares,
    tabulate,
    weighted,
)
from captionbias.scores.omega import Weighted
from captionbias.statistics.intervals import resamples
from captionbias.text import Tokens

SIDES = ("m", "h")
FORMS = ("", "_matched")
INVERSE = "inverse_cross_entropy"
UNBOUNDED = (0.0, float("inf"))


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A on both sides.

    `targets`: what the attacker predicts of each image: classes `(images,)` or task flags `(images, tasks)`.
    `shown`: the number of what each image shows, `(images,)`. `captions`: each present side's captions. `shown_sets`,
    `named_sets`: which labels the numbers of what is shown and named stand for, `(numbers, labels)`.
    """

    targets: Array
    outputs: int
    shown: Integers
    captions: dict[str, Side]
    shown_sets: Flags
    named_sets: Flags


def a_to_t(sides: Sides, classes: Integers, outputs: int, named_tasks: Flags) -> Direction:
    """The attacker predicts the attribute; captions name tasks, shown by flags for every caption of both sides."""
    captions, named_sets = _captions(sides, named_tasks)
    return Direction(classes, outputs, classes, captions, np.eye(outputs, dtype=bool), named_sets)


def t_to_a(sides: Sides, shown_tasks: Flags, named_attributes: Flags) -> Direction:
    """The attacker predicts the tasks that occur; captions name attribute values."""
    occurring = shown_tasks[:, shown_tasks.any(axis=0)]
    (shown,) = number_sets([shown_tasks])
    captions, named_sets = _captions(sides, named_attributes)
    return Direction(occurring, occurring.shape[1], shown, captions, _sets(shown_tasks, shown), named_sets)


def _captions(sides: Sides, named: Flags) -> tuple[dict[str, Side], Flags]:
    (numbers,) = number_sets([named])
    image = {"m": np.arange(sides.model_rows), "h": sides.human_image}
    split = {"m": numbers[: sides.model_rows], "h": numbers[sides.model_rows :]}
    return {side: Side(image[side], split[side]) for side in SIDES if len(image[side])}, _sets(named, numbers)


def _sets(flags: Flags, numbers: Integers) -> Flags:
    """The set that each number stands for."""
    return np.asarray(flags[np.unique(numbers, return_index=True)[1]])


def plan_trials(
    name: str,
    direction: Direction,
    texts: Mapping[str, Tokens],
    classes: Integers,
    chosen: Mapping[str, Any],
    seed: int,
    mask: str,
) -> dict[str, list[Trial]]:
    """Each side's trials. All captions of an image, of both sides, fall on the same side of a trial's split."""
    plan: dict[str, list[Trial]] = {}
    for side, captions in direction.captions.items():
        examples = Examples(texts[side], direction.targets[captions.image], direction.outputs, mask)
        plan[side] = []
        for trial_seed in range(seed, seed + chosen["trials"]):
            train, test = (
                np.flatnonzero(np.isin(captions.image, images))
                for images in stratified_split(classes, chosen["test_share"], trial_seed)
            )
            plan[side].append(Trial(f"{name} {side} seed {trial_seed}", examples, train, test, trial_seed))
    return plan


@dataclass(frozen=True, eq=False)
class Answers:
    """A direction with what its trained attackers said: every number of DBAC follows from it."""

    direction: Direction
    tested: dict[str, list[Tested]]
    kind: str
    bayes: bool

    @classmethod
    def of(
        cls,
        direction: Direction,
        plan: Mapping[str, list[Trial]],
        answers: Mapping[Trial, TrialScores],
        kind: str,
        bayes: bool,
    ) -> Answers:
        score = QUALITIES[kind]
        tested = {
            side: [
                Tested(trial.test, score(answers[trial].log_probability, answers[trial].correct)) for trial in trials
            ]
            for side, trials in plan.items()
        }
        return cls(direction, tested, kind, bayes)

    def only(self, kept: Mapping[str, Sequence[Flags]]) -> Answers:
        """The same answers to these test captions of each trial, flags `(test captions,)`, as though they were all.

        What a caption names then weighs by its frequency among the captions kept, of all trials together; what an image
        shows still weighs by its frequency among all images. A side of which nothing is kept is left out.
        """
        captions, tested = {}, {}
        for side, of_side in self.direction.captions.items():
            rows = [trial.rows[flags] for trial, flags in zip(self.tested[side], kept[side], strict=True)]
            every = np.concatenate(rows)
            if not len(every):
                continue
            captions[side] = Side(of_side.image[every], of_side.named[every])
            places = np.split(np.arange(len(every)), np.cumsum([len(part) for part in rows])[:-1])
            tested[side] = [
                Tested(place, trial.quality[flags])
                for place, trial, flags in zip(places, self.tested[side], kept[side], strict=True)
            ]
        return replace(self, direction=replace(self.direction, captions=captions), tested=tested)

    @property
    def trials(self) -> int:
        return len(next(iter(self.tested.values())))

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Each side's captions by cell: what every block of replicates is read from."""
        direction = self.direction
        return {
            side: tabulate(captions, direction.shown, self.tested[side], len(direction.named_sets))
            for side, captions in direction.captions.items()
        }

    def weighted(self, multiplicity: Floats) -> dict[str, Weighted]:
        """Each side with its weights."""
        target, common = self._named_on_both_sides(multiplicity)
        return {side: weighted(table, multiplicity, target, common) for side, table in self.tables.items()}

    def omegas(self, sides: Mapping[str, Weighted]) -> Iterator[dict[str, Omega]]:
        """Both sides' omegas, one trial after the other."""
        found = {side: of_side.omegas(self.kind == INVERSE, self.bayes) for side, of_side in sides.items()}
        for of_trial in zip(*found.values(), strict=True):
            yield dict(zip(found, of_trial, strict=True))

    def shares(self, pairs: Integers) -> list[dict[str, Any]]:
        """How these pairs of labels share each trial's captions, by side; see `scores.pair_shares`."""
        if self.kind == INVERSE:
            raise ValueError(f"quality {INVERSE!r} is no mean over captions and has no parts")
        sets = self.direction.shown_sets, self.direction.named_sets
        found = {side: pair_shares(table, pairs, *sets) for side, table in self.tables.items()}
        return [dict(zip(found, of_trial, strict=True)) for of_trial in zip(*found.values(), strict=True)]

    def _named_on_both_sides(self, multiplicity: Floats) -> tuple[Floats | None, Flags | None]:
        """The frequencies that matched DBAC weighs to, and which named numbers occur on both sides."""
        captions = self.direction.captions
        if len(captions) < 2:
            return None, None
        names = len(self.direction.named_sets)
        present = [np.bincount(side.named, minlength=names) > 0 for side in captions.values()]
        return named_frequencies(captions["h"], multiplicity, names), present[0] & present[1]


# What pairs of labels add to a trial's scores, from its number and both sides' omegas: `(pairs, replicates)` each.
PartsOf = Callable[[int, Mapping[str, Omega]], dict[str, Floats]]


@dataclass(frozen=True, eq=False)
class Replicates:
    """Every quantity with an interval, by the pattern of its key, with the images of each bootstrap replicate.

    `per_trial`: in each trial, `(trials, replicates)`, `(1, replicates)` for a prior. `means`: over each replicate's
    trials, `(replicates,)`. `parts`: what pairs of labels add to the means, `(pairs, replicates)`.
    """

    per_trial: dict[str, Floats]
    means: dict[str, Floats]
    parts: dict[str, Floats]


def replicates(answers: Answers, seed: int, bootstrap: int, parts_of: PartsOf | None = None) -> Replicates:
    """The bootstrap over images and trials, in one pass for the scores and for their parts."""
    images = len(answers.direction.shown)
    blocks = [
        _block(answers, multiplicity, weights, parts_of)
        for multiplicity, weights in resamples(images, answers.trials, bootstrap, seed)
    ]
    return Replicates(
        _joined([block.per_trial for block in blocks]),
        _joined([block.means for block in blocks]),
        _joined([block.parts for block in blocks]),
    )


def _block(answers: Answers, multiplicity: Floats, weights: Floats, parts_of: PartsOf | None) -> Replicates:
    sides = answers.weighted(multiplicity)
    of_trials, parts = [], PartMeans()
    for number, omegas in enumerate(answers.omegas(sides)):
        of_trials.append(_of_trial(omegas))
        if parts_of:
            parts.add(parts_of(number, omegas), weights[number])
    per_trial = _quantities(of_trials, sides)
    means = {
        quantity: mean_over_trials(values, weights) if len(values) > 1 else values[0]
        for quantity, values in per_trial.items()
    }
    return Replicates(per_trial, means, parts.means())


def _joined(blocks: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    quantities = blocks[0] if blocks else {}
    return {quantity: np.concatenate([block[quantity] for block in blocks], axis=-1) for quantity in quantities}


class PartMeans:
    """The means over trials of what pairs of labels add, trial by trial; a trial is left out where it is undefined."""

    def __init__(self) -> None:
        self._sums: dict[str, Any] = {}
        self._counted: dict[str, Any] = {}

    def add(self, parts: Mapping[str, Floats], weight: Floats) -> None:
        """A trial's parts, `(pairs, replicates)`, and how much it counts in each replicate, `(replicates,)`."""
        for quantity, of_trial in parts.items():
            known = ~np.isnan(of_trial[:1])  # in a replicate all pairs are defined or none is
            self._sums[quantity] = self._sums.get(quantity, 0.0) + weight * np.where(known, of_trial, 0.0)
            self._counted[quantity] = self._counted.get(quantity, 0.0) + weight * known

    def means(self) -> dict[str, Floats]:
        with np.errstate(invalid="ignore"):
            return {quantity: np.asarray(total / self._counted[quantity]) for quantity, total in self._sums.items()}


def _of_trial(omegas: Mapping[str, Omega]) -> dict[str, Floats]:
    """A trial's omegas, the matched ones if there are both sides: `(replicates,)` each."""
    found = {f"omega_{side}_{{}}": omega.published for side, omega in omegas.items()}
    if len(omegas) == 2:
        found |= {f"omega_{side}_{{}}_matched": omega.matched for side, omega in omegas.items()}
    return found


def _quantities(of_trials: Sequence[Mapping[str, Floats]], sides: Mapping[str, Weighted]) -> dict[str, Floats]:
    """What gets an interval, by the pattern of its key: shape `(trials, replicates)`, `(1, replicates)` for a prior."""
    omegas = {quantity: np.stack([of_trial[quantity] for of_trial in of_trials]) for quantity in of_trials[0]}
    if len(sides) < 2:
        return omegas
    scores = {
        f"dbac_{{}}{form}": normalized_difference(omegas[f"omega_m_{{}}{form}"], omegas[f"omega_h_{{}}{form}"])
        for form in FORMS
    }
    return scores | {"dbac_{}_prior": normalized_difference(sides["m"].prior, sides["h"].prior)[None]} | omegas


def _estimate(answers: Answers) -> tuple[dict[str, Floats], list[dict[str, Omega]]]:
    """Every quantity with an interval, `(trials,)`, and each trial's omegas, with every image once."""
    sides = answers.weighted(np.ones((len(answers.direction.shown), 1)))
    omegas = list(answers.omegas(sides))
    quantities = _quantities([_of_trial(of_trial) for of_trial in omegas], sides)
    return {quantity: values[:, 0] for quantity, values in quantities.items()}, omegas


def summary(name: str, answers: Answers, drawn: Replicates) -> dict[str, float]:
    """The flat entries of one direction: scores, omegas and parts, with their intervals if anything was drawn."""
    estimate, omegas = _estimate(answers)
    result: dict[str, float] = {}
    for quantity, values in estimate.items():
        bounds = (-1.0, 1.0) if quantity.startswith("dbac") else UNBOUNDED
        per_trial = drawn.per_trial.get(quantity, np.zeros((len(values), 0)))
        means = drawn.means.get(quantity, np.zeros(0))
        result |= summarize_sample(quantity.format(name), Sample(values, per_trial, means, bounds))
    for side in answers.tested:
        found = [of_trial[side] for of_trial in omegas]
        parts: dict[str, list[Any]] = {
            "mean_quality": [omega.mean_quality for omega in found],
            "mean_weight": [omega.mean_weight for omega in found],
            "effective_sample": [omega.effective_sample for omega in found],
            "test_captions": [len(tested.rows) for tested in answers.tested[side]],
        }
        if len(answers.tested) == 2:
            parts["coverage"] = [omega.coverage for omega in found]
            parts["effective_sample_matched"] = [omega.effective_sample_matched for omega in found]
        result |= {f"{part}_{side}_{name}": float(np.mean(values)) for part, values in parts.items()}
    return result


def trial_table(answers: Answers, seed: int) -> list[dict[str, float]]:
    """One row a trial: its seed, its scores, and both sides' omegas; what is undefined is left out."""
    per_trial = _per_trial(answers)
    return [
        {"seed": seed + number} | defined({quantity: values[number] for quantity, values in per_trial.items()})
        for number in range(answers.trials)
    ]


def unseen_means(answers: Answers, seen: Mapping[str, Sequence[Flags]]) -> dict[str, float]:
    """The scores and both sides' omegas over test captions that are not `seen`, and how many those are on each side.

    A trial in which a quantity is undefined does not count; what is undefined in all is left out.
    """
    kept = {side: [~flags for flags in of_side] for side, of_side in seen.items()}
    left = {
        f"test_captions_{side}": float(np.mean([flags.sum() for flags in of_side])) for side, of_side in kept.items()
    }
    unseen = answers.only(kept)
    return (known_means(_per_trial(unseen)) if unseen.tested else {}) | left


def _per_trial(answers: Answers) -> dict[str, Floats]:
    """The scores and both sides' omegas in each trial, `(trials,)`."""
    return {
        quantity.replace("_{}", ""): values
        for quantity, values in _estimate(answers)[0].items()
        if "prior" not in quantity
    }
