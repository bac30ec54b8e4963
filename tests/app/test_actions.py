"""What events do: errors as text, labels that follow their column, a preview that tells what is missing."""

from __future__ import annotations

import gradio as gr
import pytest

from captionbias.app.actions import NOTHING, UNCHOSEN, columns, look, measure, plain_errors
from captionbias.app.runs import CancelledError
from captionbias.app.upload_state import Columns, read_uploads

WORDS = ("gender", "", "coco_objects", "")


def test_errors_are_shown_as_text_and_a_cancelled_run_as_such():
    with pytest.raises(gr.Error) as shown, plain_errors():
        raise ValueError("<img src=x> & 'a'")
    assert shown.value.message == "&lt;img src=x&gt; &amp; 'a'"
    with pytest.raises(gr.Error, match="cancelled"), plain_errors():
        raise CancelledError


def test_another_column_of_labels_has_other_labels(write):
    content = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}
    given = read_uploads([str(write("x.csv", content))], None, None, None)
    chosen, kept = columns(given, "id", ["caption"], None, "skin", None, ["m", "f"])
    assert (chosen.attribute_column, kept["value"]) == ("skin", ["x", "y", "z"])
    chosen, kept = columns(given, "id", ["caption"], None, "skin", None, ["x", "y"])
    assert (chosen.keep, kept["value"]) == (("x", "y"), ["x", "y"])


def test_the_preview_tells_what_is_missing(write):
    assert look(NOTHING, UNCHOSEN, *WORDS)[0] == ""
    given = read_uploads([str(write("x.csv", {"id": [1], "caption": ["a man"]}))], None, None, None)
    told, accordion, *_ = look(given, Columns("id", ("caption",)), *WORDS)
    assert told.startswith("**Not ready yet:** no attribute is chosen")
    assert accordion["visible"] is False


def test_nothing_is_measured_without_a_metric():
    with pytest.raises(ValueError, match="choose at least one metric"):
        measure(NOTHING, UNCHOSEN, *WORDS, [], "fast", 2, 0, watch=lambda step, done: None)
