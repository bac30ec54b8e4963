"""COCO's files: segments as pycocotools has them, and each bad record by name."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO

from captionbias.datasets.coco import read_captions, read_images, read_objects, read_results
from tests.datasets.conftest import HEIGHT, WIDTH, coco


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def by_image(rows: Any, images: list[int]) -> list[list[dict[str, Any]]]:
    offsets, table = rows.of(np.array(images, np.int64))
    found, ends = table.to_pylist(), offsets.to_pylist()
    return [found[start:end] for start, end in pairwise(ends)]


def own_mask(content: dict[str, Any], annotation: dict[str, Any]) -> Any:
    """The mask that pycocotools makes of an annotation."""
    api = COCO()
    api.imgs = {image["id"]: image for image in content["images"]}
    return api.annToMask(annotation)


def decoded(counts: str) -> Any:
    return mask.decode({"size": [HEIGHT, WIDTH], "counts": counts})


def people_of(content: dict[str, Any], folder: Path) -> dict[int, dict[str, Any]]:
    path = write(folder / "instances.json", content)
    images = read_images(path)
    _, people, _ = read_objects(path, images, folder)
    return {person["id"]: person for image in by_image(people, images.ids.tolist()) for person in image}


def test_images_come_by_ascending_id(tmp_path: Path) -> None:
    images = read_images(write(tmp_path / "a.json", coco()["captions_val2014.json"]))
    assert images.ids.tolist() == [5, 7, 9, 11, 13, 42]
    assert images.names[2] == "COCO_val2014_000000000009.jpg"
    assert images.sizes.tolist() == [[HEIGHT, WIDTH]] * 6


def test_an_image_may_lack_its_size(tmp_path: Path) -> None:
    listed = {"images": [{"id": 3, "file_name": "a", "height": None}, {"id": 2, "file_name": "b", "width": 5}]}
    assert read_images(write(tmp_path / "a.json", listed)).sizes.tolist() == [[0, 5], [0, 0]]


def test_captions_keep_the_order_of_the_file_and_empty_ones_are_counted(tmp_path: Path) -> None:
    captions, empty = read_captions(
        write(tmp_path / "a.json", coco()["captions_val2014.json"]), np.array([5, 7, 9, 11, 13, 42]), tmp_path
    )
    assert empty == 1
    assert [[row["id"] for row in image] for image in by_image(captions, [5, 7, 9])] == [[1, 6], [], [3, 2]]
    assert by_image(captions, [13])[0][0]["caption"] == "A little boy\u2028and his caf\u00e9"


def test_objects_and_people(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", coco()["instances_val2014.json"])
    objects, people, names = read_objects(path, read_images(path), tmp_path)
    assert names == ["person", "dog", "umbrella"]
    [five, nine] = by_image(objects, [5, 9])
    assert [row["category"] for row in nine] == [0, 2, 2]
    assert [row["crowd"] for row in five] == [False, True]
    assert nine[0]["bbox"] == [1, 2.5, 10, 12.25]
    assert nine[0]["area"] == 32.5
    assert [[row["id"] for row in image] for image in by_image(people, [9, 5, 42, 11])] == [
        [101],
        [900100000005],
        [106, 102],
        [],
    ]


def test_segments_decode_to_the_masks_of_pycocotools(tmp_path: Path) -> None:
    """Polygons of two parts and of one, and the run lengths of a crowd."""
    content = coco()["instances_val2014.json"]
    people = people_of(content, tmp_path)
    originals = [annotation for annotation in content["annotations"] if annotation["category_id"] == 1]
    assert len(originals) == len(people) == 4
    for original in originals:
        found, expected = decoded(people[original["id"]]["segmentation"]), own_mask(content, original)
        assert 0 < expected.sum() < expected.size
        np.testing.assert_array_equal(found, expected)


CORNER = st.integers(-3, 40) | st.floats(-50, 90, allow_nan=False)
POLYGON = st.lists(st.tuples(CORNER, CORNER), min_size=3, max_size=8).map(lambda pairs: [*np.ravel(pairs).tolist()])


@settings(max_examples=60, deadline=None)
@given(shapes=st.lists(st.lists(POLYGON, min_size=1, max_size=3), min_size=1, max_size=4))
def test_any_polygons_decode_as_pycocotools_has_them(
    shapes: list[list[list[float]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Those that leave the image too."""
    content = coco()["instances_val2014.json"]
    blank = {**content["annotations"][0], "image_id": 9, "category_id": 1}
    content["annotations"] = [{**blank, "id": row, "segmentation": shape} for row, shape in enumerate(shapes)]
    people = people_of(content, tmp_path_factory.mktemp("coco"))
    for annotation in content["annotations"]:
        np.testing.assert_array_equal(decoded(people[annotation["id"]]["segmentation"]), own_mask(content, annotation))


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, HEIGHT * WIDTH), max_size=8))
def test_any_run_lengths_decode_as_pycocotools_has_them(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = np.diff([0, *sorted(cuts), HEIGHT * WIDTH]).tolist()
    content = coco()["instances_val2014.json"]
    crowd = next(annotation for annotation in content["annotations"] if annotation["iscrowd"])
    crowd["segmentation"]["counts"] = runs
    people = people_of(content, tmp_path_factory.mktemp("coco"))
    np.testing.assert_array_equal(decoded(people[crowd["id"]]["segmentation"]), own_mask(content, crowd))


def test_numbers_that_32_bits_round_are_rounded(tmp_path: Path) -> None:
    content = coco()["instances_val2014.json"]
    content["annotations"][0] |= {"area": 16777217, "bbox": [16777217, 0.1, 1e30, 2]}
    path = write(tmp_path / "a.json", content)
    objects, _, _ = read_objects(path, read_images(path), tmp_path)
    row = by_image(objects, [9])[0][0]
    assert [row["area"], *row["bbox"]] == np.array([16777217, 16777217, 0.1, 1e30, 2], np.float32).tolist()


ZIGZAG = [0.0, 0.0, 30.0, 20.0] * 40_000
SIZE = [HEIGHT, WIDTH]


@pytest.mark.parametrize(
    "segmentation",
    [
        [],
        [[]],
        None,
        5,
        "M0 0",
        [[0, 0, 1, 1]],
        [[0, 0, 5, 5, 5]],
        [[0, 0, 5, 5, 5, 0, 1]],
        [[0, 0, 5, 5, 5, "0"]],
        [[0, 0, 5, 5, 5, None]],
        [[0, 0, 5, 5, 5, True]],
        [[0, 0, 5, 5, 5, [0]]],
        [[0, 0, 5, 5, 5, 0], [1, 2]],
        [[0, 0, 5, 5, 5, 0], None],
        [0, 0, 5, 5, 5, 0],
        [{"counts": [600], "size": SIZE}],
        [[0, 0, 5, 5, 5, 1e9]],
        [[1e30] * 6],
        [[0, 0, 5, 5, 5, 1e300]],
        [ZIGZAG],
        {},
        {"counts": [600]},
        {"size": SIZE},
        {"counts": [599], "size": SIZE},
        {"counts": [601], "size": SIZE},
        {"counts": [], "size": SIZE},
        {"counts": [-1, 601], "size": SIZE},
        {"counts": [300.0, 300.0], "size": SIZE},
        {"counts": ["600"], "size": SIZE},
        {"counts": [True, 599], "size": SIZE},
        {"counts": [[600]], "size": SIZE},
        {"counts": [2**32, 600], "size": SIZE},
        {"counts": [2**63 - 1, 2**63 - 1, 602], "size": SIZE},
        {"counts": "PPYo0", "size": SIZE},
        {"counts": [600], "size": [WIDTH, HEIGHT]},
        {"counts": [600], "size": [600, 1]},
        {"counts": [600], "size": HEIGHT},
        {"counts": [600], "size": None},
    ],
)
def test_a_segment_that_is_none_is_named(segmentation: Any, tmp_path: Path) -> None:
    """pycocotools is C: it must not see any of these."""
    content = coco()["instances_val2014.json"]
    content["annotations"][4]["segmentation"] = segmentation
    path = write(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=r"^a\.json: annotations\[4\].*segmentation"):
        read_objects(path, read_images(path), tmp_path)


def test_a_number_that_is_none_in_json_is_no_coordinate(tmp_path: Path) -> None:
    content = json.dumps(coco()["instances_val2014.json"])
    for odd in ("1e999", "NaN", "Infinity", "9" * 400):
        path = write(tmp_path / "a.json", content.replace("8.5", odd, 1))
        with pytest.raises(ValueError, match=r"a\.json is not whole JSON"):
            read_objects(path, read_images(write(tmp_path / "b.json", content)), tmp_path)


@pytest.mark.parametrize("size", [{"height": 0}, {"width": None}])
def test_people_need_the_size_of_their_image(size: dict[str, Any], tmp_path: Path) -> None:
    content = coco()["instances_val2014.json"]
    content["images"][0] |= size
    path = write(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=r'^a\.json: annotations\[0\]: .*"height" and "width": segments need them'):
        read_objects(path, read_images(path), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 1.0}, r'annotations\[4\]: "id" is 1\.0'),
        ({"id": True}, r'annotations\[4\]: "id" is True'),
        ({"id": 101}, r'annotations\[4\]: "id" 101 stands at \[0\] already'),
        ({"image_id": None}, r'annotations\[4\]: "image_id" is None'),
        ({"image_id": 10}, r'annotations\[4\]: "image_id" 10 is unknown'),
        ({"image_id": 2**62}, r'annotations\[4\]: "image_id" 4611686018427387904 is unknown'),
        ({"category_id": 2}, r'annotations\[4\]: "category_id" 2 is unknown'),
        ({"category_id": 91}, r'annotations\[4\]: "category_id" 91 is unknown'),
        ({"category_id": [1]}, r'annotations\[4\]: "category_id" is \[1\]'),
        ({"iscrowd": True}, r'annotations\[4\]: "iscrowd" is True'),
        ({"iscrowd": 2}, r'annotations\[4\]: "iscrowd" is 2'),
        ({"area": None}, r'annotations\[4\]: "area" is None'),
        ({"area": 1e300}, r'annotations\[4\]: "area" is 1e\+300'),
        ({"bbox": [1, 2, 3]}, r'annotations\[4\]: "bbox" is \[1, 2, 3\]'),
        ({"bbox": [1, 2, 3, "4"]}, r'annotations\[4\]: "bbox" is'),
        ({"bbox": [1, 2, 3, 1e39]}, r'annotations\[4\]: "bbox" is'),
        ({"bbox": None}, r'annotations\[4\]: "bbox" is None'),
    ],
)
def test_a_bad_object_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    content = coco()["instances_val2014.json"]
    content["annotations"][4] |= change
    path = write(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=r"^a\.json: " + message):
        read_objects(path, read_images(path), tmp_path)
    for field in change:
        del content["annotations"][4][field]
        with pytest.raises(ValueError, match=rf'^a\.json: annotations\[4\] has no "{field}"'):
            read_objects(write(path, content), read_images(path), tmp_path)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ([], 'no category "person"'),
        ([{"id": 1, "name": "Person"}], 'no category "person"'),
        ([{"id": 1, "name": "person"}, {"id": 1, "name": "dog"}], r'categories\[1\]: "id" 1 stands at \[0\]'),
        ([{"id": 1, "name": "person"}, {"id": 2, "name": "person"}], r'categories\[1\]: "name" person stands at \[0\]'),
        ([{"id": "1", "name": "person"}], r"categories\[0\]"),
        ([{"id": 1, "name": None}], r"categories\[0\]"),
        ([{"id": 1}], r"categories\[0\]"),
        (["person"], r"categories\[0\] is no object"),
        (None, r'an object with "categories"'),
    ],
)
def test_bad_categories_are_named(categories: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", {**coco()["instances_val2014.json"], "categories": categories})
    with pytest.raises(ValueError, match=r"^a\.json.*" + message):
        read_objects(path, read_images(path), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 9}, r'images\[3\]: "id" 9 stands at \[0\] already'),
        ({"id": 7.0}, r'images\[3\]: "id" is 7\.0'),
        ({"id": None}, r'images\[3\]: "id" is None'),
        ({"file_name": "../x.jpg"}, r"""images\[3\]: "file_name" is '\.\./x\.jpg'"""),
        ({"file_name": "/etc/passwd"}, r'images\[3\]: "file_name" is'),
        ({"file_name": "a\\b"}, r'images\[3\]: "file_name" is'),
        ({"file_name": ".."}, r'images\[3\]: "file_name" is'),
        ({"file_name": None}, r'images\[3\]: "file_name" is None'),
        ({"height": 65536}, r'images\[3\]: "height" is 65536: no image has more than 65,535'),
        ({"width": 2**40}, r'images\[3\]: "width" is'),
        ({"width": 1.5}, r'images\[3\]: "width" is 1\.5'),
        ({"height": -1}, r'images\[3\]: "height" is -1'),
    ],
)
def test_a_bad_image_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    content = coco()["captions_val2014.json"]
    content["images"][3] |= change
    with pytest.raises(ValueError, match=r"^a\.json: " + message):
        read_images(write(tmp_path / "a.json", content))


