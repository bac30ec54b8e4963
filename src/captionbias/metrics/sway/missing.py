"""Are captions of one value refused or missing more often than of the others?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Floats
from captionbias.bench.catalogue import CAPTIONS, PERCENT
from captionbias.metrics.sway.question import QuestionResult, SwaySums, entry, numbers
from captionbias.statistics.groups import totals
from captionbias.statistics.samples import RULE_OF_THREE, LargestOf, Sample

MISSING = "missing"
GAP = "sway_missing_gap"
ENTRIES = (
    entry(
        "gap in missing captions",
        CAPTIONS,
        GAP,
        "",
        "In how many more of 100 images of one value than of another the captioner gives no caption, or refuses to. "
        "With two values, the first has fewer captions above 0; with more, it is the largest gap between one value "
        "and the mean of the others. People describe every image.",
        sense="amplification",
        judged=True,
        absolute=True,
        two_sided=True,
        beyond_margin=True,
        headline=True,
        claim="captions of some are missing",
    ),
)


def missing_captions(values: Sequence[str], missing: Mapping[str, tuple[float, float]] | None) -> Floats:
    """The images of each value, and those without a caption, `(1, 2 values)`; see `Captions.missing`."""
    labels, counts = {value.casefold(): number for number, value in enumerate(values)}, np.zeros((2, len(values)))
    for label, of_label in (missing or {}).items():
        if label.casefold() in labels:
            counts[:, labels[label.casefold()]] += of_label
    return counts.reshape(1, -1)


def answer(asked: SwaySums) -> QuestionResult:
    """The gap, where any caption is missing. Nothing else is known of these images, so its interval is that of
    independent ones."""
    images, without = totals(asked.units)[MISSING].reshape(2, -1)
    if not without.any():
        return QuestionResult({}, dict)
    shares = without / images
    generator, shape = np.random.default_rng([asked.seed, 12]), (asked.replicates, len(asked.values))
    drawn = generator.binomial(images.astype(np.int64), shares, shape).T / images[:, None]
    floor = 100 * RULE_OF_THREE / images.min()
    values = range(len(asked.values))
    levels = [Sample(100 * shares[[value]], 100 * drawn[value], int(images[value])) for value in values]
    gaps = [Sample(100 * _gaps(shares)[[value]], 100 * _gaps(drawn)[value], floor=floor) for value in values]

    def details() -> dict[str, Any]:
        rows: list[dict[str, Any]] = [
            {"attribute": value, "images": int(images[number])}
            | numbers({"missing": levels[number]}, PERCENT)
            | numbers({"gap": gaps[number]}, CAPTIONS)
            for number, value in enumerate(asked.values)
        ]
        return {"missing": rows}

    return QuestionResult({GAP: LargestOf.of(gaps)}, details)


def _gaps(shares: Any) -> Any:
    """How much larger each value's share is than the mean of the others', `(values, ...)`."""
    return shares - (shares.sum(axis=0) - shares) / (len(shares) - 1)
