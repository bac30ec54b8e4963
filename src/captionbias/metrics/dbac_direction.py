"""One direction of DBAC: what its attackers are asked, and the omegas of their answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores, stratified_split
from captionbias.bench.attacks import AttackPlan, seen_in_training
from captionbias.bench.inputs import task_counts
from captionbias.bench.pairing import Pairing
from captionbias.captions import Words
from captionbias.scores.captions import QUALITIES
from captionbias.scores.omega import (
    BLIND,
    MATCHED,
    NOT_SHOWN,
    Omega,
    Side,
    Table,
    Tested,
    normalized_difference,
    number_sets,
)
from captionbias.text import Tokens

INVERSE = "inverse_cross_entropy"


@dataclass(frozen=True, eq=False)
class Design:
    """What some trials of a direction compare: all of them the same, or each its own."""

    pairing: Pairing
    rows: dict[str, Integers]  # of each present side's captions those that count
    captions: dict[str, Side]  # these
    targets: Array  # what the attacker predicts of each image: classes `(images,)` or task flags `(images, tasks)`
    shown: Integers  # the number of what each image shows, `NOT_SHOWN` where it takes no part
    shown_sets: Flags  # which of the direction's `shown_labels` these numbers stand for, `(numbers, labels)`
    tested: dict[str, list[Tested]] = field(default_factory=dict)  # a trial each, once attackers have read them

    @property
    def trials(self) -> int:
        return len(self.pairing.seeds)

    def named_on_both_sides(self, multiplicity: Floats, names: int) -> tuple[Floats | None, Flags | None]:
        """The frequencies that matched DBAC weighs to, those of both sides together, or of the human captions where
        every one is a row of its own; and which named numbers occur on both sides."""
        if len(self.captions) < 2:
            return None, None
        present = [np.bincount(side.named, minlength=names) > 0 for side in self.captions.values()]
        target = self.captions["h"].frequencies(multiplicity, names)
        if self.pairing.held_out:
            target = (target + self.captions["m"].frequencies(multiplicity, names)) / 2
        return target, present[0] & present[1]


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A on both sides: what attackers are asked and, once they have answered, every number of DBAC."""

    name: str
    classes: tuple[str, ...]  # what the attacker's outputs are called
    shown_labels: tuple[str, ...]
    named_sets: Flags  # which of the `named_labels` the numbers of what is named stand for, `(numbers, labels)`
    named_labels: tuple[str, ...]
    designs: list[Design]  # of all trials, in order
    task_counts: dict[str, int] | None = None  # from T to A, how many images show each task
    plans: dict[str, AttackPlan] = field(default_factory=dict)  # of the attackers, `""`, and of the blind ones, `BLIND`
    report: dict[str, Any] | None = None  # of the alignment
    quality: str = "confidence"
    bayes: bool = True  # whether published omegas are weighted

    def answered(self, answers: Mapping[Trial, TrialScores], quality: str, bayes: bool) -> Direction:
        """With the answers to the trials of its plans."""

        def tested(side: str, number: int) -> Tested:
            trials = {attacker: plan.trials[side][0][number] for attacker, plan in self.plans.items()}
            scores = {
                attacker: QUALITIES[quality](answers[trial].log_probability, answers[trial].correct)
                for attacker, trial in trials.items()
            }
            return Tested(trials[""].test, scores)

        ends = np.cumsum([design.trials for design in self.designs]).tolist()
        designs = []
        for design, end in zip(self.designs, ends, strict=True):
            numbers = range(end - design.trials, end)
            sides = {side: [tested(side, number) for number in numbers] for side in design.captions}
            designs.append(replace(design, tested=sides))
        return replace(self, designs=designs, quality=quality, bayes=bayes)

    @property
    def trials(self) -> int:
        return sum(design.trials for design in self.designs)

    @property
    def every_image(self) -> Floats:
        """Every image once: the multiplicity of the estimate itself."""
        return np.ones((len(self.designs[0].shown), 1))

    def omegas(self, multiplicity: Floats) -> Iterator[dict[str, Omega]]:
        """Both sides' omegas, one trial after the other."""
        options = {"inverse": self.quality == INVERSE, "bayes": self.bayes}
        for design, tables in zip(self.designs, self._tables, strict=True):
            target, common = design.named_on_both_sides(multiplicity, len(self.named_sets))
            trials = [table.omegas(multiplicity, target, common, **options) for table in tables.values()]
            for of_trial in zip(*trials, strict=True):
                yield dict(zip(tables, of_trial, strict=True))

    def quantities(
        self, multiplicity: Floats, also: Callable[[int, dict[str, Omega]], None] = lambda *_: None
    ) -> dict[str, Floats]:
        """The scores and omegas by their keys, `(trials, replicates)` each; a prior `(designs, replicates)`. `also` is
        called with each trial's number and both sides' omegas."""
        trials = []
        for number, of_trial in enumerate(self.omegas(multiplicity)):
            trials.append(self._scores(of_trial))
            also(number, of_trial)
        undefined = np.full(multiplicity.shape[1], np.nan)
        keys = dict.fromkeys(key for scores in trials for key in scores)
        quantities = {key: np.stack([scores.get(key, undefined) for scores in trials]) for key in keys}
        if (prior := f"dbac_{self.name}_prior") in quantities:
            quantities[prior] = quantities[prior][: len(self.designs)]
        return quantities

    def shares(self, pairs: Integers) -> list[dict[str, Any]]:
        """How these pairs of labels share each trial's captions, by side; see `Table.shares`."""
        shares = []
        for design, tables in zip(self.designs, self._tables, strict=True):
            of_sides = [table.shares(pairs, design.shown_sets, self.named_sets) for table in tables.values()]
            shares += [dict(zip(tables, of_trial, strict=True)) for of_trial in zip(*of_sides, strict=True)]
        return shares

    def facts(self) -> dict[str, float]:
        """What the omegas are made of, means over trials."""
        facts = defaultdict(list)
        for of_trial in self.omegas(self.every_image):
            for side, omega in of_trial.items():
                for part, (value,) in omega.facts().items():
                    facts[f"{part}_{side}_{self.name}"].append(value)
        for design in self.designs:
            for side, trials in design.tested.items():
                facts[f"test_captions_{side}_{self.name}"] += [len(trial.rows) for trial in trials]
        return {key: float(np.mean(values)) for key, values in facts.items()}

    def estimates(self) -> dict[str, Floats]:
        """The scores and both sides' omegas in each trial, `(trials,)`, by keys without the direction."""
        return {
            key.replace(f"_{self.name}", ""): values[:, 0]
            for key, values in self.quantities(self.every_image).items()
            if "prior" not in key
        }

    def seen(self) -> dict[str, float]:
        """What percent of each side's test captions its attackers have seen in training; as `..._net`, they or the
        blind ones."""
        flags = {}
        for attacker, plan in self.plans.items():
            seen = seen_in_training(list(plan))
            for side, (trials,) in plan.trials.items():
                flags[side, attacker] = np.concatenate([seen[trial] for trial in trials])
        for side in self.plans[BLIND].trials if BLIND in self.plans else ():
            flags[side, "_net"] = flags[side, ""] | flags.pop((side, BLIND))
        return {f"{side}{form}": 100 * float(of.mean()) for (side, form), of in flags.items()}

    @cached_property
    def _tables(self) -> list[dict[str, Table]]:
        """Each design's captions by cell: what every block of replicates is read from."""
        return [
            {side: Table.of(of, one.shown, one.tested[side], len(self.named_sets)) for side, of in one.captions.items()}
            for one in self.designs
        ]

    def _scores(self, omegas: Mapping[str, Omega]) -> dict[str, Floats]:
        """One trial's scores and omegas by their keys, `(replicates,)` each."""
        name, forms = self.name, next(iter(omegas.values())).weight
        values = {form: {side: omega.value(form) for side, omega in omegas.items()} for form in forms}
        of_sides = {
            f"omega_{side}_{name}{form}": value
            for form in values
            if form != BLIND
            for side, value in values[form].items()
        }
        if len(omegas) < 2:
            return of_sides
        scores = {f"dbac_{name}{form}": normalized_difference(of["m"], of["h"]) for form, of in values.items()}
        if BLIND in values:
            scores[f"dbac_{name}_net"] = scores[f"dbac_{name}{MATCHED}"] - scores[f"dbac_{name}{BLIND}"]
        prior = normalized_difference(omegas["m"].prior, omegas["h"].prior)
        return scores | {f"dbac_{name}_prior": prior} | of_sides


