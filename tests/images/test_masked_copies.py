"""Masked copies are whole, made once, and what has none is named."""

import io
import json
import os

import numpy as np
import pytest
from PIL import Image

from captionbias.images import masked_copies
from captionbias.images.masked_copies import JPEG, SETTINGS, write_masked
from captionbias.images.masks import mask_image, read_regions
from captionbias.images.reading import Images, read_images
from tests.images.coco_pictures import annotation, pixels, write_annotations, write_pictures
from tests.refusals import refuses

IDS = (7, 9, 42)


@pytest.fixture
def planted(tmp_path):
    """Three images, the last without a person."""
    images = read_images(write_pictures(tmp_path / "images", IDS))
    path = write_annotations(tmp_path, [annotation(7), annotation(9), annotation(42, category=18)], IDS)
    return images, read_regions(path, images)


def test_copies_are_called_by_id_and_masked_exactly(planted, tmp_path):
    images, regions = planted
    copies = write_masked(images, regions, tmp_path / "new" / "to", fill="#102030")
    assert (copies.written, copies.there) == (2, 0)
    assert copies.left_out == {"42": "image 42 has nothing to mask"}
    assert sorted(os.listdir(tmp_path / "new" / "to")) == ["7.jpg", "9.jpg", SETTINGS]
    read = read_images(tmp_path / "new" / "to")
    assert read.ids == ("7", "9")
    expected = io.BytesIO()
    mask_image(images[1], regions[1], "#102030").save(expected, **JPEG)
    np.testing.assert_array_equal(read[1], Image.open(expected))
    written = json.loads((tmp_path / "new" / "to" / SETTINGS).read_text())
    assert written == {"settings": {"fill": "#102030"}, "left_out": copies.left_out}


def test_copies_that_are_there_are_not_made_again(planted, tmp_path, monkeypatch):
    images, regions = planted
    to = tmp_path / "to"
    write_masked(images.select([0]), regions.select([0]), to)
    before = (to / "7.jpg").stat().st_mtime_ns
    steps = []
    copies = write_masked(images, regions, to, watch=lambda step, done: steps.append((step, done)))
    assert (copies.written, copies.there, list(copies.left_out)) == (1, 1, ["42"])
    assert [round(done, 2) for _, done in steps] == [0.5, 1.0]
    assert (to / "7.jpg").stat().st_mtime_ns == before
    monkeypatch.setattr(masked_copies, "replacing", None)
    assert write_masked(images.select([0, 1]), regions.select([0, 1]), to).there == 2


def test_other_settings_and_foreign_folders_are_refused(planted, tmp_path):
    images, regions = planted
    write_masked(images, regions, tmp_path / "to", settings={"form": "box"})
    for changed in ({"fill": "blur", "settings": {"form": "box"}}, {"settings": {"form": "segment"}}):
        other = r"copies that were made with {.*}, not {.*}: name another folder"
        refuses(other, write_masked, images, regions, tmp_path / "to", **changed)
    foreign = "images has other files: name a new folder"
    refuses(foreign, write_masked, images, regions, tmp_path / "images")
    for bad in ("a/b", "..", ".hidden", ""):
        named, one = Images((bad,), [pixels()]), regions.select([0])
        unfit = "cannot be the name of a file: give images a column of other ids"
        refuses(unfit, write_masked, named, one, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_images_that_cannot_be_read_are_left_out_or_an_error(planted, tmp_path):
    images, regions = planted
    whole = (tmp_path / "images" / "COCO_val2014_000000000009.png").read_bytes()
    images.sources[1].write_bytes(whole[: len(whole) // 2])
    images.sources[0].unlink()
    copies = write_masked(images, regions, tmp_path / "to")
    assert copies.written == 0
    assert list(copies.left_out) == ["7", "9", "42"]
    assert "000000000007.png) cannot be read as an image (" in copies.left_out["7"]
    assert "000000000009.png) cannot be read as an image (" in copies.left_out["9"]
    images.sources[1].write_bytes(whole)
    assert write_masked(images, regions, tmp_path / "to").written == 1  # one that was mended gets its copy
