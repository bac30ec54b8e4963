"""COCO val2014 with the labels of Zhao, Wang and Russakovsky (2021): human captions, tasks, people, captioners."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from captionbias.captions.tables import table_from_file
from captionbias.datasets.attribute_labels import COMPARED, GENDERS, SKINS, age, compared_rows, read_labels
from captionbias.datasets.coco_files import (
    PERSON,
    Thing,
    read_captions,
    read_categories,
    read_images,
    read_results,
    read_things,
)
from captionbias.datasets.original_files import OriginalFiles, find_file, need_file

COCO = "http://images.cocodataset.org/annotations/annotations_trainval2014.zip"
_LABELS_FILE = "images_val2014.csv"
ZHAO = "https://princetonvisualai.github.io/imagecaptioning-bias"

_BOX = {"bbox": pa.list_(pa.float32())}
_OBJECT = pa.struct({"name": pa.string(), **_BOX, "area": pa.float32(), "crowd": pa.bool_()})
_SEGMENTATION = pa.struct({"size": pa.list_(pa.int32()), "counts": pa.string()})
_LABELS = {"gender": pa.string(), "skin": pa.string()}
_PERSON = pa.struct({"id": pa.int64(), **_BOX, "crowd": pa.bool_(), **_LABELS, "segmentation": _SEGMENTATION})
_COLUMNS = {
    "image_id": pa.int64(),
    "file_name": pa.string(),
    "height": pa.int32(),
    "width": pa.int32(),
    "references": pa.list_(pa.string()),
    "attribute": pa.string(),
    "tasks": pa.list_(pa.string()),
    **_LABELS,
    "age": pa.string(),
    "objects": pa.list_(_OBJECT),
    "people": pa.list_(_PERSON),
}


class CocoCaptionBias(OriginalFiles):
    """A reader of COCO's captions and instances and, save for `age`, the labels of images; where there are any, also of
    the labels of people, `instances_val2014.csv` (or `instances_2014all.csv`), and captioners' `results/NAME.json`.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("gender", "race", "age")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._captions = need_file(folder, "captions_val2014.json", COCO)
        self._instances = need_file(folder, "instances_val2014.json", COCO)
        self._labels = find_file(folder, _LABELS_FILE)
        self._people = find_file(folder, "instances_val2014.csv", "instances_2014all.csv")
        self._results = {path.stem: path for path in sorted((folder / "results").glob("*.json"))}

    def schema(self, configuration: str) -> pa.Schema:
        return pa.schema({**_COLUMNS, **dict.fromkeys(self._results, pa.string())})

    def check_labels(self, configuration: str) -> None:
        """Raise ValueError where the configuration needs the labels of images, and they are not there."""
        if self._labels is None and COMPARED[configuration][0] in _LABELS:
            others = ", ".join(name for name in self.CONFIGURATIONS if COMPARED[name][0] not in _LABELS)
            raise ValueError(
                f"{self.folder} has no {_LABELS_FILE}, the labels of {configuration!r}: put it there, it comes from "
                f"{ZHAO}; or name the configurations that do without: {others}"
            )

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        self.check_labels(configuration)
        images, empty = self._images
        left_out = self.left_out[configuration] = Counter({"empty human captions": empty})
        yield from compared_rows(images, configuration, left_out)

    @cached_property
    def _images(self) -> tuple[list[dict[str, Any]], int]:
        """All images, labelled or not, and how many human captions are empty."""
        images = read_images(self._captions)
        if unknown := sorted(images.keys() - read_images(self._instances)):
            raise ValueError(
                f"{self._instances.name} does not list image {unknown[0]}, so nobody knows what it shows: give the "
                "instances of the images that have captions"
            )
        columns = {"bb_gender": GENDERS, "bb_skin": SKINS}
        labels = read_labels(self._labels, columns) if self._labels else {key: {} for key in columns}
        results = {name: read_results(path, images) for name, path in self._results.items()}
        categories = read_categories(self._instances)
        captions, things = read_captions(self._captions, images), read_things(self._instances, images, categories)
        person_labels = _read_person_labels(self._people, things)
        references: dict[int, list[str]] = defaultdict(list)
        for caption in captions:
            if caption.text.strip():
                references[caption.image].append(caption.text)
        things_of_image: dict[int, list[Thing]] = defaultdict(list)
        for thing in things:
            things_of_image[thing.image].append(thing)
        rows = []
        for key, image in images.items():
            names = {thing.category for thing in things_of_image[key]}
            rows.append(
                {
                    "image_id": key,
                    **image._asdict(),
                    "references": references[key],
                    "tasks": [name for name in categories.values() if name in names and name != PERSON],
                    "gender": labels["bb_gender"].get(key),
                    "skin": labels["bb_skin"].get(key),
                    "age": age(references[key]),
                    "objects": [
                        {"name": thing.category, "bbox": thing.bbox, "area": thing.area, "crowd": thing.crowd}
                        for thing in things_of_image[key]
                    ],
                    "people": [
                        {
                            "id": thing.id,
                            "bbox": thing.bbox,
                            "crowd": thing.crowd,
                            **{label: labelled.get(thing.id) for label, labelled in person_labels.items()},
                            "segmentation": {"size": [image.height, image.width], "counts": thing.counts},
                        }
                        for thing in things_of_image[key]
                        if thing.category == PERSON
                    ],
                    **{name: texts.get(key) for name, texts in results.items()},
                }
            )
        return rows, len(captions) - sum(map(len, references.values()))


def _read_person_labels(path: Path | None, things: Iterable[Thing]) -> dict[str, dict[int, str | None]]:
    """Gender and skin of people, from columns `gender` and `skin`, or `bb_gender` and `bb_skin`; one may be missing."""
    if path is None:
        return {"gender": {}, "skin": {}}
    choices = {"gender": GENDERS, "bb_gender": GENDERS, "skin": SKINS, "bb_skin": SKINS}
    columns = table_from_file(path).columns
    labels = read_labels(path, {column: choices[column] for column in choices if column in columns})
    if not labels:
        raise ValueError(f"{path.name} has no column {', '.join(choices)}: check that it is the right file")
    ids = next(iter(labels.values()))
    if not any(thing.id in ids for thing in things if thing.category == PERSON):
        raise ValueError(f"{path.name} has no id of a person in the instances file: ids must be COCO's annotation ids")
    return {label: labels.get(f"bb_{label}", labels.get(label, {})) for label in ("gender", "skin")}
