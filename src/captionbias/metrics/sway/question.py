"""What every question is asked of, the captioner beside one drawn person, and what answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.catalogue import TIES, Scale, Score
from captionbias.bench.reading import draw_captions
from captionbias.captions import Captions
from captionbias.metrics.sway.images import CaptionFlags, Counts, NamedImages
from captionbias.scores.misnaming import SIDES, composition, share_of, visibility
from captionbias.scores.sway import Leans, leans_of, suggested_values
from captionbias.statistics.samples import Sample, bootstrap_samples
from captionbias.text import Lexicon
from captionbias.text.content import ContentWords, content_words, join_sides

Numbers = TypeVar("Numbers", Floats, Sample)  # of a dataclass of arrays, whose last axis is replicates
Counted = Sequence[Callable[[Floats], Any]]  # of each draw what makes such arrays of how often each group counts


@dataclass(frozen=True, eq=False)
class SwayInput:
    """What the questions are asked of."""

    captions: Captions
    attribute: Lexicon
    task: Lexicon
    tokenizer: str
    named: NamedImages
    draws: Sequence[Draw]
    seed: int
    replicates: int
    notes: list[str]
    asked: Mapping[str, str]  # the names of the questions that the data can answer, by their keys

    @cached_property
    def content(self) -> tuple[ContentWords, ContentWords]:
        """The content words of the captioner's captions, and of people's, which are found once for all captioners."""
        words, spoken = self.captions.words(self.tokenizer), (self.attribute, self.task, self.tokenizer)
        human = self.captions.cached("content words", spoken, lambda: content_words(words.human, *spoken))
        return content_words(words.model, *spoken), human

    @cached_property
    def content_of_both(self) -> ContentWords:
        """Those of the captions of both sides, the captioner's first."""
        return join_sides(*self.content)

    @property
    def sides(self) -> Sequence[str]:
        """Whose captions there are: the captioner's, and people's."""
        return SIDES if self.named.scene is None else SIDES[:1]


@dataclass(frozen=True, eq=False)
class QuestionResult:
    """A question's scores, by their keys, what makes its nested tables, facts, and why one cannot tell by a score."""

    scores: dict[str, Sample]
    details: Callable[[], dict[str, Any]]
    facts: dict[str, float] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)


class QuestionModule(Protocol):
    """A file of this folder whose arrays are resampled."""

    def counted(self, inputs: SwayInput) -> Counted: ...
    def answer(self, inputs: SwayInput, samples: dict[str, Sample]) -> QuestionResult: ...


class NameCounts(NamedTuple):
    """Captions by true value, suggested one (the last: none), stratum, side and kind (all, named, right): the sums over
    each group, `(cells, groups)`, linear in how often groups count. `seen`: of each stratum, in how many of how many
    other human captions the true value is named."""

    sums: Any
    shape: tuple[int, ...]
    seen: Integers

    def table(self, multiplicity: Floats) -> Floats:
        """The counts of each replicate, `(values, values + 1, strata, 2 sides, 3 kinds, replicates)`."""
        return np.asarray(self.sums @ multiplicity).reshape(*self.shape, -1)


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

    @cached_property
    def name_counts(self) -> NameCounts:
        """What captions of each value name."""
        named, images, values = self.named, len(self.named.value), len(self.named.values)
        if named.scene is None:
            others = np.bincount(named.image[self.other], minlength=images)
            stratum, seen = visibility(np.bincount(named.sees(self.other), minlength=images), others)
        else:
            stratum, seen = composition(named.value, named.scene, named.weight)
        every = np.ones(images)
        counts = np.column_stack((every, named.captioner.values, every, self.person.values))
        shape = values, values + 1, len(seen), len(SIDES), counts.shape[1] // len(SIDES)
        cell = np.ravel_multi_index((named.value, self.suggested, stratum), shape[:3], mode="wrap")  # -1 is the last
        row, column = np.nonzero(counts)
        places = row, cell[row] * counts.shape[1] + column
        sums = named.sums(sparse(counts[row, column], places, (images, int(np.prod(shape))))).tocsr()
        return NameCounts(sums, shape, seen)


def draw_person(named: NamedImages, counts: Counts, seed: int) -> Draw:
    """The captioner beside the person whom this seed draws."""
    drawn = draw_captions(named.image, named.key, seed)
    other = np.full(len(named.image), not named.single)
    other[drawn] = False
    return _draw(named, counts, seed, named.flags_of(drawn), other, named.shares(other))


def draw_truth(named: NamedImages, counts: Counts, seed: int) -> Draw:
    """Where no people describe the images, the captioner beside one who names every value right and says nothing else:
    scores are then beyond 0."""
    from scipy.sparse import csr_array

    nothing = csr_array((len(named.value), len(named.tasks)))
    return _draw(named, counts, seed, CaptionFlags(np.ones((len(named.value), 2)), nothing), np.zeros(0, bool), nothing)


def _draw(named: NamedImages, counts: Counts, seed: int, person: CaptionFlags, other: Flags, shares: Any) -> Draw:
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
