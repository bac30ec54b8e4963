"""Omega, against a caption-by-caption restatement of its definition without cells, numbers or multiplicities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from captionbias.attackers.base import TrialScores, score_tasks
from captionbias.scores import QUALITIES, Omega, Side, named_frequencies, number_sets, tabulate, weighted
from captionbias.scores import Tested as Answered

KINDS = list(QUALITIES)
PARTS = (
    "published",
    "matched",
    "blind",
    "mean_quality",
    "mean_weight",
    "coverage",
    "effective_sample",
    "effective_sample_matched",
)


@dataclass
class Caption:
    """One human or model caption: what it names, what its image shows, and what the attacker made of it.

    Two attackers: the probability that each gives to the truth and whether it is right, the blind one's second.
    """

    image: int
    names: frozenset[int]
    shows: Hashable
    answers: tuple[tuple[float, bool], tuple[float, bool]]
    tested: bool


def frequency(wanted: Hashable, among: Sequence[Hashable]) -> float:
    return sum(one == wanted for one in among) / len(among)


def quality(kind: str, probability: float, correct: bool) -> float:
    if kind == "confidence":
        return probability
    return float(correct) if kind == "accuracy" else -math.log(probability)


def by_hand(
    captions: list[Caption],
    sides: tuple[list[Caption], list[Caption]],
    shown: Sequence[Hashable],
    both: set[frozenset[int]],
    kind: str,
    bayes: bool,
) -> dict[str, float]:
    """All forms by their definition, weighed to the names of both `sides`: `shown` is what each image shows."""
    tested = [caption for caption in captions if caption.tested]
    q, q_blind = ([quality(kind, *caption.answers[which]) for caption in tested] for which in (0, 1))
    named = [caption.names for caption in captions]

    def pi(names: frozenset[int]) -> float:
        return sum(frequency(names, [one.names for one in side]) for side in sides) / 2

    w = [frequency(caption.names, named) / frequency(caption.shows, shown) if bayes else 1.0 for caption in tested]
    v = [
        pi(caption.names) / frequency(caption.names, named) / frequency(caption.shows, shown)
        if caption.names in both
        else 0.0
        for caption in tested
    ]
    n = len(tested)
    weighted = math.fsum(one * weight for one, weight in zip(q, w, strict=True)) / n
    matched, blind = (
        math.fsum(one * weight for one, weight in zip(of, v, strict=True)) / math.fsum(v) for of in (q, q_blind)
    )
    inverse = kind == "inverse_cross_entropy"
    return {
        "published": 1 / (math.fsum(q) / n) * (math.fsum(w) / n) if inverse else weighted,
        "matched": 1 / matched if inverse else matched,
        "blind": 1 / blind if inverse else blind,
        "mean_quality": math.fsum(q) / n,
        "mean_weight": math.fsum(w) / n,
        "coverage": sum(caption.names in both for caption in tested) / n,
        "effective_sample": math.fsum(w) ** 2 / math.fsum(weight**2 for weight in w),
        "effective_sample_matched": math.fsum(v) ** 2 / math.fsum(weight**2 for weight in v),
    }


@dataclass
class Sample:
    """Random captions of both sides, what each image shows, and the attacker's log-probabilities of every caption."""

    model: list[Caption]
    human: list[Caption]
    shown: list[Hashable]

    def both(self) -> set[frozenset[int]]:
        return {one.names for one in self.model} & {one.names for one in self.human}


A_TO_T, T_TO_A = "a_to_t", "t_to_a"


def draw(direction: str, images: int, seed: int) -> Sample:
    """A to T: captions name sets of 12 tasks, images show one of three attributes. T to A: captions name subsets of two
    attribute values, images show sets of tasks, and the attacker answers for each task."""
    random = np.random.default_rng(seed)
    task_flags = random.random((images, 12)) < 0.12
    tasks = [frozenset(np.flatnonzero(row).tolist()) for row in task_flags]
    attributes = random.integers(3, size=images).tolist()
    shown = attributes if direction == A_TO_T else tasks
    test_images = random.random(images) < 0.4
    test_images[0] = True

    def answer(image: int) -> tuple[float, bool]:
        if direction == A_TO_T:
            return float(random.uniform(0.01, 1)), bool(random.random() < 0.6)
        p = random.uniform(0.05, 0.95, size=12)
        truth = task_flags[image]
        # The product over tasks of p or 1 - p; right when every task is.
        probability = math.prod(one if here else 1 - one for one, here in zip(p, truth, strict=True))
        correct = bool(np.array_equal(p > 0.5, truth))
        scores = score_tasks(np.log(p / (1 - p))[None], truth[None])
        assert math.exp(scores.log_probability[0]) == pytest.approx(probability, rel=1e-12)
        assert scores.correct[0] == correct
        return probability, correct

    def caption(image: int, rate: float) -> Caption:
        width = 12 if direction == A_TO_T else 2
        names = frozenset(np.flatnonzero(random.random(width) < rate).tolist())
        return Caption(image, names, shown[image], (answer(image), answer(image)), bool(test_images[image]))

    rates = (0.1, 0.16) if direction == A_TO_T else (0.4, 0.5)
    model = [caption(image, rates[0]) for image in range(images)]
    human = [caption(image, rates[1]) for image in range(images) for _ in range(random.integers(1, 5))]
    return Sample(model, human, shown)


