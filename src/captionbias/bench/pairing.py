"""Which human captions a trial compares with the captioner's: one drawn for each image, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.captions import Words

PAIRINGS = ("held-out", "every-caption")


@dataclass(frozen=True, eq=False)
class Pairing:
    """The captions of some trials: the trials' seeds, the rows of each present side's captions among all of that side,
    and whether one was drawn for each image, so that the other human ones can say what the image shows."""

    seeds: Sequence[int]
    rows: dict[str, Integers]  # by side: `m` the captioner, `h` people
    held_out: bool


def pairings(
    words: Words, images: int, kind: str, rounds: Sequence[Sequence[int]], pictures: Integers | None = None
) -> list[Pairing]:
    """The pairing of each round of trials, given by their seeds, or one for all. `held-out`: a round draws one human
    caption of each image, and one of the captioner's, so that people describe it as often, and the caption scored does
    not say what it shows. `every-caption`: as published, each caption is a row of its own in every trial. `pictures`:
    see `drawn_captions`."""
    image = {side: of for side, of in (("m", words.model_image), ("h", words.human_image)) if len(of)}
    if kind == "every-caption":
        seeds = [seed for of_round in rounds for seed in of_round]
        return [Pairing(seeds, {side: np.arange(len(of)) for side, of in image.items()}, held_out=False)]
    drawn = ({side: drawn_captions(of, images, seeds[0], pictures) for side, of in image.items()} for seeds in rounds)
    return [Pairing(seeds, rows, held_out=True) for seeds, rows in zip(rounds, drawn, strict=True)]


def drawn_captions(image: Integers, images: int, seed: int, pictures: Integers | None = None) -> Integers:
    """The row of one caption of each image that has any, drawn with this seed; images of one of the `pictures`,
    `(images,)`, get the one at the same place."""
    counts = np.bincount(image, minlength=images)
    chance = np.random.default_rng([seed, 8]).random(images)
    places = ((chance if pictures is None else chance[pictures]) * counts).astype(np.int64)
    return (np.cumsum(counts) - counts + places)[counts > 0]


def count_naming(image: Integers, images: int, named: Flags) -> Integers:
    """How many captions of each image name each label, `(images, labels)`; `image`: of each caption, `named`: what each
    names, `(captions, labels)`."""
    row, label = np.nonzero(named)
    labels = named.shape[1]
    return np.bincount(image[row] * labels + label, minlength=images * labels).reshape(images, labels)


def named_by_any(image: Integers, images: int, named: Flags) -> Flags:
    """What any caption of each image names, `(images, labels)`."""
    return count_naming(image, images, named) > 0


def share_naming(image: Integers, images: int, named: Flags) -> Floats:
    """The share of each image's captions that name each label, `(images, labels)`, 0 of none."""
    return count_naming(image, images, named) / np.maximum(np.bincount(image, minlength=images), 1)[:, None]


def named_by_others(human_image: Integers, images: int, named: Flags, drawn: Integers) -> tuple[Flags, Flags]:
    """What the captions of an image that were not drawn name, `(images, labels)`, and whether there are any."""
    others = np.ones(len(human_image), bool)
    others[drawn] = False
    image = human_image[others]
    return named_by_any(image, images, named[others]), np.bincount(image, minlength=images) > 0
