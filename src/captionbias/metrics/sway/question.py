"""What every question is asked of, the captioner beside one drawn person, and what answers it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.catalogue import TIES, Scale, Score
from captionbias.bench.reading import IMAGES, draw_captions
from captionbias.captions import Captions
from captionbias.metrics.sway.images import CaptionFlags, LeanCounts, NamedImages
from captionbias.scores.misnaming import ALL, NAME_KINDS, SIDES, composition, share_of
from captionbias.scores.sway import Leans, leans_of, suggested_values
from captionbias.statistics.groups import UNIT, units_of
from captionbias.statistics.samples import Sample, bootstrap_samples
from captionbias.text import Lexicon
from captionbias.text.content import ContentWords, join_sides

Numbers = TypeVar("Numbers", Floats, Sample)  # of a dataclass of arrays, whose last axis is replicates
MOST_CAPTIONS = 64  # other human captions of an image that are told apart, and none
Counted = Sequence[Callable[[Floats], Any]]  # of each draw what makes such arrays of how often each group counts


@dataclass(frozen=True, eq=False)
class SwaySums:
    """What questions are asked of that take sums over images, of which those of parts add."""

    values: tuple[str, ...]
    sides: Sequence[str]  # whose captions there are: the captioner's, and people's
    within_scenes: bool  # what is compared
    pictures: Integers  # how many there are of each value
    picture_count: int
    units: Mapping[Any, Any]  # tables, see `units_of`; those of what each draw's captions name by its number
    seed: int
    replicates: int
    notes: list[str]
    asked: Mapping[str, str]  # the names of the questions that the data can answer, by their keys

    @cached_property
    def groups(self) -> Integers:
        """The groups that there are images in."""
        return np.flatnonzero(self.units[IMAGES].sum(axis=0))

    @cached_property
    def names(self) -> list[NameCounts]:
        """What captions of each value name, of each draw."""
        draws = (name for name in self.units if isinstance(name, int))
        return [NameCounts.of(self.units[draw], self.groups, len(self.values)) for draw in sorted(draws)]


@dataclass(frozen=True, eq=False)
class SwayInput(SwaySums):
    """What the questions are asked of that take the captions."""

    captions: Captions
    attribute: Lexicon
    task: Lexicon
    tokenizer: str
    named: NamedImages
    draws: Sequence[Draw]
    content: tuple[ContentWords, ContentWords]  # the content words of the captioner's captions, and of people's

    @cached_property
    def content_of_both(self) -> ContentWords:
        """Those of the captions of both sides, the captioner's first."""
        return join_sides(*self.content)


@dataclass(frozen=True, eq=False)
class QuestionResult:
    """A question's scores, by their keys, what makes its nested tables, facts, and why one cannot tell by a score."""

    scores: dict[str, Sample]
    details: Callable[[], dict[str, Any]]
    facts: dict[str, float] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)


class QuestionModule(Protocol):
    """A file of this folder whose arrays are resampled; A to T takes the whole `SwayInput`."""

    def counted(self, inputs: Any) -> Counted: ...
    def answer(self, inputs: Any, samples: dict[str, Sample]) -> QuestionResult: ...


