"""COCO's own files: captions, instances and results of captioners."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.captions.checked import MAX_CHARACTERS
from captionbias.data.by_image import ByImage, Integers
from captionbias.data.records import (
    box,
    check_known,
    check_unique,
    file_name,
    flag,
    image,
    number,
    read_records,
    text,
    whole,
)

if TYPE_CHECKING:
    import pyarrow as pa

PERSON = "person"
_LARGEST_SIDE = 65535  # of an image, in pixels
_FARTHEST = 1e6  # pixels: pycocotools walks along outlines pixel by pixel


def _pixels(value: Any) -> str | None:
    if fault := whole(value):
        return fault
    return None if value <= _LARGEST_SIDE else f"is {value}: no image has more than {_LARGEST_SIDE:,} pixels a side"


_SIZES = {"height": _pixels, "width": _pixels}


@dataclass(frozen=True)
class Images:
    """The images of a captions file, by ascending id.

    Attributes:
        ids: `n` image ids.
        names: `n` file names.
        sizes: height and width of each, shape `(n, 2)`; 0 where the file has none.
    """

    ids: Integers
    names: list[str]
    sizes: Integers


def read_images(path: Path) -> Images:
    """The images that a COCO file lists.

    Raises:
        ValueError: as `read_records`; an image that is listed twice; a file without images.
    """
    ids, names, sizes = [], [], []
    for block in read_records(path, "images", {"id": whole, "file_name": file_name, **_SIZES}, optional=tuple(_SIZES)):
        ids += block["id"]
        names += block["file_name"]
        sizes += [(height or 0, width or 0) for height, width in zip(block["height"], block["width"], strict=True)]
    if not ids:
        raise ValueError(f"{path.name} lists no images: fetch the file again")
    check_unique(f"{path.name}: images", "id", np.array(ids))
    order = np.argsort(ids)
    return Images(np.array(ids)[order], [names[row] for row in order], np.array(sizes, np.int64)[order])


def read_captions(path: Path, images: Integers, scratch: Path) -> tuple[ByImage, int]:
    """Human captions by image, columns `caption` and `id`, and how many empty ones were left out.

    Raises:
        ValueError: as `read_records`; an id that stands twice; an image that the file does not list.
    """
    import pyarrow as pa

    captions = ByImage(scratch / f"{path.stem}.arrow", pa.schema({"caption": pa.string(), "id": pa.int64()}))
    ids: list[Integers] = []
    first = empty = 0
    for block in read_records(path, "annotations", {"image_id": whole, "id": whole, "caption": caption}):
        owners = np.array(block["image_id"])
        check_known(f"{path.name}: annotations", "image_id", owners, images, first)
        ids.append(np.array(block["id"]))
        said = np.array([bool(words.strip()) for words in block["caption"]])
        empty += int((~said).sum())
        kept = {
            name: [value for value, keep in zip(block[name], said, strict=True) if keep] for name in ("caption", "id")
        }
        captions.add(owners[said], kept)
        first += len(owners)
    captions.finish()
    check_unique(f"{path.name}: annotations", "id", np.concatenate([np.empty(0, np.int64), *ids]))
    return captions, empty


def read_objects(path: Path, images: Images, scratch: Path) -> tuple[ByImage, ByImage, list[str]]:
    """The objects and the people of each image, and the names of the categories.

    Returns:
        Objects, columns `category` (its number among the names), `bbox`, `area` and `crowd`; people, columns `id`,
        `bbox`, `crowd` and `segmentation` (compressed run lengths, `counts`, which pycocotools decodes with the
        image's size); the categories' names.

    Raises:
        ValueError: as `read_records`; an id that stands twice; an image or a category that is not listed; a segment
            that is none.
    """
    import pyarrow as pa

    categories = _read_categories(path)
    numbers, names = np.array(sorted(categories)), [categories[key] for key in sorted(categories)]
    bbox, shape = pa.list_(pa.float32()), pa.string()
    objects = ByImage(
        scratch / f"{path.stem}-objects.arrow",
        pa.schema({"category": pa.int32(), "bbox": bbox, "area": pa.float32(), "crowd": pa.bool_()}),
    )
    people = ByImage(
        scratch / f"{path.stem}-people.arrow",
        pa.schema({"id": pa.int64(), "bbox": bbox, "crowd": pa.bool_(), "segmentation": shape}),
    )
    checks = {
        "id": whole,
        "image_id": whole,
        "category_id": whole,
        "bbox": box,
        "area": number,
        "iscrowd": flag,
        "segmentation": lambda value: (
            None if isinstance(value, (list, dict)) else "is no list of polygons or run lengths"
        ),
    }
    ids: list[Integers] = []
    first = 0
    for block in read_records(path, "annotations", checks):
        where = f"{path.name}: annotations"
        owners, kinds = np.array(block["image_id"]), np.array(block["category_id"])
        check_known(where, "image_id", owners, images.ids, first)
        check_known(where, "category_id", kinds, numbers, first)
        ids.append(np.array(block["id"]))
        kinds = np.searchsorted(numbers, kinds)
        crowd = list(map(bool, block["iscrowd"]))
        boxes, areas = (np.array(block[name], np.float32).tolist() for name in ("bbox", "area"))
        objects.add(owners, {"category": kinds.tolist(), "bbox": boxes, "area": areas, "crowd": crowd})
        persons = np.flatnonzero(np.array([names[kind] == PERSON for kind in kinds]))
        sizes = images.sizes[np.searchsorted(images.ids, owners[persons])]
        segments = [
            _segment(block["segmentation"][row], size, f"{where}[{first + row}]")
            for row, size in zip(persons, sizes.tolist(), strict=True)
        ]
        mine = {"id": block["id"], "bbox": boxes, "crowd": crowd}
        mine = {name: [values[row] for row in persons] for name, values in mine.items()}
        people.add(owners[persons], {**mine, "segmentation": segments})
        first += len(owners)
    objects.finish()
    people.finish()
    check_unique(f"{path.name}: annotations", "id", np.concatenate([np.empty(0, np.int64), *ids]))
    return objects, people, names


def _read_categories(path: Path) -> dict[int, str]:
    ids: list[int] = []
    names: list[str] = []
    for block in read_records(path, "categories", {"id": whole, "name": text}):
        ids += block["id"]
        names += block["name"]
    for field, values in (("id", ids), ("name", names)):
        check_unique(f"{path.name}: categories", field, np.array(values))
    categories = dict(zip(ids, names, strict=True))
    if PERSON not in names:
        raise ValueError(f'{path.name} has no category "{PERSON}": it must be the file of the 80 COCO objects')
    return categories


def _segment(segmentation: Any, size: list[int], where: str) -> str:
    """Polygons or run lengths as compressed run lengths. All is checked first: pycocotools is C and trusts us."""
    from pycocotools import mask

    height, width = size
    if not height or not width:
        raise ValueError(f'{where}: the captions file gives its image no "height" and "width": segments need them')
    if isinstance(segmentation, dict):
        runs = segmentation.get("counts")
        if segmentation.get("size") != size:
            raise ValueError(f"{where}: the size of its segmentation is not its image's, {size}")
        if isinstance(runs, list) and not any(map(whole, runs)) and sum(runs) == height * width:
            return str(mask.frPyObjects(segmentation, *size)["counts"], "ascii")
        raise ValueError(f"{where}: the counts of its segmentation must be whole numbers that sum to height * width")
    polygons = []
    for polygon in segmentation:
        if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2 or any(map(number, polygon)):
            raise ValueError(f"{where}: each polygon of its segmentation is a list of three or more x, y pairs")
        corners = np.reshape(polygon, (-1, 2)).astype(np.float64)
        outline = np.abs(np.diff(corners, axis=0, append=corners[:1])).max(1).sum()
        if max(outline, np.abs(corners).max()) > _FARTHEST:
            raise ValueError(
                f"{where}: its segmentation goes farther than {_FARTHEST:,.0f} pixels: polygons stay in the image"
            )
        polygons.append(polygon)
    if not polygons:
        raise ValueError(f"{where}: its segmentation has no polygon")
    return str(mask.merge(mask.frPyObjects(polygons, *size))["counts"], "ascii")


def read_results(path: Path, images: Integers) -> pa.Array:
    """A captioner's caption of each image, from a COCO results file, `[{"image_id", "caption"}, ...]`.

    Returns:
        `n` captions, null for an image without one.

    Raises:
        ValueError: as `read_records`; an image with two captions, or one that is not in the captions file.
    """
    import pyarrow as pa

    owners: list[int] = []
    said: list[str | None] = []
    for block in read_records(path, "", {"image_id": image, "caption": caption}):
        ids = list(map(int, block["image_id"]))
        check_known(path.name, "image_id", np.array(ids), images, len(owners))
        owners += ids
        said += [words if words.strip() else None for words in block["caption"]]
    check_unique(path.name, "image_id", np.array(owners, np.int64))
    rows = np.full(len(images), len(owners))
    rows[np.searchsorted(images, owners)] = np.arange(len(owners))
    return pa.array([*said, None], pa.string()).take(pa.array(rows))


def caption(value: Any) -> str | None:
    """A caption as a string, empty or not, of no more than 10,000 characters."""
    if type(value) is str and len(value) > MAX_CHARACTERS:
        return f"has {len(value):,} characters, and no caption has more than {MAX_CHARACTERS:,}: shorten it"
    return text(value)
