"""Regions of people and objects in images, and images in which they are masked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.arrays import Array, Flags
from captionbias.datasets.coco_files import checked_run_lengths, read_categories, read_images
from captionbias.datasets.json_records import read_records
from captionbias.errors import InputError, few
from captionbias.images import need_images
from captionbias.images.reading import Images, Made, coco_name, stored_size, turned
from captionbias.io.files import user_path

if TYPE_CHECKING:
    from PIL.Image import Image

BLUR = 1 / 16  # the standard deviation of blurring, of the longer side of the image
_PART = re.compile(r"(top|bottom):(\d*\.?\d+)")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class Thing(NamedTuple):
    """A person or object: its box `(left, top, width, height)` in pixels, its segment in compressed run lengths."""

    box: tuple[float, float, float, float]
    outline: bytes | None = None


class Form(NamedTuple):
    """The part of a thing that is masked: its segment or box, or the share of its segment at the top or bottom."""

    shape: str
    side: str = ""
    share: float = 1.0


def read_form(text: str) -> Form:
    """A form by its name: `segment`, `box`, or a share of the segment, `top:0.5` or `bottom:0.5`."""
    part = _PART.fullmatch(text)
    if text not in ("segment", "box") and not (part and 0 < float(part[2]) <= 1):
        raise InputError("form", f"{text!r} is unknown: give segment, box, or a share of it, top:0.5 or bottom:0.5")
    return Form("segment", part[1], float(part[2])) if part else Form(text)


@dataclass(frozen=True, eq=False)
class Regions(Made[Flags]):
    """The region of people or objects in each upright image: `(H, W)`, True inside, all False where there is no such
    thing. A ValueError for an image that nothing is known about, or of another size.

    `found`: flags of the images in which there is something to mask, `(images,)`.
    """

    found: Flags

    def select(self, indices: Iterable[int]) -> Regions:
        """Those of the images at these positions, in this order."""
        positions = [int(index) for index in indices]
        return Regions(lambda place: self[positions[place]], len(positions), self.found[positions])


def region_of(things: Iterable[Thing], form: Form, size: tuple[int, int], orientation: int = 1) -> Flags:
    """The pixels of things in an image of this size, `(H, W)`, turned by an EXIF orientation."""
    region = turned(np.zeros(size, bool), orientation)
    for thing in things:
        region |= _part(turned(_pixels(thing, form.shape, *size), orientation), form)
    return region


def _pixels(thing: Thing, shape: str, height: int, width: int) -> Flags:
    from pycocotools import mask

    if shape == "segment" and thing.outline is not None:
        decoded: Array = mask.decode({"size": [height, width], "counts": thing.outline})
        return decoded.astype(bool)
    left, top, across, down = thing.box
    region = np.zeros((height, width), bool)
    rows = slice(max(0, math.floor(top)), max(0, math.ceil(top + down)))
    region[rows, max(0, math.floor(left)) : max(0, math.ceil(left + across))] = True
    return region


def _part(region: Flags, form: Form) -> Flags:
    rows = np.flatnonzero(region.any(axis=1))
    if not form.side or not len(rows):
        return region
    length = math.ceil(form.share * (rows[-1] + 1 - rows[0]))
    first = rows[0] if form.side == "top" else rows[-1] + 1 - length
    part: Flags = np.zeros_like(region)
    part[first : first + length] = region[first : first + length]
    return part


# From annotations


def read_regions(
    annotations: str | Path,
    images: Images,
    labels: Sequence[str] = ("person",),
    form: str = "segment",
    share: float = 1.0,
) -> Regions:
    """The regions of people or objects that a COCO file annotates, such as instances_val2014.json.

    COCO's boxes and segments refer to images as stored, without their EXIF orientation; regions are turned to be
    upright. A thing without a segment is masked by its box.

    Args:
        annotations: a file in COCO's format, with polygons or run lengths; read once, in bounded memory.
        images: found in the file by their file name, or else by their id.
        labels: the categories to mask: "person", or the names of objects.
        form: `segment`, `box`, or a share of the segment, `top:0.5` or `bottom:0.5`.
        share: of the things, drawn at random by their places in the file.
    """
    need_images("ijson", "pycocotools")
    path, chosen = user_path(annotations, "masks"), read_form(form)
    if not path.is_file():
        raise InputError("masks", f": {path} does not exist: give COCO's annotations, such as instances_val2014.json")
    listed = read_images(path)
    rows = _rows(path, images, {key: image.file_name for key, image in listed.items()})
    categories = read_categories(path)
    check_labels(labels, categories.values(), path.name)
    wanted = {key for key, name in categories.items() if name in labels}
    sizes = {row: (listed[key].height, listed[key].width) for key, row in rows.items()}
    things: dict[int, list[Thing]] = {row: [] for row in sizes}
    fields = {"image_id": int, "category_id": int, "bbox": list}
    for number, record in enumerate(read_records(path, "annotations", fields)):
        row = rows.get(record["image_id"])
        drawn = share == 1 or np.random.default_rng(number).random() < share
        if row is not None and record["category_id"] in wanted and drawn:
            where = f"{path.name}: annotations[{number}], of image {images.ids[row]}"
            things[row].append(_thing(record, chosen, sizes[row], where))

    def region(position: int) -> Flags:
        if position not in things:
            raise ValueError(f"image {images.ids[position]} is not in {path.name}: leave it out")
        size = sizes[position]
        return region_of(things[position], chosen, size, _orientation(images, position, size, path.name))

    return Regions(region, len(images), np.array([bool(things.get(row)) for row in range(len(images))]))


def _thing(record: dict[str, Any], form: Form, size: tuple[int, int], where: str) -> Thing:
    box = record["bbox"]
    if len(box) != 4 or not all(isinstance(side, (int, float)) and math.isfinite(side) for side in box):
        raise ValueError(f'{where}: "bbox" is {short(box)}: correct it, or fetch the file again')
    segment = record.get("segmentation") if form.shape == "segment" else None
    outline = checked_run_lengths(segment, *size, where).encode() if segment else None
    return Thing((box[0], box[1], box[2], box[3]), outline)


def _orientation(images: Images, position: int, size: tuple[int, int], source: str) -> int:
    """The EXIF orientation by which annotations of an image of this size are made upright."""
    name = f"image {images.ids[position]}"
    height, width, orientation = stored_size(images.sources[position], name)
    # COCO's annotators saw images as stored. Where only the upright image has the size, they saw that one.
    if size == (height, width):
        return orientation
    if orientation >= 5 and size == (width, height):
        return 1
    raise ValueError(
        f"{name} has {width:,} x {height:,} pixels, but {source} is about one of {size[1]:,} x {size[0]:,}: "
        "give the images that were annotated, not copies of another size"
    )


def check_labels(labels: Sequence[str], known: Iterable[str], source: str) -> None:
    """Raise ValueError unless the source knows all labels."""
    names = list(dict.fromkeys(known))
    if unknown := [label for label in labels if label not in names]:
        raise ValueError(f"{source} does not know the label {unknown[0]!r}: choose from {', '.join(names)}")


def _rows(path: Path, images: Images, files: dict[int, str]) -> dict[int, int]:
    """The position of each COCO image that is asked for: by the names of files, or by ids if these fit better."""
    position = {name: row for row, name in enumerate(images.ids)}
    by_name = {key: position[name] for key, file in files.items() if (name := coco_name(file)) in position}
    by_id = {key: position[str(key)] for key in files if str(key) in position}
    if not (by_name or by_id):
        raise ValueError(
            f"{path.name} has none of the images: their ids are {few(images.ids)}, its ids {few(files)}; give the "
            "annotations of these images, or name the column of ids"
        )
    return by_name if len(by_name) > len(by_id) else by_id


# Masking


def check_fill(fill: str) -> None:
    """Raise ValueError unless this is `mean`, `blur` or a colour, `#rrggbb`."""
    if fill not in ("mean", "blur") and not _COLOUR.fullmatch(fill):
        raise InputError("fill", f"{fill!r} is unknown: give mean, blur or a colour such as #808080")


def mask_image(image: Image, region: Flags, fill: str = "mean", name: str = "image") -> Image:
    """A copy of an RGB image with the region `(H, W)` filled.

    Args:
        fill: `mean`, the mean colour of what stays; `blur`, the image blurred, which hides details and leaves colours;
            or a colour, `#rrggbb`.
        name: what messages call the image.

    >>> image = Images(("a",), [np.array([[0, 0, 255]], np.uint8)])[0]
    >>> np.asarray(mask_image(image, np.array([[False, True, True]]), "#ff8000"))[0].tolist()
    [[0, 0, 0], [255, 128, 0], [255, 128, 0]]
    """
    from PIL import Image, ImageFilter, ImageStat

    check_fill(fill)
    if region.dtype != np.bool_ or region.shape != (image.height, image.width):
        raise ValueError(
            f"{name} is {image.height:,} pixels high and {image.width:,} wide, but its region has the shape "
            f"{region.shape} and the type {region.dtype}: give booleans (H, W) of the same size"
        )
    inside, filled = Image.fromarray(region.astype(np.uint8) * 255), image.copy()
    if fill == "blur":
        filled.paste(image.filter(ImageFilter.GaussianBlur(BLUR * max(image.size))), mask=inside)
        return filled
    colour = tuple(bytes.fromhex("808080" if fill == "mean" else fill[1:]))
    if fill == "mean" and not region.all():
        outside = Image.fromarray((~region).astype(np.uint8) * 255)
        colour = tuple(map(round, ImageStat.Stat(image, outside).mean))
    filled.paste(colour, mask=inside)
    return filled


def masked(images: Images, regions: Sequence[Flags], fill: str = "mean", *, strict: bool = True) -> Images:
    """The images with their regions filled, each masked when it is asked for and not kept.

    Args:
        regions: `(H, W)`, True inside, one for each image; such as `Regions`, or arrays.
        fill: as for `mask_image`.
        strict: make a region without pixels an error; else its image stays as it is.

    >>> images = Images(("a",), [np.zeros((1, 2), np.uint8)])
    >>> masked(images, [np.array([[True, False]])], "#ffffff")[0].getpixel((0, 0))
    (255, 255, 255)
    """
    check_fill(fill)
    if len(regions) != len(images):
        raise ValueError(f"regions has length {len(regions):,}, images {len(images):,}: give one region for each image")

    def make(position: int) -> Image:
        image, region, name = images[position], np.asarray(regions[position]), f"image {images.ids[position]}"
        if strict and region.dtype == np.bool_ and not region.any():  # the image would pass for a masked one
            raise ValueError(f"{name} has nothing to mask: leave it out")
        return mask_image(image, region, fill, name)

    return Images(images.ids, Made(make, len(images)))