class NameCounts(NamedTuple):
    """Captions by stratum, true value, suggested one (the last: none), side and kind (all, named, right): the units in
    each group, `(cells, groups)`. `seen`: of each stratum, in how many of how many other human captions the true value
    is named."""

    units: Any
    shape: tuple[int, ...]
    seen: Integers

    @classmethod
    def of(cls, units: Any, groups: Integers, values: int) -> NameCounts:
        """Those of the strata that occur, from `Draw.name_units`."""
        shape = values, values + 1, len(SIDES), len(NAME_KINDS)
        strata = np.unique(np.flatnonzero(np.diff(units.indptr)) // math.prod(shape))
        rows = np.add.outer(strata * math.prod(shape), np.arange(math.prod(shape))).ravel()
        seen = np.column_stack(np.divmod(strata % MOST_CAPTIONS**2, MOST_CAPTIONS))
        return cls(units[rows][:, groups], (len(strata), *shape), seen)

    def table(self, multiplicity: Floats) -> Floats:
        """The counts of each replicate, `(values, values + 1, strata, 2 sides, 3 kinds, replicates)`."""
        return np.moveaxis(np.asarray(self.units @ multiplicity).reshape(*self.shape, -1) / UNIT, 0, 2)

    @property
    def images(self) -> Floats:
        """How many images have each true value and each suggested one, the last: none, `(values, values + 1)`."""
        return np.asarray(self.table(np.ones((self.units.shape[1], 1)))[:, :, :, 0, ALL, 0].sum(axis=2))


@dataclass(frozen=True, eq=False)
class Draw:
    """One human caption of each image beside the captioner's, and what the others say that the image shows."""

    named: NamedImages
    leans: Leans
    seed: int
    person: CaptionFlags  # the drawn captions
    other: Flags  # which human captions are not drawn
    shares: Any  # sparse, of these the share that names each task, `(images, tasks)`
    tasks_shown: Any  # sparse, the tasks that are given, or that these name, `(images, tasks)`
    suggested: Integers  # the number of the value that those suggest, -1 for none

    @property
    def name_units(self) -> Any:
        """What captions of each value name, in units: see `NameCounts`, of all strata that there can be."""
        named, images, values = self.named, len(self.named.value), len(self.named.values)
        if named.scene is None:
            by_image = (np.bincount(of, minlength=images) for of in (named.sees(self.other), named.image[self.other]))
            seen, others = (np.minimum(counts, MOST_CAPTIONS - 1) for counts in by_image)
            stratum = seen * MOST_CAPTIONS + others
        else:  # seen by none of one
            stratum = composition(named.value, named.scene, named.weight)[1] * MOST_CAPTIONS**2 + 1
        every = np.ones(images)
        counts = np.column_stack((every, named.captioner.values, every, self.person.values))
        suggested = np.where(self.suggested < 0, values, self.suggested)
        cell = (stratum * values + named.value) * (values + 1) + suggested
        row, column = np.nonzero(counts)
        places = row, cell[row] * counts.shape[1] + column
        width = (max(int(stratum.max()) + 1, MOST_CAPTIONS**2)) * values * (values + 1) * counts.shape[1]
        return units_of(sparse(counts[row, column], places, (images, width)), named.weight, named.group)


def draw_person(named: NamedImages, counts: LeanCounts, seed: int) -> Draw:
    """The captioner beside the person whom this seed draws."""
    drawn = draw_captions(named.image, named.key, seed)
    other = np.full(len(named.image), not named.single)
    other[drawn] = False
    return _draw(named, counts, seed, named.flags_of(drawn), other, named.shares(other))


def draw_truth(named: NamedImages, counts: LeanCounts, seed: int) -> Draw:
    """Where no people describe the images, the captioner beside one who names every value right and says nothing else:
    scores are then beyond 0."""
    from scipy.sparse import csr_array

    nothing = csr_array((len(named.value), len(named.tasks)))
    return _draw(named, counts, seed, CaptionFlags(np.ones((len(named.value), 2)), nothing), np.zeros(0, bool), nothing)


def _draw(named: NamedImages, counts: LeanCounts, seed: int, person: CaptionFlags, other: Flags, shares: Any) -> Draw:
    tasks_shown = named.tasks_shown(shares)
    suggested = suggested_values(tasks_shown, counts.both, counts.shares, counts.own)
    return Draw(named, leans_of(counts.both, counts.shares), seed, person, other, shares, tasks_shown, suggested)


def entry(what: str, scale: Scale, key: str, part: str, meaning: str, **also: Any) -> Score:
    """A score in the catalogue; `part`: which part of the question it is, empty for the whole."""
    row, label = (f"  {part}", f", {part}") if part else (None, "")
    return Score(key, f"{what}, of 100{label}", 1, scale, meaning, **{"row": row, "task": key} | also)


def resample(questions: Sequence[Counted], groups: int, replicates: int, seed: int) -> list[dict[str, Sample]]:
    """The samples of each question's arrays, the mean over draws: one bootstrap over groups of images for all."""

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[tuple[int, str], Floats]:
        arrays = [[vars(of_draw(multiplicity)) for of_draw in counted] for counted in questions]
        return {
            (number, name): mean_of_known([of_draw[name] for of_draw in draws])[..., None, :]
            for number, draws in enumerate(arrays)
            for name in draws[0]
        }

    samples = bootstrap_samples(quantities, groups, 1, replicates, seed)
    every = range(len(questions))
    return [{name: sample for (of, name), sample in samples.items() if of == number} for number in every]


def constant(value: float) -> Sample:
    """A quantity without an interval."""
    return Sample(np.array([value]), np.zeros(0))


def mean_of_known(draws: Sequence[Floats]) -> Floats:
    """The mean over draws, of those that are defined."""
    return np.asarray(share_of(np.nansum(draws, axis=0), np.sum(~np.isnan(draws), axis=0)))


def numbers(samples: Mapping[str, Sample], scale: Scale = TIES) -> dict[str, float]:
    """Entries of a row of a table: each quantity with its interval."""
    estimates = ((name, sample.estimate(*scale[:2], scale.whole)) for name, sample in samples.items())
    flat = [known._replace(detectable=None).flat(name) for name, known in estimates if known]
    return {key: number for entries in flat for key, number in entries.items()}
