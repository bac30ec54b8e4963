"""One direction of DBAC: what its attackers are asked, and the omegas of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from captionbias.attackers.splits import stratified_split
from captionbias.attackers.trials import Examples, Trial, TrialScores
from captionbias.metrics.measured import known_means
from captionbias.metrics.sides import Sides
from captionbias.metrics.summary import Sample, defined, mean_over_trials, summarize_sample
from captionbias.scores import (
    QUALITIES,
    Omega,
    Parts,
    Side,
    Tested,
    named_frequencies,
    normalized_difference,
    omega_parts,
    omegas,
)
from captionbias.scores.omega import number_sets
from captionbias.statistics import Floats, resamples
from captionbias.text import Tokens
from captionbias.text.tokens import Flags, Integers

SIDES = ("m", "h")
UNBOUNDED = (0.0, float("inf"))


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A on both sides.

    `targets`: what the attacker predicts of each image: classes `(images,)` or task flags `(images, tasks)`.
    `shown`: the number of what each image shows, `(images,)`. `captions`: each present side's captions. `shown_sets`,
    `named_sets`: which labels the numbers of what is shown and named stand for, `(numbers, labels)`.
    """

    targets: npt.NDArray[Any]
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

    def omegas(self, multiplicity: Floats) -> dict[str, list[Omega]]:
        """Each side's omegas, one a trial."""
        return self._omegas(self.tested, multiplicity, self.kind == "inverse_cross_entropy", self.bayes)

    def priors(self, multiplicity: Floats) -> dict[str, Floats]:
        """Each side's mean weight over all its captions: omega with a perfect attacker."""
        captions = self.direction.captions
        everything = {
            side: [Tested(np.arange(len(captions[side].image)), np.ones(len(captions[side].image)))]
            for side in captions
        }
        found = self._omegas(everything, multiplicity, inverse=False, bayes=True)
        return {side: omega.published for side, (omega,) in found.items()}

    def parts(self, multiplicity: Floats, pairs: Integers) -> dict[str, Iterator[Parts]]:
        """What each of these pairs of labels adds to each side's omegas, trial by trial; see `scores.omega_parts`."""
        if self.kind == "inverse_cross_entropy":
            raise ValueError("quality 'inverse_cross_entropy' is no mean over captions and has no parts")
        direction = self.direction
        target, common = self._named_on_both_sides(multiplicity)
        return {
            side: omega_parts(
                captions,
                direction.shown,
                self.tested[side],
                multiplicity,
                pairs,
                direction.shown_sets,
                direction.named_sets,
                target=target,
                common=common,
                bayes=self.bayes,
            )
            for side, captions in direction.captions.items()
        }

    def _omegas(
        self, tested: Mapping[str, list[Tested]], multiplicity: Floats, inverse: bool, bayes: bool
    ) -> dict[str, list[Omega]]:
        captions = self.direction.captions
        target, common = self._named_on_both_sides(multiplicity)
        return {
            side: omegas(
                captions[side],
                self.direction.shown,
                tested[side],
                multiplicity,
                target=target,
                common=common,
                inverse=inverse,
                bayes=bayes,
            )
            for side in captions
        }

    def _named_on_both_sides(self, multiplicity: Floats) -> tuple[Floats | None, Flags | None]:
        """The frequencies that matched DBAC weighs to, and which named numbers occur on both sides."""
        captions = self.direction.captions
        if len(captions) < 2:
            return None, None
        names = len(self.direction.named_sets)
        present = [np.bincount(side.named, minlength=names) > 0 for side in captions.values()]
        return named_frequencies(captions["h"], multiplicity, names), present[0] & present[1]


def summary(name: str, answers: Answers, seed: int, bootstrap: int) -> dict[str, float]:
    """The flat entries of one direction: scores, omegas and parts, with their intervals."""
    images = len(answers.direction.shown)
    estimate = _quantities(answers, np.ones((images, 1)))
    trials = len(next(iter(answers.tested.values())))
    blocks = {quantity: [np.zeros((len(values), 0))] for quantity, values in estimate.items()}
    replicates: dict[str, list[Floats]] = {quantity: [np.zeros(0)] for quantity in estimate}
    for multiplicity, weights in resamples(images, trials, bootstrap, seed):
        for quantity, values in _quantities(answers, multiplicity).items():
            blocks[quantity].append(values)
            replicates[quantity].append(mean_over_trials(values, weights) if len(values) > 1 else values[0])

    result: dict[str, float] = {}
    for quantity, values in estimate.items():
        bounds = (-1.0, 1.0) if quantity.startswith("dbac") else UNBOUNDED
        drawn = np.concatenate(blocks[quantity], axis=1), np.concatenate(replicates[quantity])
        result |= summarize_sample(quantity.format(name), Sample(values[:, 0], *drawn, bounds))
    for side, found in answers.omegas(np.ones((images, 1))).items():
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


def _quantities(answers: Answers, multiplicity: Floats) -> dict[str, Floats]:
    """What gets an interval, by the pattern of its key: shape `(trials, replicates)`, `(1, replicates)` for a prior."""
    found = answers.omegas(multiplicity)
    published = {side: np.stack([omega.published for omega in of_side]) for side, of_side in found.items()}
    quantities = {f"omega_{side}_{{}}": values for side, values in published.items()}
    if len(found) < 2:
        return quantities
    matched = {side: np.stack([omega.matched for omega in of_side]) for side, of_side in found.items()}
    priors = answers.priors(multiplicity)
    return {
        "dbac_{}": normalized_difference(published["m"], published["h"]),
        "dbac_{}_matched": normalized_difference(matched["m"], matched["h"]),
        "dbac_{}_prior": normalized_difference(priors["m"], priors["h"])[None],
        **quantities,
        **{f"omega_{side}_{{}}_matched": values for side, values in matched.items()},
    }


def trial_table(answers: Answers, seed: int) -> list[dict[str, float]]:
    """One row a trial: its seed, its scores, and both sides' omegas; what is undefined is left out."""
    per_trial = _per_trial(answers)
    trials = len(next(iter(answers.tested.values())))
    return [
        {"seed": seed + number} | defined({quantity: values[number] for quantity, values in per_trial.items()})
        for number in range(trials)
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
    estimate = _quantities(answers, np.ones((len(answers.direction.shown), 1)))
    return {
        quantity.replace("_{}", ""): values[:, 0] for quantity, values in estimate.items() if "prior" not in quantity
    }
