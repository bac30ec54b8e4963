"""COCO's files: outlines as pycocotools has them, and each bad record by name."""

import json
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO

from captionbias.datasets.coco_files import read_captions, read_categories, read_images, read_results, read_things
from tests.datasets.conftest import HEIGHT, WIDTH, coco
from tests.refusals import refuses

SIZE = [HEIGHT, WIDTH]


def write(path, content):
    path.write_text(json.dumps(content))
    return path


def things_of(content, folder):
    path = write(folder / "a.json", content)
    return read_things(path, read_images(path), read_categories(path))


def captions_and_things(content, folder):
    things_of(content, folder)
    path = write(folder / "a.json", {**content, "annotations": content["captions"]})
    read_captions(path, read_images(path))


CORNER = st.integers(-3, 40) | st.floats(-50, 90, allow_nan=False)
POLYGON = st.lists(st.tuples(CORNER, CORNER), min_size=3, max_size=8).map(lambda pairs: [*np.ravel(pairs).tolist()])
CUTS = st.lists(st.integers(0, HEIGHT * WIDTH), max_size=8)


@settings(max_examples=40, deadline=None)
@given(shapes=st.lists(st.lists(POLYGON, min_size=1, max_size=3), min_size=1, max_size=4), cuts=CUTS)
def test_any_outlines_are_those_of_pycocotools(shapes, cuts, tmp_path_factory):
    """Polygons that leave the image too, and any run lengths."""
    content = coco()["instances_val2014.json"]
    blank = {**content["annotations"][0], "image_id": 9, "category_id": 1}
    runs = {"counts": np.diff([0, *sorted(cuts), HEIGHT * WIDTH]).tolist(), "size": SIZE}
    content["annotations"] = [{**blank, "id": row, "segmentation": shape} for row, shape in enumerate([*shapes, runs])]
    found = {thing.id: thing.counts for thing in things_of(content, tmp_path_factory.mktemp("coco"))}
    api = COCO()
    api.imgs = {image["id"]: image for image in content["images"]}
    for annotation in content["annotations"]:
        decoded = mask.decode({"size": SIZE, "counts": found[annotation["id"]]})
        np.testing.assert_array_equal(decoded, api.annToMask(annotation))


def test_a_bad_outline_is_named(tmp_path):
    """pycocotools is C and must not see any of these."""
    for segmentation in (
        *([], None, "M0 0", [0, 0, 5, 5, 5, 0]),
        *([[0, 0, 1, 1]], [[0, 0, 5, 5, 5, 0, 1]], [[0, 0, 5, 5, 5, 0], [1, 2]]),
        *([[0, 0, 5, 5, 5, None]], [[0, 0, 5, 5, 5, 1e9]]),
        *({"counts": counts, "size": SIZE} for counts in ([599], [-1, 601], "PPYo0", None)),
        *({"counts": [600]}, {"counts": [600], "size": [WIDTH, HEIGHT]}),
    ):
        content = coco()["instances_val2014.json"]
        content["annotations"][4]["segmentation"] = segmentation
        refuses(r'^a\.json: annotations\[4\]: "segmentation" must ', things_of, content, tmp_path)


def test_a_bad_record_is_named(tmp_path):
    for member, change, named in [
        ("images", {"height": 0}, 'annotations[0]: "segmentation"'),
        ("captions", {"image_id": 10}, 'annotations[0]: "image_id" 10'),
        ("annotations", {"category_id": 18, "image_id": 10}, 'annotations[0]: "image_id" 10'),
        ("annotations", {"category_id": 91}, 'annotations[0]: "category_id" 91'),
    ]:
        files = coco()
        content = files["instances_val2014.json"] | {"captions": files["captions_val2014.json"]["annotations"]}
        content[member][0] |= change
        refuses(r"^a\.json: " + re.escape(named), captions_and_things, content, tmp_path)


def test_results_are_read_with_empty_captions_passed_over_and_a_bad_one_is_named(tmp_path):
    results = [{"image_id": "9", "caption": "a"}, {"caption": " ", "image_id": 5}, {"image_id": 2, "caption": "b"}]
    assert read_results(write(tmp_path / "nic.json", results), {2, 5, 9, 11}) == {9: "a", 2: "b"}
    for image in ("09", 10, "x"):
        path = write(tmp_path / "nic.json", [results[0], {"image_id": image, "caption": "b"}])
        refuses(r'^nic\.json\[1\]: "image_id"', read_results, path, {5, 9})
