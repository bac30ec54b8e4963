"""The builder classes themselves: found again while nothing changed, built anew when anything did."""

from __future__ import annotations

from tests.datasets.conftest import builder_class, coco, write


def prepared(name, folder, cache, configuration="gender"):
    made = builder_class(name)(data_dir=str(folder), config_name=configuration, cache_dir=str(cache))
    made.download_and_prepare()
    return made


def test_unchanged_files_are_read_once_and_any_changed_one_gives_new_rows(folder, tmp_path, monkeypatch):
    def rows():
        return list(prepared("coco_caption_bias", folder, tmp_path / "cache").as_dataset(split="validation"))

    write(folder, coco())
    first = rows()
    changes = {
        "captions_val2014.json": ('"A guy in', '"A man in'),
        "instances_val2014.csv": ("101,Male", "101,Female"),
        "results/sat.json": ('"a dog"', '"a cat"'),
    }
    for place, (old, new) in changes.items():
        text = (folder / place).read_text(encoding="utf-8")
        assert old in text
        (folder / place).write_text(text.replace(old, new), encoding="utf-8")
        assert rows() != first
        (folder / place).write_text(text, encoding="utf-8")  # the same content, at another time
    monkeypatch.delattr("captionbias.datasets.coco_caption_bias.read_images")  # the files are not read again
    assert rows() == first
