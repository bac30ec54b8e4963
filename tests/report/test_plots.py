"""Plots: every mark is a number of the audit, every interval reaches its ends, and what is undefined has no mark."""

from __future__ import annotations

import copy
import html
from dataclasses import replace

import numpy as np
import pytest

from captionbias.analysis.alignment_quality import alignment_quality
from captionbias.analysis.audit import audit
from captionbias.analysis.consistency import Study
from captionbias.report.plots import (
    ADDS,
    TAKES,
    alignment_plot,
    consistency_plot,
    differences_plot,
    literal,
    scores_plot,
    sources_plot,
    tradeoff_plot,
    vectors_plot,
    write_html,
)
from captionbias.report.views import pair_name, score_name
from captionbias.synthetic import plant
from tests.browser import NEEDS_BROWSER, browser, new_page

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

SCORES = {
    "dbac_a_to_t_matched": "dbac",
    "dbac_a_to_t": "dbac",
    "dbac_t_to_a_matched": "dbac",
    "dbac_t_to_a": "dbac",
    "lic": "lic",
}
TRADED = {key: metric for key, metric in SCORES.items() if key.endswith("matched") or key == "lic"}


def titles(figure):
    return [one.text for one in figure.layout.annotations]


def zeros(figure, axis):
    """The panels with a line at 0 across this axis."""
    return [one[f"{axis}ref"] for one in figure.layout.shapes if one[f"{axis}0"] == one[f"{axis}1"] == 0]


def ends(values, bars):
    """Where error bars end; None where there is none."""
    reached = zip(values, bars.arrayminus, bars.array, strict=True)
    return [None if np.isnan(above) else (value - below, value + above) for value, below, above in reached]


def interval(result, key):
    return pytest.approx((result[f"{key}_ci_low"], result[f"{key}_ci_high"]))


def undefined(found, captioner, metric, key):
    """The audit as it is when a captioner has no such score."""
    comparison = copy.copy(found.comparisons[metric])
    result = {name: value for name, value in comparison.results[captioner].items() if not name.startswith(key)}
    comparison = replace(comparison, results={**comparison.results, captioner: result})
    return replace(found, comparisons={**found.comparisons, metric: comparison})


def test_every_score_is_marked_with_its_interval_in_its_panel(two):
    figure = scores_plot(two)
    assert titles(figure) == list(map(score_name, SCORES))
    assert len(figure.data) == len(SCORES)
    for trace, (key, metric) in zip(figure.data, SCORES.items(), strict=True):
        results = [two.result(metric, name) for name in two.captioners]
        assert list(trace.y) == ["nic", "sat"]
        assert list(trace.x) == [result[key] for result in results]
        assert ends(trace.x, trace.error_x) == [interval(result, key) for result in results]


def test_every_difference_is_marked_with_its_interval_beside_zero(two):
    figure = differences_plot(two)
    differences = [one for comparison in two.comparisons.values() for one in comparison.differences]
    assert titles(figure) == [score_name(one.score) for one in differences]
    for trace, one in zip(figure.data, differences, strict=True):
        assert (list(trace.y), list(trace.x)) == (["nic less sat"], [one.difference])
        assert ends(trace.x, trace.error_x) == [pytest.approx((one.ci_low, one.ci_high))]
    assert len(set(zeros(figure, "x"))) == len(differences)


def test_zero_is_marked_in_every_panel_where_it_says_something(two, alone):
    assert len(zeros(scores_plot(two), "x")) == len(set(zeros(scores_plot(two), "x"))) == len(SCORES)
    assert len(set(zeros(tradeoff_plot(two), "y"))) == len(TRADED)
    figure = scores_plot(alone)
    assert titles(figure) == ["omega A to T, captioner", "LIC x 100, captioner"]
    assert zeros(figure, "x") == []


def test_an_undefined_score_is_a_gap_and_not_zero(two):
    found = undefined(two, "nic", "dbac", "dbac_a_to_t_matched")
    first, *_ = scores_plot(found).data
    assert list(first.x) == [None, two.result("dbac", "sat")["dbac_a_to_t_matched"]]
    assert ends(first.x, first.error_x)[0] is None
    assert list(first.y) == ["nic", "sat"]
    assert list(tradeoff_plot(found).data[0].y) == [None]


def test_without_a_bootstrap_marks_have_no_bars(planted):
    given = planted["sat"]
    found = audit(
        {"sat": given.predictions}, attributes=given.attributes, metrics=["lic"], trials=2, bootstrap=0, cache=False
    )
    (trace,) = scores_plot(found).data
    assert list(trace.x) == [found.result("lic", "sat")["lic_m"]]
    assert np.isnan([*trace.error_x.array, *trace.error_x.arrayminus]).all()


@NEEDS_BROWSER
def test_a_mark_without_an_interval_does_not_look_certain(tmp_path):
    rows = [
        {"direction": "a_to_t", "attribute": "woman", "task": "knife", "amplification": 0.2},
        {
            "direction": "a_to_t",
            "attribute": "man",
            "task": "tie",
            "amplification": 0.1,
            "amplification_ci_low": 0.05,
            "amplification_ci_high": 0.2,
        },
    ]
    write_html(sources_plot(rows), tmp_path / "plot.html")
    with browser() as chromium:
        page = new_page(chromium)
        page.goto((tmp_path / "plot.html").as_uri())
        page.locator(".barlayer .point").nth(1).wait_for()
        drawn = page.locator("path.xerror").evaluate_all("bars => bars.filter((bar) => bar.getAttribute('d')).length")
    assert drawn == 1