def test_a_file_without_images_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.json lists no images"):
        read_images(write(tmp_path / "a.json", {"images": []}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 3}, r'annotations\[4\]: "id" 3 stands at \[0\] already'),
        ({"image_id": 10}, r'annotations\[4\]: "image_id" 10 is unknown'),
        ({"image_id": "9"}, r"""annotations\[4\]: "image_id" is '9'"""),
        ({"caption": None}, r'annotations\[4\]: "caption" is None'),
        ({"caption": ["a"]}, r'annotations\[4\]: "caption" is'),
        ({"caption": "a" * 10_001}, r'annotations\[4\]: "caption" has 10,001 characters'),
    ],
)
def test_a_bad_caption_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    content = coco()["captions_val2014.json"]
    content["annotations"][4] |= change
    path = write(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=r"^a\.json: " + message):
        read_captions(path, read_images(path).ids, tmp_path)


def test_results_go_to_their_images(tmp_path: Path) -> None:
    given = [
        {"image_id": "9", "caption": "a"},
        {"caption": " ", "image_id": 5, "score": 1},
        {"image_id": 2, "caption": "b"},
    ]
    found = read_results(write(tmp_path / "a.json", given), np.array([2, 5, 9, 11]))
    assert found.to_pylist() == ["b", None, "a", None]
    assert read_results(write(tmp_path / "a.json", []), np.array([2, 5])).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"image_id": "09", "caption": "b"}, r'"image_id" 9 stands at \[0\] already'),
        ({"image_id": 10, "caption": "b"}, r'"image_id" 10 is unknown'),
        ({"image_id": 5.0, "caption": "b"}, r'"image_id" is 5\.0'),
        ({"image_id": 5, "caption": ["b"]}, r'"caption" is'),
        ({"image_id": 5, "caption": "b" * 10_001}, r'"caption" has 10,001 characters'),
    ],
)
def test_a_bad_result_is_named(bad: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "nic.json", [{"image_id": 9, "caption": "a"}, bad])
    with pytest.raises(ValueError, match=r"^nic\.json\[1\]: " + message):
        read_results(path, np.array([5, 9]))


@pytest.mark.parametrize("field", ["image_id", "caption"])
def test_a_result_that_lacks_a_field_is_named(field: str, tmp_path: Path) -> None:
    rows = [{"image_id": 9, "caption": "a"}, {"image_id": 5, "caption": "b"}]
    del rows[1][field]
    with pytest.raises(ValueError, match=rf'^nic\.json\[1\] has no "{field}"'):
        read_results(write(tmp_path / "nic.json", rows), np.array([5, 9]))
