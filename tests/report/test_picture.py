"""The one picture: every number in it is that of the measurement, and it fits its width."""

import json
from xml.etree import ElementTree

import pytest

from captionbias.bench.catalogue import main_scores
from captionbias.metrics import sway
from captionbias.report.drawn import WIDE, naming_drawing, words_drawing
from captionbias.report.picture import captioner_picture, picture
from captionbias.report.portrait import audit_portrait
from captionbias.report.svg import CHARACTER, document
from captionbias.synthetic import plant

A_TO_T = "dbac_a_to_t_net"
SVG = "{http://www.w3.org/2000/svg}"


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
    assert [score.key for score in main_scores(keys)] == shown


def test_what_was_measured_what_was_returned_and_what_a_file_holds_are_shown_alike():
    measured = sway.measure(**vars(plant(200, captions=3)), details=True, bootstrap=20)
    flat = measured.flat()
    assert picture(measured) == picture(flat) == picture(json.loads(json.dumps(flat)))
    without = {key: value for key, value in flat.items() if key != "details"}
    assert picture(measured) != picture(without), "with what is behind it"
    assert picture(measured) == captioner_picture({"sway": flat}, "captioner")


@pytest.mark.parametrize("draw", [naming_drawing, words_drawing])
def test_nothing_is_cut_and_every_captioner_is_there(happy, draw):
    drawing = draw(audit_portrait(happy))
    root = ElementTree.fromstring(document([drawing], WIDE, "title"))
    texts = list(root.iter(f"{SVG}text"))
    assert "nic" in [one.text for one in texts]
    for one in texts:
        size = float(one.get("font-size", 13)) * CHARACTER * 0.9 * len(one.text)
        start = float(one.get("x")) - size * {"middle": 0.5, "end": 1.0}.get(one.get("text-anchor"), 0.0)
        assert -size / 2 <= start <= start + size <= WIDE + 8, one.text
        assert 0 < float(one.get("y")) < drawing.height
    dots = [float(one.get("cx")) for one in root.iter(f"{SVG}circle")]
    assert len(dots) == (
        2 + 2 * 2 * 2 if draw is naming_drawing else 0
    )  # the legend; two of each gender, of nic and a person


def test_a_notebook_shows_it_on_white_and_a_file_is_the_same(tmp_path):
    shown = picture({"lic": 1.0, "signature": "metric:lic"})
    shown.save(tmp_path / "nic.svg")
    assert (tmp_path / "nic.svg").read_text() == shown._repr_svg_()
    assert "background:#ffffff" in shown._repr_svg_()
    with pytest.raises(ValueError, match=r"does not end in \.svg"):
        shown.save(tmp_path / "nic.png")
