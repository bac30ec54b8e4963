"""The first question: is one value named wrong, or not at all, more often than the others?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

from captionbias.arrays import Floats
from captionbias.bench.catalogue import CAPTIONS, PERCENT, Score
from captionbias.metrics.sway.question import (
    Counted,
    NameCounts,
    Numbers,
    QuestionResult,
    SwaySums,
    constant,
    entry,
    numbers,
)
from captionbias.scores.misnaming import KINDS, naming_gaps, naming_levels
from captionbias.statistics.intervals import LEVEL
from captionbias.statistics.samples import RULE_OF_THREE, LargestOf, Sample

LEAST_NAMED = 5.0  # of 100 captions of each value: who names it right more rarely is not told from who never does
NAMED_LEAST = "sway_least_named"
NAMES_BOTH = ((NAMED_LEAST, LEAST_NAMED),)
KEYS = {kind: f"sway_{kind}_gap" for kind in KINDS}


def _entries() -> Iterable[Score]:
    said = {
        "wrong": ("wrong names", "names another value alone", "{value} is named wrong more often of some"),
        "unnamed": ("names left out", "names no value, or several", "{value} is left out more often of some"),
    }
    for kind, (what, does, claim) in said.items():
        yield entry(
            f"gap in {what}",
            CAPTIONS,
            KEYS[kind],
            "",
            f"In how many more of 100 captions the captioner {does} if the image has one value than if it has "
            "another, among images as hard to see, beyond a person. With two values, the first fares worse above 0; "
            "with more, it is the largest gap between one value and the mean of the others. 0 is a person.",
            sense="amplification",
            judged=True,
            absolute=kind == "wrong",
            two_sided=True,
            beyond_margin=True,
            headline=True,
            like_if=NAMES_BOTH,
            claim=claim,
        )
    yield entry(
        "value named right least",
        PERCENT,
        NAMED_LEAST,
        "",
        f"How many of 100 captions of the value that is named right least often name it. Below {LEAST_NAMED:g}, no "
        "score is like people.",
        in_tables=False,
        task=None,
    )


ENTRIES = tuple(_entries())


@dataclass(frozen=True, eq=False)
class NamingGaps(Generic[Numbers]):
    """Captions that name a value wrong, and that do not name it, by `KINDS`, of 100 of each value."""

    levels: Numbers  # `(KINDS, SIDES, values)`
    gaps: Numbers  # beyond those of the other values and beyond the person, `(KINDS, values)`


def counted(inputs: SwaySums) -> Counted:
    """How often captions of each draw name a value wrong, and not at all."""
    return [partial(_named, names) for names in inputs.names]


def answer(inputs: SwaySums, samples: dict[str, Sample]) -> QuestionResult:
    """The gaps, and what they are gaps of."""
    values, named = inputs.values, NamingGaps[Sample](**samples)
    # What three captions of the rarest value can hide; more, for the largest gap of many (Bonferroni).
    rule = RULE_OF_THREE if len(values) == 2 else -math.log((1 - LEVEL) / len(values))
    floor = 100 * rule / int(inputs.pictures.min())
    gaps = [
        [replace(named.gaps[kind, value], floor=floor) for value in range(len(values))] for kind in range(len(KINDS))
    ]
    right = 100 - named.levels.values[:, 0, :, 0].sum(axis=0)
    scores: dict[str, Sample] = {NAMED_LEAST: constant(float(right.min()))}
    scores |= {key: LargestOf.of(of_kind) for key, of_kind in zip(KEYS.values(), gaps, strict=True)}
    facts = {
        f"{what}_{value}": float(named.levels.values[kind, 0, number, 0])
        for kind, what in enumerate(KINDS)
        for number, value in enumerate(values)
    }
    return QuestionResult(scores, partial(_details, named, gaps, inputs), facts)


def _named(names: NameCounts, multiplicity: Floats) -> NamingGaps[Floats]:
    table = names.table(multiplicity).sum(axis=1)
    return NamingGaps(naming_levels(table), naming_gaps(table))


def _details(named: NamingGaps[Sample], gaps: Sequence[Sequence[Sample]], inputs: SwaySums) -> dict[str, Any]:
    values = inputs.values
    columns = [
        (what + ("_person" if side else ""), kind, side)
        for kind, what in enumerate(KINDS)
        for side in range(len(inputs.sides))
    ]
    level: list[dict[str, Any]] = [
        {"attribute": value}
        | numbers({name: named.levels[kind, side, number] for name, kind, side in columns}, PERCENT)
        for number, value in enumerate(values)
    ]
    between: list[dict[str, Any]] = [
        {"attribute": value} | numbers({f"{what}_gap": gaps[kind][number] for kind, what in enumerate(KINDS)})
        for number, value in enumerate(values)
    ]
    return {"level": level, "gaps": between}
