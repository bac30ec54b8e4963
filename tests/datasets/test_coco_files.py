"""COCO's files: outlines as pycocotools has them, and each bad record by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO

from captionbias.datasets.coco_files import (
    Caption,
    Image,
    Thing,
    read_captions,
    read_categories,
    read_images,
    read_results,
    read_things,
)
from tests.datasets.conftest import HEIGHT, WIDTH, coco

SIZE = [HEIGHT, WIDTH]


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def things_of(content: dict[str, Any], folder: Path) -> list[Thing]:
    path = write(folder / "a.json", content)
    return list(read_things(path, read_images(path), read_categories(path)))


def captions_and_things(content: dict[str, Any], folder: Path) -> tuple[list[Caption], list[Thing]]:
    things = things_of(content, folder)
    path = write(folder / "a.json", {**content, "annotations": content["captions"]})
    return list(read_captions(path, read_images(path))), things


def as_pycocotools(content: dict[str, Any], annotation: dict[str, Any]) -> Any:
    """The mask that pycocotools makes of an annotation."""
    api = COCO()
    api.imgs = {image["id"]: image for image in content["images"]}
    return api.annToMask(annotation)


def assert_outlines_are_those_of_pycocotools(content: dict[str, Any], folder: Path) -> None:
    found = {thing.id: thing.counts for thing in things_of(content, folder)}
    for annotation in content["annotations"]:
        counts = found[annotation["id"]]
        assert (counts is None) == (annotation["category_id"] != 1)
        if counts:
            decoded = mask.decode({"size": SIZE, "counts": counts})
            np.testing.assert_array_equal(decoded, as_pycocotools(content, annotation))


def test_images_come_by_ascending_id_and_may_lack_their_size(tmp_path: Path) -> None:
    images = read_images(write(tmp_path / "a.json", coco()["captions_val2014.json"]))
    assert list(images) == [5, 7, 9, 11, 13, 42]
    assert images[9] == ("COCO_val2014_000000000009.jpg", HEIGHT, WIDTH)
    listed = {"images": [{"id": 3, "file_name": "a", "height": None}, {"id": 2, "file_name": "b", "width": 5}]}
    assert read_images(write(tmp_path / "a.json", listed)) == {2: Image("b", 0, 5), 3: Image("a", 0, 0)}


def test_captions_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    captions = list(read_captions(write(tmp_path / "a.json", coco()["captions_val2014.json"]), {5, 7, 9, 11, 13, 42}))
    assert [caption.id for caption in captions] == [3, 1, 8, 2, 4, 5, 7, 6]
    assert captions[6] == (13, 7, "A little boy\u2028and his caf\u00e9")


def test_objects_and_people(tmp_path: Path) -> None:
    content = coco()["instances_val2014.json"]
    things = things_of(content, tmp_path)
    assert [(thing.id, thing.image, thing.category, thing.crowd) for thing in things[:5]] == [
        (101, 9, "person", False),
        (107, 5, "dog", False),
        (104, 9, "umbrella", False),
        (103, 9, "umbrella", False),
        (900100000005, 5, "person", True),
    ]
    assert things[0][3:8] == (1, 2.5, 10, 12.25, 32.5)
    assert_outlines_are_those_of_pycocotools(content, tmp_path)


CORNER = st.integers(-3, 40) | st.floats(-50, 90, allow_nan=False)
POLYGON = st.lists(st.tuples(CORNER, CORNER), min_size=3, max_size=8).map(lambda pairs: [*np.ravel(pairs).tolist()])
CUTS = st.lists(st.integers(0, HEIGHT * WIDTH), max_size=8)


@settings(max_examples=60, deadline=None)
@given(shapes=st.lists(st.lists(POLYGON, min_size=1, max_size=3), min_size=1, max_size=4), cuts=CUTS)
def test_any_outlines_are_those_of_pycocotools(
    shapes: list[list[list[float]]], cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Polygons that leave the image too, and any run lengths."""
    content = coco()["instances_val2014.json"]
    blank = {**content["annotations"][0], "image_id": 9, "category_id": 1}
    runs = {"counts": np.diff([0, *sorted(cuts), HEIGHT * WIDTH]).tolist(), "size": SIZE}
    content["annotations"] = [{**blank, "id": row, "segmentation": shape} for row, shape in enumerate([*shapes, runs])]
    assert_outlines_are_those_of_pycocotools(content, tmp_path_factory.mktemp("coco"))


