"""COCO with labels: rows, tasks, people, captioners; each file that can be wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from captionbias.datasets.coco_caption_bias import CocoCaptionBias
from tests.datasets.conftest import HEIGHT, WIDTH, coco, records_of, write


def read(folder: Path, configuration: str = "gender") -> list[dict[str, Any]]:
    return records_of(CocoCaptionBias, folder, configuration)


def test_each_configuration_has_its_labelled_images_by_id(folder: Path) -> None:
    source = CocoCaptionBias(write(folder, coco()))
    found = {
        name: [(row["image_id"], row["attribute"]) for row in source.rows(name)] for name in ("gender", "race", "age")
    }
    assert found == {
        "gender": [(5, "female"), (9, "male"), (11, "female")],
        "race": [(5, "dark"), (9, "light"), (11, "light")],
        "age": [(5, "old"), (9, "old"), (11, "young"), (13, "young")],
    }
    left_out = {name: {reason: n for reason, n in why.items() if n} for name, why in source.left_out.items()}
    assert left_out == {
        "gender": {
            "labelled both": 1,
            "without a label of gender": 1,
            "without a human caption": 1,
            "empty human captions": 1,
        },
        "race": {"labelled unsure": 1, "without a label of race": 2, "empty human captions": 1},
        "age": {"without a label of age": 2, "empty human captions": 1},
    }


def test_a_row_has_all_that_the_files_say(folder: Path) -> None:
    nine = read(write(folder, coco()))[1]
    assert {key: nine[key] for key in nine if key not in ("people", "objects")} == {
        "image_id": 9,
        "file_name": "COCO_val2014_000000000009.jpg",
        "height": HEIGHT,
        "width": WIDTH,
        "references": ["A man holds an umbrella.", "A guy in the rain"],
        "attribute": "male",
        "tasks": ["umbrella"],
        "gender": "Male",
        "skin": "Light",
        "age": "old",
        "nic": "a man",
        "sat": None,
    }
    assert [thing["name"] for thing in nine["objects"]] == ["person", "umbrella", "umbrella"]
    assert nine["objects"][1] == {"name": "umbrella", "bbox": [1, 2.5, 10, 12.25], "area": 35.5, "crowd": False}
    [person] = nine["people"]
    assert person["segmentation"]["size"] == [HEIGHT, WIDTH]
    assert {key: person[key] for key in ("id", "bbox", "crowd", "gender", "skin")} == {
        "id": 101,
        "bbox": [1, 2.5, 10, 12.25],
        "crowd": False,
        "gender": "Male",
        "skin": "Light",
    }


def test_images_without_objects_have_empty_lists_and_crowds_are_marked(folder: Path) -> None:
    five, _, eleven = read(write(folder, coco()))
    assert (eleven["tasks"], eleven["objects"], eleven["people"]) == ([], [], [])
    assert five["references"] == ["A woman walks, with a dog", "a lady"]
    assert (five["tasks"], [thing["crowd"] for thing in five["people"]]) == (["dog"], [True])
    assert (five["people"][0]["gender"], five["nic"], five["sat"]) == (None, "a woman", "a dog")


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_members_changes_nothing(seed: int, folder: Path, tmp_path: Path) -> None:
    """Captions of one image keep their order in the file; of different images they may come in any order."""
    expected = [read(write(folder, coco()), name) for name in ("gender", "race", "age")]
    files, generator = coco(), random.Random(seed)
    for name in ("captions_val2014.json", "instances_val2014.json"):
        members = list(files[name].items())
        generator.shuffle(members)
        files[name] = {key: generator.sample(value, len(value)) if key == "images" else value for key, value in members}
        places = {image["id"]: generator.random() for image in files[name]["images"]}
        files[name]["annotations"].sort(key=lambda annotation, places=places: places[annotation["image_id"]])
    again = write(tmp_path / "again", files)
    assert [read(again, name) for name in ("gender", "race", "age")] == expected


def test_files_may_be_in_a_folder_annotations(folder: Path, tmp_path: Path) -> None:
    flat = read(write(folder, coco()))
    nested = {path if "/" in path else f"annotations/{path}": content for path, content in coco().items()}
    assert read(write(tmp_path / "nested", nested)) == flat


def test_labels_of_people_and_captioners_may_be_missing(folder: Path) -> None:
    files = coco()
    needed = ("captions_val2014.json", "instances_val2014.json", "images_val2014.csv")
    rows = read(write(folder, {name: files[name] for name in needed}))
    assert [row["image_id"] for row in rows] == [5, 9, 11]
    assert list(rows[0])[-1] == "people"
    assert rows[1]["people"][0]["gender"] is None


@pytest.mark.parametrize(
    "labels",
    ["id,gender,skin\n101,Male,Light\n", "bb_skin,id,bb_gender\nlight,101,male\n"],
)
def test_labels_of_people_of_all_of_2014(labels: str, folder: Path) -> None:
    files = coco()
    del files["instances_val2014.csv"]
    [person] = read(write(folder, {**files, "instances_2014all.csv": labels}))[1]["people"]
    assert (person["gender"], person["skin"]) == ("Male", "Light")


def test_there_may_be_no_objects_results_or_human_captions(folder: Path) -> None:
    files = {**coco(), "results/none.json": []}
    files["instances_val2014.json"]["annotations"] = []
    del files["instances_val2014.csv"]
    assert [(row["tasks"], row["people"], row["none"]) for row in read(write(folder, files))] == [([], [], None)] * 3
    files["captions_val2014.json"]["annotations"] = []
    assert read(write(folder, files)) == []


@pytest.mark.parametrize("place", ["captions_val2014.json", "instances_val2014.json", "images_val2014.csv"])
def test_a_missing_file_is_named_with_its_origin(place: str, folder: Path) -> None:
    files = coco()
    del files[place]
    with pytest.raises(ValueError, match=f"has no {place}: put it there; it comes from http"):
        read(write(folder, files))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../nic", None),
        ("my nic", "letters, digits and _ only"),
        ("1nic", "a letter first"),
        ("caf\u00e9", "letters, digits and _ only"),
        ("n" * 64, "letters, digits and _ only"),
        ("Tasks", "names a column 'Tasks', and there is another one: rename the file"),
        ("NIC", "and there is another one"),
    ],
)
def test_a_captioner_needs_a_column_name_of_its_own(name: str, message: str | None, folder: Path) -> None:
    write(folder, {**coco(), f"results/{name}.json": []})
    if message is None:
        assert CocoCaptionBias(folder).captioners == ("nic", "sat")  # what is elsewhere is not a captioner
        return
    with pytest.raises(ValueError, match=message):
        CocoCaptionBias(folder)


@pytest.mark.parametrize(
    ("place", "content", "message"),
    [
        (
            "images_val2014.csv",
            "id,bb_gender,bb_skin\n10,Male,Light\n",
            r'images_val2014\.csv\[0\]: "id" 10 is not in the COCO file',
        ),
        ("instances_val2014.csv", "id,area\n101,5\n", "instances_val2014.csv has no column gender, bb_gender"),
        (
            "instances_val2014.csv",
            "id,gender\n107,Male\n",
            "instances_val2014.csv has no id of a person in the instances file",
        ),
        ("instances_val2014.csv", "id,gender\n101,X\n", r"instances_val2014\.csv: gender\[0\] must be .*, not 'X'"),
        ("instances_val2014.csv", "id,gender\n101,Male\n101,Male\n", r"instances_val2014\.csv\[1\]"),
        ("results/nic.json", '[{"image_id": 10, "caption": "a"}]', r'nic\.json\[0\]: "image_id" 10 is not in'),
        ("results/nic.json", '{"annotations": []}', r"nic\.json must be an array of records"),
        ("captions_val2014.json", '{"images": []}', "captions_val2014.json lists no images"),
        ("instances_val2014.json", "[]", 'instances_val2014.json .* an object with "categories"'),
    ],
)
def test_a_malformed_file_is_named(place: str, content: str, message: str, folder: Path) -> None:
    write(folder, {**coco(), place: content})
    with pytest.raises(ValueError, match=message):
        read(folder)
