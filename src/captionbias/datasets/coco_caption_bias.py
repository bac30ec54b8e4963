"""COCO val2014 with the labels of Zhao, Wang and Russakovsky (2021): human captions, tasks, people, captioners."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from captionbias.arrays import Integers
from captionbias.captions.tables import table_from_file
from captionbias.datasets.by_image import as_lists
from captionbias.datasets.coco import PERSON, read_captions, read_images, read_objects, read_results
from captionbias.datasets.labels import GENDERS, SKINS, ages, labels_of, read_labels
from captionbias.datasets.original_files import BLOCK, attribute_rows, find_file, need_file, results_files

if TYPE_CHECKING:
    import pyarrow as pa

COCO = "http://images.cocodataset.org/annotations/annotations_trainval2014.zip"
ZHAO = "https://princetonvisualai.github.io/imagecaptioning-bias"


class CocoCaptionBias:
    """Reads `captions_val2014.json`, `instances_val2014.json` and `images_val2014.csv`; where they are there, also the
    labels of people, `instances_val2014.csv` (or `instances_2014all.csv`), and captioners' `results/NAME.json`.

    A configuration has the images with one of its two labels and a human caption, by ascending image id.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("gender", "race", "age")
    SPLIT: ClassVar[str] = "validation"
    BENCHMARK: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self._captions = need_file(folder, "captions_val2014.json", COCO)
        self._instances = need_file(folder, "instances_val2014.json", COCO)
        self._labels = need_file(folder, "images_val2014.csv", ZHAO)
        self._people = find_file(folder, "instances_val2014.csv", "instances_2014all.csv")
        self._results = results_files(folder, taken=_schema(()).names)
        people = [self._people] if self._people else []
        self.files = (self._captions, self._instances, self._labels, *people, *self._results.values())
        self.captioners = tuple(self._results)
        self.left_out: dict[str, dict[str, int]] = {}

    def schema(self, configuration: str) -> pa.Schema:
        return _schema(self._results)

    def tables(self, configuration: str) -> Iterator[pa.Table]:
        left_out = Counter({"empty human captions": self._read.empty})
        for start in range(0, len(self._read.images.ids), BLOCK):
            yield attribute_rows(self._read.table(start, start + BLOCK, configuration), configuration, left_out)
        self.left_out[configuration] = dict(left_out)

    @cached_property
    def _read(self) -> _Files:
        return _Files(self._captions, self._instances, self._labels, self._people, self._results)


class _Files:
    """What the files say, in memory as far as it is short, in a scratch folder as far as it is long."""

    def __init__(
        self, captions: Path, instances: Path, labels: Path, people: Path | None, results: dict[str, Path]
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="captionbias-", ignore_cleanup_errors=True)
        scratch = Path(self._scratch.name)
        self.images = read_images(captions)
        ids, given = read_labels(labels, {"bb_gender": GENDERS, "bb_skin": SKINS}, self.images.ids)
        self.gender = labels_of(self.images.ids, ids, given["bb_gender"])
        self.skin = labels_of(self.images.ids, ids, given["bb_skin"])
        self.results = {name: read_results(path, self.images.ids) for name, path in results.items()}
        self.captions, self.empty = read_captions(captions, self.images.ids, scratch)
        self.objects, self.people, self.names = read_objects(instances, self.images, scratch)
        self._person_labels = _read_person_labels(people, self.people.column("id"))

    def table(self, start: int, end: int, configuration: str) -> pa.Table:
        """The images from number `start` on, labelled or not."""
        import pyarrow as pa

        ids = self.images.ids[start:end]
        offsets, captions = self.captions.of(ids)
        owners = np.repeat(np.arange(len(ids)), np.diff(offsets))
        gender, skin = self.gender.slice(start, len(ids)), self.skin.slice(start, len(ids))
        age = ages(captions["caption"], owners, len(ids))
        columns = {
            "image_id": ids,
            "file_name": self.images.names[start:end],
            "height": self.images.sizes[start:end, 0],
            "width": self.images.sizes[start:end, 1],
            "references": as_lists(offsets, captions["caption"]),
            "attribute": {"gender": gender, "race": skin, "age": age}[configuration],
            **self._objects(ids),
            "gender": gender,
            "skin": skin,
            "age": age,
            "people": self._persons(ids, self.images.sizes[start:end]),
            **{name: said.slice(start, len(ids)) for name, said in self.results.items()},
        }
        schema = _schema(self.results)
        return pa.table({name: columns[name] for name in schema.names}, schema=schema)

    def _objects(self, ids: Integers) -> dict[str, pa.Array]:
        """All objects, and the tasks: the categories other than person, each once, in the order of COCO's list."""
        import pyarrow as pa

        offsets, rows = self.objects.of(ids)
        kinds, owners = rows["category"].to_numpy(), np.repeat(np.arange(len(ids)), np.diff(offsets))
        shown = np.unique(owners * len(self.names) + kinds)
        shown = shown[shown % len(self.names) != self.names.index(PERSON)]
        ends = pa.array(np.searchsorted(shown, np.arange(len(ids) + 1) * len(self.names)), pa.int32())
        names = pa.array(self.names, pa.string())
        return {
            "tasks": as_lists(ends, names.take(pa.array(shown % len(self.names)))),
            "objects": as_lists(offsets, _structs(_object(), rows, name=names.take(pa.array(kinds)))),
        }

    def _persons(self, ids: Integers, sizes: Integers) -> pa.ListArray:
        import pyarrow as pa

        offsets, rows = self.people.of(ids)
        size = np.repeat(sizes, np.diff(offsets), axis=0)
        ends = pa.array(np.arange(len(size) + 1) * 2, pa.int32())
        segmentation = pa.StructArray.from_arrays(
            [as_lists(ends, pa.array(size.ravel(), pa.int32())), rows["segmentation"].combine_chunks()],
            fields=list(_segmentation()),
        )
        labelled, labels = self._person_labels
        gender, skin = (labels_of(rows["id"].to_numpy(), labelled, labels[name]) for name in ("gender", "skin"))
        people = _structs(_person(), rows, gender=gender, skin=skin, segmentation=segmentation)
        return as_lists(offsets, people)


