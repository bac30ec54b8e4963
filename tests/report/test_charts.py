"""Charts: every mark is a number of the result, every interval reaches its ends, what is undefined has no mark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from captionbias.analysis.alignment_quality import alignment_quality
from captionbias.analysis.audit import audit
from captionbias.analysis.consistency import consistency
from captionbias.metrics import catalogue
from captionbias.report import charts
from captionbias.report.picture import main_scores
from captionbias.report.rows import Row
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate
from tests.report.conftest import QUICK, changed

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = r"-?\d+\.?\d*"


def elements(svg, name):
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{name}"))


def texts(svg):
    return [one.text for one in elements(svg, "text")]


def attribute(one, name):
    return float(one.get(name))


def centre(mark):
    """Where a mark is: a circle, or the middle of a triangle."""
    if mark.tag == f"{SVG}circle":
        return attribute(mark, "cx"), attribute(mark, "cy")
    corners = [tuple(map(float, pair.split(","))) for pair in mark.get("points").split()]
    return corners[0][0], sum(y for _, y in corners) / 3


def marks(svg):
    """What each row is marked with, from the top: its place, its class, and the ends of its interval."""
    lines = [one for one in elements(svg, "line") if one.get("stroke-width") in ("3", "1.5") and one.get("style")]
    found = []
    for one in (*elements(svg, "circle"), *elements(svg, "polygon")):
        x, y = centre(one)
        ends = [
            (attribute(of, "x1"), attribute(of, "x2")) for of in lines if abs(attribute(of, "y1") - y) < 3
        ]  # a triangle's middle is not its mark's
        found.append((y, x, one.get("class"), ends[0] if ends else None))
    return [rest for _, *rest in sorted(found)]


def scales(svg):
    """Of each panel the value at a place, from two ticks of its axis."""
    grid = [one for one in elements(svg, "line") if one.get("class") == "grid"]
    by_row = {}
    for one in grid:
        by_row.setdefault(attribute(one, "y2"), []).append(attribute(one, "x1"))
    found = []
    for bottom, places in sorted(by_row.items()):
        labels = {
            attribute(one, "x"): float(one.text)
            for one in elements(svg, "text")
            if attribute(one, "y") == bottom + 14 and re.fullmatch(NUMBER, one.text)
        }
        first, last = min(places), max(places)
        slope = (labels[last] - labels[first]) / (last - first)
        found.append(lambda x, at=first, value=labels[first], slope=slope: value + slope * (x - at))
    return found


def main_estimates(audit):
    """Of each main score every captioner's estimate, the largest first."""
    for score in charts.shown_scores(audit):
        of = {name: audit.measurement(score.metric, name).estimates[score.key] for name in audit.captioners}
        yield score, dict(sorted(of.items(), key=lambda one: -one[1].value))


@pytest.mark.parametrize("width", ["wide", "narrow"])
def test_every_main_score_is_a_panel_with_every_captioner_its_mark_and_its_interval(every_metric, width):
    svg = getattr(charts.scores_chart(every_metric), width)
    drawn, panels = marks(svg), scales(svg)
    written = texts(svg)
    assert len(panels) == len(list(main_estimates(every_metric)))
    for (score, estimates), value in zip(main_estimates(every_metric), panels, strict=True):
        title = charts.question(every_metric, score)
        assert any(one == title or (one.endswith("…") and title.startswith(one[:-1])) for one in written)
        reach = abs(value(300) - value(299))  # of a pixel
        for name, estimate in estimates.items():
            x, _, ends = drawn.pop(0)
            assert name in written
            assert interval(estimate, score.digits) in written
            assert value(x) == pytest.approx(estimate.value, abs=reach)
            assert tuple(map(value, ends)) == pytest.approx((estimate.low, estimate.high), abs=reach)
    assert drawn == []


