"""COCO's files: images, human captions, objects with outlines, and results of captioners."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from captionbias.datasets.json_records import Fields, check_known, read_records, unique_ids

PERSON = "person"
_FARTHEST = 1e6  # pixels; pycocotools follows an outline pixel by pixel


class Image(NamedTuple):  # its size is 0 where the file has none
    file_name: str
    height: int
    width: int


class Caption(NamedTuple):
    image: int
    id: int
    text: str


class Thing(NamedTuple):
    """An object in an image. `counts` is the outline of a person as compressed run lengths, None for other objects."""

    image: int
    id: int
    category: str
    bbox: list[float]
    area: float
    crowd: bool
    counts: str | None


def read_images(path: Path) -> dict[int, Image]:
    """The images that a COCO file lists, by ascending id."""
    images = {
        record["id"]: Image(record["file_name"], record.get("height") or 0, record.get("width") or 0)
        for record in read_records(path, "images", {"id": int, "file_name": str})
    }
    return dict(sorted(images.items()))


def read_captions(path: Path, images: Collection[int]) -> list[Caption]:
    """Human captions, empty ones too, in the order of the file."""
    fields = {"image_id": int, "id": int, "caption": str}
    captions = []
    for row, record in enumerate(read_records(path, "annotations", fields)):
        check_known(record["image_id"], f"{path.name}: annotations[{row}]", "image_id", images)
        captions.append(Caption(record["image_id"], record["id"], record["caption"]))
    return captions


def read_categories(path: Path) -> dict[int, str]:
    """The names of the categories of objects, by ascending id."""
    records = read_records(path, "categories", {"id": int, "name": str})
    return dict(sorted((record["id"], record["name"]) for record in records))


def read_things(path: Path, images: Mapping[int, Image], categories: Mapping[int, str]) -> list[Thing]:
    """The objects in the order of the file, people with their outlines."""
    numbers = dict.fromkeys(("id", "image_id", "category_id", "iscrowd"), int)
    fields: Fields = {**numbers, "bbox": list, "area": (int, float)}
    things = []
    for row, record in enumerate(read_records(path, "annotations", fields)):
        where, key = f"{path.name}: annotations[{row}]", record["image_id"]
        check_known(key, where, "image_id", images)
        check_known(record["category_id"], where, "category_id", categories)
        name, counts = categories[record["category_id"]], None
        if name == PERSON:
            counts = checked_run_lengths(record.get("segmentation"), images[key].height, images[key].width, where)
        bbox, crowd = list(map(float, record["bbox"])), bool(record["iscrowd"])
        things.append(Thing(key, record["id"], name, bbox, float(record["area"]), crowd, counts))
    return things


def checked_run_lengths(outline: Any, height: int, width: int, where: str) -> str:
    """The compressed run lengths of a segment: of polygons, or of run lengths of this size, as COCO has them."""
    from pycocotools import mask  # which is C, and checks nothing

    polygons = isinstance(outline, list) and len(outline) > 0 and all(map(_is_polygon, outline))
    runs = isinstance(outline, dict) and _covers(outline, height, width)
    if not (height and width and (polygons or runs)):
        raise ValueError(
            f'{where}: "segmentation" must be polygons, or run lengths of the size of the image: correct it, or fetch '
            "the file again"
        )
    encoded = mask.frPyObjects(outline, height, width)
    return str((mask.merge(encoded) if polygons else encoded)["counts"], "ascii")


def _covers(outline: dict[str, Any], height: int, width: int) -> bool:
    """Whether these are run lengths of an image of this size."""
    counts = outline.get("counts")
    whole = isinstance(counts, list) and all(isinstance(run, int) and run >= 0 for run in counts)
    return whole and outline.get("size") == [height, width] and sum(counts or ()) == height * width


def _is_polygon(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 6
        and len(value) % 2 == 0
        and {*map(type, value)} <= {int, float}
        and max(map(abs, value)) < _FARTHEST
    )


def read_results(path: Path, images: Collection[int]) -> dict[int, str]:
    """A captioner's captions by image, but for empty ones, from COCO results, `[{"image_id", "caption"}, ...]`."""
    records = list(read_records(path, "", {"image_id": (int, str), "caption": str}))
    ids = unique_ids([record["image_id"] for record in records], path.name, "image_id", images)
    return {image: record["caption"] for image, record in zip(ids, records, strict=True) if record["caption"].strip()}
