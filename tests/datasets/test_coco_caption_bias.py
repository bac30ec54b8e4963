"""COCO with labels: rows, tasks, people, captioners."""

from captionbias.datasets.coco_caption_bias import CocoCaptionBias
from tests.datasets.conftest import HEIGHT, WIDTH, coco, records_of, write


def read(folder, configuration="gender"):
    return records_of(CocoCaptionBias, folder, configuration)


def test_each_configuration_has_its_labelled_images_by_id(folder):
    source = CocoCaptionBias(write(folder, coco()))
    found = {
        name: [(row["image_id"], row["attribute"]) for row in source.rows(name)] for name in ("gender", "race", "age")
    }
    assert found == {
        "gender": [(5, "female"), (9, "male"), (11, "female")],
        "race": [(5, "dark"), (9, "light"), (11, "light")],
        "age": [(5, "old"), (9, "old"), (11, "young"), (13, "young")],
    }


def test_a_row_has_all_that_the_files_say(folder):
    nine = read(write(folder, coco()))[1]
    image = {"image_id": 9, "file_name": "COCO_val2014_000000000009.jpg", "height": HEIGHT, "width": WIDTH}
    said = {"references": ["A man holds an umbrella.", "A guy in the rain"], "nic": "a man", "sat": None}
    labels = {"attribute": "male", "tasks": ["umbrella"], "gender": "Male", "skin": "Light", "age": "old"}
    assert {key: nine[key] for key in nine if key not in ("people", "objects")} == image | said | labels
    assert [thing["name"] for thing in nine["objects"]] == ["person", "umbrella", "umbrella"]
    assert nine["objects"][1] == {"name": "umbrella", "bbox": [1, 2.5, 10, 12.25], "area": 35.5, "crowd": False}
    [person] = nine["people"]
    assert person["segmentation"]["size"] == [HEIGHT, WIDTH]
    outline = {"id": 101, "bbox": [1, 2.5, 10, 12.25], "crowd": False, "segmentation": person["segmentation"]}
    assert person == {**outline, "gender": "Male", "skin": "Light"}


def test_labels_of_people_and_captioners_may_be_missing_and_files_be_in_a_folder_annotations(folder):
    files = coco()
    needed = ("captions_val2014.json", "instances_val2014.json", "images_val2014.csv")
    rows = read(write(folder, {f"annotations/{name}": files[name] for name in needed}))
    assert [row["image_id"] for row in rows] == [5, 9, 11]
    assert list(rows[0])[-1] == "people"
    assert rows[1]["people"][0]["gender"] is None


def test_labels_of_people_of_all_of_2014(folder):
    files = coco()
    del files["instances_val2014.csv"]
    for labels in ("id,gender,skin\n101,Male,Light\n", "bb_skin,id,bb_gender\nlight,101,male\n"):
        [person] = read(write(folder, {**files, "instances_2014all.csv": labels}))[1]["people"]
        assert (person["gender"], person["skin"]) == ("Male", "Light")