def test_scores_of_one_unit_have_one_scale_and_net_dbac_has_a_person_s_band(two):
    svg = charts.scores_chart(two).wide
    sway, *_, there, back, other = scales(svg)
    assert there(300) == pytest.approx(back(300)) != pytest.approx(other(300))
    assert sway(300) != pytest.approx(there(300))
    bands = [one for one in elements(svg, "rect") if one.get("class") == "person"]
    assert len(bands) == 2
    for band in bands:
        left, right = attribute(band, "x"), attribute(band, "x") + attribute(band, "width")
        assert (there(left), there(right)) == pytest.approx((-0.01, 0.01), abs=1e-3)


def test_a_mark_has_the_shape_and_the_colour_of_its_verdict_and_the_text_says_it_too(two):
    svg = charts.scores_chart(two).wide
    kinds = [kind for _, kind, _ in marks(svg)]
    assert "amplifies" in kinds
    assert len(elements(svg, "polygon")) == sum(kind in ("amplifies", "mitigates") for kind in kinds)
    (told,) = elements(svg, "desc")
    assert told.text.count(" amplifies") == kinds.count("amplifies")
    assert ElementTree.fromstring(svg).get("role") == "img"


def test_published_scores_are_hollow_marks_below_each_captioner_s(two):
    svg = charts.scores_chart(two, published=True).wide
    kinds = [kind for _, kind, _ in marks(svg)]
    assert kinds.count("hollow outline") == 4
    first = kinds.index("hollow outline")
    assert kinds[first::2][:4] == ["hollow outline"] * 4
    published = two.measurement("dbac", "sat").estimates["dbac_a_to_t"]
    assert interval(published, 3) in texts(svg)
    assert "hollow" not in charts.scores_chart(two).wide


def test_an_undefined_score_has_a_name_and_no_mark(two):
    key, measured = "dbac_a_to_t_net", two.measurement("dbac", "nic")
    samples = {name: sample for name, sample in measured.samples.items() if name != key}
    svg = charts.scores_chart(changed(two, "dbac", "nic", samples=samples)).wide
    assert len(marks(svg)) == len(marks(charts.scores_chart(two).wide)) - 1
    assert texts(svg).count("nic") == texts(charts.scores_chart(two).wide).count("nic")


def test_without_people_the_captioner_s_scores_have_no_zero_and_no_sides(alone):
    svg = charts.scores_chart(alone).wide
    assert {"omega A to T, captioner", "LIC x 100, captioner"} <= set(texts(svg))
    assert charts.LESS not in texts(svg)
    assert [one for one in elements(svg, "line") if one.get("class") == "zero"] == []


@pytest.mark.parametrize(("baseline", "other", "sign"), [("sat", "nic", 1), ("nic", "sat", -1)])
def test_differences_are_the_other_captioner_less_the_baseline(two, baseline, other, sign):
    svg = charts.differences_chart(two, baseline).wide
    keys = [score.key for score in charts.shown_scores(two)]
    found = {one.score: one for of in two.comparisons.values() for one in of.differences if one.score in keys}
    assert texts(svg).count(other) == len(found)
    assert baseline not in texts(svg)
    for (x, kind, ends), value, one in zip(marks(svg), scales(svg), found.values(), strict=True):
        assert sign * value(x) == pytest.approx(one.difference, abs=1e-9 + 0.05 * abs(one.difference))
        low, high = sorted((sign * one.ci_low, sign * one.ci_high))
        assert list(map(value, ends)) == pytest.approx([low, high], abs=1e-9 + 0.02 * (high - low))
        clear = "amplifies" if sign * one.difference > 0 else "mitigates"
        assert kind == (clear if one.p_holm < charts.SURE else "unclear")


def test_a_leaderboard_has_the_most_biased_on_top():
    rows = [
        Row("one", "lic", "lic", 1.0, -1.0, 3.0, "unclear", "s"),
        Row("two", "lic", "lic", 5.0, 4.0, 6.0, "amplifies", "s"),
        Row("two", "lic", "leakage", 5.0, 4.0, 6.0, "-", "s"),
    ]
    svg = charts.leaderboard_chart(rows).wide
    assert [text for text in texts(svg) if text in ("one", "two")] == ["two", "one"]
    assert [kind for _, kind, _ in marks(svg)] == ["amplifies", "unclear"]


