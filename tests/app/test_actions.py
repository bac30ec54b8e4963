"""What events do: errors as text, tables of numbers, labels that follow their column, what is missing."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pytest

from captionbias.app.actions import CUSTOM, NOTHING, _frame, columns, look, measure, plain_errors
from captionbias.app.runs import CancelledError
from captionbias.app.upload_state import Columns, read_uploads
from captionbias.report.views import Column, Grid

WORDS = ("gender", "", "coco_objects", "")


def test_errors_are_shown_as_text_and_a_cancelled_run_as_such():
    with pytest.raises(gr.Error) as shown, plain_errors():
        raise ValueError("<img src=x> & 'a'")
    assert shown.value.message == "&lt;img src=x&gt; &amp; 'a'"
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
    corrected, kept = columns(data, "id", ["caption"], None, "skin", None, ["m", "f"])
    assert (corrected.columns.attribute_column, kept["value"]) == ("skin", ["x", "y", "z"])
    corrected, kept = columns(data, "id", ["caption"], None, "skin", None, ["x", "y"])
    assert (corrected.columns.keep, kept["value"]) == (("x", "y"), ["x", "y"])


def test_what_is_missing_is_told(write):
    assert look(NOTHING, *WORDS)[0] == ""
    data = read_uploads([str(write("x.csv", {"id": [1], "caption": ["a man"]}))])
    data = replace(data, columns=Columns("id", ("caption",)))
    for words, missing in ((WORDS, "no attribute is chosen"), ((CUSTOM, "", *WORDS[2:]), "the list has no words")):
        told, accordion, *_ = look(data, *words)
        assert told.startswith(f"**Not ready yet:** {missing}")
        assert accordion["visible"] is False
    for metrics, seed, missing in (([], 0, "choose at least one metric"), (["lic"], None, "seed is empty")):
        with pytest.raises(ValueError, match=missing):
            measure(data, *WORDS, metrics, "fast", 2, seed, watch=lambda step, done: None)