def a_to_t(
    words: Words,
    classes: Integers,
    values: tuple[str, ...],
    named: Flags,
    tasks: tuple[str, ...],
    pairings: Sequence[Pairing],
) -> Direction:
    """The attacker predicts the attribute's `values`; captions name `tasks`, `named` by flags `(captions, tasks)`."""
    numbers, named_sets = number_sets(named)
    shown_sets = np.eye(len(values), dtype=bool)
    designs = [_design(words, pairing, numbers, classes, classes, shown_sets) for pairing in pairings]
    return Direction("a_to_t", values, values, named_sets, tasks, designs)


def t_to_a(
    words: Words,
    shown: Flags,
    by_pairing: Sequence[tuple[Flags, Flags]],
    tasks: tuple[str, ...],
    named: Flags,
    values: tuple[str, ...],
    pairings: Sequence[Pairing],
) -> Direction:
    """The attacker predicts the `tasks` that occur, see `shown_by_pairing`; captions name attribute `values`."""
    numbers, named_sets = number_sets(named)
    occurring = np.flatnonzero(shown.any(axis=0))
    designs = []
    for pairing, (flags, known) in zip(pairings, by_pairing, strict=True):
        number, shown_sets = number_sets(flags)
        of_image = np.where(known, number, NOT_SHOWN)
        designs.append(_design(words, pairing, numbers, flags[:, occurring], of_image, shown_sets))
    classes = tuple(tasks[task] for task in occurring)
    return Direction("t_to_a", classes, tasks, named_sets, values, designs, task_counts(shown, tasks))


