"""The captions that the LIC study (Hirota, Nakashima and Garcia 2022) publishes: people's and nine captioners'."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from captionbias.arrays import Integers
from captionbias.datasets.coco import PERSON, caption
from captionbias.datasets.labels import GENDERS, SKINS, spelled
from captionbias.datasets.original_files import BLOCK, CAPTIONER, attribute_rows
from captionbias.datasets.pickles import read_plain_pickle
from captionbias.datasets.records import Check, Columns, check_known, check_unique, columns_of, image, text

if TYPE_CHECKING:
    import pyarrow as pa

ORIGIN = "https://github.com/rebnej/lick-caption-bias"
_HUMAN = {"gender": "gender_obj_cap_mw_entries.pkl", "race": "race_val_obj_cap_entries.pkl"}
_CAPTIONER = re.compile(r"(gender|race)_val_(?!obj_)(.+?)_cap(?:_mw)?_entries\.pkl")
# What the files' names leave unsaid.
_NAMES = {
    "st10": "nic",
    "st10_th10": "nic",
    "cider_oscar": "oscar",
    "baselineft": "nic_plus",
    "snowboard": "nic_equalizer",
}


class LicCaptions:
    """Reads the pickled entries of people, and those of each captioner, wherever in the folder they are.

    They hold plain data; a pickle that holds anything else is refused, unread. A configuration has the images with one
    of its two labels and a human caption, by ascending image id.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("gender", "race")
    SPLIT: ClassVar[str] = "validation"
    BENCHMARK: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self._human = {key: _only(folder, name) for key, name in _HUMAN.items()}
        if not any(self._human.values()):
            raise ValueError(
                f"{folder} has none of {', '.join(_HUMAN.values())}: put one there; they come from {ORIGIN}"
            )
        self._captioners: dict[str, dict[str, Path]] = {"gender": {}, "race": {}}
        for path in sorted(folder.rglob("*_entries.pkl")):
            if found := _CAPTIONER.fullmatch(path.name):
                self._add(found[1], _NAMES.get(found[2], found[2]), path)
        self.captioners = tuple(sorted({name for named in self._captioners.values() for name in named}))
        human = [path for path in self._human.values() if path]
        self.files = (*human, *(path for named in self._captioners.values() for path in named.values()))
        self.left_out: dict[str, dict[str, int]] = {}

    def _add(self, attribute: str, name: str, path: Path) -> None:
        if not CAPTIONER.fullmatch(name):
            raise ValueError(
                f"{path.name} names a column {name!r}: letters, digits and _ only, and a letter first; rename the file"
            )
        if name.lower() in _schema(()).names:
            raise ValueError(f"{path.name} names a column {name!r}: there is another column of that name; rename it")
        for other, earlier in self._captioners[attribute].items():
            if other.lower() == name.lower():
                raise ValueError(f"{path} and {earlier} are both {name}'s: keep one of the two")
        self._captioners[attribute][name] = path

    def schema(self, configuration: str) -> pa.Schema:
        return _schema(self._captioners[configuration])

    def tables(self, configuration: str) -> Iterator[pa.Table]:
        import pyarrow as pa

        path = self._human[configuration]
        if path is None:
            raise ValueError(f"the folder has no {_HUMAN[configuration]}: put it there, or leave {configuration!r} out")
        own = {"img_id": image, "caption_list": _captions, "bb_gender": _any, "bb_skin": _any}
        people = _entries(path, {**own, "rmdup_object_list": _texts}, optional=("rmdup_object_list",))
        images = np.array(list(map(int, people["img_id"])), np.int64)
        check_unique(path.name, "img_id", images)
        gender = spelled(people["bb_gender"], GENDERS, f"{path.name}: bb_gender")
        skin = spelled(people["bb_skin"], SKINS, f"{path.name}: bb_skin")
        columns = {
            "image_id": images,
            "references": [[words for words in said if words.strip()] for said in people["caption_list"]],
            "attribute": gender if configuration == "gender" else skin,
            "tasks": [
                [task for task in dict.fromkeys(shown or ()) if task != PERSON] for shown in people["rmdup_object_list"]
            ],
            "gender": gender,
            "skin": skin,
            **{name: _said(file, images) for name, file in self._captioners[configuration].items()},
        }
        table = pa.table(columns, schema=_schema(self._captioners[configuration])).take(np.argsort(images))
        left_out: Counter[str] = Counter()
        for start in range(0, len(table), BLOCK):
            yield attribute_rows(table.slice(start, BLOCK), configuration, left_out)
        self.left_out[configuration] = dict(left_out)


def _only(folder: Path, name: str) -> Path | None:
    found = sorted(folder.rglob(name))
    if len(found) > 1:
        raise ValueError(f"{found[0]} and {found[1]} are both {name}: keep one of the two")
    return found[0] if found else None


def _entries(path: Path, checks: Mapping[str, Check], optional: Sequence[str] = ()) -> Columns:
    """The fields of a file's entries."""
    entries = read_plain_pickle(path)
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path.name} holds no list of entries: is it the right file?")
    return columns_of(entries, path.name, checks, optional)


def _said(path: Path, images: Integers) -> list[str | None]:
    """A captioner's caption of each image, None for an image without one."""
    entries = _entries(path, {"img_id": image, "pred": caption})
    ids = np.array(list(map(int, entries["img_id"])), np.int64)
    check_unique(path.name, "img_id", ids)
    check_known(path.name, "img_id", ids, np.sort(images))
    said = dict(zip(ids.tolist(), entries["pred"], strict=True))
    return [words if words and words.strip() else None for words in map(said.get, images.tolist())]


def _any(value: Any) -> None:
    return None


def _captions(value: Any) -> str | None:
    if not isinstance(value, list):
        return "is no list: it must be the image's human captions"
    return next(filter(None, map(caption, value)), None)


def _texts(value: Any) -> str | None:
    if not isinstance(value, list):
        return "is no list: it must be the image's objects"
    return next(filter(None, map(text, value)), None)


def _schema(captioners: Collection[str]) -> pa.Schema:
    import pyarrow as pa

    word, words = pa.string(), pa.list_(pa.string())
    own = {"image_id": pa.int64(), "references": words, "attribute": word, "tasks": words, "gender": word, "skin": word}
    return pa.schema({**own, **dict.fromkeys(captioners, word)})
