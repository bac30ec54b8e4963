"""Other people's benchmarks: labels of everybody in a picture, votes and scenes."""

import pytest

from captionbias.datasets.label_benchmarks import LabelBenchmarks
from tests.datasets.conftest import label_benchmarks, records_of, write


@pytest.fixture
def read(folder):
    write(folder, label_benchmarks())
    return lambda name: records_of(LabelBenchmarks, folder, name)


def test_people_of_one_gender_give_an_image_its_label(read):
    alone, two = read("visogender")
    assert alone == {"image_id": "OO_1", "gender": "male", "tasks": ["teacher"], "url": "https://a/1.jpg"}
    assert (two["image_id"], two["gender"], two["tasks"]) == ("OP_1", "female", ["doctor", "patient"])
    assert (read("visogender_one"), read("visogender_alike")) == ([alone], [two | {"tasks": ["doctor"]}])
    [apart] = read("visogender_different")
    assert (apart["image_id"], apart["gender"], apart["tasks"]) == ("OP_2", "female", ["doctor"]), (
        "that of the person at work"
    )


def test_most_annotators_say_the_label_of_each_person_and_all_people_have_it(read):
    agreed, *others = read("phase")
    person = {"gender": "female", "skin": "dark", "ethnicity": "black", "age": "adult", "activity": "posing"}
    assert agreed == {"image_id": "77", **person, "alt_text": "people at home"}
    assert [(row["image_id"], row["gender"], row["skin"]) for row in others] == [
        ("78", None, "dark"),
        ("79", None, "dark"),
    ]


def test_images_of_a_scene_differ_in_the_person(read):
    white, latina, asian = read("social_counterfactuals")
    assert white["scene"] == latina["scene"] == "photo_race_gender_barber_3"
    assert white["image_id"] != latina["image_id"]
    assert [(row["gender"], row["race"], row["physique"]) for row in (white, latina, asian)] == [
        ("male", "white", None),
        ("female", "latino", None),
        (None, "asian", "skinny"),
    ]
    assert [row["tasks"] for row in (white, latina, asian)] == [["barber"], ["barber"], ["fire fighter"]]


def test_labels_alone(read):
    assert read("fairface") == [{"image_id": "val/1.jpg", "gender": "male", "race": "east asian", "age": "3-9"}]
    old, young = read("pata")
    assert (old["race"], old["gender"], old["age"], old["place"]) == ("eastasian", "female", "old", "forest")
    assert old["url"] == "https://a/5?x=|&y"
    assert (old["image_id"], young["image_id"]) == ("forest_eastasian_female_old_0", "forest_black_male_young_1")