@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_the_largest_sources_are_bars_with_their_intervals(direction, two):
    rows = two.result("dbac", "sat")["details"]["sources"][direction]
    part = "amplification_matched"
    largest = sorted((row for row in rows if part in row), key=lambda row: -abs(row[part]))[:7]
    figure = sources_plot(rows, top=7)
    (bars,) = figure.data
    assert list(bars.y) == [pair_name(row) for row in largest]
    assert list(bars.x) == [row[part] for row in largest]
    assert ends(bars.x, bars.error_x) == [interval(row, part) for row in largest]
    assert list(bars.marker.color) == [ADDS if row[part] > 0 else TAKES for row in largest]
    assert zeros(figure, "x") == ["x"]
    assert figure.layout.yaxis.autorange == "reversed"  # the largest on top


def test_without_people_bars_are_parts_of_omega(alone):
    rows = alone.result("dbac", "sat")["details"]["sources"]["a_to_t"]
    figure = sources_plot(rows)
    assert list(figure.data[0].x) == sorted((row["omega_m"] for row in rows), reverse=True)[:12]
    assert figure.layout.xaxis.title.text == "omega"


def test_bias_is_drawn_over_cider_with_its_interval(two):
    figure = tradeoff_plot(two)
    assert titles(figure) == list(map(score_name, TRADED))
    drawn = iter(figure.data)
    for key, metric in TRADED.items():
        for captioner in two.captioners:
            trace, result = next(drawn), two.result(metric, captioner)
            assert (trace.name, list(trace.x)) == (captioner, [two.quality[captioner]["cider"]])
            assert list(trace.y) == [result[key]]
            assert ends(trace.y, trace.error_y) == [interval(result, key)]
    assert next(drawn, None) is None
    assert {axis.title.text for axis in figure.select_xaxes()} == {"CIDEr"}
    assert [trace.name for trace in figure.data if trace.showlegend] == ["nic", "sat"]


def test_the_curve_of_alignment_marks_its_elbow(two):
    figure = alignment_plot(two)
    drawn = iter(figure.data)
    for direction in ("a_to_t", "t_to_a"):
        for captioner in two.captioners:
            trace = next(drawn)
            by_delta = two.result("dbac", captioner)["details"][direction]["alignment"]["by_delta"]
            assert (list(trace.x), list(trace.y)) == (by_delta["deltas"], by_delta["shares"])
            sizes = dict(zip(trace.x, trace.marker.size, strict=True))
            assert [delta for delta, size in sizes.items() if size == max(sizes.values())] == [by_delta["elbow"]]
    assert next(drawn, None) is None


def test_a_curve_that_never_rises_has_no_large_mark(two):
    found = copy.deepcopy(two)
    for direction in ("a_to_t", "t_to_a"):
        for captioner in found.captioners:
            by_delta = found.result("dbac", captioner)["details"][direction]["alignment"]["by_delta"]
            by_delta |= {"shares": [0.0] * len(by_delta["deltas"]), "elbow": None}
    assert {size for trace in alignment_plot(found).data for size in trace.marker.size} == {4}


def test_word_vectors_are_drawn_side_by_side():
    given = plant(120, captions=2)
    references = [[f"{text} slowly" for text in texts] for texts in given.references]
    vectors = {"small": "captions", "<b>other": "captions"}
    study = alignment_quality(predictions=given.predictions, references=references, vectors=vectors, captions=50)
    figure = vectors_plot(study)
    assert [trace.name for trace in figure.data] == ["small", "&lt;b&gt;other"]
    for trace, quality in zip(figure.data, study.vectors.values(), strict=True):
        assert list(trace.x) == quality.deltas.tolist()
        assert list(trace.y) == quality.shares.tolist()


def test_names_are_shown_letter_by_letter_and_a_number_is_a_name_too(planted):
    """Plotly reads tags in labels, and numbers or dates in names that look like them."""
    names = ["<b>nic</b>", "2021"]
    given = planted["nic"]
    captioners = dict(zip(names, (one.predictions for one in planted.values()), strict=True))
    found = audit(
        captioners,
        given.references,
        given.attributes,
        metrics=["lic"],
        trials=2,
        bootstrap=60,
        quality_images=10,
        cache=False,
    )
    figure = scores_plot(found)
    assert list(figure.data[0].y) == ["&lt;b&gt;nic&lt;/b&gt;", "2021"]
    assert [html.unescape(name) for name in figure.data[0].y] == names
    assert {axis.type for axis in figure.select_yaxes()} == {"category"}
    assert [trace.name for trace in tradeoff_plot(found).data] == list(map(literal, names))
    rows = [{"direction": "a_to_t", "attribute": "<i>", "task": "a&b", "amplification_matched": 0.1}]
    assert list(sources_plot(rows).data[0].y) == ["&lt;i&gt; → a&amp;b"]
    study = consistency_plot(Study(["2021", "<b>"], ["bow", "linear"], {"lic": np.array([[1.0, 2.0], [3.0, 4.0]])}, []))
    assert [list(trace.x) for trace in study.data] == [["2021", "&lt;b&gt;"]] * 2
    assert {axis.type for axis in study.select_xaxes()} == {"category"}
