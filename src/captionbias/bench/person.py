"""One more person as the yardstick of a caption metric: what it reads for a human caption in the captioner's place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from captionbias.bench.catalogue import EXCESS, HUMAN, scores_of
from captionbias.bench.pairing import drawn_captions
from captionbias.captions import Captions
from captionbias.statistics.samples import Sample


def captioner_and_person(captions: Captions, seed: int) -> tuple[Captions, Captions] | None:
    """The captioner's captions and one human caption of each image, both with the others, if there are any."""
    if captions.predictions is None or captions.references is None:
        return None
    counts = np.fromiter(map(len, captions.references), np.int64, len(captions))
    rows = np.flatnonzero(counts > 1)
    if not len(rows):
        return None
    image = np.repeat(np.arange(len(counts)), counts)
    drawn = drawn_captions(image, len(counts), seed, captions.copies) - (np.cumsum(counts) - counts)
    others = tuple(
        (*captions.references[row][: drawn[row]], *captions.references[row][drawn[row] + 1 :]) for row in rows
    )
    captioner = captions.select(rows, references=others)
    person = captioner.saying(captions.references[row][drawn[row]] for row in rows)
    if captions.copies is not None:  # which the others alone may be too few to tell
        copies = np.unique(captions.copies[rows], return_inverse=True)[1]
        for side in (captioner, person):
            vars(side)["copies"] = copies
    return captioner, person


def beyond_a_person(metric: str, captioner: Mapping[str, Sample], person: Mapping[str, Sample]) -> dict[str, Sample]:
    """What one more person scores on the images of both, and the captioner beyond it, of the metric's scores that are
    compared with a person's."""
    keys = [score.key for score in scores_of(metric) if score.against_a_person and score.key in person]
    beyond = {f"{key}{EXCESS}": captioner[key] - person[key] for key in keys if key in captioner}
    return {f"{key}{HUMAN}": person[key] for key in keys} | beyond
