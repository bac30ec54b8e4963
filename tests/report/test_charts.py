"""Charts and the one picture: every number is told, its mark is where it is, and everything fits."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from captionbias.bench.catalogue import main_scores
from captionbias.metrics import catalogue, sway
from captionbias.report import charts
from captionbias.report.drawn import WIDE, naming_drawing, words_drawing
from captionbias.report.picture import captioner_picture, picture
from captionbias.report.portrait import audit_portrait
from captionbias.report.rows import Row, rows_csv, rows_markdown, rows_of
from captionbias.report.svg import CHARACTER, document
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

SVG = "{http://www.w3.org/2000/svg}"


def row(captioner, score, value, low=None, high=None):
    return Row(captioner, "sway", score, value, low, high, "-", "s")


def test_every_number_is_in_its_chart_and_no_name_is_a_part_of_the_page():
    chart = charts.leaderboard_chart([row("<b>nic</b>", "lic", 20.0, 17.0, 23.0), row("2021", "lic", 1.0, -2.0, 4.0)])
    told = {one.text for one in ElementTree.fromstring(chart).iter(f"{SVG}text")}
    assert {"20.0 [17.0, 23.0]", "1.0 [-2.0, 4.0]"} <= told
    assert "<b>" not in chart


def test_a_mark_and_the_ends_of_its_interval_are_where_their_numbers_are():
    numbers = [Estimate(3.0, 1.0, 5.0), Estimate(-2.0, -4.0, 0.5), Estimate(0.0)]
    entries = [charts.Entry(str(number), one) for number, one in enumerate(numbers)]
    panel = charts.Panel("LIC", [*entries, charts.Entry("undefined", None)], catalogue.SCORES["lic"])
    root = ElementTree.fromstring(charts.intervals([panel], "Scores"))
    marks = [float(one.get("cx")) for one in root.iter(f"{SVG}circle")]
    assert len(marks) == 3
    unit = (marks[0] - marks[1]) / 5
    thick = [one for one in root.iter(f"{SVG}line") if one.get("stroke-width") == "3"]
    ends = [[float(one.get(end)) for end in ("x1", "x2")] for one in thick]
    wanted = [[marks[2] + unit * end for end in (one.low, one.high)] for one in numbers[:2]]
    assert np.allclose(ends, wanted, atol=0.2)
    texts = {one.text for one in root.iter(f"{SVG}text")}
    assert {interval(one, 1) for one in numbers} | {"undefined"} <= texts


def test_a_gap_is_as_bad_below_0_as_above_and_of_another_score_the_largest_is_on_top():
    for score, values, order in (("sway_wrong_gap", (2, -9, 4), "bca"), ("sway_t_to_a", (2, -9, 4), "cab")):
        picture = charts.leaderboard_chart([row(name, score, value) for name, value in zip("abc", values, strict=True)])
        assert sorted("abc", key=lambda name: picture.index(f">{name}<")) == list(order)
        assert ("second fares worse" in picture) == (score == "sway_wrong_gap")


def test_what_was_found_at_least_has_no_upper_end():
    flat = {"sway_words": 5.7, "sway_words_ci_low": 4.2, "sway_words_detectable": 2.0, "signature": "s"}
    (found,) = rows_of({"metric": "sway", "scores": flat}, "nic")
    assert (found.low, found.high, found.verdict) == (4.2, None, "more than people")
    assert "| 5.7, at least 4.2 | more than people |" in rows_markdown([found])
    assert "5.7,4.2,,more than people" in rows_csv([found])
    assert "5.7, at least 4.2" in charts.leaderboard_chart([found])


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("dbac_a_to_t_net dbac_a_to_t dbac_a_to_t_matched omega_m_a_to_t", "dbac_a_to_t_net"),
        ("dbac_a_to_t dbac_a_to_t_matched", "dbac_a_to_t_matched dbac_a_to_t"),
        ("lic_m", "lic_m"),
        ("ratio error error_excess unnamed", "error_excess ratio"),
        ("dpa_a_to_t dpa_a_to_t_excess dpa_a_to_t_human", "dpa_a_to_t_excess"),
    ],
)
def test_scores_with_a_verdict_are_shown_and_else_what_there_is(keys, shown):
    assert [score.key for score in main_scores(keys.split())] == shown.split()


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
