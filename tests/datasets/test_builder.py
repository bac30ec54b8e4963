"""The builder classes themselves: found again while nothing changed, built anew when anything did."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from captionbias.datasets import builder
from tests.datasets.conftest import ALL, builder_class, coco, write

FIRST = {"coco_caption_bias": "gender", "lic_captions": "gender", "artemis_emotions": "paintings"}


def prepared(name: str, folder: Path, cache: Path, configuration: str = "gender") -> Any:
    made = builder_class(name)(data_dir=str(folder), config_name=configuration, cache_dir=str(cache))
    made.download_and_prepare()
    return made


def stored(cache: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in cache.rglob("*.arrow")}


@pytest.mark.parametrize("name", ALL)
def test_as_dataset_and_as_streaming_dataset_have_the_same_rows(name: str, folder: Path, tmp_path: Path) -> None:
    write(folder, ALL[name]())
    made = prepared(name, folder, tmp_path / "cache", FIRST.get(name, "C1"))
    split = made.source.SPLIT
    rows = made.as_dataset(split=split)
    streamed = made.as_streaming_dataset(split=split)
    assert len(rows)
    assert list(streamed) == list(rows)
    assert rows.features == streamed.features == made.info.features


def test_streaming_needs_no_preparation(folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    made = builder_class("coco_caption_bias")(data_dir=str(folder), config_name="race", cache_dir=str(tmp_path / "c"))
    assert [row["attribute"] for row in made.as_streaming_dataset(split="validation")] == ["dark", "light", "light"]


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


@pytest.mark.parametrize("place", list(coco()))
def test_any_changed_file_gives_new_rows_in_the_same_cache(place: str, folder: Path, tmp_path: Path) -> None:
    def rows() -> list[Any]:
        return list(prepared("coco_caption_bias", folder, tmp_path / "cache").as_dataset(split="validation"))

    first = [rows() for _ in range(2) if write(folder, coco())]
    assert first[0] == first[1]
    changes = {
        "captions_val2014.json": ('"A guy in', '"A man in'),
        "instances_val2014.json": ('"umbrella"', '"parasol"'),
        "images_val2014.csv": ("9,Male", "9,Female"),
        "instances_val2014.csv": ("101,Male", "101,Female"),
        "results/nic.json": ('"a man"', '"a guy"'),
        "results/sat.json": ('"a dog"', '"a cat"'),
    }
    old, new = changes[place]
    text = (folder / place).read_text(encoding="utf-8")
    assert old in text
    (folder / place).write_text(text.replace(old, new), encoding="utf-8")
    changed = rows()
    assert changed != first[0]
    (folder / place).write_text(text, encoding="utf-8")
    assert rows() == first[0]


def test_one_more_captioner_gives_one_more_column(folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    before = prepared("coco_caption_bias", folder, tmp_path / "cache").as_dataset(split="validation")
    write(folder, {"results/cap.json": [{"image_id": 5, "caption": "new"}]})
    after = prepared("coco_caption_bias", folder, tmp_path / "cache").as_dataset(split="validation")
    assert set(after.column_names) - set(before.column_names) == {"cap"}
    assert after["cap"][:] == ["new", None, None]


def test_the_code_and_the_lists_of_words_are_part_of_the_fingerprint(folder: Path, monkeypatch: Any) -> None:
    """Rows hang on them: the ages on the words for young people, the drawn verbs on the words for women and men."""
    write(folder, coco())
    seen: list[Any] = []
    original = builder.fingerprint

    def seeing(files: Any, code: Any) -> str:
        seen.extend(path.name for path in code)
        return original(files, code)

    monkeypatch.setattr(builder, "fingerprint", seeing)
    builder_class("coco_caption_bias")(data_dir=str(folder), config_name="age")
    assert {"coco.py", "labels.py", "tables.py", "tokens.py", "age.json", "gender.json", "coco_caption_bias.py"} <= {
        *seen
    }
    assert not [name for name in seen if name.endswith(".pyc")]


def test_a_fingerprint_hangs_on_every_file_and_on_the_code(tmp_path: Path) -> None:
    one, two = write(tmp_path, {"a": "1"}) / "a", write(tmp_path, {"b": "2"}) / "b"
    names = {builder.fingerprint([one], [two]), builder.fingerprint([one, two], []), builder.fingerprint([two], [one])}
    two.write_text("3")
    names |= {builder.fingerprint([one], [two])}
    assert len(names) >= 3
    assert builder.fingerprint([one], [two]) == builder.fingerprint([one], [two])


def test_configurations_have_caches_of_their_own(folder: Path, tmp_path: Path) -> None:
    write(folder, coco())
    labels = {
        name: prepared("coco_caption_bias", folder, tmp_path, name).as_dataset(split="validation")["attribute"][:]
        for name in ("gender", "race", "age")
    }
    assert labels == {
        "gender": ["female", "male", "female"],
        "race": ["dark", "light", "light"],
        "age": ["old", "old", "young", "young"],
    }


def test_builders_need_a_folder(tmp_path: Path) -> None:
    for place in (tmp_path / "none", write(tmp_path, {"file": "x"}) / "file"):
        with pytest.raises(ValueError, match=rf"{place} is no folder: name the one with the original files"):
            builder_class("coco_caption_bias")(data_dir=str(place), config_name="gender")


def test_a_malformed_file_leaves_nothing_in_the_cache(folder: Path, tmp_path: Path) -> None:
    from datasets.exceptions import DatasetGenerationError

    write(folder, {**coco(), "results/nic.json": '[{"image_id": 9'})
    with pytest.raises(DatasetGenerationError) as caught:
        prepared("coco_caption_bias", folder, tmp_path / "cache")
    assert "nic.json is not whole JSON" in str(caught.value.__cause__)
    assert not stored(tmp_path / "cache")


def test_what_is_built_can_be_sent_to_other_processes(folder: Path, tmp_path: Path) -> None:
    rows = prepared("coco_caption_bias", write(folder, coco()), tmp_path / "cache").as_dataset(split="validation")
    assert list(pickle.loads(pickle.dumps(rows))) == list(rows)
