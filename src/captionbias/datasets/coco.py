"""COCO's own files: captions, instances and results of captioners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.captions.check import MAX_CHARACTERS
from captionbias.datasets.by_image import ByImage
from captionbias.datasets.records import (
    USUAL,
    box,
    check_known,
    check_unique,
    file_name,
    fits,
    flag,
    image,
    number,
    read_records,
    text,
    whole,
    whole_letters,
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
        said = [row for row, words in enumerate(block["caption"]) if words.strip()]
        empty += len(owners) - len(said)
        captions.add(owners[said], {name: [block[name][row] for row in said] for name in ("caption", "id")})
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
        shapes = [block["segmentation"][row] for row in persons]
        segments = _segments(shapes, sizes.tolist(), [f"{where}[{first + row}]" for row in persons])
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


def _segments(segmentations: Sequence[Any], sizes: Sequence[list[int]], where: Sequence[str]) -> list[str]:
    """Polygons or run lengths as compressed run lengths. All is checked first: pycocotools is C and trusts us."""
    from pycocotools import mask

    usual = all(map(all, sizes)) and _all_polygons([shape for shape in segmentations if isinstance(shape, list)])
    for shape, size, place in zip(segmentations, sizes, where, strict=True):
        if not usual or isinstance(shape, dict):
            _check_segment(shape, size, place)
    found = [""] * len(segmentations)
    of_size: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, shape in enumerate(segmentations):
        if isinstance(shape, list):
            of_size[sizes[row][0], sizes[row][1]].append(row)
        else:
            found[row] = str(mask.frPyObjects(shape, *sizes[row])["counts"], "ascii")
    for shared, rows in of_size.items():
        parts = iter(mask.frPyObjects([polygon for row in rows for polygon in segmentations[row]], *shared))
        for row in rows:
            found[row] = str(mask.merge([*islice(parts, len(segmentations[row]))])["counts"], "ascii")
    return found


def _all_polygons(shapes: Sequence[list[Any]]) -> bool:
    """Whether all of these pass `_check_segment`."""
    polygons = [*chain.from_iterable(shapes)]
    if not all(shapes) or not set(map(type, polygons)) <= {list} or not fits([*chain.from_iterable(polygons)]):
        return False
    lengths = np.array([*map(len, polygons)], np.int64)
    if (lengths < 6).any() or (lengths % 2).any() or not len(polygons):
        return not len(polygons)
    corners = np.array([*chain.from_iterable(polygons)], np.float64).reshape(-1, 2)
    starts = np.concatenate(([0], np.cumsum(lengths // 2)[:-1]))
    following = np.arange(1, len(corners) + 1)
    following[starts - 1] = np.roll(starts, 1)
    outlines = np.add.reduceat(np.abs(corners[following] - corners).max(1), starts)
    return bool(max(outlines.max(), np.abs(corners).max()) <= _FARTHEST)


def _check_segment(shape: Any, size: list[int], where: str) -> None:
    height, width = size
    if not height or not width:
        raise ValueError(f'{where}: the captions file gives its image no "height" and "width": segments need them')
    if isinstance(shape, dict):
        runs = shape.get("counts")
        if shape.get("size") != size:
            raise ValueError(f"{where}: the size of its segmentation is not its image's, {size}")
        if not isinstance(runs, list) or any(map(whole, runs)) or sum(runs) != height * width:
            raise ValueError(
                f"{where}: the counts of its segmentation must be whole numbers that sum to height * width"
            )
        return
    for polygon in shape:
        if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2 or any(map(number, polygon)):
            raise ValueError(f"{where}: each polygon of its segmentation is a list of three or more x, y pairs")
        if not _all_polygons([[polygon]]):
            raise ValueError(
                f"{where}: its segmentation goes farther than {_FARTHEST:,.0f} pixels: polygons stay in the image"
            )
    if not shape:
        raise ValueError(f"{where}: its segmentation has no polygon")


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


USUAL[caption] = str, lambda values: max(map(len, values)) <= MAX_CHARACTERS and whole_letters(values)
