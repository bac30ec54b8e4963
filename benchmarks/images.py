"""How fast images are masked, and in how much memory.

usage: python benchmarks/images.py mask [--images 400] [--sizes 1000,5000,20000]

Pictures and their COCO annotations are generated: a few pictures under many names, two people with polygons in each.
Each measurement has a process of its own. Memory is that of the process, without pages of mapped files.
"""

from __future__ import annotations

import json
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from datasets import disable_progress_bars
from PIL import Image, ImageStat
from pycocotools.coco import COCO
from rich.progress import track
from scale import Cost, alone, cost, exponent
from speed import show

from captionbias.vision.images import read_images
from captionbias.vision.masked_copies import KINDS, write_masked
from captionbias.vision.masks import read_regions

PICTURES = 8  # different ones; the others are links to these
WARM = 8
LARGE, SMALL = (480, 640), (96, 128)  # as COCO's; small ones where memory is measured, not the disk

app = typer.Typer(add_completion=False)


@app.callback()
def main() -> None:
    """Measure work on images, part by part."""


def pictures(count: int, size: tuple[int, int], folder: Path) -> None:
    """`images`, as many as asked for, and instances.json."""
    height, width = size
    generator = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    for number in range(count):
        path = folder / "images" / f"COCO_val2014_{number:012d}.jpg"
        if number < PICTURES:
            coarse = Image.fromarray(generator.integers(256, size=(height // 16, width // 16, 3)).astype(np.uint8))
            coarse.resize((width, height), Image.Resampling.BICUBIC).save(path, quality=90)
        else:
            path.symlink_to(folder / "images" / f"COCO_val2014_{number % PICTURES:012d}.jpg")
    images = [
        {"id": number, "file_name": f"COCO_val2014_{number:012d}.jpg", "height": height, "width": width}
        for number in range(count)
    ]
    things: list[dict[str, Any]] = []
    for number in range(2 * count):
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        across, down = generator.uniform(0.2, 0.8, 2)
        x, y = width * (across + 0.15 * np.cos(angles)), height * (down + 0.3 * np.sin(angles))
        outline = np.stack([x, y], axis=1).round(2).ravel().tolist()
        box = [float(x.min()), float(y.min()), float(np.ptp(x)), float(np.ptp(y))]
        things.append({"id": number, "image_id": number // 2, "category_id": 1, "iscrowd": 0, "area": 1.0})
        things[-1] |= {"bbox": box, "segmentation": [outline]}
    content = {"images": images, "annotations": things, "categories": [{"id": 1, "name": "person"}]}
    (folder / "instances.json").write_text(json.dumps(content))


# Masking


@app.command()
def mask(
    images: Annotated[int, typer.Option(help="images of the comparison with a plain loop")] = 400,
    sizes: Annotated[str, typer.Option(help="numbers of images where memory is measured")] = "1000,5000,20000",
) -> None:
    """Images a second beside a plain loop with Pillow and pycocotools, and the peak of memory."""
    numbers = [int(size) for size in sizes.split(",")]
    costs = masked(images, LARGE)
    rows = [
        {
            "way": name,
            "images a second": f"{images / found.seconds:.0f}",
            "processor ms an image": f"{1000 * found.computed / images:.1f}",
        }
        for name, found in costs.items()
    ]
    show(f"masking {images:,} images of {LARGE[1]} x {LARGE[0]}, from annotations to copies as JPEG", rows, None)
    found = {size: masked(size, SMALL) for size in track(numbers, "measuring", transient=True)}
    rows = []
    for name in WAYS:
        peaks = [found[size][name].own_memory for size in numbers]
        cells = {f"{size:,}": f"{peak:.0f}" for size, peak in zip(numbers, peaks, strict=True)}
        rows.append({"way": name} | cells | {"exponent": exponent(numbers, np.array(peaks), 8)})
    show(f"MB added at the peak; numbers of images of {SMALL[1]} x {SMALL[0]}", rows, None)


def masked(count: int, size: tuple[int, int]) -> dict[str, Cost]:
    """What each way costs, in a process of its own, once everything is imported."""
    with TemporaryDirectory(prefix="captionbias-") as folder:
        pictures(count, size, Path(folder))
        return {name: alone(measure, name, Path(folder)) for name in WAYS}


def measure(name: str, folder: Path) -> Cost:
    warnings.simplefilter("ignore")
    disable_progress_bars()
    WAYS[name](folder, folder / f"warm {name}", WARM)
    return cost(WAYS[name], folder, folder / name)[0]


def mask_with_captionbias(folder: Path, to: Path, count: int | None = None) -> None:
    images = read_images(folder / "images")
    images = images.select(range(count)) if count else images
    write_masked(images, read_regions(folder / "instances.json", images), to)


def mask_in_a_loop(folder: Path, to: Path, count: int | None = None) -> None:
    with redirect_stdout(None):
        coco = COCO(folder / "instances.json")
    to.mkdir()
    for key in coco.getImgIds()[:count]:
        image = Image.open(folder / "images" / coco.imgs[key]["file_name"]).convert("RGB")
        region = np.zeros((image.height, image.width), bool)
        for thing in coco.loadAnns(coco.getAnnIds(imgIds=key, catIds=[1])):
            region |= coco.annToMask(thing).astype(bool)
        outside = Image.fromarray((~region).astype(np.uint8) * 255)
        colour = tuple(map(round, ImageStat.Stat(image, outside).mean))
        image.paste(colour, mask=Image.fromarray(region.astype(np.uint8) * 255))
        image.save(to / f"{key}.jpg", **KINDS["jpg"])


WAYS = {"captionbias": mask_with_captionbias, "a plain loop": mask_in_a_loop}

if __name__ == "__main__":
    app()
