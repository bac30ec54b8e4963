"""What questions take of images as sums in units, see `captionbias.statistics.groups`: those of parts add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from captionbias.arrays import Flags
from captionbias.bench.reading import IMAGES, Reading
from captionbias.captions import Captions
from captionbias.metrics.sway.images import NamedImages
from captionbias.metrics.sway.length import LENGTHS, content_lengths
from captionbias.metrics.sway.missing import MISSING, missing_captions
from captionbias.metrics.sway.question import Draw
from captionbias.metrics.sway.t_to_a import CONTRADICTED, contradicted_labels
from captionbias.statistics.groups import units_of
from captionbias.text.content import ContentWords

SEVERAL = "several"


def sway_units(
    reading: Reading, named: NamedImages, draws: Sequence[Draw], content: Sequence[ContentWords], tokenizer: str
) -> dict[Any, Any]:
    """The tables of `SwaySums`; `content`: the content words of each side."""
    captions = cast(Captions, reading.captions)
    words = captions.words(tokenizer)
    captions_of = zip((words.model_image, words.human_image), (side.lengths for side in content), strict=False)
    ones, has_value = np.ones(len(named.value)), named.value[:, None] == np.arange(len(named.values))
    own, people = np.split(cast(Flags, reading.several), [words.model_rows])
    weight = reading.predictions.weight * np.isin(words.model_image, named.row)
    several = np.array([[weight.sum(), weight @ own, len(people), people.sum()]])  # captions of either side, and these
    together = np.ones(1), np.zeros(1, np.int64)  # nothing of it is resampled
    return {
        **{number: draw.name_units for number, draw in enumerate(draws)},
        IMAGES: units_of(np.column_stack((ones, has_value)), ones, named.group),
        LENGTHS: units_of(content_lengths(named, captions_of), named.weight, named.group),
        CONTRADICTED: units_of(contradicted_labels(draws[0]), ones, named.group),
        SEVERAL: units_of(several, *together),
        MISSING: units_of(missing_captions(named.values, captions.missing), *together),
    }
