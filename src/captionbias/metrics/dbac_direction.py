"""One direction of DBAC: what its attackers are asked, and the omegas of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.splits import stratified_split
from captionbias.captions import Words
from captionbias.metrics.attack_plan import AttackPlan
from captionbias.metrics.inputs import task_counts
from captionbias.metrics.pairing import Pairing
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
from captionbias.scores.omega import NOT_SHOWN, Weighted
from captionbias.statistics.samples import known_means
from captionbias.text import Tokens

SIDES = ("m", "h")
FORMS = ("", "_matched")
INVERSE = "inverse_cross_entropy"
BLIND_SCORES = ("dbac_blind", "dbac_net")  # of a direction, without its name


@dataclass(frozen=True, eq=False)
class Design:
    """What some trials of a direction compare: all of them the same, or each its own.

    `pairing`: their seeds and the human captions that count. `rows`: of each present side's captions those that count.
    `captions`: these, by image and by what they name. `targets`: what the attacker predicts of each image: classes
    `(images,)` or task flags `(images, tasks)`. `shown`: the number of what each image shows, `(images,)`, `NOT_SHOWN`
    where the image takes no part. `shown_sets`: which of the direction's `shown_labels` the numbers stand for.
    """

    pairing: Pairing
    rows: dict[str, Integers]
    captions: dict[str, Side]
    targets: Array
    shown: Integers
    shown_sets: Flags


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A on both sides.

    `name`: `a_to_t` or `t_to_a`. `classes`: what the attacker's outputs are called. `named_sets`: which of the
    `named_labels` the numbers of what is named stand for, `(numbers, labels)`. `designs`: of all trials, in order.
    `task_counts`: from T to A, how many images show each task, the most frequent first.
    """

    name: str
    classes: tuple[str, ...]
    shown_labels: tuple[str, ...]
    named_sets: Flags
    named_labels: tuple[str, ...]
    designs: list[Design]
    task_counts: dict[str, int] | None = None


def a_to_t(
    words: Words,
    classes: Integers,
    values: tuple[str, ...],
    named: Flags,
    tasks: tuple[str, ...],
    pairings: Sequence[Pairing],
) -> Direction:
    """The attacker predicts the attribute's `values`; captions name `tasks`, `named` by flags `(captions, tasks)`."""
    (numbers,) = number_sets([named])
    shown_sets = np.eye(len(values), dtype=bool)
    designs = [_design(words, pairing, numbers, classes, classes, shown_sets) for pairing in pairings]
    return Direction("a_to_t", values, values, _sets(named, numbers), tasks, designs)


def t_to_a(
    words: Words,
    shown: Flags,
    by_pairing: Sequence[tuple[Flags, Flags]],
    tasks: tuple[str, ...],
    named: Flags,
    values: tuple[str, ...],
    pairings: Sequence[Pairing],
) -> Direction:
    """The attacker predicts those of the `tasks` that occur; captions name attribute `values`, by flags likewise.

    `shown`: which tasks each image shows, `(images, tasks)`; `by_pairing`: the same in each pairing, and whether it is
    known of the image, see `shown_by_pairing`.
    """
    (numbers,) = number_sets([named])
    occurring = np.flatnonzero(shown.any(axis=0))
    designs = []
    for pairing, (flags, known) in zip(pairings, by_pairing, strict=True):
        (number,) = number_sets([flags])
        of_image = np.where(known, number, NOT_SHOWN)
        designs.append(_design(words, pairing, numbers, flags[:, occurring], of_image, _sets(flags, number)))
    classes = tuple(tasks[task] for task in occurring)
    return Direction("t_to_a", classes, tasks, _sets(named, numbers), values, designs, task_counts(shown, tasks))


def _design(
    words: Words, pairing: Pairing, named: Integers, targets: Array, shown: Integers, shown_sets: Flags
) -> Design:
    image = {"m": np.arange(words.model_rows), "h": words.human_image}
    number = {"m": named[: words.model_rows], "h": named[words.model_rows :]}
    rows = {"m": np.arange(words.model_rows), "h": pairing.human}
    rows = {side: of_side[shown[image[side][of_side]] != NOT_SHOWN] for side, of_side in rows.items() if len(of_side)}
    captions = {side: Side(image[side][of_side], number[side][of_side]) for side, of_side in rows.items()}
    return Design(pairing, rows, captions, targets, shown, shown_sets)


def _sets(flags: Flags, numbers: Integers) -> Flags:
    """The set that each number stands for."""
    return np.asarray(flags[np.unique(numbers, return_index=True)[1]])


