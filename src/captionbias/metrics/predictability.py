"""What attackers read from labels: their examples, labels as often wrong as a model's, and how well they are read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.metrics.amplified_pairs import NO_TASKS
from captionbias.metrics.label_inputs import Labelled
from captionbias.metrics.measurement import mean_over_trials, summarize
from captionbias.scores import QUALITIES, number_sets
from captionbias.statistics.intervals import resamples
from captionbias.text import Tokens


@dataclass(frozen=True, eq=False)
class Sets:
    """All images' labels at once: flags of shape `(images, values)`, with the names `values`, and `(images, tasks)`."""

    values: tuple[str, ...]
    attributes: Flags
    tasks: Flags
    predicted_attributes: Flags | None
    predicted_tasks: Flags | None

    @classmethod
    def of(cls, labels: Labelled) -> Sets:
        blocks = list(labels.blocks())

        def whole(parts: Sequence[Flags | None], kept: Flags | None = None) -> Any:
            if any(part is None for part in parts):
                return None
            flags = np.concatenate([part for part in parts if part is not None])
            return flags if kept is None else flags[:, kept]

        values = whole([block.shown.attributes for block in blocks])
        tasks = whole([block.shown.tasks for block in blocks])
        # A lexicon has words for more than these images show.
        some = [flags.any(axis=0) if labels.of_captions else np.ones(flags.shape[1], bool) for flags in (values, tasks)]
        if not some[1].any():
            raise ValueError(NO_TASKS)
        return cls(
            tuple(itertools.compress(labels.attributes, some[0])),
            values[:, some[0]],
            tasks[:, some[1]],
            whole([block.predicted_attributes for block in blocks], some[0]),
            whole([block.predicted_tasks for block in blocks], some[1]),
        )

    def classes(self) -> Integers:
        """A number for each image's set of attribute values, as a split by them needs it."""
        (numbers,) = number_sets([self.attributes])
        rarest = int(np.bincount(numbers).min())
        if rarest < SMALLEST_CLASS:
            image = int(np.flatnonzero(np.bincount(numbers)[numbers] == rarest)[0])
            values = " and ".join(itertools.compress(self.values, self.attributes[image])) or "no value"
            raise ValueError(
                f"attributes: {rarest} images have {values}; an attacker needs at least {SMALLEST_CLASS}. Add images, "
                "or leave these out"
            )
        return numbers

    def counts(self) -> dict[str, int]:
        """Images with each attribute value."""
        return dict(zip(self.values, map(int, self.attributes.sum(axis=0)), strict=True))


def as_tokens(flags: Flags) -> Tokens:
    """Each image's labels as a caption of as many words.

    >>> as_tokens(np.array([[True, False], [True, True]])).texts()
    ['0', '0 1']
    """
    _, labels = np.nonzero(flags)
    offsets = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
    return Tokens(labels.astype(np.int32), offsets.astype(np.int64), tuple(map(str, range(flags.shape[1]))))


def as_wrong_as(truth: Flags, predicted: Flags, seed: int) -> Flags:
    """True labels made wrong as often as predictions are, on images drawn at random: quality equalisation.

    For each label, what is predicted for the images that have it is shuffled among them, and likewise for those that
    have it not. So presence and absence are each mistaken as often as by the model, but for no reason.

    Source: Tokas, Nair and Kerner 2025 flip as many labels as the model gets wrong, whether present or absent; that
    would add a rare label to as many images as the model misses it in.

    >>> truth = np.array([[True], [True], [False], [False]])
    >>> as_wrong_as(truth, np.array([[True], [True], [True], [True]]), seed=0).T.tolist()
    [[True, True, True, True]]
    """
    generator = np.random.default_rng([seed, 6])
    result = predicted.copy()
    for label in range(truth.shape[1]):
        for members in (np.flatnonzero(truth[:, label]), np.flatnonzero(~truth[:, label])):
            result[members, label] = predicted[generator.permutation(members), label]
    return result


@dataclass(frozen=True, eq=False)
class Predictability:
    """How well one side's labels were read in each trial, to be counted anew in every bootstrap replicate."""

    sums: Any
    counts: Any
    inverse: bool

    @classmethod
    def of(
        cls, trials: Sequence[Trial], answers: Mapping[Trial, TrialScores], quality: str, groups: Integers
    ) -> Predictability:
        from scipy.sparse import csr_array

        row = np.concatenate([np.full(len(trial.test), number) for number, trial in enumerate(trials)])
        group = np.concatenate([groups[trial.test] for trial in trials])
        scored = [QUALITIES[quality](answers[trial].log_probability, answers[trial].correct) for trial in trials]
        shape = (len(trials), int(groups.max()) + 1)
        return cls(
            csr_array((np.concatenate(scored), (row, group)), shape=shape),
            csr_array((np.ones(len(row)), (row, group)), shape=shape),
            quality == "inverse_cross_entropy",
        )

    def of_trials(self, multiplicity: Floats) -> Floats:
        """The mean quality of each trial and replicate, `(trials, replicates)`; nan without test images."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (self.sums @ multiplicity) / (self.counts @ multiplicity)
            return np.asarray(1 / means if self.inverse else means)


def over_trials(
    quantities: Callable[[Floats], Mapping[str, Floats]],
    bounds: Mapping[str, tuple[float, float]],
    groups: Integers,
    trials: int,
    bootstrap: int,
    seed: int,
) -> dict[str, float]:
    """Each quantity with its spread over trials and its interval over images and trials.

    `quantities`: their values, `(trials, replicates)` each, for multiplicities of groups `(groups, replicates)`.
    """
    count = int(groups.max()) + 1
    estimates = quantities(np.ones((count, 1)))
    replicates: dict[str, list[Floats]] = {name: [np.zeros(0)] for name in estimates}
    for multiplicity, weights in resamples(count, trials, bootstrap, seed):
        for name, values in quantities(multiplicity).items():
            replicates[name].append(mean_over_trials(values, weights))
    result: dict[str, float] = {}
    for name, values in estimates.items():
        result |= summarize(name, values[:, 0], np.concatenate(replicates[name]), bounds[name])
    return result
