"""Images that somebody uploaded to a page: as the small judge sees them, and beside their captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionbias.arrays import Array
from captionbias.captions import Captions, check_captions
from captionbias.images.masks import first_of, masked, read_regions
from captionbias.images.reading import Images, Made, coco_name, thumbnail

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".jp2")
PREVIEWS, PREVIEW_SIDE = 4, 256


def prepare(
    files: Sequence[tuple[str, str, Callable[[], bytes]]], annotations: str | None, folder: Path, pixels: str
) -> dict[str, Any]:
    """Mask the persons of images, if there are COCO's annotations of them, and shrink.

    `files`: the name of each without folders, the same as messages show it, and what reads it. Pixels, previews and
    small pictures are files of `folder`. Gives `ids`; `side`, pixels on a side; `notes`, which say what is left
    out: no images, those that show nobody or cannot be read; `previews`, files and their captions.
    """
    from captionbias.images.judges import shrunk, small_side

    images, names, left_out = _images(files)
    regions, notes = None, []
    if annotations and images.ids:
        regions = read_regions(annotations, images)
        notes.append(f"persons are masked by {regions.source}: their segments, in the mean colour of the rest")
    ids: list[str] = []
    previews: list[tuple[str, str]] = []
    side = 0
    with (folder / pixels).open("wb") as file:
        for row, (image_id, name) in enumerate(zip(images.ids, names, strict=True)):
            try:
                before = after = images[row]
                if regions is not None:
                    after = masked(Images((name,), [before]), [regions[row]])[0]
            except ValueError as error:
                left_out.append(str(error))
                continue
            if len(ids) < PREVIEWS:
                stages = {name: after} if regions is None else {f"{name}, before": before, f"{name}, masked": after}
                for stage, image in stages.items():
                    preview = image.copy()
                    preview.thumbnail((PREVIEW_SIDE, PREVIEW_SIDE))
                    preview.save(folder / f"{len(previews)}.png")
                    previews.append((f"{len(previews)}.png", stage))
            side = side or small_side(after)
            file.write(shrunk(after, side).tobytes())
            _small(folder, len(ids)).write_text(thumbnail(before), encoding="ascii")
            ids.append(image_id)
    if not ids:
        raise ValueError(f"no image is left: {first_of(left_out) if left_out else 'the archives are empty'}")
    if left_out:
        notes.append(f"{len(left_out):,} files are left out: {first_of(left_out)}")
    return {"ids": ids, "side": side, "notes": notes, "previews": previews}


def _images(files: Sequence[tuple[str, str, Callable[[], bytes]]]) -> tuple[Images, list[str], list[str]]:
    """The images by their ids, the ids as messages show them, and what is no image."""
    images: dict[str, tuple[str, Callable[[], bytes]]] = {}
    left_out = []
    for name, shown, read in files:
        if Path(name).suffix.lower() not in ENDINGS:
            left_out.append(f"{shown} is not an image")
        elif (first := images.setdefault(coco_name(name), (shown, read)))[1] is not read:
            raise ValueError(f"{first[0]} and {shown} have the same id {coco_name(shown)!r}: remove or rename one")
    uploads = [*images.values()]
    sources = Made(lambda place: {"bytes": uploads[place][1](), "path": uploads[place][0]}, len(uploads))
    return Images(tuple(images), sources), [coco_name(shown) for shown, _ in uploads], left_out


def small_pictures(ids: Sequence[str], folder: Path) -> Callable[[str], str]:
    """A function that gives the data URL of an image by its id or file name, small and not masked; "" where there is
    none."""
    place_of = _places(ids)

    def picture_of(image: str) -> str:
        place = place_of(image)
        return "" if place is None else _small(folder, place).read_text(encoding="ascii")

    return picture_of


def _small(folder: Path, place: int) -> Path:
    return folder / f"{place}.url"


def _places(ids: Sequence[str]) -> Callable[[str], int | None]:
    """A function that gives the place of an image by its id or file name."""
    places = {name: place for place, name in enumerate(ids)}
    return lambda name: places.get(name, places.get(coco_name(name)))


def beside(
    captioners: Mapping[str, Captions], ids: Sequence[str], pixels: Array, notes: list[str]
) -> tuple[dict[str, Captions], Images]:
    """The captions that have an image, by id or file name, and their images; `notes` takes what is left out."""
    first = next(iter(captioners.values()))
    if first.image_ids is None:
        raise ValueError("the captions have no image ids: choose the column with the ids or file names of the images")
    place_of = list(map(_places(ids), first.image_ids))
    rows = {place: row for row, place in reversed(list(enumerate(place_of))) if place is not None}
    pairs = sorted(rows.items(), key=lambda pair: pair[1])
    if not pairs:
        raise ValueError(
            f"no caption has an image: captions are of {first_of(first.image_ids)}, the images are {first_of(ids)}; "
            "choose the column with the ids or file names of the images"
        )
    if lost := [name for name, place in zip(first.image_ids, place_of, strict=True) if place is None]:
        notes.append(f"{len(lost):,} of {len(first):,} captions have no image and are left out: {first_of(lost)}")

    names, used_rows = [ids[place] for place, _ in pairs], [row for _, row in pairs]
    base = check_captions(**first.columns(used_rows) | {"image_ids": names})
    beside_images = {
        name: base.with_predictions(captions.columns(used_rows)["predictions"]) for name, captions in captioners.items()
    }
    return beside_images, Images(tuple(names), [pixels[place] for place, _ in pairs])
