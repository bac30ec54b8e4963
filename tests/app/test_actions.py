"""What events do: errors as text, tables of numbers, labels that follow their column, what is missing."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pytest

from captionbias.app.actions import CUSTOM, NOTHING, _frame, columns, fitted, guessed, look, measure, plain_errors
from captionbias.app.runs import CancelledError
from captionbias.app.upload_state import Columns, read_uploads
from captionbias.report.views import Column, Grid

WORDS = (["gender"], "", "coco_objects", "")


def test_errors_of_the_input_and_a_cancelled_run_are_told_as_such():
    with pytest.raises(gr.Error) as shown, plain_errors():
        raise ValueError("<img src=x> & 'a'")
    assert shown.value.message == "<img src=x> & 'a'"
    with pytest.raises(gr.Error, match="cancelled"), plain_errors():
        raise CancelledError


def test_shares_are_percent_what_is_undefined_is_blank_and_text_is_never_html():
    kinds = (Column("task"), Column("share", ".1%"), Column("images", ",.0f"))
    shown = _frame(Grid("t", kinds, [["<b>", 0.1256, 3.0], ["x", None, 0]]))
    assert shown["value"] == {"headers": ["task", "share (%)", "images"], "data": [["<b>", 12.6, 3], ["x", "", 0]]}
    assert shown["datatype"] == ["str", "number", "number"]


def test_another_column_of_labels_has_other_labels(write):
    content = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}
    data = read_uploads([str(write("x.csv", content))])
    corrected, kept, words = columns(data, "id", ["caption"], None, ["skin"], None, ["m", "f"])
    assert (corrected.columns.attribute_column, kept["value"]) == (("skin",), ["x", "y", "z"])
    assert words["value"] == ["race"]
    corrected, kept, words = columns(corrected, "id", ["caption"], None, "skin", None, ["x", "y"])
    assert (corrected.columns.keep, kept["value"]) == (("x", "y"), ["x", "y"])
    assert "value" not in words, "what the user chose since stays"


def test_another_attribute_takes_the_place_of_the_one_that_was_chosen_first():
    one, two = (replace(NOTHING, columns=Columns(attribute_column=columns)) for columns in (("a",), ("a", "b")))
    assert fitted(NOTHING, ["gender", "race"]) == fitted(one, ["gender", "race"]) == ["race"]
    assert fitted(two, ["gender", "race", "age"]) == ["race", "age"]
    assert fitted(two, []) == fitted(one, None) == []


def test_programs_may_name_one_column_and_one_attribute_as_they_are(write):
    content = {"id": range(60), "caption": ["a man"] * 60, "who": ["male", "female"] * 30}
    data, *_ = columns(read_uploads([str(write("x.csv", content))]), "id", ["caption"], None, "who", None, [])
    assert data.columns.attribute_column == ("who",)
    assert look(data, "gender", *WORDS[1:]) == look(data, *WORDS)
    data, *_ = columns(data, "id", ["caption"], None, "", None, [])
    assert "no attribute is chosen" in look(data, *WORDS)[0]


def test_what_is_missing_is_told(write):
    assert look(NOTHING, *WORDS)[0] == ""
    data = read_uploads([str(write("x.csv", {"id": [1], "caption": ["a man"]}))])
    data = replace(data, columns=Columns("id", ("caption",)))
    for words, missing in ((WORDS, "no attribute is chosen"), (([CUSTOM], "", *WORDS[2:]), "the list has no words")):
        told, accordion, *_ = look(data, *words)
        assert told.startswith(f"**Not ready yet:** {missing}")
        assert accordion["visible"] is False
    for metrics, seed, missing in (([], 0, "choose at least one metric"), (["lic"], None, "seed is empty")):
        with pytest.raises(ValueError, match=missing):
            measure(data, *WORDS, metrics, "fast", 2, seed, watch=lambda step, done: None)


def test_the_images_of_each_intersection_are_counted_and_those_too_few_named(write):
    """A cell that nobody is in is shown as well; one that is too small is left out, or told of if it is kept."""
    texts = ["a black woman", "a white woman", "a white man"] * 30
    sex, skin = ["female", "female", "male"] * 30, ["dark", "light", "light"] * 30
    skin[:9] = ["unsure"] * 9
    data, *_ = guessed(
        read_uploads([str(write("x.csv", {"id": range(90), "caption": texts, "sex": sex, "skin": skin}))])
    )
    data, kept, words = columns(data, "id", ["caption"], None, ["sex", "skin"], None, [])
    assert kept["value"] == ["female, dark", "female, light", "male, light"]
    assert ("female, unsure (6)", "female, unsure") in kept["choices"]
    told, shown, marked, _ = look(data, words["value"], *WORDS[1:])
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines() if line.startswith("|")]
    assert rows[0] == ["sex", "skin", "images"]
    assert rows[2:] == [
        ["female", "dark", "27"],
        ["female", "light", "27"],
        ["male", "dark", "0"],
        ["male", "light", "27"],
    ]
    assert "left out by their label: 'female, unsure' (6 rows, too few to split)" in told.replace("\\", "")
    assert shown["visible"]
    assert {label for _, label in marked} == {None, "female", "male", "light", "dark"}
    everyone = ["female, dark", "female, light", "male, light", "female, unsure"]
    data, *_ = columns(data, "id", ["caption"], None, ["sex", "skin"], None, everyone)
    told, *_ = look(data, words["value"], *WORDS[1:])
    told = told.replace("\\", "")
    assert "**Not ready yet:** labels with too few images to split: 'female, unsure' (6). An attacker needs 10" in told
    assert "'female, unsure' is not a label of attribute" in told


@pytest.mark.parametrize(
    ("labels", "attributes", "message"),
    [
        (
            ["sex", "skin"],
            ["gender"],
            "the columns of labels are sex, skin, and the words are of gender: choose the attribute of each",
        ),
        (["sex"], ["gender", "race"], "the columns of labels are sex, and the words are of gender, race"),
        (["sex"], [], "the columns of labels are sex, and the words are of none"),
        (["sex", "skin"], ["gender", CUSTOM], "'female' is a label of more than one"),
        (["sex", "caption"], ["gender", "race"], "There are 180 intersections: leave labels out"),
        (["sex"], ["race"], "'female', 'male' are not labels of attribute_lexicon 'race' ('light', 'dark')"),
    ],
)
def test_words_that_do_not_fit_the_columns_are_told(write, labels, attributes, message):
    content = {"id": range(90), "caption": [f"a man {n}" for n in range(90)], "sex": ["female", "male"] * 45}
    data = read_uploads([str(write("x.csv", {**content, "skin": ["light", "dark", "dark"] * 30}))])
    data, *_ = columns(data, "id", ["caption"], None, labels, None, [])
    told, *_ = look(data, attributes, "female: girl\nx: x", *WORDS[2:])
    assert message in told.replace("\\", "")
