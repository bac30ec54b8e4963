"""Several columns of labels crossed into one attribute."""

import pytest

from captionbias.captions import CaptionBiasWarning, check_captions, cross, read_captions, uncross

PREDICTIONS = {"image_id": [1, 2, 3, 4], "caption": ["a man", "a woman", "a girl", "a guy"]}
PEOPLE = {
    "image_id": [4, 3, 2, 1],
    "gender": ["male", "female", "female", "male"],
    "skin": ["dark", "light", "dark", "light"],
}
CROSSED = ("male, light", "female, dark", "female, light", "male, dark")
TWO = {"attribute": ["gender", "skin"]}


def test_labels_are_crossed_and_taken_apart():
    attributes = {"gender": ["female", " male "], "skin": ("dark", "light"), "age": ["old", "old"]}
    labels = cross(attributes)
    assert labels == ["female, dark, old", "male, light, old"]
    assert uncross(labels, 3) == [("female", "male"), ("dark", "light"), ("old", "old")]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"gender": ["a"]}, "attributes has 1 attributes: a crossing needs two or more"),
        ({"gender": ["a", "b"], "skin": ["x"]}, "attributes['gender'] has length 2 and"),
        ({"gender": ["a", "b"], "skin": ["x", None]}, "attributes['skin'][1] is missing (None): drop the"),
        ({"gender": ["a", "b"], "skin": ["x", " "]}, "attributes['skin'][1] is empty: drop the image or add a la"),
        ({"gender": ["a", "b, c"], "skin": ["x", "y"]}, "attributes['gender'][1] is 'b, c': ', ' joins the labels"),
        ({"gender": "ab", "skin": ["x", "y"]}, "attributes['gender'] is a string"),
    ],
)
def test_what_cannot_be_crossed_is_refused(attributes, message, fault):
    assert fault(cross, attributes).startswith(message)


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(
    "names",
    [
        TWO,
        {"attribute_column": ["gender", "skin"]},
        {"attribute": ("gender", "race"), "attribute_column": ("gender", "skin")},
        {"attribute": ["sex", "skin"], "attribute_column": ["gender", None]},
    ],
)
def test_columns_are_crossed_image_by_image(names):
    assert read_captions(predictions=PREDICTIONS, attributes=PEOPLE, **names).attributes == CROSSED


def test_a_column_is_guessed_for_each_attribute_whose_labels_may_stand_in_several_rows():
    with pytest.warns(CaptionBiasWarning, match="guessed: attributes from 'skin' of attributes; name the columns if"):
        captions = read_captions(predictions=PREDICTIONS, attributes=PEOPLE, attribute=["gender", "race"])
    assert captions.attributes == CROSSED
    rows = {"image_id": [1, 1, 2, 2], "gender": ["male", None, None, "female"], "skin": [None, "dark", "light", None]}
    captions = read_captions(predictions={"image_id": [1, 2], "caption": ["a", "b"]}, attributes=rows, **TWO)
    assert captions.attributes == ("male, dark", "female, light")


@pytest.mark.parametrize("keep", [["dark", "light", "female"], ["male, light", *CROSSED[1:3], "female"]])
def test_keep_names_labels_of_each_attribute_or_of_the_crossing(keep):
    assert read_captions(predictions=PREDICTIONS, attributes=PEOPLE, **TWO, keep=keep).image_ids == ("2", "3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**TWO, "keep": ["drak"]}, "keep names 'drak', which is not a label in"),
        ({**TWO, "keep": ["male", "female, dark"]}, "keep (male, female, dark) leaves no image"),
        ({**TWO, "attribute_column": ["gender"]}, "attribute_column names 1 columns for 2 attributes (gender, skin)"),
        ({**TWO, "attribute_column": "gender"}, "attribute_column names 1 columns for 2 attributes (gender, skin)"),
        ({"attribute_column": ["skin", "skin"]}, "attribute_column: two attributes are both"),
        ({"attribute": []}, "attribute is empty: name one attribute or more"),
        ({"attribute": ["gender", "hair"]}, "attributes has no column 'hair': it has 'image_id', 'gender'"),
    ],
)
def test_columns_that_cannot_be_crossed_are_refused(options, message, fault):
    assert fault(read_captions, predictions=PREDICTIONS, attributes=PEOPLE, **options).startswith(message)


def test_columns_of_two_tables_are_not_crossed(fault):
    predictions = {**PREDICTIONS, "skin": PEOPLE["skin"]}
    references = {"image_id": PEOPLE["image_id"], "references": [["a"]] * 4, "gender": PEOPLE["gender"]}
    message = fault(read_captions, predictions=predictions, references=references, **TWO)
    assert "'gender' of references and 'skin' of predictions are in two tables: put the attributes" in message


def test_other_labels_of_the_same_captions_share_their_words(fault):
    captions = check_captions(predictions=["a man", "a girl"], attributes=["m, x", "f, y"], image_ids=[7, 9])
    words = captions.words()
    alone = captions.with_attributes(["x", "y"])
    assert (alone.attributes, alone.predictions, alone.image_ids) == (("x", "y"), captions.predictions, ("7", "9"))
    assert alone.words() is words
    assert fault(captions.with_attributes, ["x", ""]).startswith("attributes[1] (image 9) is empty")
    assert fault(captions.with_attributes, ["x"]).startswith("attributes has length 1 and captions has length 2")