def _design(
    words: Words, pairing: Pairing, named: Integers, targets: Array, shown: Integers, shown_sets: Flags
) -> Design:
    image = {"m": np.arange(words.model_rows), "h": words.human_image}
    number = {"m": named[: words.model_rows], "h": named[words.model_rows :]}
    rows = {"m": np.arange(words.model_rows), "h": pairing.human}
    rows = {side: of_side[shown[image[side][of_side]] != NOT_SHOWN] for side, of_side in rows.items() if len(of_side)}
    captions = {side: Side(image[side][of_side], number[side][of_side]) for side, of_side in rows.items()}
    return Design(pairing, rows, captions, targets, shown, shown_sets)


def plan_direction(
    direction: Direction,
    texts: Mapping[str, Tokens],
    masks: tuple[str, ...],
    classes: Integers,
    test_share: float,
    copies: Integers | None,
) -> AttackPlan:
    """Each side's trials: all captions of an image, and its `copies`, fall on the same side of a split."""
    plan: dict[str, list[list[Trial]]] = {side: [[]] for side in direction.designs[0].captions}
    for design in direction.designs:
        part = np.flatnonzero(design.shown != NOT_SHOWN)
        pictures = None if copies is None else copies[part]
        for side, captions in design.captions.items():
            rows = design.rows[side]
            tokens = texts[side] if len(rows) == len(texts[side]) else texts[side].select(rows)
            examples = Examples(tokens, design.targets[captions.image], len(direction.classes), masks)
            for seed in design.pairing.seeds:
                train, test = (
                    np.flatnonzero(np.isin(captions.image, part[images]))
                    for images in stratified_split(classes[part], test_share, seed, pictures)
                )
                plan[side][0].append(Trial(examples, train, test, seed))
    return AttackPlan(direction.name, direction.classes, plan)
