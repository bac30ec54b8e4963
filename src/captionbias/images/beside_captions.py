"""The images that captions describe, and attackers that read both (VL-LIC)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from captionbias.arrays import Floats32
from captionbias.attackers.registry import Attacker
from captionbias.bench.attacked import PICTURE_READERS
from captionbias.captions import Captions
from captionbias.captions.values import is_column
from captionbias.errors import InputError, phrase
from captionbias.images.reading import Images, read_images
from captionbias.io.store import open_store


def beside_pictures(
    attacker: Attacker,
    captions: Captions,
    images: Any,
    image_encoder: str | None,
    cache: bool | str | Path,
    distributed: bool,
) -> tuple[Attacker, Floats32, str]:
    """The attacker that reads captions beside pictures, the pictures' features, `(n, width)`, and the encoder's name
    with a digest of its weights and one of the features.
    """
    from captionbias.images.features import USUAL, find_image_encoder, picture_features

    if not attacker.reads_pictures:
        raise InputError(
            "images",
            f": encoder {attacker.name!r} reads captions alone",
            "choose bert-frozen or a sentence encoder such as all-MiniLM-L6-v2",
            phrase("bow ({preset})", preset="fast"),
        )
    every, places = images_of(captions, images)
    model = find_image_encoder(image_encoder or USUAL)
    features = picture_features(every.select(places), model, open_store(cache), distributed=distributed)
    digest = hashlib.sha256(features.data).hexdigest()[:8]
    return replace(attacker, explained=None), features, f"{model.signature},{digest}"


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


PICTURE_READERS.append(beside_pictures)
