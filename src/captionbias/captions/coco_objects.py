"""COCO's instances as a table: which objects each image shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from captionbias.io.formats import json_object

PERSON = "person"


def without_outline(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A `json_object`; an annotation without its outline: outlines are most of the file, and no argument takes them."""
    record = json_object(pairs)
    if "category_id" in record:
        record.pop("segmentation", None)
    return record


def objects_of_images(content: Mapping[str, Any], name: str = "instances") -> dict[str, list[Any]]:
    """The columns `image_id` and `objects` of COCO's instances: what is annotated in an image, each once.

    People are no objects, as they bear the attribute. An image without any has an empty list.
    """
    categories = dict(_pairs(content, name, "categories", "id", "name"))
    objects = {key: category for key, category in categories.items() if category != PERSON}
    if not objects:
        raise ValueError(f"{name} has no category beside people: give COCO's instances_*.json, which has 80")
    keys_of_image: dict[Any, set[Any]] = {image: set() for image, _ in _pairs(content, name, "images", "id", "id")}
    for row, (image, key) in enumerate(_pairs(content, name, "annotations", "image_id", "category_id")):
        if image not in keys_of_image or key not in categories:
            raise ValueError(
                f"{name}: annotations[{row}] is of image {image} and category {key}, and one of them is not listed: "
                "correct it, or fetch the file again"
            )
        keys_of_image[image].add(key)
    return {
        "image_id": list(keys_of_image),
        "objects": [[objects[key] for key in objects if key in keys] for keys in keys_of_image.values()],
    }


def _pairs(content: Mapping[str, Any], name: str, of: str, first: str, second: str) -> Iterator[tuple[Any, Any]]:
    """Two fields of each record of a kind."""
    records = content.get(of)
    for row, record in enumerate(records if isinstance(records, list) else [records]):
        pair = (record.get(first), record.get(second)) if isinstance(record, dict) else (None, None)
        if not {*map(type, pair)} <= {int, str}:
            fields = " and ".join(dict.fromkeys((first, second)))
            raise ValueError(f"{name}: {of}[{row}] has no {fields}: correct it, or fetch the file again")
        yield pair