def test_each_encoder_has_its_mark_for_each_captioner_and_score(planted):
    study = consistency(planted, ["bow", "linear"], metrics=["lic"], preset="fast", trials=2, bootstrap=60, cache=False)
    svg = charts.consistency_chart(study).wide
    assert len(marks(svg)) == sum(values.size for values in study.scores.values())
    assert texts(svg).count("bow") == texts(svg).count("linear") == len(study.scores) * 2


def test_bias_is_drawn_over_cider_with_numbered_marks(every_metric):
    svg = charts.tradeoff_chart(every_metric).wide
    scores = charts.shown_scores(every_metric)
    assert len(elements(svg, "circle")) == 2 * len(scores)
    assert {*every_metric.captioners, "CIDEr", *(score.label for score in scores)} <= set(texts(svg))
    better = max(every_metric.captioners, key=lambda name: every_metric.quality[name]["cider"])
    places = [attribute(one, "cx") for one in elements(svg, "circle")[:2]]
    assert places.index(max(places)) == every_metric.captioners.index(better)


def test_the_curve_of_alignment_marks_its_elbow(two):
    svg = charts.alignment_chart(two).wide
    reports = [charts.by_delta(two, name, direction) for direction in ("a_to_t", "t_to_a") for name in two.captioners]
    drawn = [one for one in elements(svg, "polyline") if len(one.get("points").split()) > 2]
    for line, of in zip(drawn, reports, strict=True):
        assert len(line.get("points").split()) == len(of["deltas"])
    assert len(elements(svg, "circle")) == sum(of["elbow"] is not None for of in reports)
    assert len({one.get("stroke-dasharray") for one in drawn}) == 2  # told apart without colour


def test_word_vectors_are_drawn_side_by_side_and_names_are_text(planted):
    captions, vectors = planted["nic"], {"small": "captions", "<b>other": "captions"}
    study = alignment_quality(
        predictions=captions.predictions, references=captions.references, vectors=vectors, captions=50
    )
    assert {"small", "<b>other"} <= set(texts(charts.vectors_chart(study).narrow))


def test_names_are_shown_letter_by_letter(planted):
    names = ["<b>nic</b>", "2021"]
    found = audit(dict(zip(names, planted.values(), strict=True)), metrics=["lic"], **QUICK)
    for chart in (charts.scores_chart(found), charts.tradeoff_chart(found), charts.differences_chart(found, "2021")):
        for svg in chart:
            assert "<b>" not in svg
            assert names[0] in texts(svg)


def test_a_bar_has_whiskers_only_where_there_is_an_interval():
    row = {"direction": "a_to_t", "attribute": "woman", "task": "knife", "amplification": 0.2}
    certain = {"amplification_ci_low": 0.1, "amplification_ci_high": 0.3}
    plain, whole = (ElementTree.fromstring(charts.pair_bar(one, 0.4)) for one in (row, row | certain))
    plain_lines, lines = ([one for one in bar.iter() if one.tag.endswith("line")] for bar in (plain, whole))
    assert (len(plain_lines), len(lines)) == (1, 4)  # the first is zero
    less = charts.pair_bar(row | {"amplification": -0.2}, 0.4)
    assert 'class="mitigates"' in less
    assert 'class="amplifies"' in charts.pair_bar(row, 0.4)
    assert 'class="unclear"' in charts.pair_bar({"omega_m": 0.3}, 0.4)


def test_what_is_shown_of_every_metric_are_the_scores_of_its_picture(every_metric):
    shown = [score.key for score in charts.shown_scores(every_metric)]
    estimates = {}
    for metric in catalogue.of_captions():
        estimates |= every_metric.measurement(metric, "nic").estimates
    assert set(shown) >= {score.key for score in main_scores(estimates)}


def test_a_chart_of_one_value_without_an_interval_has_a_scale():
    panel = charts.Panel("LIC", [charts.Entry("nic", Estimate(0.0))], "lic")
    for svg in charts.intervals([panel, replace_entries(panel)], "Scores"):
        assert len(marks(svg)) == 1


def replace_entries(panel):
    return panel._replace(title="undefined", entries=[charts.Entry("sat", None)])
