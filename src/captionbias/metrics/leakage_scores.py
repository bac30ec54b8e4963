"""Attackers' scores of captions, averaged over captions, columns and trials, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.metrics.inputs import note
from captionbias.metrics.measurement import Sample, defined, difference, mean_over_trials, summarize_sample
from captionbias.scores import CAPTION_SCORES
from captionbias.statistics.intervals import resamples


@dataclass(frozen=True, eq=False)
class Measured:
    """One side's scores, summed for each image: matrices of shape `(trials x columns, images)`."""

    sums: dict[str, Any]
    counts: Any
    columns: int
    seen_share: float

    @classmethod
    def of(
        cls, tables: list[list[Trial]], answers: dict[Trial, TrialScores], images: int, unseen_only: bool
    ) -> Measured:
        from scipy.sparse import csr_array

        trials = [trial for of_one_seed in zip(*tables, strict=True) for trial in of_one_seed]
        seen = seen_in_training(trials)
        kept = [~flags if unseen_only else np.ones_like(flags) for flags in seen]
        rows = np.concatenate([np.full(flags.sum(), number) for number, flags in enumerate(kept)])
        image = np.concatenate([trial.test[flags] for trial, flags in zip(trials, kept, strict=True)])

        def matrix(values: Floats) -> Any:
            return csr_array((values, (rows, image)), shape=(len(trials), images))

        scored = {
            name: np.concatenate(
                [
                    100 * score(answers[trial].log_probability, answers[trial].correct)[flags]
                    for trial, flags in zip(trials, kept, strict=True)
                ]
            )
            for name, score in CAPTION_SCORES.items()
        }
        return cls(
            {name: matrix(values) for name, values in scored.items()},
            matrix(np.ones(len(rows))),
            len(tables),
            float(np.concatenate(seen).mean()),
        )

    def means(self, score: str, multiplicity: Floats) -> Floats:
        """The mean over captions and columns in each trial and replicate: shape `(trials, replicates)`."""
        with np.errstate(invalid="ignore"):
            per_training = (self.sums[score] @ multiplicity) / (self.counts @ multiplicity)
        return np.asarray(per_training.reshape(-1, self.columns, multiplicity.shape[1]).mean(axis=1))

    def estimates(self, score: str) -> Floats:
        """The mean over captions and columns in each trial: shape `(trials,)`; nan where a column has no caption."""
        return self.means(score, np.ones((self.counts.shape[1], 1)))[:, 0]

    def scored(self) -> Floats:
        """How many captions each trial was scored on, all columns together: shape `(trials,)`."""
        per_training = np.asarray(self.counts.sum(axis=1), np.float64)
        return np.asarray(per_training.reshape(-1, self.columns).sum(axis=1))

    def trial_table(self, seed: int) -> list[dict[str, float]]:
        """One row a trial: its seed, its three scores, and how many captions it was scored on."""
        scores = {name: self.estimates(name) for name in self.sums}
        return [
            {"seed": seed + number, "captions": int(count)} | {name: float(scores[name][number]) for name in scores}
            for number, count in enumerate(self.scored())
        ]

    def by_class(self, values: list[str], classes: Integers) -> dict[str, dict[str, float]]:
        """The same scores over the images of each attribute value alone; none where no caption was scored."""
        members = (classes[:, None] == np.arange(len(values))).astype(np.float64)
        each = {name: self.means(name, members) for name in self.sums}
        scores = {name: mean_over_trials(means, np.ones_like(means)) for name, means in each.items()}
        return {value: defined({name: scores[name][k] for name in scores}) for k, value in enumerate(values)}


def seen_in_training(trials: Sequence[Trial]) -> list[Flags]:
    """Of each trial, which test captions also stand, word for word, in its training split: shape `(test captions,)`.

    Examples that several trials share are numbered once.
    """
    numbers = {
        examples: np.unique(examples.tokens.fingerprints(), return_inverse=True)[1].reshape(-1)
        for examples in {trial.examples for trial in trials}
    }
    flags = []
    for trial in trials:
        number = numbers[trial.examples]
        trained = np.zeros(len(number), bool)
        trained[number[trial.train]] = True
        flags.append(trained[number[trial.test]])
    return flags


def check_unseen(trials: Sequence[Trial]) -> None:
    """Raise a ValueError if a trial has no test captions but those that stand in its training split."""
    for trial, seen in zip(trials, seen_in_training(trials), strict=True):
        if seen.all():
            raise ValueError(f"unseen_only: every test caption of trial {trial.name} stands in its training split")


def note_without_unseen(side: str, lacking: Flags, notes: list[str]) -> None:
    """Say in how many of a side's trials, flags `(trials,)`, there is nothing unseen to score."""
    if lacking.any():
        rest = "have no value" if lacking.all() else "are those of the other trials"
        note(
            notes,
            f"in {lacking.sum()} of {len(lacking)} trials all {side} test captions of an attacker also stand in its "
            f"training split; the details' scores of unseen captions {rest}",
        )


def means(measured: dict[str, Measured]) -> dict[str, float]:
    """Every score of each side, and M minus D, as `compare` gives them, without spread and intervals."""
    values: dict[str, Floats] = {}
    for score in CAPTION_SCORES:
        of_sides = {f"{score}_{side}": of_side.estimates(score) for side, of_side in measured.items()}
        if len(measured) == 2:
            values[score] = of_sides[f"{score}_m"] - of_sides[f"{score}_d"]
        values |= of_sides
    return known_means(values)


def known_means(values: Mapping[str, Floats]) -> dict[str, float]:
    """The mean over those trials in which each quantity, `(trials,)`, is defined; none where it is in no trial.

    >>> known_means({"lic_m": np.array([1.0, np.nan, 2.0]), "lic_d": np.array([np.nan])})
    {'lic_m': 1.5}
    """
    known = {name: of_trials[~np.isnan(of_trials)] for name, of_trials in values.items()}
    return {name: float(of_trials.mean()) for name, of_trials in known.items() if len(of_trials)}


def compare(measured: dict[str, Measured], seed: int, bootstrap: int) -> dict[str, Any]:
    """Every score of each side, and M minus D where there are both."""
    names = [(score, side) for score in CAPTION_SCORES for side in measured]
    values = {(score, side): measured[side].estimates(score) for score, side in names}
    trials, images = len(next(iter(values.values()))), next(iter(measured.values())).counts.shape[1]
    blocks: dict[tuple[str, str], list[Floats]] = {name: [np.zeros((trials, 0))] for name in names}
    replicates: dict[tuple[str, str], list[Floats]] = {name: [np.zeros(0)] for name in names}
    for multiplicity, weights in resamples(images, trials, bootstrap, seed):
        for score, side in names:
            means = measured[side].means(score, multiplicity)
            blocks[score, side].append(means)
            replicates[score, side].append(mean_over_trials(means, weights))
    sample = {
        name: Sample(values[name], np.concatenate(blocks[name], axis=1), np.concatenate(replicates[name]), (0.0, 100.0))
        for name in names
    }

    result: dict[str, Any] = {}
    for score in CAPTION_SCORES:
        if len(measured) == 2:
            result |= summarize_sample(score, difference(sample[score, "m"], sample[score, "d"]))
        for side in measured:
            result |= summarize_sample(f"{score}_{side}", sample[score, side])
    return result