def _read_person_labels(path: Path | None, people: Integers) -> tuple[Integers, dict[str, list[str | None]]]:
    """Ids of people, and their labels: columns gender and skin, or bb_gender and bb_skin, as far as there are any."""
    if path is None:
        return np.empty(0, np.int64), {"gender": [], "skin": []}
    there = table_from_file(path).columns
    known = {"gender": GENDERS, "skin": SKINS}
    named = {column: label for label in known for column in (label, f"bb_{label}") if column in there}
    if not named:
        raise ValueError(f"{path.name} has no column gender, bb_gender, skin or bb_skin: is it the right file?")
    ids, labels = read_labels(path, {column: known[label] for column, label in named.items()})
    if not np.isin(ids, people).any():
        raise ValueError(f"{path.name}: no id is that of a person in the instances file: ids are COCO's annotation ids")
    none: list[str | None] = [None] * len(ids)
    return ids, {"gender": none, "skin": none} | {label: labels[column] for column, label in named.items()}


def _structs(kind: pa.StructType, rows: pa.Table, **more: pa.Array) -> pa.StructArray:
    import pyarrow as pa

    columns = {name: rows[name].combine_chunks() for name in rows.column_names} | more
    return pa.StructArray.from_arrays([columns[field.name] for field in kind], fields=list(kind))


def _object() -> pa.StructType:
    import pyarrow as pa

    return pa.struct({"name": pa.string(), "bbox": pa.list_(pa.float32()), "area": pa.float32(), "crowd": pa.bool_()})


def _segmentation() -> pa.StructType:
    import pyarrow as pa

    return pa.struct({"size": pa.list_(pa.int32()), "counts": pa.string()})


def _person() -> pa.StructType:
    import pyarrow as pa

    labels = {"gender": pa.string(), "skin": pa.string()}
    own = {"id": pa.int64(), "bbox": pa.list_(pa.float32()), "crowd": pa.bool_()}
    return pa.struct({**own, **labels, "segmentation": _segmentation()})


def _schema(captioners: Collection[str]) -> pa.Schema:
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    return pa.schema(
        {
            "image_id": pa.int64(),
            "file_name": text,
            "height": pa.int32(),
            "width": pa.int32(),
            "references": texts,
            "attribute": text,
            "tasks": texts,
            "gender": text,
            "skin": text,
            "age": text,
            "objects": pa.list_(_object()),
            "people": pa.list_(_person()),
            **dict.fromkeys(captioners, text),
        }
    )
