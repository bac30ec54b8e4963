"""Several captioners on the same images."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionbias.captions.check import CaptionBiasWarning, Captions

PEOPLE = ("references", "attributes", "tasks")


@dataclass(frozen=True, eq=False)
class Captioners:
    """Captioners with what is known of the images that all of them have captions of.

    `predictions`: each captioner's `n` captions. `people`: `references`, `attributes` and `tasks` of these images, as
    metrics take them. `image_ids`: their names.
    """

    predictions: dict[str, list[str]]
    people: dict[str, Any]
    image_ids: list[str]


def on_the_same_images(read: Mapping[str, Captions]) -> Captioners:
    """The images that all captioners have captions of.

    Args:
        read: each captioner's captions with what its files say of the images, as `read_captions` gives them.

    Raises:
        ValueError: no captioner, no image is common to all, or different things are known of one.

    Warns:
        CaptionBiasWarning: images are left out.

    Example:
        >>> from captionbias.captions import check_captions
        >>> labels = {"attributes": ["female", "male"], "image_ids": [7, 9]}
        >>> nic = check_captions(predictions=["a girl", "a man"], **labels)
        >>> sat = check_captions(predictions=["a woman", "a boy"], **labels)
        >>> on_the_same_images({"nic": nic, "sat": sat}).predictions["sat"]
        ['a woman', 'a boy']
    """
    if not read:
        raise ValueError("read is empty: give at least one captioner's captions")
    rows = {name: {image: row for row, image in enumerate(captions.image_ids or ())} for name, captions in read.items()}
    first, *others = read
    shared = [image for image in rows[first] if all(image in rows[other] for other in others)]
    if not shared:
        raise ValueError(
            f"predictions: {', '.join(read)} have no image in common: a comparison needs captions of the same images"
        )
    for name in read:
        if len(rows[name]) > len(shared):
            left_out = len(rows[name]) - len(shared)
            warnings.warn(
                f"{left_out:,} of {len(rows[name]):,} images of {name} have no caption of every captioner and are "
                "left out",
                CaptionBiasWarning,
                stacklevel=3,
            )

    def of_shared(name: str, values: Sequence[Any] | None) -> list[Any] | None:
        return None if values is None else [values[rows[name][image]] for image in shared]

    people = {argument: of_shared(first, getattr(read[first], argument)) for argument in PEOPLE}
    for name in others:
        for argument, values in people.items():
            if of_shared(name, getattr(read[name], argument)) != values:
                raise ValueError(
                    f"{argument} of {first} and {name} differ on the same images: give one file of them for all"
                )
    return Captioners({name: of_shared(name, read[name].predictions) or [] for name in read}, people, shared)
