"""Labels of images and people, and ages from captions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionbias.datasets.labels import GENDERS, SKINS, ages, labels_of, read_labels, spelled

FIELDS = {"bb_gender": GENDERS, "bb_skin": SKINS}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "images.csv"


def test_labels_come_by_ascending_id_with_other_columns_passed_over(file: Path) -> None:
    file.write_text("ratio,id,bb_skin,split,bb_gender\n0.1,42,Light,val,Male\n,7,,train,both\n,0009, dark ,,Unsure\n")
    ids, labels = read_labels(file, FIELDS)
    assert ids.tolist() == [7, 9, 42]
    assert labels == {"bb_gender": ["Both", "Unsure", "Male"], "bb_skin": [None, "Dark", "Light"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,bb_gender\n1,Male\n", r"has no column 'bb_skin': it has 'id', 'bb_gender'"),
        ("image,bb_gender,bb_skin\n1,Male,Light\n", "has no column 'id'"),
        ("id,id,bb_gender,bb_skin\n1,1,Male,Light\n", "more than one column 'id'"),
        ("id,bb_gender,bb_skin\n", "has no rows"),
        ("", "is an empty file"),
        ("\n\n", "has only blank lines"),
        ("id,bb_gender,bb_skin\n1,Male,Light\n2,Male\n", "has 3 columns, but line 3 has 2"),
        ("id,bb_gender,bb_skin\n1,Male,Light,x\n", "has 3 columns, but line 2 has 4"),
        ('id,bb_gender,bb_skin\n1,"Male,Light\n', "is broken at line 2"),
        (
            "id,bb_gender,bb_skin\n1,Male,Light\n2,man,Light\n",
            r"images\.csv: bb_gender\[1\] is 'man': it must be Female",
        ),
        ("id,bb_gender,bb_skin\n1,Male,Light\n2,Male,Male\n", r"images\.csv: bb_skin\[1\] is 'Male': it must be Light"),
        ("id,bb_gender,bb_skin\n1,Male,Light\n1.5,Male,Light\n", r"images\.csv: id\[1\] is '1\.5'"),
        ("id,bb_gender,bb_skin\n1,Male,Light\n,Male,Light\n", r"images\.csv: id\[1\] is None"),
        ("id,bb_gender,bb_skin\n7,Male,Light\n8,,\n007,,\n", r'images\.csv\[2\]: "id" 7 stands at \[0\] already'),
        ("id,bb_gender,bb_skin\n7,Male,Light\n6,,\n", r'images\.csv\[1\]: "id" 6 is unknown'),
    ],
)
def test_the_first_bad_row_is_named(content: str, message: str, file: Path) -> None:
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_labels(file, FIELDS, np.array([1, 2, 7, 8]))


def test_a_file_that_is_no_text_is_named(file: Path) -> None:
    file.write_bytes(b"id,bb_gender,bb_skin\n1,\xff,\n")
    with pytest.raises(ValueError, match=r"images\.csv is not UTF-8 text at byte 23"):
        read_labels(file, FIELDS)


@pytest.mark.parametrize("value", [3, True, [], {}, ["Male"], "Maleish", [10**5000], float("inf")])
def test_a_label_that_is_none_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"a\.pkl\[2\] is .*: it must be Female, Male, Both, Unsure or empty"):
        spelled(["Male", None, value], GENDERS, "a.pkl")


@given(
    images=st.lists(st.integers(0, 9)),
    labels=st.dictionaries(st.integers(0, 9), st.sampled_from([None, "Male", "Female"])),
)
def test_labels_are_looked_up_as_in_a_dict(images: list[int], labels: dict[int, str | None]) -> None:
    ids = sorted(labels)
    found = labels_of(np.array(images, np.int64), np.array(ids, np.int64), [labels[key] for key in ids])
    assert found.to_pylist() == [labels.get(image) for image in images]


@pytest.mark.parametrize(
    ("captions", "age"),
    [
        (["a boy"], "young"),
        (["A little GIRL, playing."], "young"),
        (["a man and a child"], "young"),
        (["a man", "a person", "two kids"], "young"),
        (["a man"], "old"),
        (["an old woman"], "old"),
        (["a dog", "two ladies"], "old"),
        (["a person"], None),
        (["people in the street"], None),
        (["a boycott of the manifold"], None),
        ([], None),
    ],
)
def test_ages(captions: list[str], age: str | None) -> None:
    """Between two other images, so that no caption counts for a neighbour."""
    told = ["a dog", *captions, "a dog"]
    owners = np.array([0, *[1] * len(captions), 2])
    assert ages(pa.array(told), owners, 3).to_pylist() == [None, age, None]


def test_ages_of_no_captions_at_all() -> None:
    none = pa.array([], pa.string())
    assert ages(none, np.empty(0, np.int64), 2).to_pylist() == [None, None]
    assert ages(none, np.empty(0, np.int64), 0).to_pylist() == []
