"""`captionbias mask`: what it writes, prints and refuses."""

import numpy as np
import pytest

from captionbias.images.reading import read_images
from tests.cli.conftest import ran, refused
from tests.images.coco_pictures import annotation, write_annotations, write_pictures

IDS = (7, 9, 42)
# pycocotools' own, which users do not see; pytest shows all.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")


@pytest.fixture
def files(tmp_path):
    folder = write_pictures(tmp_path / "images", IDS)
    things = [annotation(7), annotation(9, box=(20, 10, 5, 5)), annotation(42, category=18)]
    return ["--images", folder, "--annotations", write_annotations(tmp_path, things, IDS)]


def test_it_writes_copies_and_says_what_is_left_out(files, tmp_path):
    shown, notes = ran("mask", *files, "--fill", "#000000", "--output", tmp_path / "to")
    assert shown == f"2 masked copies are new in {tmp_path / 'to'}; left out: 1\n"
    assert notes.startswith("left out: image 42 has nothing to mask; all are listed in ")
    copies = read_images(tmp_path / "to")
    assert copies.ids == ("7", "9")
    assert np.asarray(copies[1])[10:15, 20:25].max() < 40
    shown, _ = ran("mask", *files, "--fill", "#000000", "--output", tmp_path / "to")
    assert shown == f"0 masked copies are new in {tmp_path / 'to'}, 2 were there; left out: 1\n"


def test_a_model_may_find_the_people(files, tiny_detector, tmp_path):
    detector = [*files[:2], "--detector", tiny_detector, "--threshold", "0"]
    to = ["--output", tmp_path / "to"]
    assert "finds boxes, not segments" in refused("mask", *detector, *to)
    for neither_or_both in (files[:2], [*files, "--detector", "x"]):
        assert refused("mask", *neither_or_both, *to) == "give either --annotations or --detector"
    shown, notes = ran("mask", *detector, "--form", "box", *to)
    assert shown.startswith("3 masked copies")
    assert notes == ""
