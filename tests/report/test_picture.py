"""The one picture of a captioner: every number in it is that of the measurement, and zero is a person."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from captionbias.metrics import sway
from captionbias.report.picture import MIDDLE, captioner_picture, main_scores, picture
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

A_TO_T, T_TO_A = "dbac_a_to_t_net", "dbac_t_to_a_net"
SVG = "{http://www.w3.org/2000/svg}"
DBAC = {A_TO_T: Estimate(0.09, 0.08, 0.1), T_TO_A: Estimate(-0.05, -0.06, -0.04)}


def elements(picture, name):
    return list(ElementTree.fromstring(picture).iter(f"{SVG}{name}"))


SWAY = {
    "cells": [
        {"attribute": "female", "suggested": "male", "captioner_wrong_of_named": 70.0, "person_wrong_of_named": 2.0},
        {"attribute": "female", "suggested": "female", "captioner_wrong_of_named": 40.0, "person_wrong_of_named": 1.0},
        {"attribute": "male", "suggested": None, "captioner_wrong_of_named": 9.0, "person_wrong_of_named": 1.0},
    ],
    "tasks": [{"task": "tie", "attribute": "male", "beta": 2.3, "beta_ci_low": 1.4, "beta_ci_high": 3.1}],
}


def test_cells_of_sway_are_bars_as_long_as_what_is_named_wrong_with_people_beside():
    picture = captioner_picture({"lic": Estimate(1.0)}, "nic", "gender", "objects", SWAY)
    bars = [(one.get("class"), float(one.get("width"))) for one in elements(picture, "rect")]
    assert bars == [("amplifies", 168.0), ("person", 4.8), ("soft", 96.0), ("person", 2.4)]
    said = [one.text for one in elements(picture, "text")]
    assert "female, beside objects that go with male" in said
    assert "70; people: 2" in said
    assert "tie, with male: +2.3 [1.4, 3.1]" in said


def test_a_score_with_a_range_has_a_dashed_line_from_end_to_end():
    found = {"sway_a_to_t": (5.0, 4.0, 6.0), "sway_a_to_t_low": (-1.0, -2.0, 0.0), "sway_a_to_t_high": (6.0, 5.0, 7.0)}
    picture = captioner_picture({key: Estimate(*ends) for key, ends in found.items()})
    (span,) = (one for one in elements(picture, "line") if one.get("stroke-dasharray"))
    (whole,) = (one for one in elements(picture, "line") if one.get("stroke-width") == "4")
    scale = (float(whole.get("x2")) - float(whole.get("x1"))) / 2.0
    assert float(span.get("x2")) - float(span.get("x1")) == pytest.approx(9 * scale, abs=0.2)


def test_a_person_is_in_the_middle_and_more_bias_to_the_right():
    for value in (-20.0, -1.0, 0.0, 1.0, 20.0):
        picture = captioner_picture({"lic": Estimate(value, value - 0.5, value + 0.5)})
        (zero,) = (one for one in elements(picture, "line") if one.get("class") == "zero")
        assert float(zero.get("x1")) == MIDDLE
        (interval,) = (one for one in elements(picture, "line") if one.get("stroke-width") == "4")
        middle = (float(interval.get("x1")) + float(interval.get("x2"))) / 2
        assert (middle > MIDDLE, middle < MIDDLE) == (value > 0, value < 0)


def test_both_directions_have_one_scale():
    picture = captioner_picture({A_TO_T: Estimate(0.3, 0.28, 0.32), T_TO_A: Estimate(0.15, 0.13, 0.17)})
    first, second = (one for one in elements(picture, "line") if one.get("stroke-width") == "4")
    middles = [(float(one.get("x1")) + float(one.get("x2"))) / 2 - MIDDLE for one in (first, second)]
    assert middles[0] == pytest.approx(2 * middles[1], abs=0.05)


def test_every_number_is_in_words_too():
    (told,) = elements(
        captioner_picture(DBAC | {"lic": Estimate(20.1, 17.3, 23.0)}, "nic", "gender", "objects"), "desc"
    )
    assert told.text == (
        "objects named reveal gender: amplifies, +0.090 [0.080, 0.100]; gender named reveals objects: mitigates, "
        "-0.050 [-0.060, -0.040]; wording alone reveals gender: amplifies, +20.1 [17.3, 23.0]"
    )


def test_names_are_text_and_do_not_leave_the_picture():
    name = "<script>alert(1)</script>" * 9
    (shown, *_) = elements(captioner_picture(DBAC, name, "<b>", "&"), "text")
    assert shown.text.endswith("…")
    assert len(shown.text) < 50


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ([A_TO_T, "dbac_a_to_t", "dbac_a_to_t_matched", "omega_m_a_to_t"], [A_TO_T]),
        (["dbac_a_to_t", "dbac_a_to_t_matched"], ["dbac_a_to_t_matched", "dbac_a_to_t"]),
        (["lic_m"], ["lic_m"]),
        (["ratio", "error", "error_excess", "unnamed"], ["error_excess", "ratio"]),
        (["dpa_a_to_t", "dpa_a_to_t_excess", "dpa_a_to_t_human"], ["dpa_a_to_t_excess"]),
        (["lic_d"], ["lic_d"]),
    ],
)
def test_scores_with_a_verdict_are_shown_and_else_what_there_is(keys, shown):
    estimates = dict.fromkeys(keys, Estimate(1.0))
    assert [score.key for score in main_scores(estimates)] == shown
    assert captioner_picture(estimates).count("<circle") == len(shown)


@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")
def test_what_was_measured_what_was_returned_and_what_a_file_holds_are_shown_alike():
    measured = sway.measure(**vars(plant(200, captions=3)), details=True, bootstrap=20)
    assert picture(measured) == picture(measured.flat()) == picture(json.loads(json.dumps(measured.flat())))
    assert picture(measured) != captioner_picture(measured.estimates), "with what is behind it"
    assert "<desc>" not in picture({})


def test_a_notebook_shows_it_on_white_and_a_file_is_the_same(tmp_path):
    shown = picture({"lic": 1.0})
    shown.save(tmp_path / "nic.svg")
    assert (tmp_path / "nic.svg").read_text() == shown._repr_svg_()
    assert "background:#ffffff" in shown._repr_svg_()
    with pytest.raises(ValueError, match=r"ends in \.svg"):
        shown.save(tmp_path / "nic.png")
