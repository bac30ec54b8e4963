"""COCO's files: images, human captions, objects with outlines, and results of captioners."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from captionbias.datasets.json_records import (
    box,
    caption,
    check_known,
    check_unique,
    file_name,
    flag,
    image_id,
    number,
    pixels,
    read_records,
    text,
    whole,
)

PERSON = "person"
_FARTHEST = 1e6  # pixels; pycocotools follows an outline pixel by pixel


class Image(NamedTuple):
    """An image of a captions file; its size is 0 where the file has none."""

    file_name: str
    height: int
    width: int


class Caption(NamedTuple):
    """A human caption."""

    image: int
    id: int
    text: str


class Thing(NamedTuple):
    """An object in an image. `counts` is the outline of a person as compressed run lengths, None for other objects."""

    image: int
    id: int
    category: str
    x: float
    y: float
    width: float
    height: float
    area: float
    crowd: bool
    counts: str | None


def read_images(path: Path) -> dict[int, Image]:
    """The images that a COCO file lists, by ascending id.

    Raises:
        ValueError: as `read_records`; an image that is listed twice; a file without images.
    """
    checks = {"id": whole, "file_name": file_name, "height": pixels, "width": pixels}
    ids = array("q")
    images = {}
    for record in read_records(path, "images", checks, optional=("height", "width")):
        ids.append(record["id"])
        images[record["id"]] = Image(record["file_name"], record.get("height") or 0, record.get("width") or 0)
    check_unique(f"{path.name}: images", "id", ids)
    if not images:
        raise ValueError(f"{path.name} lists no images: fetch the file again")
    return dict(sorted(images.items()))


def read_captions(path: Path, images: Collection[int]) -> Iterator[Caption]:
    """Human captions, empty ones too, in the order of the file.

    Raises:
        ValueError: as `read_records`; an id that occurs twice; an image that is not listed.
    """
    where, ids = f"{path.name}: annotations", array("q")
    for row, record in enumerate(
        read_records(path, "annotations", {"image_id": whole, "id": whole, "caption": caption})
    ):
        check_known(where, row, "image_id", record["image_id"], images)
        ids.append(record["id"])
        yield Caption(record["image_id"], record["id"], record["caption"])
    check_unique(where, "id", ids)


def read_categories(path: Path) -> dict[int, str]:
    """The names of the categories of objects, by ascending id.

    Raises:
        ValueError: as `read_records`; an id or name that occurs twice; no category "person".
    """
    records = list(read_records(path, "categories", {"id": whole, "name": text}))
    for field in ("id", "name"):
        check_unique(f"{path.name}: categories", field, [record[field] for record in records])
    categories = {record["id"]: record["name"] for record in records}
    if PERSON not in categories.values():
        raise ValueError(f'{path.name} has no category "{PERSON}": it must be the file of the 80 COCO objects')
    return dict(sorted(categories.items()))


def read_things(path: Path, images: Mapping[int, Image], categories: Mapping[int, str]) -> Iterator[Thing]:
    """The objects in the order of the file, people with their outlines.

    Raises:
        ValueError: as `read_records`; an id that occurs twice; an image or a category that is not listed; a person
            without an outline that pycocotools can read.
    """
    checks = {"id": whole, "image_id": whole, "category_id": whole, "bbox": box, "area": number, "iscrowd": flag}
    where, ids = f"{path.name}: annotations", array("q")
    for row, record in enumerate(read_records(path, "annotations", {**checks, "segmentation": lambda _: None})):
        check_known(where, row, "image_id", record["image_id"], images)
        check_known(where, row, "category_id", record["category_id"], categories)
        ids.append(record["id"])
        name, counts = categories[record["category_id"]], None
        if name == PERSON:
            image = images[record["image_id"]]
            if fault := _outline_fault(record["segmentation"], image):
                raise ValueError(f'{where}[{row}]: "segmentation" {fault}')
            counts = _run_lengths(record["segmentation"], image)
        x, y, width, height = record["bbox"]
        crowd = bool(record["iscrowd"])
        yield Thing(record["image_id"], record["id"], name, x, y, width, height, record["area"], crowd, counts)
    check_unique(where, "id", ids)


def _outline_fault(outline: Any, image: Image) -> str | None:
    """What is wrong with polygons or run lengths. pycocotools, which is C, checks nothing."""
    if not image.height or not image.width:
        return 'needs the "height" and "width" of its image, which the captions file does not have'
    if isinstance(outline, dict):
        runs, size = outline.get("counts"), [image.height, image.width]
        if outline.get("size") != size:
            return f"must have the size of its image, {size}"
        if not isinstance(runs, list) or any(map(whole, runs)) or sum(runs) != image.height * image.width:
            return "must have counts that are whole numbers and add up to height * width"
    elif not isinstance(outline, list) or not outline or not all(map(_is_polygon, outline)):
        return f"must be run lengths or polygons of three or more x, y pairs, at most {_FARTHEST:,.0f} pixels away"
    return None


def _is_polygon(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 6
        and len(value) % 2 == 0
        and {*map(type, value)} <= {int, float}
        and max(map(abs, value)) < _FARTHEST
    )


def _run_lengths(outline: Any, image: Image) -> str:
    from pycocotools import mask

    encoded = mask.frPyObjects(outline, image.height, image.width)
    return str((mask.merge(encoded) if isinstance(encoded, list) else encoded)["counts"], "ascii")


def read_results(path: Path, images: Collection[int]) -> Iterator[tuple[int, str]]:
    """Images and a captioner's captions of them, from a COCO results file, `[{"image_id", "caption"}, ...]`.

    Empty captions are passed over.

    Raises:
        ValueError: as `read_records`; an image with two captions, or one that is not in the captions file.
    """
    ids = array("q")
    for row, record in enumerate(read_records(path, "", {"image_id": image_id, "caption": caption})):
        ids.append(int(record["image_id"]))
        check_known(path.name, row, "image_id", ids[-1], images)
        if record["caption"].strip():
            yield ids[-1], record["caption"]
    check_unique(path.name, "image_id", ids)
