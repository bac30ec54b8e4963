"""Gender ratio and error: how often captions name either side of a two-sided attribute, and how often the wrong one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.bench.catalogue import PERCENT, RATIO, Score
from captionbias.bench.checks import Rules
from captionbias.bench.counted import Columns, Counted, Sums, count
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.pairs import whole
from captionbias.bench.reading import Reading, read
from captionbias.captions import Captions
from captionbias.errors import InputError
from captionbias.text import LexiconSource, load_lexicon
from captionbias.warnings import note

MOST = 0.5  # of the captions
CAPTIONS, MAIN = "captions", "error_main"


@metric(
    "Gender ratio and error",
    "how often do captions name either gender, and the wrong one?",
    [
        Score(
            "ratio",
            "captions: second label to first",
            2,
            RATIO,
            "Captions that name the second label for each that names the first; the signature says which they are. "
            "At 1 there are equally many.",
            headline=True,
            task="gender_ratio",
        ),
        Score(
            "error",
            "wrong label, %",
            1,
            PERCENT,
            "Percentage of all captions that name the label that the image does not have: 0 is best. It has no sign.",
            row="  with the wrong label, %",
            sense="size",
            headline=True,
            against_a_person=True,
            claim="the wrong {value} is named",
            task="gender_error",
        ),
        Score(
            MAIN,
            "wrong label of the person meant, %",
            1,
            PERCENT,
            "Percentage of captions that name the wrong label for the person whom they are about, without "
            "bystanders; see Who is meant.",
            row="  of the person meant, %",
            against_a_person=True,
            published=True,
            task="gender_error_main",
        ),
        Score(
            "unnamed",
            "no label or both, %",
            1,
            PERCENT,
            "Percentage of captions that name neither label, or both: they can be neither right nor wrong.",
            row="  with neither or both, %",
            against_a_person=True,
            published=True,
            task="gender_unnamed",
        ),
    ],
    about={
        "references": "`n` lists of human captions, only for `..._human` and `..._excess`",
        "attributes": "`n` labels, each one of the two labels of `attribute_lexicon`",
        "tasks": "not used; accepted so that all metrics have the same arguments",
        "attribute_lexicon": "two labels and the words that name them: `gender`, a JSON file, or in Python a mapping; "
        "see `captionbias.text.load_lexicon`",
    },
    returns="`ratio`: captions of the lexicon's second label divided by captions of its first (male by female), "
    "absent if there are none of the first; `error`: percentage of all captions with the wrong label; `error_main`: "
    "percentage with the wrong label for the person who is meant; `unnamed`: percentage with neither or both, which "
    "cannot be wrong; for the last three also `..._human` and `..._excess`. Each with `..._ci_low/high` (95%, over "
    "images). And `signature`.",
)
def gender_error(
    captions: Captions,
    /,
    *,
    attribute_lexicon: LexiconSource = "gender",
    tokenizer: str = "words",
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
) -> Prepared:
    """How often captions name either gender, and how often the wrong one; for any attribute with two values.

    A caption is male if it has male words and no female ones, female the other way round.

    Source: Hendricks et al. 2018; the words are those of Hirota et al. 2022.

    >>> captions = ["a woman", "a man", "a man and his dog", "a dog"]
    >>> result = gender_error(predictions=captions, attributes=["female", "male", "female", "female"], bootstrap=0)
    >>> result["ratio"], result["error"]
    (2.0, 25.0)
    """
    lexicon = load_lexicon(attribute_lexicon)
    if len(lexicon.labels) != 2:
        raise InputError(
            "attribute_lexicon",
            f"{lexicon.name!r} has {len(lexicon.labels)} labels ({', '.join(lexicon.labels)}): the ratio is one of "
            "two; give a lexicon of two labels",
        )
    # Captions in another language count as unnamed.
    reading = read(captions, attribute_lexicon, None, tokenizer, Rules(one_language=False, main_person=True))
    reading = replace(reading, signed={"ratio": "/".join(reversed(lexicon.labels)), **reading.signed})
    return count("gender_error", reading, _counted, {}, controls=controls, seed=seed, bootstrap=bootstrap)


def _counted(reading: Reading) -> Counted:
    """Captions by the image's label and what they say: either label alone, neither, both."""
    first, second = reading.predictions.values.T
    says = np.stack((first & ~second, second & ~first, ~first & ~second, first & second), axis=1)
    columns = reading.truth.values[reading.predictions.image, :, None] & says[:, None]
    table = Columns(reading.predictions, columns.reshape(len(says), 8))
    main = Columns(
        reading.predictions, cast(Flags, reading.predictions.main) & ~reading.truth.values[reading.predictions.image]
    )
    return Counted({CAPTIONS: table, MAIN: main}, _formula, partial(_facts_and_tables, reading))


def _formula(sums: Sums) -> dict[str, Floats]:
    """Hendricks et al. 2018."""
    counts = sums[CAPTIONS].reshape(2, 4, -1)
    (first, second, neither, both), captions = counts.sum(axis=0), counts.sum(axis=(0, 1)) / 100
    return {
        "ratio": np.where(first > 0, second / first, np.nan),
        "error": (counts[0, 1] + counts[1, 0]) / captions,
        MAIN: sums[MAIN].sum(axis=0) / captions,
        "unnamed": (neither + both) / captions,
    }


def _facts_and_tables(reading: Reading, sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
    table = sums[CAPTIONS].reshape(2, 4)
    if (silent := table[:, 2:].sum() / table.sum()) > MOST:
        text = f"{silent:.0%} name neither label or both, which is never wrong: read error with unnamed"
        note(reading.notes, text, about="predictions")
    if not table[:, 0].any():
        note(reading.notes, f"no caption is {reading.values[0]}, so there is no ratio", about="predictions")
    rows = dict(zip(reading.values, table, strict=True))
    return {}, reading.image_counts() | {
        "captions": {
            value: dict(zip((*reading.values, "neither", "both"), whole(row).tolist(), strict=True))
            for value, row in rows.items()
        },
        "error_by_attribute": {
            value: float(100 * row[1 - number] / row.sum()) if row.sum() else None
            for number, (value, row) in enumerate(rows.items())
        },
    }
