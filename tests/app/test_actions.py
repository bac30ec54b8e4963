"""What events make of a session's data: corrections, what is told of them, what is missing."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pytest

from captionbias.app.actions import (
    CUSTOM,
    columns,
    look,
    measure,
    roles,
    what_was_read,
)
from captionbias.app.data import CAPTIONER, PEOPLE, Columns, as_said
from captionbias.app.page import plain_errors
from captionbias.app.sessions import NOTHING, CancelledError, Session
from captionbias.captions.tables import table_from_memory

WORDS = ("gender", "", "coco_objects", "")
WHO = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}


def session(content, name="x.csv"):
    """Who uploaded one captioner's file with everything."""
    return Session(data=as_said([table_from_memory(content, name)], {name: CAPTIONER}))


def test_errors_are_plain_and_a_cancelled_run_is_told_as_such():
    with pytest.raises(gr.Error) as shown, plain_errors():
        raise ValueError("<img src=x> & 'a'")
    assert shown.value.message == "<img src=x> & 'a'"
    with pytest.raises(gr.Error, match="cancelled"), plain_errors():
        raise CancelledError


def test_another_column_of_labels_has_other_labels_and_words():
    one = session(WHO)
    data = columns(one, "id", ["caption"], None, "skin", keep=["m", "f"])
    assert (data.columns.attribute_column, data.columns.keep) == ("skin", ("x", "y", "z"))
    assert what_was_read(data)["attribute"] == "race"
    data = columns(Session(data=data), "id", ["caption"], None, "skin", keep=["x", "y"])
    assert data.columns.keep == ("x", "y")
    again = columns(Session(data=data), "id", "caption", "", "skin", "", keep=["x", "y"])
    assert again is data, "what changes nothing is not read again"


def test_files_are_what_the_user_says_they_are():
    tables = [table_from_memory(WHO, name) for name in ("a.csv", "b.csv", "c.csv")]
    one = Session(data=as_said(tables, {table.name: CAPTIONER for table in tables}))
    assert roles(one, ["a.csv", "b.csv", "c.csv"]) is one.data
    data = roles(one, "a.csv", people="b.csv")
    assert what_was_read(data)["files"] == {
        "a.csv": "a captioner's captions",
        "b.csv": "people's captions",
        "c.csv": "not used",
    }
    assert (list(data.predictions), data.others[PEOPLE].name) == (["a"], "b.csv")
    with pytest.raises(ValueError, match=r"there is no file 'd.csv': the files are 'a.csv', 'b.csv', 'c.csv'"):
        roles(one, ["a.csv"], tasks="d.csv")
    one.data = roles(one, ["a.csv", "b.csv"], "c.csv", labels="a.csv")
    assert what_was_read(one.data)["files"] == {
        "b.csv": "a captioner's captions",
        "c.csv": "people's captions",
        "a.csv": "labels",
    }
    assert roles(one, ["a.csv", "b.csv"], "c.csv", labels="a.csv") is one.data, "the same event a second time"


def test_what_is_missing_is_told():
    assert look(NOTHING, *WORDS)["not_ready"] == ""
    data = session({"id": [1], "caption": ["a man"]}).data
    data = replace(data, columns=Columns("id", ("caption",)))
    for words, missing in (
        (WORDS, "none of these files has labels"),
        ((CUSTOM, None, *WORDS[2:]), "the list has no words"),
    ):
        found = look(data, *words)
        assert found["not_ready"].startswith(missing)
        assert found["masked"] == {}
    for metrics, seed, missing in (([], 0, "choose at least one metric"), (["lic"], None, "seed is empty")):
        with pytest.raises(ValueError, match=missing):
            next(measure(lambda step, done: None, Session(data=data), *WORDS, metrics, "fast", 2, seed))


def test_labels_too_few_are_left_out_or_told_of_if_they_are_kept():
    labels = ["female", "male", "male"] * 30
    labels[:6] = ["unsure"] * 6
    one = session({"id": range(90), "caption": ["a woman", "a man", "a guy"] * 30, "sex": labels})
    one.data = columns(one, "id", ["caption"], None, "sex")
    found = look(one.data, *WORDS)
    assert found["labels"] == {"female": 28, "male": 56}
    assert "left out by their label: 'unsure' (6 images, too few to split)" in found["notes"][0]
    assert {label for _, label in found["masked"]["attribute_lexicon"]} == {None, "female", "male"}
    found = look(columns(one, "id", "caption", None, "sex", keep=["female", "male", "unsure"]), *WORDS)
    assert "labels with too few images to split: 'unsure' (6). An attacker needs 10" in found["not_ready"]
    assert any("'unsure' is not a label of attribute" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("labels", "attribute", "message"),
    [
        ("caption", "gender", "there are 90 labels: leave some out"),
        ("sex", "race", "'female', 'male' are not labels of attribute_lexicon 'race' ('light', 'dark')"),
    ],
)
def test_words_that_do_not_fit_the_column_are_told(labels, attribute, message):
    content = {"id": range(90), "caption": [f"a man {n}" for n in range(90)], "sex": ["female", "male"] * 45}
    found = look(columns(session(content), "id", ["caption"], None, labels), attribute, *WORDS[1:])
    assert message in "; ".join([found["not_ready"], *found["notes"]])
