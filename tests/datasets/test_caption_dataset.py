"""The builder classes themselves: found again while nothing changed, built anew when anything did."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from captionbias.datasets import caption_dataset
from tests.datasets.conftest import ALL, builder_class, coco, write

FIRST = {"coco_caption_bias": "gender", "lic_captions": "gender", "artemis_emotions": "paintings"}


def prepared(name: str, folder: Path, cache: Path, configuration: str = "gender") -> Any:
    made = builder_class(name)(data_dir=str(folder), config_name=configuration, cache_dir=str(cache))
    made.download_and_prepare()
    return made


def stored(cache: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in cache.rglob("*.arrow")}


@pytest.mark.parametrize("name", ALL)
def test_prepared_and_streamed_rows_are_the_same(name: str, folder: Path, tmp_path: Path) -> None:
    configuration = FIRST.get(name, "C1")
    write(folder, ALL[name]())
    streaming = builder_class(name)(data_dir=str(folder), config_name=configuration, cache_dir=str(tmp_path / "none"))
    streamed = streaming.as_streaming_dataset(split=streaming.source.SPLIT)  # before anything is prepared
    made = prepared(name, folder, tmp_path / "cache", configuration)
    rows = made.as_dataset(split=made.source.SPLIT)
    assert len(rows)
    assert list(streamed) == list(rows) == list(pickle.loads(pickle.dumps(rows)))
    assert rows.features == streamed.features == made.info.features


def test_unchanged_files_are_read_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    prepared("coco_caption_bias", write(folder, coco()), cache)
    before = stored(cache)
    assert before
    write(folder, coco())  # the same content, at another time

    def refuse(*_: Any) -> None:
        raise AssertionError("the files are read again")

    monkeypatch.setattr("captionbias.datasets.coco_caption_bias.read_images", refuse)
    again = prepared("coco_caption_bias", folder, cache)
    assert again.as_dataset(split="validation").num_rows == 3
    assert stored(cache) == before


def test_any_changed_file_gives_new_rows_in_the_same_cache(folder: Path, tmp_path: Path) -> None:
    def rows() -> list[Any]:
        return list(prepared("coco_caption_bias", folder, tmp_path / "cache").as_dataset(split="validation"))

    write(folder, coco())
    first = rows()
    changes = {
        "captions_val2014.json": ('"A guy in', '"A man in'),
        "instances_val2014.json": ('"umbrella"', '"parasol"'),
        "images_val2014.csv": ("9,Male", "9,Female"),
        "instances_val2014.csv": ("101,Male", "101,Female"),
        "results/nic.json": ('"a man"', '"a guy"'),
        "results/sat.json": ('"a dog"', '"a cat"'),
    }
    assert set(changes) == set(coco())
    for place, (old, new) in changes.items():
        text = (folder / place).read_text(encoding="utf-8")
        assert old in text
        (folder / place).write_text(text.replace(old, new), encoding="utf-8")
        assert rows() != first
        (folder / place).write_text(text, encoding="utf-8")
    assert rows() == first
    write(folder, {"results/cap.json": [{"image_id": 5, "caption": "new"}]})
    assert [row["cap"] for row in rows()] == ["new", None, None]


def test_the_code_and_the_lists_of_words_are_part_of_the_hash(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows depend on them: the ages on the words for young people, the drawn verbs on the words for women and men."""

    def made() -> str:
        return str(builder_class("coco_caption_bias")(data_dir=str(folder), config_name="age").hash)

    write(folder, coco())
    package, copy, first = Path(caption_dataset.__file__).parents[1], tmp_path / "copy", made()
    for part in ("captions", "datasets", "io", "text"):
        shutil.copytree(package / part, copy / part)
    monkeypatch.setattr(caption_dataset, "__file__", str(copy / "datasets" / "caption_dataset.py"))
    assert made() == first
    for place in ("captions/tables.py", "datasets/coco_files.py", "io/plain_pickle.py", "text/lexicons/age.json"):
        with (copy / place).open("a") as file:
            file.write("\n")
        assert made() != first
        shutil.copy(package / place, copy / place)
