"""What every question is asked of, the captioner beside one drawn person, and what answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.bench.catalogue import DIRECTIONS, Scale, Score
from captionbias.bench.pairing import drawn_captions
from captionbias.metrics.sway.images import Counts, NamedImages, Said
from captionbias.scores.sway import Leans, leans_of, suggested_values
from captionbias.statistics.samples import Sample, bootstrap_samples

Numbers = TypeVar("Numbers", Floats, Sample)  # of a dataclass of arrays, whose last axis is replicates
# The samples of such arrays, the mean over draws, from what makes those of a draw of how often each group counts.
Resample = Callable[[Sequence[Callable[[Floats], Any]]], dict[str, Sample]]


class Answer(NamedTuple):
    """A question's scores, by their keys, and what makes its nested tables."""

    scores: dict[str, Sample]
    details: Callable[[], dict[str, Any]]


class Draw(NamedTuple):
    """One human caption of each image beside the captioner's, and what the others say that the image shows."""

    named: NamedImages
    leans: Leans
    seed: int
    person: Said  # the drawn captions
    other: Flags  # which human captions are not drawn
    shown: Flags  # the tasks that are given, or that these name, `(images, tasks)`
    suggested: Integers  # the number of the value that those suggest, -1 for none


def draw_person(named: NamedImages, counts: Counts, seed: int) -> Draw:
    """The captioner beside the person whom this seed draws."""
    drawn = drawn_captions(named.image, len(named.value), seed, named.picture)
    other = np.ones(len(named.image), bool)
    other[drawn] = False
    person, shown = Said(*(flags[drawn] for flags in named.people)), named.shown(other)
    suggested = suggested_values(shown, counts.both, counts.shares, counts.own)
    return Draw(named, leans_of(counts.both, counts.shares), seed, person, other, shown, suggested)


def entry(direction: str, scale: Scale, key: str, part: str, meaning: str, **also: Any) -> Score:
    """A score in the catalogue; `part`: which part of the question it is, empty for the whole."""
    row, label = (f"  {part}", f", {part}") if part else (None, "")
    also = {"sense": "amplification", "direction": direction, "row": row, "task": key} | also
    return Score(key, f"sway {DIRECTIONS[direction]}, of 100{label}", 1, scale, meaning, **also)


def resampled(answers: Sequence[Callable[[Floats], Any]], groups: int, replicates: int, seed: int) -> dict[str, Sample]:
    """The bootstrap over groups of images; see `Resample`."""

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        arrays = [vars(answer(multiplicity)) for answer in answers]
        return {name: mean_of_known([of_draw[name] for of_draw in arrays])[..., None, :] for name in arrays[0]}

    return bootstrap_samples(quantities, groups, 1, replicates, seed)


def mean_of_known(draws: Sequence[Floats]) -> Floats:
    """The mean over draws, of those that are defined."""
    return np.asarray(share_of(np.nansum(draws, axis=0), np.sum(~np.isnan(draws), axis=0)))


def share_of(part: Any, whole: Any) -> Any:
    """The part of the whole, nan where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(part, whole)


def numbers(samples: Mapping[str, Sample]) -> dict[str, float]:
    """Entries of a row of a table: each quantity with its interval."""
    estimates = ((name, sample.estimate(whole=100)) for name, sample in samples.items())
    flat = [known._replace(detectable=None).flat(name) for name, known in estimates if known]
    return {key: number for entries in flat for key, number in entries.items()}
