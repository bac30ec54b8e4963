"""COCO's instances say what each image shows, and those that do not hold together are refused."""

import json

import pytest

from captionbias.captions import CaptionBiasWarning, read_captions

SHOWN = [(9, 3), (7, 1), (9, 2), (9, 3), (9, 1)]  # image and category, one of them twice
INSTANCES = {
    "images": [{"id": 9}, {"id": 7}, {"id": 8}],
    "annotations": [
        {"id": n, "image_id": image, "category_id": key, "segmentation": [[1, 2, 3, 4, 5, 6]], "iscrowd": n % 2}
        for n, (image, key) in enumerate(SHOWN)
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 2, "name": "hot dog"}, {"id": 3, "name": "cake"}],
}
PREDICTIONS = {"image_id": [7, 9, 10], "caption": ["a man", "a girl", "a dog"], "attribute": ["m", "f", "m"]}


def test_the_objects_of_listed_images_are_tasks_and_an_image_that_is_not_listed_is_left_out(tmp_path):
    path = tmp_path / "instances_val2014.json"
    path.write_text(json.dumps(INSTANCES))
    with pytest.warns(CaptionBiasWarning) as raised:
        captions = read_captions(predictions=PREDICTIONS, tasks=path)
    assert (captions.image_ids, captions.tasks) == (("7", "9"), ((), ("hot dog", "cake")))
    note = f"1 of 3 images have no entry in {path} and are left out (first: 10)"
    assert [str(warning.message) for warning in raised] == [note]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"categories": INSTANCES["categories"][:1], "annotations": [{"image_id": 9, "category_id": 1}]},
            "has no category beside people: give COCO's instances_*.json",
        ),
        ({"categories": [{"id": 1}]}, "does not hold together (KeyError: 'name')"),
        ({"images": None}, "does not hold together (TypeError"),
        ({"annotations": [{"image_id": 9, "category_id": [3]}]}, "does not hold together (TypeError"),
        ({"images": INSTANCES["images"][1:]}, "does not hold together (KeyError: 9)"),
        ({"categories": INSTANCES["categories"][:2]}, "does not hold together (KeyError: 3)"),
    ],
)
def test_instances_that_do_not_hold_together_are_refused(tmp_path, fault, other, message):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**INSTANCES, **other}))
    told = fault(read_captions, predictions=PREDICTIONS, tasks=path)
    assert told.startswith(str(path))
    assert message in told
