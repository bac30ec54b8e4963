"""How much is said of whom: do captions of one value have more content words, for each of people's, than the others?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

import numpy as np

from captionbias.arrays import Floats, Integers
from captionbias.bench.catalogue import Scale
from captionbias.metrics.sway.images import NamedImages
from captionbias.metrics.sway.question import Counted, Numbers, QuestionResult, SwaySums, constant, entry, numbers
from captionbias.scores.misnaming import share_of
from captionbias.statistics.samples import LargestOf, Sample

LENGTHS = "lengths"
GAP, FURTHER = "sway_length_gap", "sway_length_further"
PERCENT_MORE = Scale(-100.0, float("inf"), "content words of 100")
ENTRIES = (
    entry(
        "how much is said",
        PERCENT_MORE,
        GAP,
        "",
        "How many more content words, per 100, captions have if the image has one value than if it has another, "
        "beyond people's. With two values, more is said of the first above 0; with more, it is the largest gap "
        "between one value and the others. 0 is a person.",
        sense="amplification",
        judged=True,
        two_sided=True,
        beyond_margin=True,
        margin=2.0,
        headline=True,
        confirmed_by=(FURTHER,),
        claim="more is said of some",
    ),
    entry(
        "how much is said, further than people",
        PERCENT_MORE,
        FURTHER,
        "",
        "It has the sign of the gap if the captioner treats the values less alike than people do, and the opposite "
        "sign if not: then the captioner only lacks a difference that people make.",
        in_tables=False,
        task=None,
    ),
)


@dataclass(frozen=True, eq=False)
class Lengths(Generic[Numbers]):
    """Content words, of each value."""

    words: Numbers  # in a caption, `(SIDES, values)`
    gaps: Numbers  # how many more of 100 than of the other values, for each of people's, `(values,)`
    further: Numbers  # how much further from alike than people's, with the sign of the gap, `(values,)`


def content_lengths(named: NamedImages, lengths: Iterable[tuple[Integers, Floats]]) -> Floats:
    """For each value a column of the images that have it, and for each side of the content words in a caption of
    theirs, of the image and the content words of each caption: `(images, (1 + sides) values)`."""
    has_value = named.value[:, None] == np.arange(len(named.values))
    columns = [has_value.astype(np.float64)]
    for image, content in lengths:
        captions, uses = (np.bincount(image, of, int(named.row.max()) + 1) for of in (None, content))
        columns.append(has_value * share_of(uses, captions)[named.row, None])
    return np.concatenate(columns, axis=1)


def counted(inputs: SwaySums) -> Counted:
    """How many content words captions of each value have."""
    return [partial(_lengths, inputs.units[LENGTHS][:, inputs.groups], len(inputs.values))]


def answer(inputs: SwaySums, samples: dict[str, Sample]) -> QuestionResult:
    """The gap, and what it is a gap of."""
    lengths, values = Lengths[Sample](**samples), range(len(inputs.values))
    gaps = [lengths.gaps[value] for value in values]
    largest = int(np.argmax(np.abs(lengths.gaps.values[:, 0]))) if len(gaps) > 2 else 0
    scores: dict[str, Sample] = {GAP: LargestOf.of(gaps), FURTHER: constant(float(lengths.further.values[largest, 0]))}
    return QuestionResult(scores, partial(_details, lengths, gaps, inputs))


def _lengths(sums: Floats, values: int, multiplicity: Floats) -> Lengths[Floats]:
    images, *sides = (sums @ multiplicity).reshape(-1, values, multiplicity.shape[1])
    words = np.stack(sides)
    ratios = share_of(
        share_of(words, images), share_of(words.sum(axis=1, keepdims=True) - words, images.sum(0) - images)
    )
    own, people = ratios if len(ratios) > 1 else (ratios[0], np.ones_like(ratios[0]))
    gaps = 100 * (share_of(own, people) - 1)
    further = np.sign(gaps) * 100 * (np.abs(np.log(own)) - np.abs(np.log(people)))
    return Lengths(share_of(words, images), gaps, further)


def _details(lengths: Lengths[Sample], gaps: Sequence[Sample], inputs: SwaySums) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {"attribute": value}
        | numbers({side: lengths.words[place, number] for place, side in enumerate(inputs.sides)})
        | numbers({"gap": gaps[number]}, PERCENT_MORE)
        for number, value in enumerate(inputs.values)
    ]
    return {"length": rows}
