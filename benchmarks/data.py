"""How fast the datasets are built, and in how much memory.

usage: python benchmarks/data.py [--sizes 100000,300000,1000000]

The original files are generated: captions in no order, five an image; two objects an image, one of them a person with a
segment; half of the images of women, half of men; two captioners. Rows are the captions, objects and results in them.
Each build has a process of its own. Memory is that of the process and its children, pages that they share counted once,
without pages of mapped files.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.progress import track
from scale import Cost, alone, cost, exponent
from speed import show

from captionbias.datasets.artemis_emotions import EMOTIONS
from captionbias.datasets.build import build_dataset
from captionbias.datasets.controlled_verbs import FORMS, SUBSETS

CAPTIONS_AN_IMAGE = 5
NAMING_A_TASK = 20  # one caption in so many
SMALL = 100_000  # enough for each verb of the controlled captions


def coco(captions: int, folder: Path) -> None:
    """COCO's captions, instances and the labels."""
    images = verbs(captions, folder)
    objects = []
    for number, image in enumerate(images):
        left, top = 5 + number % 300, 5 + number % 200
        corners = [left, top, left + 90, top, left + 90, top + 150, left + 40, top + 170, left, top + 150]
        shared = {"image_id": image["id"], "bbox": [left, top, 90, 170], "area": 14_000.5, "iscrowd": 0}
        objects.append(shared | {"id": 2 * number, "category_id": 1, "segmentation": [corners]})
        objects.append(shared | {"id": 2 * number + 1, "category_id": 18, "segmentation": [corners]})
    categories = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]
    instances = {"images": images, "annotations": objects, "categories": categories}
    Path(folder, "instances_val2014.json").write_text(json.dumps(instances))
    with Path(folder, "images_val2014.csv").open("w", newline="") as file:
        labels = csv.writer(file)
        labels.writerow(["id", "bb_gender", "bb_skin"])
        labels.writerows([image["id"], ("Male", "Female")[image["id"] % 2], "Light"] for image in images)
    Path(folder, "results").mkdir()
    for name in ("nic", "sat"):
        said = [{"image_id": image["id"], "caption": "a man with a dog on a street"} for image in images]
        Path(folder, "results", f"{name}.json").write_text(json.dumps(said))


def verbs(captions: int, folder: Path) -> list[dict[str, object]]:
    """COCO's captions, some of them of people with the controlled tasks and verbs."""
    generator = np.random.default_rng(0)
    count = captions // CAPTIONS_AN_IMAGE
    images = [
        {"id": number, "file_name": f"COCO_val2014_{number:012d}.jpg", "height": 480, "width": 640}
        for number in range(count)
    ]
    kinds = generator.integers(6, size=captions).tolist()
    people, tasks = ("man", "woman"), list(SUBSETS)
    annotations = []
    for number, image in enumerate(generator.permutation(np.repeat(np.arange(count), CAPTIONS_AN_IMAGE)).tolist()):
        task = tasks[kinds[number] % 3]
        verb = FORMS[SUBSETS[task][kinds[number] // 3]][0]
        place = f"near the {task}" if number % NAMING_A_TASK == 0 else "near the door"
        words = f"a {people[image % 2]} who can {verb} {place} at number {number} of the street"
        annotations.append({"image_id": image, "id": number, "caption": words})
    Path(folder, "captions_val2014.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    return images


def artemis(captions: int, folder: Path) -> None:
    """ArtEmis's table."""
    generator = np.random.default_rng(0)
    paintings = generator.integers(captions // CAPTIONS_AN_IMAGE, size=captions).tolist()
    emotions = generator.integers(len(EMOTIONS), size=captions).tolist()
    with Path(folder, "artemis.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["art_style", "painting", "emotion", "utterance", "repetition"])
        table.writerows(
            ["Impressionism", f"painting-number-{painting}", EMOTIONS[emotion], f"it makes me feel, say, {emotion}", 1]
            for painting, emotion in zip(paintings, emotions, strict=True)
        )


class Dataset(NamedTuple):
    """What writes its files, what is built of them, and how many rows they have for each caption."""

    write: Callable[[int, Path], object]
    configurations: list[str]
    rows: float


DATASETS = {
    "coco_caption_bias": Dataset(coco, ["gender"], 1 + 4 / CAPTIONS_AN_IMAGE),
    "controlled_verbs": Dataset(verbs, ["C4"], 1),
    "artemis_emotions": Dataset(artemis, ["paintings"], 1),
}


def main(sizes: Annotated[str, typer.Option(help="numbers of captions")] = "100000,300000,1000000") -> None:
    """Print captions a second and the peak of memory, a row a dataset."""
    numbers = [int(size) for size in sizes.split(",")]
    speeds, peaks = [], []
    for name, dataset in track(DATASETS.items(), "measuring", transient=True):
        costs = {}
        for size in numbers:
            with TemporaryDirectory(prefix="captionbias-") as folder:
                small, source = Path(folder, "small"), Path(folder, "source")
                for place, captions in ((small, SMALL), (source, size)):
                    place.mkdir()
                    dataset.write(captions, place)
                costs[size] = alone(measure, name, dataset.configurations, small, source)
        peak = np.array([found.own_memory for found in costs.values()])
        speed = {f"{n:,}": f"{dataset.rows * n / found.seconds:,.0f}" for n, found in costs.items()}
        speeds.append({"dataset": name, "rows a caption": f"{dataset.rows:.1f}"} | speed)
        cells = {f"{n:,}": f"{found.own_memory:.0f}" for n, found in costs.items()}
        peaks.append({"dataset": name} | cells | {"exponent": exponent(numbers, peak, 8)})
    show("rows a second, from original files to Parquet with card; numbers of captions", speeds, None)
    show("MB added at the peak; numbers of captions", peaks, None)


def measure(name: str, configurations: list[str], small: Path, source: Path) -> Cost:
    """What a build costs, once everything is imported."""
    build_dataset(name, small, small.with_name("warm"), configurations)
    found, _ = cost(build_dataset, name, source, source.with_name("built"), configurations)
    return found


if __name__ == "__main__":
    typer.run(main)
