"""The pictures that captions describe, for attackers that read both (VL-LIC)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from captionbias.arrays import Floats32
from captionbias.attackers.registry import Attacker
from captionbias.captions import Captions
from captionbias.captions.values import is_column
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
    """The attacker that reads captions beside pictures, the pictures' features, `(n, width)`, and the encoder's name.

    The name ends with a digest of the encoder's weights.

    Raises:
        ValueError: the attacker cannot read pictures, pictures are missing, or the encoder cannot be used.
    """
    from captionbias.attackers.pretrained.pictures import USUAL, find_image_encoder, picture_features

    if not attacker.reads_pictures:
        raise ValueError(
            f"images: encoder {attacker.name!r} reads captions alone; choose bert-frozen, a sentence encoder such as "
            "all-MiniLM-L6-v2, or bow (preset='fast')"
        )
    pictures = pictures_of(captions, images)
    model = find_image_encoder(image_encoder or USUAL)
    digest = model.identity[:8]
    name = model.name if model.name.endswith(digest) else f"{model.name}-{digest}"
    features = picture_features(pictures, model, open_store(cache), distributed=distributed)
    return replace(attacker, explained=None), features, name


def pictures_of(captions: Captions, images: Any) -> Images:
    """The picture of each image, in the captions' order: by id, or as they come in a list.

    Args:
        captions: with ids of their images, unless the pictures are in their order.
        images: what `read_images` takes.

    Raises:
        ValueError: pictures are missing, or there are no ids to join by.
    """
    found = read_images(images)
    listed = is_column(images) and not isinstance(images, Images)
    if captions.image_ids is None or listed:
        if len(found) != len(captions):
            raise ValueError(
                f"images: {len(found):,} pictures and captions of {len(captions):,} images; give one picture for each, "
                "in the same order"
            )
        return found
    rows = {image: row for row, image in enumerate(found.ids)}
    if missing := [image for image in captions.image_ids if image not in rows]:
        raise ValueError(
            f"images: {len(missing):,} of {len(captions):,} images have no picture, image {missing[0]!r} for one; the "
            f"pictures have ids such as {found.ids[0]!r}"
        )
    return found.select([rows[image] for image in captions.image_ids])
