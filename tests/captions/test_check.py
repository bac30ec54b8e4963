"""check_captions accepts every kind of column, changes nothing it should not, and names the fault in the rest."""

from __future__ import annotations

import pickle
import re
import time
from dataclasses import FrozenInstanceError
from enum import Enum

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from captionbias.captions import MAX_CHARACTERS, check_captions

GOOD = {
    "predictions": ["a man on a bike", "a woman with a dog", "a girl"],
    "references": [["a man rides"], ["a woman", "a lady and a dog"], ["a child"]],
    "attributes": ["male", "female", "female"],
    "tasks": [["bicycle"], ["dog"], []],
    "image_ids": [42, 7, 9],
}


def replaced(argument: str, row: int, value: object) -> dict[str, list[object]]:
    """The good input with one bad entry."""
    column = list(GOOD[argument])
    column[row] = value
    return {**GOOD, argument: column}


def fault(given: dict[str, object]) -> str:
    with pytest.raises(ValueError, match=r".") as raised:
        check_captions(**given)
    return str(raised.value)


def test_good_input_becomes_tuples():
    captions = check_captions(**GOOD)
    assert len(captions) == 3
    assert captions.predictions == ("a man on a bike", "a woman with a dog", "a girl")
    assert captions.references == (("a man rides",), ("a woman", "a lady and a dog"), ("a child",))
    assert captions.attributes == ("male", "female", "female")
    assert captions.tasks == (("bicycle",), ("dog",), ())
    assert captions.image_ids == ("42", "7", "9")
    assert pickle.loads(pickle.dumps(captions)) == captions
    with pytest.raises(FrozenInstanceError):
        captions.predictions = None


@pytest.mark.parametrize("absent", ["predictions", "references"])
def test_one_side_is_enough(absent):
    captions = check_captions(**{**GOOD, absent: None, "tasks": None, "image_ids": None})
    assert getattr(captions, absent) is None
    assert captions.tasks is None
    assert captions.image_ids is None
    assert len(captions) == 3


def nested_arrays(column):
    return [np.array(row, dtype=object) for row in column] if isinstance(column[0], list) else np.array(column)


def object_arrays(column):
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


@pytest.mark.parametrize(
    "convert",
    [
        tuple,
        nested_arrays,
        object_arrays,
        pd.Series,
        pa.array,
        lambda column: pa.chunked_array([column]),
        lambda column: datasets.Dataset.from_dict({"column": column})["column"],
        lambda column: datasets.Dataset.from_dict({"column": column}).with_format("numpy")["column"],
    ],
    ids=["tuple", "nested arrays", "object arrays", "Series", "pyarrow", "chunked", "Dataset", "numpy Dataset"],
)
def test_every_kind_of_column_gives_the_same_plain_strings(convert):
    captions = check_captions(**{name: convert(column) for name, column in GOOD.items()})
    assert captions == check_captions(**GOOD)
    flat = [*captions.predictions, *captions.attributes, *captions.image_ids]
    flat += [text for row in captions.references + captions.tasks for text in row]
    assert {type(text) for text in flat} == {str}


def test_a_rectangular_array_holds_references():
    references = np.array([["a", "b"], ["c", "d"]])
    captions = check_captions(references=references, attributes=["male", "female"])
    assert captions.references == (("a", "b"), ("c", "d"))


def test_string_enumerations_count_by_their_value():
    class Gender(str, Enum):
        FEMALE = "female"
        MALE = "male"

    labels = [Gender.MALE, Gender.FEMALE]
    captions = check_captions(predictions=labels, references=[labels, labels], attributes=labels)
    for texts in (captions.predictions, captions.references[0], captions.attributes):
        assert list(map(repr, texts)) == ["'male'", "'female'"]


def test_captions_pass_unchanged():
    texts = ["  امرأة تركب دراجة ", "👩‍🦽 with a 🐕", "une femme\nà vélo", "x" * MAX_CHARACTERS]
    captions = check_captions(predictions=texts, references=[[t] for t in texts], attributes=["a", "b", "a", "b"])
    assert captions.predictions == tuple(texts)
    assert captions.references == tuple((t,) for t in texts)


