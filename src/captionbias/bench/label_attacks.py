"""What metrics of attackers that read labels stand on: labels as captions, some made as often wrong as a model's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores, balanced_split, stratified_split
from captionbias.attackers.registry import find_attacker
from captionbias.bench.attacks import AttackPlan, AttackScores, answers_to, trials_of
from captionbias.bench.counted import excess_over_person
from captionbias.bench.measurement import Prepared, Scores
from captionbias.bench.reading import Reading, draw_captions, read_labels
from captionbias.captions import Captions
from captionbias.errors import InputError
from captionbias.progress import Progress
from captionbias.scores.captions import Quality
from captionbias.statistics.samples import Sample, bootstrap_samples
from captionbias.text import Tokens

TEST_SHARE = 0.2
Sides = Mapping[str, Floats]  # the mean quality of answers about what is predicted, `m`, and what is true, `h`


@dataclass(frozen=True, eq=False)
class LabelQuestion:
    """How examples are made of some labels: those predicted, or the true ones."""

    examples: Callable[[Flags], Examples]
    truth: Flags
    predicted: Flags


@dataclass(frozen=True, eq=False)
class LabelAttack:
    """What a metric asks of some labels, how well each answer does, and its scores, by their keys, of the mean quality
    of each question's answers, `(trials, replicates)`. `balanced`: whether each class has as many images."""

    metric: str
    questions: Callable[[Reading], dict[str, LabelQuestion]]
    quality: Quality
    scores: Callable[[Mapping[str, Sides]], dict[str, Floats]]
    balanced: bool

    def plans(self, reading: Reading, seeds: range, equalize: bool) -> dict[str, AttackPlan]:
        """The trials of each question about predicted labels, those of one of an image's captions in each, and about
        true ones, made as often wrong if they are to be equalized."""
        rows = [draw_captions(reading.predictions.image, reading.predictions.key, seed) for seed in seeds]
        classes, split = reading.classes(), balanced_split if self.balanced else stratified_split
        halves = {seed: split(classes, TEST_SHARE, seed, reading.copies) for seed in seeds}
        plans = {}
        for name, question in self.questions(reading).items():
            predicted, truth = question.predicted, question.truth
            if not predicted.any():
                raise InputError(name, ": nothing is predicted for any image; give the captions' words as lexicons")
            columns: dict[str, list[Trial]] = {"m": [], "h": []}
            for seed, drawn in zip(seeds, rows, strict=True):
                predictions = predicted[drawn]
                true = match_error_rate(truth, predictions, seed) if equalize else truth
                for side, flags in (("m", predictions), ("h", true)):
                    columns[side].append(Trial(question.examples(flags), *halves[seed], seed))
            plans[name] = AttackPlan(name, (), {side: [column] for side, column in columns.items()})
        return plans


def attack_labels(
    attack: LabelAttack,
    captions: Captions | None,
    signed: Mapping[str, Any],
    *,
    encoder: str = "linear",
    precision: str | None = None,
    equalize: bool = True,
    trials: int = 10,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = False,
    details: bool = False,
    progress: Progress = None,
    **inputs: Any,
) -> Prepared:
    """The scores of labels, given or in captions, and with `controls` of one more person who describes the images.
    Attackers learn from each image once, and weights are of their answers. `inputs`: of `read_labels`. `signed`: what
    else is in the signature."""
    attacker, reading = find_attacker(encoder, precision, cache=cache), read_labels(captions, **inputs)

    def planned(side: Reading) -> tuple[dict[str, AttackPlan], Integers, Floats]:
        """The plans of what occurs, and of each image its group and its weight."""
        plans = attack.plans(side.occurring(), range(seed, seed + trials), equalize)
        return plans, np.unique(side.groups(seed), return_inverse=True)[1], side.truth.weight

    def samples(
        plans: Mapping[str, AttackPlan], groups: Integers, weight: Floats, answers: Mapping[Trial, TrialScores]
    ) -> dict[str, Sample]:
        quality = {"": attack.quality}
        scored = [
            (name, side, AttackScores.of(columns, answers, quality, groups, weight))
            for name, plan in plans.items()
            for side, columns in plan.trials.items()
        ]

        def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
            means: dict[str, dict[str, Floats]] = {name: {} for name in plans}
            for name, side, of_side in scored:
                means[name][side] = of_side.means("", multiplicity)
            return attack.scores(means)

        return bootstrap_samples(quantities, int(groups.max()) + 1, trials, bootstrap, seed)

    sides = reading.prepare_with_person(planned, controls, seed)
    every = [plan for plans, *_ in sides for plan in plans.values()]
    split = {"trials": trials, "split": f"{'balanced,' * attack.balanced}{TEST_SHARE:g}"}
    settings = {**attacker.signature(trials_of(every)), **signed, "equalized": equalize, **reading.signed, **split}

    def measured() -> Scores:
        answers = answers_to(every, attacker, cache=cache, distributed=distributed, progress=progress)
        scores = excess_over_person(attack.metric, *(samples(*side, answers) for side in sides))
        counts, doubts = reading.occurring().image_counts(), reading.doubts(attack.metric)
        return Scores(scores, {}, reading.notes, counts, doubts=doubts)

    return Prepared(settings | {"controls": controls, "seed": seed, "bootstrap": bootstrap}, measured)


def as_tokens(flags: Flags) -> Tokens:
    """Each image's labels as a caption of as many words."""
    _, labels = np.nonzero(flags)
    offsets = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
    return Tokens(labels.astype(np.int32), offsets.astype(np.int64), tuple(map(str, range(flags.shape[1]))))


def match_error_rate(truth: Flags, predicted: Flags, seed: int) -> Flags:
    """True labels made wrong as often as predictions are, on images drawn at random: of each label what is predicted is
    shuffled among the images that have it, and among those that do not. Tokas, Nair and Kerner 2025 flip as many labels
    as the model gets wrong, present or absent, which would add a rare label to as many images as the model misses it
    in."""
    generator = np.random.default_rng([seed, 6])
    result = predicted.copy()
    for label in range(truth.shape[1]):
        for members in (np.flatnonzero(truth[:, label]), np.flatnonzero(~truth[:, label])):
            result[members, label] = predicted[generator.permutation(members), label]
    return result
