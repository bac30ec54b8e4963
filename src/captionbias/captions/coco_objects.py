"""COCO's instances as a table: which objects each image shows."""

from __future__ import annotations

from collections.abc import Mapping
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
    try:
        categories = {one["id"]: one["name"] for one in content["categories"]}
        named: dict[Any, set[str]] = {one["id"]: set() for one in content["images"]}
        for one in content["annotations"]:
            named[one["image_id"]].add(categories[one["category_id"]])
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{name} does not hold together ({type(error).__name__}: {error}): correct it, or fetch the file again"
        ) from error
    objects = [category for category in categories.values() if category != PERSON]
    if not objects:
        raise ValueError(f"{name} has no category beside people: give COCO's instances_*.json, which has 80")
    return {
        "image_id": list(named),
        "objects": [[category for category in objects if category in of_image] for of_image in named.values()],
    }