@pytest.mark.parametrize(
    "segmentation",
    [
        [],
        [[]],
        None,
        "M0 0",
        [[0, 0, 1, 1]],
        [[0, 0, 5, 5, 5]],
        [[0, 0, 5, 5, 5, 0, 1]],
        [[0, 0, 5, 5, 5, "0"]],
        [[0, 0, 5, 5, 5, None]],
        [[0, 0, 5, 5, 5, 0], [1, 2]],
        [0, 0, 5, 5, 5, 0],
        [{"counts": [600], "size": SIZE}],
        [[0, 0, 5, 5, 5, 1e9]],
        {},
        {"counts": [600]},
        {"counts": [599], "size": SIZE},
        {"counts": [-1, 601], "size": SIZE},
        {"counts": [300.0, 300.0], "size": SIZE},
        {"counts": ["600"], "size": SIZE},
        {"counts": "PPYo0", "size": SIZE},
        {"counts": [600], "size": [WIDTH, HEIGHT]},
    ],
)
def test_a_bad_outline_is_named(segmentation: Any, tmp_path: Path) -> None:
    """pycocotools is C and must not see any of these."""
    content = coco()["instances_val2014.json"]
    content["annotations"][4]["segmentation"] = segmentation
    with pytest.raises(ValueError, match=r'^a\.json: annotations\[4\]: "segmentation" must '):
        things_of(content, tmp_path)


BAD = [
    ("images", {"height": 0}, r'annotations\[0\]: "segmentation" needs the "height" and "width" of its image'),
    ("images", {"id": 7}, r'images\[3\]: "id" 7 is also at \[0\]'),
    ("images", {"id": None}, r'images\[0\]: "id" must be a whole number'),
    ("images", {"file_name": "../x.jpg"}, r"""images\[0\]: "file_name" must be .*, not '\.\./x\.jpg'"""),
    ("images", {"height": 65536}, r'images\[0\]: "height" must be a number of pixels, 0 to 65,535, not 65536'),
    ("captions", {"id": 2}, r'captions\[3\]: "id" 2 is also at \[0\]'),
    ("captions", {"image_id": 10}, r'captions\[0\]: "image_id" 10 is not in the COCO file'),
    ("captions", {"caption": ["a"]}, r'captions\[0\]: "caption" must be a string'),
    ("captions", {"caption": "a" * 10_001}, r'captions\[0\]: "caption" must have at most 10,000 characters'),
    ("annotations", {"id": 1.0}, r'annotations\[0\]: "id" must be a whole number, 0 or above, not 1\.0'),
    ("annotations", {"id": 103}, r'annotations\[3\]: "id" 103 is also at \[0\]'),
    ("annotations", {"image_id": 10}, r'annotations\[0\]: "image_id" 10 is not in the COCO file'),
    ("annotations", {"category_id": 91}, r'annotations\[0\]: "category_id" 91 is not in the COCO file'),
    ("annotations", {"iscrowd": 2}, r'annotations\[0\]: "iscrowd" must be 0 or 1, not 2'),
    ("annotations", {"area": None}, r'annotations\[0\]: "area" must be a number .*, not None'),
    ("annotations", {"bbox": [1, 2, 3, 1e39]}, r'annotations\[0\]: "bbox" must be \[x, y, width, height\]'),
    ("categories", {"id": 28}, r'categories\[2\]: "id" 28 is also at \[0\]'),
    ("categories", {"name": "person"}, r'categories\[1\]: "name" person is also at \[0\]'),
    ("categories", {"name": None}, r'categories\[0\]: "name" must be a string'),
]


@pytest.mark.parametrize(("member", "change", "message"), BAD, ids=[message for _, _, message in BAD])
def test_a_bad_record_is_named(member: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    files = coco()
    content = files["instances_val2014.json"] | {"captions": files["captions_val2014.json"]["annotations"]}
    content[member][0] |= change
    with pytest.raises(ValueError, match=r"^a\.json: " + message.replace("captions", "annotations")):
        captions_and_things(content, tmp_path)


def test_a_file_needs_images_and_the_category_person(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.json lists no images"):
        read_images(write(tmp_path / "a.json", {"images": []}))
    with pytest.raises(ValueError, match=r'a\.json has no category "person"'):
        read_categories(write(tmp_path / "a.json", {"categories": []}))


def test_results_are_read_with_empty_captions_passed_over(tmp_path: Path) -> None:
    results = [
        {"image_id": "9", "caption": "a"},
        {"caption": " ", "image_id": 5, "score": 1},
        {"image_id": 2, "caption": "b"},
    ]
    assert list(read_results(write(tmp_path / "a.json", results), {2, 5, 9, 11})) == [(9, "a"), (2, "b")]
    assert list(read_results(write(tmp_path / "a.json", []), {2, 5})) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"image_id": "09", "caption": "b"}, r': "image_id" 9 is also at \[0\]'),
        ({"image_id": 10, "caption": "b"}, r': "image_id" 10 is not in the COCO file'),
        ({"image_id": 5.0, "caption": "b"}, r': "image_id" must be a whole number, 0 or above, not 5\.0'),
        ({"image_id": 5, "caption": ["b"]}, r': "caption" must be a string'),
        ({"image_id": 5}, ' has no "caption"'),
    ],
)
def test_a_bad_result_is_named(bad: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "nic.json", [{"image_id": 9, "caption": "a"}, bad])
    with pytest.raises(ValueError, match=r"^nic\.json\[1\]" + message):
        list(read_results(path, {5, 9}))
