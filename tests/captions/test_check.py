"""Each kind of column passes unchanged, what is bad is named with its row and the way out."""

import math
import pickle
from collections import deque
from dataclasses import FrozenInstanceError

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from captionbias.captions import MAX_CHARACTERS, check_captions, check_sides
from tests.refusals import refuses

GOOD = {
    "predictions": ["a man on a bike", "a woman with a dog", "a girl"],
    "references": [["a man rides"], ["a woman", "a lady and a dog"], ["a child"]],
    "attributes": ["male", "female", "female"],
    "tasks": [["bicycle"], ["dog"], []],
    "image_ids": [42, 7, 9],
}


def test_good_input_becomes_tuples_and_a_short_name():
    captions = check_captions(**GOOD)
    assert len(captions) == 3
    assert captions.predictions == ("a man on a bike", "a woman with a dog", "a girl")
    assert captions.references == (("a man rides",), ("a woman", "a lady and a dog"), ("a child",))
    assert captions.attributes == ("male", "female", "female")
    assert captions.tasks == (("bicycle",), ("dog",), ())
    assert captions.image_ids == ("42", "7", "9")
    assert pickle.loads(pickle.dumps(captions)) == captions
    assert repr(captions) == "<Captions of 3 images: predictions, references, attributes, tasks, image_ids>"
    with pytest.raises(FrozenInstanceError):
        captions.predictions = None


def nested_arrays(column):
    return [np.array(row, dtype=object) for row in column] if isinstance(column[0], list) else np.array(column)


def object_arrays(column):
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


@pytest.mark.parametrize(
    "convert",
    [
        *(tuple, deque, nested_arrays, object_arrays, pd.Series, pa.array),
        lambda column: pa.chunked_array([column]),
        lambda column: datasets.Dataset.from_dict({"column": column})["column"],
        lambda column: datasets.Dataset.from_dict({"column": column}).with_format("numpy")["column"],
    ],
)
def test_every_kind_of_column_gives_the_same_plain_strings(convert):
    captions = check_captions(**{name: convert(column) for name, column in GOOD.items()})
    assert captions == check_captions(**GOOD)
    flat = [*captions.predictions, *captions.attributes, *captions.image_ids]
    flat += [text for row in captions.references + captions.tasks for text in row]
    assert {type(text) for text in flat} == {str}


def test_captions_pass_unchanged_but_labels_and_tasks_lose_blanks_and_repetitions():
    texts = ["  امرأة تركب دراجة ", "👩‍🦽 with a 🐕", "une femme\nà vélo", "x" * MAX_CHARACTERS]
    given = {"attributes": [" a", "b\n", "a", "b"], "tasks": [["dog ", "dog"], [], [], []]}
    captions = check_captions(predictions=texts, references=[[text] for text in texts], **given)
    assert (captions.predictions, captions.references) == (tuple(texts), tuple((text,) for text in texts))
    assert (captions.attributes, captions.tasks) == (("a", "b", "a", "b"), (("dog",), (), (), ()))


def fault(check=check_captions, **columns):
    """The message, which is of a length that is read."""
    with pytest.raises(ValueError, match=r"^.{1,299}$") as raised:
        check(**columns)
    return str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predictions": None, "references": None}, "predictions and references are both missing: give model captions"),
        ({"attributes": None}, "attributes is missing: give one label for each image"),
        *(
            ({name: GOOD[name][:2]}, f"and {name} has length 2: entry i of each belongs to image i")
            for name in ("references", "attributes", "tasks", "image_ids")
        ),
        (dict.fromkeys(GOOD, ()), "predictions has no rows: give at least one image"),
        ({"image_ids": [7, "8", 7.0]}, "image_ids[2] repeats 7, the image of row 0: give each image one row"),
        ({"image_ids": [7, None, 8]}, "image_ids[1] is missing: every row needs an image id"),
        ({"image_ids": [7, [8], 9]}, "image_ids[1] is of type list: "),
        ({"attributes": ["Male", "Male ", "Male"]}, "only one value 'Male' in all 3 rows: a bias between"),
        ({"tasks": [[], [], []]}, "tasks has no task in any image: name the objects or activities"),
        ({"predictions": ["a", 3, [4]]}, "predictions[1][0] (image 7) is of type int"),  # the first, whatever its fault
    ],
)
def test_a_bad_column_is_named_with_the_way_out(changes, message):
    assert message in fault(**GOOD | changes)


