"""The captions that the LIC study (Hirota, Nakashima and Garcia 2022) publishes: people's and nine captioners'."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from captionbias.datasets.attribute_labels import GENDERS, SKINS, compared_rows, spelled
from captionbias.datasets.coco_files import PERSON
from captionbias.datasets.json_records import Fields, check_record, unique_ids
from captionbias.datasets.original_files import OriginalFiles
from captionbias.io.plain_pickle import read_plain_pickle

ORIGIN = "https://github.com/rebnej/lick-caption-bias"
_HUMAN = {"gender": "gender_obj_cap_mw_entries.pkl", "race": "race_val_obj_cap_entries.pkl"}
_CAPTIONER = re.compile(r"(gender|race)_val_(?!obj_)(.+?)_cap(?:_mw)?_entries\.pkl")
# What the names of the files do not say.
_NAMES = {
    "st10": "nic",
    "st10_th10": "nic",
    "cider_oscar": "oscar",
    "baselineft": "nic_plus",
    "snowboard": "nic_equalizer",
}
_OBJECTS = "rmdup_object_list"
_WORD, _WORDS = pa.string(), pa.list_(pa.string())
_COLUMNS = {
    "image_id": pa.int64(),
    "references": _WORDS,
    "attribute": _WORD,
    "tasks": _WORDS,
    "gender": _WORD,
    "skin": _WORD,
}


class LicCaptions(OriginalFiles):
    """A reader of the pickled entries of people, and of those of each captioner, wherever in the folder they are.

    A configuration has the images with one of its two labels and a human caption, by ascending image id.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = tuple(_HUMAN)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._human = {key: path for key, name in _HUMAN.items() if (path := next(folder.rglob(name), None))}
        if not self._human:
            raise ValueError(
                f"{folder} has none of {', '.join(_HUMAN.values())}: put one there; they come from {ORIGIN}"
            )
        self._captioners: dict[str, dict[str, Path]] = {"gender": {}, "race": {}}
        for path in sorted(folder.rglob("*_entries.pkl")):
            if parts := _CAPTIONER.fullmatch(path.name):
                self._captioners[parts[1]][_NAMES.get(parts[2], parts[2])] = path
        self._people = cache(self._read_people)

    def schema(self, configuration: str) -> pa.Schema:
        columns = {**_COLUMNS, **dict.fromkeys(self._captioners[configuration], _WORD)}
        if all(entry.get(_OBJECTS) is None for entry in self._people(configuration).values()):
            del columns["tasks"]
        return pa.schema(columns)

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        left_out = self.left_out[configuration] = Counter()
        yield from compared_rows(self._images(configuration), configuration, left_out)

    def _read_people(self, configuration: str) -> dict[int, dict[str, Any]]:
        """The entries with human captions, by image."""
        if configuration not in self._human:
            raise ValueError(
                f"{self.folder} has no {_HUMAN[configuration]}: put it there, or leave {configuration!r} out"
            )
        return _entries(self._human[configuration], {"caption_list": list})

    def _images(self, configuration: str) -> Iterator[dict[str, Any]]:
        people, file = self._people(configuration), _HUMAN[configuration]
        gender, skin = (
            dict(zip(people, spelled([person.get(name) for person in people.values()], known, where), strict=True))
            for name, known, where in (
                ("bb_gender", GENDERS, f"{file}: bb_gender"),
                ("bb_skin", SKINS, f"{file}: bb_skin"),
            )
        )
        results = {}
        for name, path in self._captioners[configuration].items():
            entries = _entries(path, {"pred": str}, people)
            results[name] = {image: entry["pred"] for image, entry in entries.items() if entry["pred"].strip()}
        for image, entry in sorted(people.items()):
            objects = entry.get(_OBJECTS)
            yield {
                "image_id": image,
                "references": [words for words in entry["caption_list"] if words.strip()],
                "tasks": None if objects is None else [task for task in dict.fromkeys(objects) if task != PERSON],
                "gender": gender[image],
                "skin": skin[image],
                **{name: captions.get(image) for name, captions in results.items()},
            }


def _entries(path: Path, fields: Fields, known: Collection[int] | None = None) -> dict[int, dict[str, Any]]:
    """The entries of a file by image, which is one of the `known`, in the order of the file."""
    with path.open("rb") as file:
        entries = read_plain_pickle(file)
    for row, entry in enumerate(entries):
        check_record(entry, f"{path.name}[{row}]", {"img_id": (int, str), **fields})
    ids = unique_ids([entry["img_id"] for entry in entries], path.name, "img_id", known)
    return dict(zip(ids, entries, strict=True))