def omegas(side, shown, trials, multiplicity, target=None, common=None) -> list[Omega]:
    table = tabulate(side, shown, trials, None if target is None else len(target))
    return list(weighted(table, multiplicity, target, common).omegas())


def by_arrays(sample: Sample, multiplicity: np.ndarray, kind: str, bayes: bool) -> dict[str, Omega]:
    """The same question put to the library."""
    sides = {"model": sample.model, "human": sample.human}
    width = 12
    flags = [
        np.array([[label in one.names for label in range(width)] for one in captions]) for captions in sides.values()
    ]
    numbers = dict(zip(sides, number_sets(flags), strict=True))
    kinds = {value: number for number, value in enumerate(dict.fromkeys(sample.shown))}
    shown = np.array([kinds[value] for value in sample.shown])
    packed = {name: Side(np.array([one.image for one in captions]), numbers[name]) for name, captions in sides.items()}
    names = 1 + max(int(number.max()) for number in numbers.values())
    common = np.isin(np.arange(names), numbers["model"]) & np.isin(np.arange(names), numbers["human"])
    target = sum(named_frequencies(side, multiplicity, names) for side in packed.values()) / 2
    results = {}
    for name, captions in sides.items():
        rows = np.flatnonzero([one.tested for one in captions])
        answers = [
            TrialScores(*map(np.array, zip(*of, strict=True)))
            for of in zip(*(captions[row].answers for row in rows), strict=True)
        ]
        qualities = [QUALITIES[kind](np.log(of.log_probability), of.correct) for of in answers]
        table = tabulate(packed[name], shown, [Answered(rows, *qualities)], names)
        of_side = weighted(table, multiplicity, target, common)
        (results[name],) = of_side.omegas(inverse=kind == "inverse_cross_entropy", bayes=bayes)
    return results


@pytest.mark.parametrize("bayes", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [A_TO_T, T_TO_A])
@pytest.mark.parametrize("seed", [0, 1])
def test_omega_is_the_mean_over_captions_that_metrics_states(direction, kind, bayes, seed):
    sample = draw(direction, 150, seed)
    found = by_arrays(sample, np.ones((150, 1)), kind, bayes)
    assert 0 < found["model"].coverage[0] < 1 or direction == T_TO_A
    for name, captions in (("model", sample.model), ("human", sample.human)):
        expected = by_hand(captions, (sample.model, sample.human), sample.shown, sample.both(), kind, bayes)
        for part in PARTS:
            value = getattr(found[name], part)
            assert value.shape == (1,)
            assert value[0] == pytest.approx(expected[part], rel=1e-12), (name, part)


def repeated(sample: Sample, times: np.ndarray) -> Sample:
    """Each image, with all its captions, as often as it says: images of their own, not weights."""
    shown: list[Hashable] = []
    copies: dict[int, list[int]] = {}
    for image, count in enumerate(times.astype(int).tolist()):
        copies[image] = list(range(len(shown), len(shown) + count))
        shown += [sample.shown[image]] * count

    def take(captions: list[Caption]) -> list[Caption]:
        return [Caption(**{**vars(one), "image": copy}) for one in captions for copy in copies[one.image]]

    return Sample(take(sample.model), take(sample.human), shown)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [A_TO_T, T_TO_A])
def test_multiplicities_are_images_repeated(direction, kind):
    sample = draw(direction, 60, 2)
    multiplicity = np.random.default_rng(3).multinomial(60, np.full(60, 1 / 60), size=3).T.astype(float)
    assert (multiplicity == 0).any()
    found = by_arrays(sample, multiplicity, kind, bayes=True)
    for replicate in range(3):
        again = repeated(sample, multiplicity[:, replicate])
        for name, captions in (("model", again.model), ("human", again.human)):
            # What both sides name is a property of the captioner, not of the resampled images.
            expected = by_hand(captions, (again.model, again.human), again.shown, sample.both(), kind, True)
            for part in PARTS:
                if part == "coverage":
                    continue
                assert getattr(found[name], part)[replicate] == pytest.approx(expected[part], rel=1e-12), (name, part)


def test_nothing_in_common_is_undefined_not_zero():
    side = Side(image=np.arange(4), named=np.zeros(4, np.int64))
    (omega,) = omegas(
        side,
        np.array([0, 1, 0, 1]),
        [Answered(np.arange(4), np.full(4, 0.5))],
        np.ones((4, 1)),
        np.array([[0.0], [1.0]]),
        np.array([False, False]),
    )
    assert np.isnan(omega.matched[0])
    assert omega.effective_sample_matched[0] == 0
    assert omega.published[0] == pytest.approx(1.0)


def test_a_replicate_without_test_captions_is_undefined():
    side = Side(image=np.arange(4), named=np.array([0, 0, 1, 1]))
    multiplicity = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 0.0]])
    tested = Answered(np.array([0, 3]), np.full(2, 0.5))
    with np.errstate(all="raise"):
        (omega,) = omegas(side, np.array([0, 1, 0, 1]), [tested], multiplicity)
    for part in ("published", "mean_quality", "mean_weight", "coverage"):
        assert np.isnan(getattr(omega, part)).tolist() == [False, True], part
