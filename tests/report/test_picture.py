"""The one picture of a captioner: every number in it is that of the measurement, and zero is a person."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from captionbias.metrics import sway
from captionbias.report.matrix import main_scores
from captionbias.report.picture import captioner_picture, picture
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

A_TO_T, T_TO_A = "dbac_a_to_t_net", "dbac_t_to_a_net"
SVG = "{http://www.w3.org/2000/svg}"
DBAC = {A_TO_T: Estimate(0.09, 0.08, 0.1), T_TO_A: Estimate(-0.05, -0.06, -0.04)}


def elements(picture, name):
    return list(ElementTree.fromstring(picture).iter(f"{SVG}{name}"))


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
    with pytest.raises(ValueError, match=r"does not end in \.svg"):
        shown.save(tmp_path / "nic.png")
