"""What a metric's attackers are trained on, and what they say of test captions, summed by image, so that a bootstrap
draws sums instead of captions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.attackers.base import Fitted, Trial, TrialScores, base_rates
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import Attacker
from captionbias.bench.catalogue import PERCENT, SIDES, SIGNED_PERCENT, Score
from captionbias.scores.captions import Quality
from captionbias.statistics.samples import Sample, bootstrap_samples

KEYS = {"m": "m", "h": "d"}  # papers call people's side D
GAIN = "gain"


def with_sides(score: Score, data: str, meaning: str, alone: bool = False, **also: Any) -> Iterator[Score]:
    """The difference of two percentages, and each: the captioner's, `m`, and that of the `data`, `d`."""
    yield score
    for side, who in (("m", SIDES["m"]), ("d", data)):
        yield Score(
            f"{score.key}_{side}",
            f"{score.label}, {who}",
            score.digits,
            PERCENT,
            meaning,
            row=f"  {who}",
            alone=alone and side == "m",
            human=who == SIDES["h"],
            **also,
        )


def gain_scores(key: str, label: str, direction: str | None = None) -> Iterator[Score]:
    """Both sides' gains over base rates, beside the score that attackers are trained for."""
    for side, who in SIDES.items():
        yield Score(
            f"{key}_{GAIN}_{KEYS[side]}",
            f"{label}, gain over base rates, {who}",
            1,
            SIGNED_PERCENT,
            "How much more probability, of 100, the attacker gives to the truth than one who only knows how common "
            "each answer is. 0: it learned nothing; if that may be so on both sides, there is no verdict.",
            row=f"  gain, {who}",
            direction=direction,
            human=side == "h",
            on_cards=False,
        )


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """One question that attackers answer from captions: `lic`, or a direction of DBAC."""

    name: str
    classes: tuple[str, ...]  # what the attacker's outputs are called: attribute values, or tasks
    trials: dict[str, list[list[Trial]]]  # of each side (`m` the captioner, `h` people) and column, one a seed
    images: Mapping[Trial, Integers] = field(default_factory=dict)  # of each of a trial's captions
    weights: Floats | None = None  # what answers about each image count; all alike when None
    fitted: list[Fitted] = field(default_factory=list)  # the first of the captioner's captions, if they were kept

    def __iter__(self) -> Iterator[Trial]:
        """Every trial, in the order in which they are trained."""
        return (trial for columns in self.trials.values() for column in columns for trial in column)

    def first(self, side: str, count: int) -> list[Trial]:
        """The first trials of a side's first column."""
        return self.trials[side][0][:count] if side in self.trials else []

    def keep(self, answers: Mapping[Trial, TrialScores]) -> AttackPlan:
        """The plan with those attackers of the captioner's captions that the answers came with."""
        trials = self.first("m", len(answers))
        return replace(self, fitted=[fitted for trial in trials if (fitted := answers[trial].fitted)])


