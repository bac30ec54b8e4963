"""A section between markers: nothing else moves, and no label or signature gets out of its place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.hub.cards import BEGIN, END, model_section, put_section

SEARCH = settings(deadline=None, max_examples=100)
PIECES = st.sampled_from(["\n", "\r\n", "# Card", "```", "<!--", "-->", "| a |", "é😀", " ", "\ufeff", "---"])
TEXT = st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), max_size=8).map("".join)
HOSTILE = st.text(st.sampled_from("|\n\r`<>!-_*[]()\\& ab") | st.characters(), max_size=12) | st.sampled_from(
    [END, BEGIN, "| a |\n| b |", "<script>", "--> <b>", "`|`", "[x](javascript:y)", "a\n# b"]
)


def result(label="female", signature="metric:lic|v:0.1.0"):
    return {
        "lic": 1.25,
        "lic_ci_low": -1.0,
        "lic_ci_high": 3.5,
        "lic_m": 47.0,
        "lic_d": 45.75,
        "signature": signature,
        "details": {"images": 1200, "attribute_counts": {label: 1200}},
    }


def cells(section):
    return [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]


def test_a_model_card_has_each_score_with_its_interval_and_how_it_was_measured():
    section = model_section({"lic": result()}, "a/b", "0" * 40)
    assert cells(section) == [
        ["| score", "value", "95% interval", "verdict |"],
        ["| :---", "---:", ":---", ":--- |"],
        ["| LIC x 100", "1.2", "[-1.0, 3.5]", "unclear |"],
        ["| LIC x 100, captioner", "47.0", "-", "- |"],
        ["| LIC x 100, human captions", "45.8", "-", "- |"],
    ]
    assert "- lic: 1,200 images (1,200 female); signature `metric:lic|v:0.1.0`" in section
    assert "captionbias 0.1.0." in section
    assert f"https://huggingface.co/datasets/a/b/tree/{'0' * 40}" in section


def test_an_undefined_matched_score_is_shown_as_undefined():
    section = model_section({"dbac": {**result(), "dbac_a_to_t": 0.1}}, "a/b", None)
    assert ["| DBAC A to T, matched", "undefined", "-", "- |"] in cells(section)


@SEARCH
@given(label=HOSTILE, words=HOSTILE, version=HOSTILE)
def test_no_label_or_signature_gets_out_of_its_place(label, words, version):
    plain = put_section("", model_section({"lic": result()}, "a/b", None))
    card = put_section("", model_section({"lic": result(label, f"metric:{words}|v:{version}")}, "a/b", None))
    assert len(re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", card)) == plain.count("\n") + 1
    assert (card.count(BEGIN), card.count(END)) == (1, 1)
    assert not re.search(r"(?<!\\)<(?!!-- captionbias: (begin|end) -->)", card)
    card.encode("utf-8")


@SEARCH
@given(TEXT, TEXT)
def test_any_text_stays_and_the_second_time_nothing_changes(before, behind):
    new = put_section(before, "Bias.\n\nIt is 3.")
    assert new.startswith(before)
    assert put_section(new, "Bias.\n\nIt is 3.") == new
    moved = put_section(new + behind, "Other.")
    assert moved.endswith(END + new.rpartition(END)[2] + behind)
    assert moved.startswith(new.partition(BEGIN)[0] + BEGIN)
    assert put_section(moved, "Other.") == moved
    assert put_section(moved, "Bias.\n\nIt is 3.") == new + behind


@pytest.mark.parametrize(
    ("text", "start"), [("# Card", "# Card\n\n"), ("# Card\n\n\n", "# Card\n\n\n"), ("a\r\n", "a\r\n\r\n")]
)
def test_a_new_section_comes_after_an_empty_line(text, start):
    assert put_section(text, "Bias.").startswith(start + BEGIN)


@pytest.mark.parametrize("order", [[BEGIN], [END, BEGIN], [BEGIN, END, BEGIN, END]])
def test_markers_that_are_not_one_pair_are_refused_by_line(order):
    lines = [f"{'begin' if marker == BEGIN else 'end'} in line {row}" for row, marker in enumerate(order, start=2)]
    with pytest.raises(ValueError, match=", ".join(lines)):
        put_section("# Card\n" + "\n".join(order), "Bias.")
