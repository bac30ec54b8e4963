"""One more person as the yardstick of a caption metric: what it reads for a human caption in the captioner's place."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from captionbias.arrays import Integers
from captionbias.bench.catalogue import EXCESS, HUMAN, scores_of
from captionbias.bench.pairing import drawn_captions
from captionbias.captions import Captions, Words
from captionbias.statistics.samples import Sample


class Drawn(NamedTuple):
    """One human caption of each image with two or more, for one more person, beside the others of these images."""

    images: Integers  # those images
    number: Integers  # of every image its number among these
    person: Integers  # the row of each caption that is drawn
    others: Integers  # the rows of the others
    copies: Integers | None  # of those images, see `Captions.copies`


def draw_person(image: Integers, images: int, seed: int, copies: Integers | None) -> Drawn | None:
    """Draw one more person with this seed; `image`: of each human caption, in order. None if no image has two."""
    several = np.bincount(image, minlength=images) > 1
    if not several.any():
        return None
    kept, rows = np.flatnonzero(several), np.flatnonzero(several[image])
    person = np.intersect1d(drawn_captions(image, images, seed, copies), rows)
    left = None if copies is None else np.unique(copies[kept], return_inverse=True)[1]
    return Drawn(kept, np.cumsum(several) - 1, person, np.setdiff1d(rows, person), left)


def captioner_and_person(
    captions: Captions, seed: int, tokenizer: str | None = None
) -> tuple[Captions, Captions] | None:
    """The captioner's captions and one human caption of each image, both with the others, if there are any; these are
    not split by the `tokenizer` anew."""
    if captions.predictions is None or captions.references is None:
        return None
    image = np.repeat(np.arange(len(captions)), list(map(len, captions.references)))
    drawn = draw_person(image, len(captions), seed, captions.copies)
    if drawn is None:
        return None
    texts = list(chain.from_iterable(captions.references))
    others = groupby(drawn.others, key=image.__getitem__)
    references = tuple(tuple(texts[row] for row in rows) for _, rows in others)
    captioner = captions.select(drawn.images, references=references)
    if drawn.copies is not None:  # which the others alone may be too few to tell
        captioner.of_people("copies", None, lambda: drawn.copies)
    if tokenizer:
        split = captions.words(tokenizer).human.select(drawn.others).numbered()
        words = Words(split, np.zeros(0, np.int64), drawn.number[image[drawn.others]])
        captioner.of_people(f"words {tokenizer}", None, lambda: words)
    return captioner, captioner.saying(texts[row] for row in drawn.person)


def beyond_a_person(metric: str, captioner: Mapping[str, Sample], *pair: Mapping[str, Sample]) -> dict[str, Sample]:
    """The captioner's scores and, if there is a pair of the captioner and one more person on the same images, what the
    person scores, and the captioner beyond it, of the metric's scores that are compared with a person's."""
    if not pair:
        return dict(captioner)
    of_captioner, person = pair
    keys = [score.key for score in scores_of(metric) if score.against_a_person and score.key in person]
    beyond = {f"{key}{EXCESS}": of_captioner[key] - person[key] for key in keys if key in of_captioner}
    return {**captioner, **{f"{key}{HUMAN}": person[key] for key in keys}, **beyond}