def plan_direction(
    direction: Direction,
    texts: Mapping[str, Tokens],
    masks: tuple[str, ...],
    classes: Integers,
    test_share: float,
    copies: Integers | None = None,
) -> AttackPlan:
    """Each side's trials. A trial splits the images that take part: all captions of one fall on the same side, and so
    do its `copies`."""
    plan: dict[str, list[list[Trial]]] = {}
    for design in direction.designs:
        part = np.flatnonzero(design.shown != NOT_SHOWN)
        for side, captions in design.captions.items():
            rows = design.rows[side]
            tokens = texts[side] if len(rows) == len(texts[side]) else texts[side].select(rows)
            examples = Examples(tokens, design.targets[captions.image], len(direction.classes), masks)
            (trials,) = plan.setdefault(side, [[]])
            for seed in design.pairing.seeds:
                train, test = (
                    np.flatnonzero(np.isin(captions.image, part[images]))
                    for images in stratified_split(
                        classes[part], test_share, seed, None if copies is None else copies[part]
                    )
                )
                trials.append(Trial(f"{direction.name} {side} seed {seed}", examples, train, test, seed))
    return AttackPlan(direction.name, direction.classes, plan)


@dataclass(frozen=True, eq=False)
class Answers:
    """A design with what its trained attackers said: every number of DBAC follows from it."""

    direction: Direction
    design: Design
    tested: dict[str, list[Tested]]
    kind: str
    bayes: bool

    def only(self, kept: Mapping[str, Sequence[Flags]]) -> Answers:
        """The same answers to these test captions of each trial, flags `(test captions,)`, as though they were all.

        What a caption names then weighs by its frequency among the captions kept, of all the design's trials together;
        what an image shows still weighs by its frequency among all images. A side of which nothing is kept is left out.
        """
        captions, tested = {}, {}
        for side, of_side in self.design.captions.items():
            rows = [trial.rows[flags] for trial, flags in zip(self.tested[side], kept[side], strict=True)]
            every = np.concatenate(rows)
            if not len(every):
                continue
            captions[side] = Side(of_side.image[every], of_side.named[every])
            places = np.split(np.arange(len(every)), np.cumsum([len(part) for part in rows])[:-1])
            tested[side] = [
                Tested(place, trial.quality[flags], None if trial.blind is None else trial.blind[flags])
                for place, trial, flags in zip(places, self.tested[side], kept[side], strict=True)
            ]
        return replace(self, design=replace(self.design, captions=captions), tested=tested)

    @property
    def trials(self) -> int:
        return len(self.design.pairing.seeds)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Each side's captions by cell: what every block of replicates is read from."""
        names = len(self.direction.named_sets)
        return {
            side: tabulate(captions, self.design.shown, self.tested[side], names)
            for side, captions in self.design.captions.items()
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
        sets = self.design.shown_sets, self.direction.named_sets
        found = {side: pair_shares(table, pairs, *sets) for side, table in self.tables.items()}
        return [dict(zip(found, of_trial, strict=True)) for of_trial in zip(*found.values(), strict=True)]

    def _named_on_both_sides(self, multiplicity: Floats) -> tuple[Floats | None, Flags | None]:
        """The frequencies that matched DBAC weighs to, and which named numbers occur on both sides.

        Those of both sides together; of the human captions alone where every one of them is a row of its own.
        """
        captions = self.design.captions
        if len(captions) < 2:
            return None, None
        names = len(self.direction.named_sets)
        present = [np.bincount(side.named, minlength=names) > 0 for side in captions.values()]
        target = named_frequencies(captions["h"], multiplicity, names)
        if self.design.pairing.held_out:
            target = (target + named_frequencies(captions["m"], multiplicity, names)) / 2
        return target, present[0] & present[1]

    def quantities(self, multiplicity: Floats, also: Callable[[dict[str, Omega]], None]) -> dict[str, Floats]:
        """The scores and omegas by their keys, `(trials, replicates)` each, `(1, replicates)` for a prior.

        `also` is called with both sides' omegas of each trial.
        """
        name, sides, of_trials = self.direction.name, self.weighted(multiplicity), []
        for omegas in self.omegas(sides):
            found = {f"omega_{side}_{name}": omega.published for side, omega in omegas.items()}
            if len(omegas) == 2:
                found |= {f"omega_{side}_{name}_matched": omega.matched for side, omega in omegas.items()}
                found |= {f"blind_{side}": omega.blind for side, omega in omegas.items() if omega.has_blind}
            of_trials.append(found)
            also(omegas)
        stacked = {key: np.stack([found[key] for found in of_trials]) for key in of_trials[0]}
        if len(sides) < 2:
            return stacked
        scores = {
            f"dbac_{name}{form}": normalized_difference(
                stacked[f"omega_m_{name}{form}"], stacked[f"omega_h_{name}{form}"]
            )
            for form in FORMS
        }
        if "blind_m" in stacked:
            blind = normalized_difference(stacked.pop("blind_m"), stacked.pop("blind_h"))
            scores |= {f"dbac_{name}_blind": blind, f"dbac_{name}_net": scores[f"dbac_{name}_matched"] - blind}
        prior = normalized_difference(sides["m"].prior, sides["h"].prior)[None]
        return scores | {f"dbac_{name}_prior": prior} | stacked

    def facts(self) -> dict[str, list[float]]:
        """What the omegas are made of, in each trial, by keys without the direction."""
        found: dict[str, list[float]] = {}
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
                    found.setdefault(f"{part}_{side}", []).extend(value)
        for side, trials in self.tested.items():
            found[f"test_captions_{side}"] = [len(tested.rows) for tested in trials]
        return found

    @property
    def every_image(self) -> Floats:
        """Every image once: the multiplicity of the estimate itself."""
        return np.ones((len(self.design.shown), 1))


@dataclass(frozen=True, eq=False)
class DirectionAnswers:
    """What all attackers of a direction said, design by design."""

    direction: Direction
    designs: list[Answers]

    @classmethod
    def of(
        cls,
        direction: Direction,
        plan: AttackPlan,
        control: AttackPlan | None,
        answers: Mapping[Trial, TrialScores],
        kind: str,
        bayes: bool,
    ) -> DirectionAnswers:
        """From the answers to the trials of a plan, and to those of its blind control."""
        score = QUALITIES[kind]

        def qualities(trials: Sequence[Trial]) -> list[Floats]:
            return [score(answers[trial].log_probability, answers[trial].correct) for trial in trials]

        designs, start = [], 0
        for design in direction.designs:
            chosen = slice(start, start := start + len(design.pairing.seeds))
            tested = {}
            for side, (trials,) in plan.trials.items():
                blind = qualities(control.trials[side][0][chosen]) if control else [None] * len(trials[chosen])
                tested[side] = [
                    Tested(trial.test, quality, of_blind)
                    for trial, quality, of_blind in zip(trials[chosen], qualities(trials[chosen]), blind, strict=True)
                ]
            designs.append(Answers(direction, design, tested, kind, bayes))
        return cls(direction, designs)

    @property
    def name(self) -> str:
        return self.direction.name

    @property
    def trials(self) -> int:
        return sum(answers.trials for answers in self.designs)

    def quantities(
        self, multiplicity: Floats, also: Callable[[int, dict[str, Omega]], None] | None = None
    ) -> dict[str, Floats]:
        """The scores and omegas by their keys, `(trials, replicates)` each; a prior `(designs, replicates)`.

        `also` is called with each trial's number and both sides' omegas.
        """
        numbers = iter(range(self.trials))

        def next_trial(omegas: dict[str, Omega]) -> None:
            number = next(numbers)
            if also:
                also(number, omegas)

        found = [answers.quantities(multiplicity, next_trial) for answers in self.designs]
        return {key: np.concatenate([of_design[key] for of_design in found]) for key in found[0]}

    def shares(self, pairs: Integers) -> list[dict[str, Any]]:
        """How these pairs of labels share each trial's captions, by side.

        Raises:
            ValueError: the quality is no mean over captions.
        """
        if self.designs[0].kind == INVERSE:
            raise ValueError(f"quality {INVERSE!r} is not a mean over captions and has no parts")
        return list(chain.from_iterable(answers.shares(pairs) for answers in self.designs))

    def facts(self) -> dict[str, float]:
        """What the omegas are made of, means over trials."""
        found = [answers.facts() for answers in self.designs]
        return {
            f"{key}_{self.name}": float(np.mean(list(chain.from_iterable(of_design[key] for of_design in found))))
            for key in found[0]
        }

    def estimates(self) -> dict[str, Floats]:
        """The scores and both sides' omegas in each trial, `(trials,)`, by keys without the direction."""
        return {
            key.replace(f"_{self.name}", ""): values[:, 0]
            for key, values in self.quantities(self.designs[0].every_image).items()
            if "prior" not in key
        }

    def unseen(
        self, seen: Mapping[str, Sequence[Flags]], seen_by_either: Mapping[str, Sequence[Flags]] | None = None
    ) -> dict[str, float]:
        """The scores and both sides' omegas over test captions that are not `seen`, and how many those are.

        Net, and blind with it, are over those that the blind attacker has not seen either (`seen_by_either` are the
        others), counted by `test_captions_s_net`: captions that differ in masked words alone are one to it, so it has
        seen more, and net compares two attackers that have both to generalise, on the same captions. So net is not the
        difference of this matched and this blind score.

        A trial in which a quantity is undefined does not count; what is undefined in all is left out.
        """
        found = {key: of for key, of in self._without(seen).items() if key not in BLIND_SCORES}
        counts = _left(seen, "")
        if seen_by_either:
            found |= {key: of for key, of in self._without(seen_by_either).items() if key in BLIND_SCORES}
            counts |= _left(seen_by_either, "_net")
        return known_means(found) | counts

    def _without(self, seen: Mapping[str, Sequence[Flags]]) -> dict[str, Floats]:
        """The estimates of the test captions that are not `seen`, `(trials,)`."""
        found: dict[str, list[Floats]] = {}
        start = 0
        for answers in self.designs:
            chosen = slice(start, start := start + answers.trials)
            rest = answers.only({side: [~flags for flags in of_side[chosen]] for side, of_side in seen.items()})
            if rest.tested:
                for key, values in DirectionAnswers(self.direction, [rest]).estimates().items():
                    found.setdefault(key, []).append(values)
        return {key: np.concatenate(values) for key, values in found.items()}


def _left(seen: Mapping[str, Sequence[Flags]], form: str) -> dict[str, float]:
    """How many test captions are not `seen`, means over trials, by side."""
    return {
        f"test_captions_{side}{form}": float(np.mean([(~flags).sum() for flags in of_side]))
        for side, of_side in seen.items()
    }
