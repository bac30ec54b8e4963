"""Labels of images and people, and ages from captions."""

import re

import pytest

from captionbias.datasets.attribute_labels import GENDERS, SKINS, age, read_labels
from tests.refusals import refuses

FIELDS = {"bb_gender": GENDERS, "bb_skin": SKINS}


@pytest.fixture
def labels(tmp_path):
    """What is read of a file with this content."""
    file = tmp_path / "images.csv"
    return lambda content: file.write_text(content) and read_labels(file, FIELDS)


def test_labels_are_read_by_id_with_other_columns_passed_over(labels):
    assert labels(
        "ratio,id,bb_skin,split,bb_gender\n0.1,42,Light,val,Male\n,7,,train,both\n,0009, dark ,,Unsure\n"
    ) == {
        "bb_gender": {42: "Male", 7: "Both", 9: "Unsure"},
        "bb_skin": {42: "Light", 7: None, 9: "Dark"},
    }


def test_the_first_bad_row_is_named(labels):
    refuses("bb_skin", labels, "id,bb_gender\n1,Male\n")
    for rows, named in [
        ("1,Male,Light\n2,man,\n", "bb_gender[1]"),
        ("1,Male,Light\n1.5,Male,Light\n", '[1]: "id"'),
        ("7,Male,Light\n8,,\n007,,\n", '[2]: "id" 7'),
    ]:
        refuses(re.escape(named), labels, f"id,bb_gender,bb_skin\n{rows}")


def test_ages():
    for captions in (["A little GIRL, playing."], ["a man", "a person", "two kids"]):
        assert age(captions) == "young"
    assert age(["a dog", "two ladies"]) == "old"
    assert age(["a person"]) is age(["a boycott of the manifold"]) is None