@dataclass(frozen=True, eq=False)
class Attacks:
    """What trained attackers leave to a metric's views: their plans and, of DBAC, each `Direction` by its name."""

    plans: dict[str, AttackPlan]
    attacker: Attacker
    questions: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class AttackScores:
    """One side's scores by trial and unit (an image, or a group of them): the sum of each, and how many captions are
    scored, sparse, `(trials x columns, units)`; an image counts as often as its weight says."""

    sums: dict[str, Any]
    counts: Any
    columns: int

    @classmethod
    def of(
        cls,
        columns: Sequence[Sequence[Trial]],
        answers: Mapping[Trial, TrialScores],
        qualities: Mapping[str, Quality],
        units: Integers,
        weights: Floats | None = None,
        selection: Mapping[Trial, Flags] | None = None,
        images: Mapping[Trial, Integers] | None = None,
    ) -> AttackScores:
        """Score captions by each of the `qualities`. `columns`: trials of each column of captions, one a seed. `units`,
        `weights`: of each image; all count alike when None. `selection`: which test captions of a trial count; all when
        None. `images`: of each of a trial's captions; when None there is one of each image."""
        trials = [trial for of_seed in zip(*columns, strict=True) for trial in of_seed]
        flags = [selection[trial] if selection else np.ones(len(trial.test), bool) for trial in trials]
        place = np.repeat(np.arange(len(trials)), [int(scored.sum()) for scored in flags])
        tested = (trial.test if images is None else images[trial][trial.test] for trial in trials)
        rows = np.concatenate([of_trial[scored] for of_trial, scored in zip(tested, flags, strict=True)])
        weight = np.ones(len(rows)) if weights is None else weights[rows]

        def matrix(quality: Quality) -> Any:
            by_trial = (quality(answers[trial].log_probability, answers[trial].correct) for trial in trials)
            values = np.concatenate([of_trial[scored] for of_trial, scored in zip(by_trial, flags, strict=True)])
            return sparse(weight * values, (place, units[rows]), (len(trials), int(units.max()) + 1))

        sums = {name: matrix(quality) for name, quality in qualities.items()}
        return cls(sums, matrix(lambda log_probability, _: np.ones(len(log_probability))), len(columns))

    def means(self, name: str, multiplicity: Floats) -> Floats:
        """The mean over captions and columns in each trial and replicate, `(trials, replicates)`, or nan."""
        with np.errstate(invalid="ignore"):
            per_training = (self.sums[name] @ multiplicity) / (self.counts @ multiplicity)
        return np.asarray(per_training.reshape(-1, self.columns, multiplicity.shape[1]).mean(axis=1))

    def estimates(self) -> dict[str, Floats]:
        """Each score's mean over captions and columns in each trial: shape `(trials,)`."""
        ones = np.ones((self.counts.shape[1], 1))
        return {name: self.means(name, ones)[:, 0] for name in self.sums}

    def of_columns(self, name: str) -> Floats:
        """A score's mean over captions and trials in each column: shape `(columns,)`."""
        with np.errstate(invalid="ignore"):
            per_training = np.asarray(self.sums[name].sum(axis=1) / self.counts.sum(axis=1))
        return np.asarray(per_training.reshape(-1, self.columns).mean(axis=0))

    def scored(self) -> Floats:
        """How many captions each trial was scored on, all columns together: shape `(trials,)`."""
        per_training = np.asarray(self.counts.sum(axis=1), np.float64)
        return np.asarray(per_training.reshape(-1, self.columns).sum(axis=1))


def trials_of(plans: Iterable[AttackPlan]) -> list[Trial]:
    """Every trial of these plans, in the order in which they are trained."""
    return [trial for plan in plans for trial in plan]


def answers_to(plans: Iterable[AttackPlan], attacker: Attacker, **options: Any) -> dict[Trial, TrialScores]:
    """What the trained attackers of all plans answer; `options`: of `run_trials`."""
    trials = trials_of(plans)
    return dict(zip(trials, run_trials(trials, attacker, **options), strict=True))


def gain(trial: Trial, answer: TrialScores) -> Floats:
    """Of 100, how much more probable its test captions' truth is to an attacker than by base rates: 0 if it learned
    nothing, however sure of itself. Of tasks the geometric mean of all."""
    questions = trial.examples.outputs if trial.examples.multilabel else 1
    return 100 * (np.exp(answer.log_probability / questions) - np.exp(base_rates(trial) / questions))


def percent(quality: Quality) -> Quality:
    """The quality of 100."""
    return lambda log_probability, correct: 100 * quality(log_probability, correct)


def compare_sides(
    scores: Mapping[str, tuple[str, Mapping[str, AttackScores]]], replicates: int, seed: int, copies: Integers | None
) -> dict[str, Sample]:
    """`<key>_m`, `<key>_d` and, first, their difference `<key>`, of each key's quality and the sides that have it;
    `copies`: see `Captions.copies`."""

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        return {
            f"{key}_{KEYS[side]}": of_side.means(name, multiplicity)
            for key, (name, sides) in scores.items()
            for side, of_side in sides.items()
        }

    one = next(of_side for _, sides in scores.values() for of_side in sides.values())
    trainings, images = one.counts.shape
    samples = bootstrap_samples(quantities, images, trainings // one.columns, replicates, seed, copies=copies)
    both = [key for key, (_, sides) in scores.items() if len(sides) > 1]
    return {key: samples[f"{key}_m"] - samples[f"{key}_d"] for key in both} | samples


def overlap_with_training(trials: Sequence[Trial]) -> dict[Trial, Flags]:
    """Which test captions of each trial are also, word for word, in its training split: `(test captions,)`."""
    numbers = {
        examples: np.unique(examples.tokens.fingerprints(), return_inverse=True)[1].reshape(-1)
        for examples in {trial.examples for trial in trials}
    }
    sides = ((trial, numbers[trial.examples]) for trial in trials)
    return {trial: np.isin(number[trial.test], number[trial.train]) for trial, number in sides}
