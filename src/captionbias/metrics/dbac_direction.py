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
from captionbias.captions import Words
from captionbias.metrics.attack_plan import AttackPlan
from captionbias.metrics.measurement import known_means
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
from captionbias.text import Tokens

SIDES = ("m", "h")
FORMS = ("", "_matched")
INVERSE = "inverse_cross_entropy"


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A on both sides.

    `name`: `a_to_t` or `t_to_a`. `targets`: what the attacker predicts of each image: classes `(images,)` or task flags
    `(images, tasks)`; `classes`: what these are called. `shown`: the number of what each image shows, `(images,)`.
    `captions`: each present side's captions. `shown_sets`, `named_sets`: which of the labels `shown_labels` and
    `named_labels` the numbers of what is shown and named stand for, `(numbers, labels)`.
    """

    name: str
    targets: Array
    classes: tuple[str, ...]
    shown: Integers
    captions: dict[str, Side]
    shown_sets: Flags
    shown_labels: tuple[str, ...]
    named_sets: Flags
    named_labels: tuple[str, ...]


def a_to_t(words: Words, classes: Integers, values: tuple[str, ...], named: Flags, tasks: tuple[str, ...]) -> Direction:
    """The attacker predicts the attribute's `values`; captions name `tasks`, `named` by flags `(captions, tasks)`."""
    captions, named_sets = _captions(words, named)
    return Direction(
        "a_to_t", classes, values, classes, captions, np.eye(len(values), dtype=bool), values, named_sets, tasks
    )


def t_to_a(words: Words, shown: Flags, tasks: tuple[str, ...], named: Flags, values: tuple[str, ...]) -> Direction:
    """The attacker predicts those of the `tasks` that occur; captions name attribute `values`, by flags likewise."""
    (numbers,) = number_sets([shown])
    captions, named_sets = _captions(words, named)
    occurring = np.flatnonzero(shown.any(axis=0))
    classes = tuple(tasks[task] for task in occurring)
    return Direction(
        "t_to_a", shown[:, occurring], classes, numbers, captions, _sets(shown, numbers), tasks, named_sets, values
    )


def _captions(words: Words, named: Flags) -> tuple[dict[str, Side], Flags]:
    (numbers,) = number_sets([named])
    image = {"m": np.arange(words.model_rows), "h": words.human_image}
    split = {"m": numbers[: words.model_rows], "h": numbers[words.model_rows :]}
    return {side: Side(image[side], split[side]) for side in SIDES if len(image[side])}, _sets(named, numbers)


def _sets(flags: Flags, numbers: Integers) -> Flags:
    """The set that each number stands for."""
    return np.asarray(flags[np.unique(numbers, return_index=True)[1]])


def plan_direction(
    direction: Direction,
    texts: Mapping[str, Tokens],
    mask: str,
    classes: Integers,
    settings: Mapping[str, Any],
    seed: int,
) -> AttackPlan:
    """Each side's trials. All captions of an image, of both sides, fall on the same side of a trial's split."""
    plan: dict[str, list[list[Trial]]] = {}
    for side, captions in direction.captions.items():
        examples = Examples(texts[side], direction.targets[captions.image], len(direction.classes), mask)
        trials = []
        for number in range(seed, seed + settings["trials"]):
            train, test = (
                np.flatnonzero(np.isin(captions.image, images))
                for images in stratified_split(classes, settings["test_share"], number)
            )
            trials.append(Trial(f"{direction.name} {side} seed {number}", examples, train, test, number))
        plan[side] = [trials]
    return AttackPlan(direction.name, direction.classes, plan)


@dataclass(frozen=True, eq=False)
class Answers:
    """A direction with what its trained attackers said: every number of DBAC follows from it."""

    direction: Direction
    tested: dict[str, list[Tested]]
    kind: str
    bayes: bool

    @classmethod
    def of(
        cls, direction: Direction, plan: AttackPlan, answers: Mapping[Trial, TrialScores], kind: str, bayes: bool
    ) -> Answers:
        score = QUALITIES[kind]
        tested = {
            side: [
                Tested(trial.test, score(answers[trial].log_probability, answers[trial].correct)) for trial in trials
            ]
            for side, (trials,) in plan.trials.items()
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

    def quantities(
        self, multiplicity: Floats, also: Callable[[int, dict[str, Omega]], None] | None = None
    ) -> dict[str, Floats]:
        """The scores and omegas by their keys, `(trials, replicates)` each, `(1, replicates)` for a prior.

        `also` is called with each trial's number and both sides' omegas.
        """
        sides, of_trials = self.weighted(multiplicity), []
        for number, omegas in enumerate(self.omegas(sides)):
            found = {f"omega_{side}_{self.name}": omega.published for side, omega in omegas.items()}
            if len(omegas) == 2:
                found |= {f"omega_{side}_{self.name}_matched": omega.matched for side, omega in omegas.items()}
            of_trials.append(found)
            if also:
                also(number, omegas)
        stacked = {key: np.stack([found[key] for found in of_trials]) for key in of_trials[0]}
        if len(sides) < 2:
            return stacked
        scores = {
            f"dbac_{self.name}{form}": normalized_difference(
                stacked[f"omega_m_{self.name}{form}"], stacked[f"omega_h_{self.name}{form}"]
            )
            for form in FORMS
        }
        prior = normalized_difference(sides["m"].prior, sides["h"].prior)[None]
        return scores | {f"dbac_{self.name}_prior": prior} | stacked

    def facts(self) -> dict[str, float]:
        """What the omegas are made of, means over trials."""
        found: dict[str, list[Any]] = {}
        for omegas in self.omegas(self.weighted(self.every_image)):
            for side, omega in omegas.items():
                parts: dict[str, Any] = {
                    "mean_quality": omega.mean_quality,
                    "mean_weight": omega.mean_weight,
                    "effective_sample": omega.effective_sample,
                }
                if len(omegas) == 2:
                    parts |= {"coverage": omega.coverage, "effective_sample_matched": omega.effective_sample_matched}
                for part, value in parts.items():
                    found.setdefault(f"{part}_{side}_{self.name}", []).append(value)
        for side, trials in self.tested.items():
            found[f"test_captions_{side}_{self.name}"] = [len(tested.rows) for tested in trials]
        return {key: float(np.mean(values)) for key, values in found.items()}

    def estimates(self) -> dict[str, Floats]:
        """The scores and both sides' omegas in each trial, `(trials,)`, by keys without the direction."""
        return {
            key.replace(f"_{self.name}", ""): values[:, 0]
            for key, values in self.quantities(self.every_image).items()
            if "prior" not in key
        }

    @property
    def name(self) -> str:
        return self.direction.name

    @property
    def every_image(self) -> Floats:
        """Every image once: the multiplicity of the estimate itself."""
        return np.ones((len(self.direction.shown), 1))


def unseen_means(answers: Answers, seen: Mapping[str, Sequence[Flags]]) -> dict[str, float]:
    """The scores and both sides' omegas over test captions that are not `seen`, and how many those are on each side.

    A trial in which a quantity is undefined does not count; what is undefined in all is left out.
    """
    kept = {side: [~flags for flags in of_side] for side, of_side in seen.items()}
    left = {
        f"test_captions_{side}": float(np.mean([flags.sum() for flags in of_side])) for side, of_side in kept.items()
    }
    unseen = answers.only(kept)
    return (known_means(unseen.estimates()) if unseen.tested else {}) | left
