"""The images that captions describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from captionbias.captions import Captions
from captionbias.captions.values import is_column
from captionbias.errors import InputError
from captionbias.images.reading import Images, read_images


def images_of(captions: Captions, images: Any) -> tuple[Images, Sequence[int]]:
    """All the images, and the place among them of the one that each caption is of.

    They are joined by their ids, where the captions have ids; a list whose ids are not the captions' is in their order.
    """
    every = read_images(images)
    places = {image: place for place, image in enumerate(every.ids)}
    ids = captions.image_ids
    listed = is_column(images) and not (ids and any(image in places for image in ids))
    if ids is None or listed:
        if len(every) != len(captions):
            raise InputError(
                "images",
                f"has {len(every):,} images (the first is {every.ids[0]!r}) and there are captions of "
                f"{len(captions):,}: give one for each, or captions with the images' ids",
            )
        return every, range(len(every))
    if missing := [image for image in ids if image not in places]:
        raise InputError(
            "images",
            f": there is none with the id {missing[0]!r} ({len(missing):,} of {len(captions):,} captions have none; "
            f"ids are such as {every.ids[0]!r}); give all, or leave captions without an image out",
        )
    return every, [places[image] for image in ids]