@pytest.mark.parametrize("argument", list(GOOD))
def test_an_argument_that_is_not_a_column(argument):
    table = {"a": ["b"]}
    for column in (
        "a man",
        {"a": 1},
        {"a"},
        iter("ab"),
        np.array(3),
        pd.DataFrame(table),
        datasets.Dataset.from_dict(table),
    ):
        kind = "a string" if isinstance(column, str) else f"of type {type(column).__name__}"
        message = f"{argument} is {kind}: give a list with one entry for each image"
        assert fault(**{**GOOD, argument: column}) == message


LONG = "x" * (MAX_CHARACTERS + 1)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        *(
            ("attributes", value, f"is missing ({value}): drop the image or add a ")
            for value in (None, math.nan, pd.NA)
        ),
        ("attributes", " \t\n", "is empty: drop the image or add a "),
        ("attributes", ["a man"], "is of type list: a "),
        ("attributes", 1, "is of type int: a label is a string"),
        *((name, True, "is of type bool: a ") for name in ("predictions", "attributes")),
        *((name, LONG, "has 10,001 characters, and no ") for name in ("predictions", "attributes")),
        ("references", "a man", "is of type str: every row is a list of captions"),
        ("references", ["a man", 3], "[1] is of type int: a caption is a string"),
        ("references", [LONG], "[0] has 10,001 characters, and no caption has more than 10,000"),
        ("tasks", ["a", " "], "[1] is empty: take it out of the list or fill it in"),
        ("tasks", math.nan, "is missing: every row is a list of tasks; give one, or drop the image"),
        ("tasks", "dog", "is of type str: every row is a list of tasks"),
    ],
)
def test_one_bad_row_is_named_with_its_image_and_the_way_out(argument, value, message):
    entry, _, rest = message.rpartition("] ")
    columns = {**GOOD, argument: [GOOD[argument][0], value, GOOD[argument][2]]}
    where = f"{argument}[1]{entry and f'{entry}]'}"
    assert fault(**columns).startswith(f"{where} (image 7) {rest}")
    assert fault(**columns | {"image_ids": None}).startswith(f"{where} {rest}")


def test_the_words_of_both_sides_are_counted():
    for words in (2, 8):
        captions = check_captions(**{**GOOD, "predictions": [" ".join(["word"] * words)] * 3})
        assert captions.mean_words == (words, 3.0)
    assert check_captions(**{**GOOD, "references": None}).mean_words is None


def test_two_sides_without_labels_are_checked_alike():
    captions, sides = check_captions(**GOOD), {name: GOOD[name] for name in ("predictions", "references")}
    assert check_sides(**sides) == (captions.predictions, captions.references)
    for changes, message in (
        ({"references": None}, "references is missing: give model captions"),
        ({"predictions": ["a"]}, "predictions has length 1 and references"),
        ({"references": [["a"], [], ["b"]]}, "references[1] is empty"),
    ):
        assert fault(check_sides, **sides | changes).startswith(message)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("一个女人在骑自行车。", "一个 女人 在 骑 自行车 。"),
        ("女の人が、犬と一緒に歩いている。コーヒーを飲む。", "女 の 人 と 犬"),
        ("ผู้หญิงกำลังขี่จักรยานบนถนน", "ผู้หญิง กำลัง ขี่ จักรยาน"),
        ("女人", "一个 女人 在 骑 自行车 。"),
    ],
)
def test_captions_that_are_not_split_into_words_are_refused_with_the_cure(text, split):
    labels = {"attributes": ["female", "male"]}
    cure = "give language='ja' or language='zh', split captions in other languages by spaces, or"
    refuses(f"^predictions are not split into words, .*: {cure}", check_captions, predictions=[text, text], **labels)
    refuses(f"^references are not split into words, .*: {cure}", check_captions, references=[[text], [text]], **labels)
    for taken in (split, f"a sign that reads {text} on a wall in the street of a town"):
        assert check_captions(predictions=[taken] * 2, **labels)


def test_weights_that_are_probabilities_count_as_images():
    weighted = check_captions(**GOOD, weights=[0.1, 0.2, 0.3])
    assert weighted.weights == pytest.approx((0.5, 1.0, 1.5))
    assert check_captions(**GOOD, weights=[1, 2, 3]).weights == (1.0, 2.0, 3.0)