def test_labels_and_tasks_are_stripped_and_tasks_stand_once():
    captions = check_captions(predictions=["a", "b"], attributes=[" male", "female\n"], tasks=[["dog ", "dog"], []])
    assert captions.attributes == ("male", "female")
    assert captions.tasks == (("dog",), ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attributes": ["a", "b"]}, "predictions and references are both missing: give"),
        ({**GOOD, "attributes": None}, "attributes is missing: give one label for each image"),
        ({**GOOD, "predictions": ["a"]}, "predictions has length 1 and references has length 3: "),
        ({**GOOD, "image_ids": [1, 2]}, "predictions has length 3 and image_ids has length 2: "),
        ({"predictions": [], "attributes": []}, "predictions has no rows: give at least one image"),
        ({**GOOD, "image_ids": [7, "8", 7.0]}, "image_ids[2] repeats 7, the image of row 0: "),
        ({**GOOD, "image_ids": [7, None, 8]}, "image_ids[1] is missing: "),
        ({**GOOD, "image_ids": [7, " ", 8]}, "image_ids[1] is missing: "),
        ({**GOOD, "image_ids": [7, [8], 9]}, "image_ids[1] is of type list: "),
        ({**GOOD, "attributes": ["Male", "Male ", "Male"]}, "attributes has only one value 'Male' in all 3 rows: "),
        ({**GOOD, "tasks": [[], [], []]}, "tasks has no task in any image: "),
    ],
)
def test_faults_of_whole_columns(given, message):
    assert message in fault(given)


@pytest.mark.parametrize("argument", list(GOOD))
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("a man", "a string"),
        (b"a man", "of type bytes"),
        ({"a": 1}, "of type dict"),
        ({"a"}, "of type set"),
        (3, "of type int"),
        ((text for text in "ab"), "of type generator"),
        (np.array(3), "of type ndarray"),
        (pd.DataFrame({"a": ["b"]}), "of type DataFrame"),
        (datasets.Dataset.from_dict({"a": ["b"]}), "of type Dataset"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_an_argument_that_is_no_column(argument, column, kind):
    message = f"{argument} is {kind}: give a list with one entry for each image"
    assert fault({**GOOD, argument: column}) == message


@pytest.mark.parametrize("argument", ["predictions", "attributes"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "is missing (None): drop the image or add a "),
        (float("nan"), "is missing (nan): drop the image or add a "),
        (pd.NA, "is missing (<NA>): drop the image or add a "),
        ("", "is empty: drop the image or add a "),
        (" \t\n", "is empty: drop the image or add a "),
        (5, "is 5, of type int: a "),
        (True, "is True, of type bool: a "),
        (["a man"], "is of type list: give the "),
        (b"a man", "is of type bytes: give the "),
        ("x" * (MAX_CHARACTERS + 1), "has 10,001 characters, and no "),
    ],
)
def test_a_bad_string_is_named_with_row_image_and_reason(argument, value, message):
    assert fault(replaced(argument, 1, value)).startswith(f"{argument}[1] (image 7) {message}")
    without_ids = {**replaced(argument, 1, value), "image_ids": None}
    assert fault(without_ids).startswith(f"{argument}[1] {message}")


def test_the_way_out_for_numbers_is_a_string():
    assert fault(replaced("attributes", 0, 1)).endswith("a label is a string; convert it, as in str(1)")


def test_the_first_bad_row_is_named_whatever_its_fault():
    given = {"predictions": ["a", " ", None, 3], "attributes": ["m", "f", "m", "f"]}
    assert fault(given).startswith("predictions[1] is empty")


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("references", [], "references[2] (image 9) is empty: every image needs at least one human caption; "),
        ("references", "a man", "references[2] (image 9) is a string: "),
        ("references", None, "references[2] (image 9) is missing: "),
        ("references", float("nan"), "references[2] (image 9) is missing: "),
        ("references", 5, "references[2] (image 9) is of type int: "),
        ("references", {"caption": "a"}, "references[2] (image 9) is of type dict: "),
        ("references", ["a man", ""], "references[2][1] (image 9) is empty: "),
        ("references", ["a man", " "], "references[2][1] (image 9) is empty: "),
        ("references", ["a man", None], "references[2][1] (image 9) is missing (None): "),
        ("references", [["a man"]], "references[2][0] (image 9) is of type list: "),
        ("references", ["x" * 10_001], "references[2][0] (image 9) has 10,001 characters"),
        ("tasks", "dog", "tasks[2] (image 9) is a string: every row is a list of tasks, so wrap it in a list"),
        ("tasks", None, "tasks[2] (image 9) is missing: every row is a list of tasks; give an empty list"),
        ("tasks", ["dog", ""], "tasks[2][1] (image 9) is empty: "),
        ("tasks", [3], "tasks[2][0] (image 9) is 3, of type int: "),
    ],
)
def test_a_bad_row_of_lists_is_named(argument, value, message):
    assert fault(replaced(argument, 2, value)).startswith(message)


def test_a_message_says_how_to_wrap_a_bare_reference():
    assert re.search(r"^references\[0\] .*wrap it in a list$", fault({**GOOD, "references": ["a", "b", "c"]}))


def test_the_representation_is_short():
    assert repr(check_captions(**GOOD)) == (
        "<Captions of 3 images: attributes, predictions, references, tasks, image_ids>"
    )


def test_a_hundred_thousand_captions_take_well_under_a_second_of_processor_time():
    rows = 100_000
    start = time.process_time()
    check_captions(predictions=["a man on a bike"] * rows, attributes=["male", "female"] * (rows // 2))
    assert time.process_time() - start < 1.0
