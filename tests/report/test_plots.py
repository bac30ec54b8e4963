"""Plots: every mark is a number of the audit, every interval reaches its ends, and what is undefined has no mark."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.analysis.alignment_quality import alignment_quality
from captionbias.analysis.audit import audit
from captionbias.analysis.consistency import Study
from captionbias.analysis.resampling import pair_name
from captionbias.metrics import catalogue
from captionbias.report.plots import (
    ADDS,
    TAKES,
    alignment_plot,
    consistency_plot,
    differences_plot,
    scores_plot,
    sources_plot,
    tradeoff_plot,
    vectors_plot,
)
from tests.report.conftest import QUICK, changed

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

HEADLINES = [score for score in catalogue.SCORES.values() if score.headline and score.metric in catalogue.OF_CAPTIONS]


def titles(figure):
    return [one.text for one in figure.layout.annotations]


def zeros(figure, axis):
    """The panels with a line at 0 across this axis."""
    return {one[f"{axis}ref"] for one in figure.layout.shapes if one[f"{axis}0"] == one[f"{axis}1"] == 0}


def ends(values, bars):
    """Where error bars end; None where there is none."""
    reached = zip(values, bars.arrayminus, bars.array, strict=True)
    return [None if np.isnan(above) else (value - below, value + above) for value, below, above in reached]


def between(estimate):
    return pytest.approx((estimate.low, estimate.high))


def test_every_main_score_of_every_metric_is_marked_with_its_interval_in_its_panel(every_metric):
    figure = scores_plot(every_metric)
    assert titles(figure) == [score.label for score in HEADLINES]
    for trace, score in zip(figure.data, HEADLINES, strict=True):
        names = every_metric.captioners
        estimates = [every_metric.measurement(score.metric, name).estimates[score.key] for name in names]
        assert list(trace.y) == ["nic", "sat"]
        assert list(trace.x) == [estimate.value for estimate in estimates]
        assert ends(trace.x, trace.error_x) == list(map(between, estimates))
    assert len(zeros(figure, "x")) == sum(score.bounds[0] < 0 for score in HEADLINES)


def test_every_difference_is_marked_with_its_interval_beside_zero(every_metric):
    figure = differences_plot(every_metric)
    differences = [one for comparison in every_metric.comparisons.values() for one in comparison.differences]
    assert titles(figure) == [catalogue.label(one.score) for one in differences]
    for trace, one in zip(figure.data, differences, strict=True):
        assert (list(trace.y), list(trace.x)) == (["nic less sat"], [one.difference])
        assert ends(trace.x, trace.error_x) == [between(one.estimate)]
    assert len(zeros(figure, "x")) == len(differences)


def test_without_people_the_captioner_s_scores_have_no_zero(alone):
    figure = scores_plot(alone)
    assert titles(figure) == ["omega A to T, captioner", "LIC x 100, captioner"]
    assert zeros(figure, "x") == set()


def test_an_undefined_score_is_a_gap_and_not_zero(two):
    key, measured = "dbac_a_to_t_net", two.measurement("dbac", "nic")
    samples = {name: sample for name, sample in measured.samples.items() if name != key}
    found = changed(two, "dbac", "nic", samples=samples)
    first, *_ = scores_plot(found).data
    assert list(first.x) == [None, two.measurement("dbac", "sat").estimates[key].value]
    assert ends(first.x, first.error_x)[0] is None
    assert list(first.y) == ["nic", "sat"]
    assert list(tradeoff_plot(found).data[0].y) == [None]


@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_the_largest_sources_are_bars_with_their_intervals(direction, two):
    rows = two.details("dbac", "sat")["sources"][direction]
    part = "amplification_net"
    largest = sorted((row for row in rows if part in row), key=lambda row: -abs(row[part]))[:7]
    figure = sources_plot(rows, top=7)
    (bars,) = figure.data
    assert list(bars.y) == [pair_name(row) for row in largest]
    assert list(bars.x) == [row[part] for row in largest]
    intervals = [pytest.approx((row[f"{part}_ci_low"], row[f"{part}_ci_high"])) for row in largest]
    assert ends(bars.x, bars.error_x) == intervals
    assert list(bars.marker.color) == [ADDS if row[part] > 0 else TAKES for row in largest]
    assert zeros(figure, "x") == {"x"}
    assert figure.layout.yaxis.autorange == "reversed"  # the largest on top


def test_without_people_bars_are_parts_of_omega(alone):
    rows = alone.details("dbac", "sat")["sources"]["a_to_t"]
    figure = sources_plot(rows)
    assert list(figure.data[0].x) == sorted((row["omega_m"] for row in rows), reverse=True)[:12]
    assert figure.layout.xaxis.title.text == "omega"


def test_bias_is_drawn_over_cider_with_its_interval(every_metric):
    figure = tradeoff_plot(every_metric)
    judged = [score for score in HEADLINES if score.judged]
    assert titles(figure) == [score.label for score in judged]
    pairs = [(score, name) for score in judged for name in every_metric.captioners]
    for trace, (score, captioner) in zip(figure.data, pairs, strict=True):
        estimate = every_metric.measurement(score.metric, captioner).estimates[score.key]
        assert (trace.name, list(trace.x)) == (captioner, [every_metric.quality[captioner]["cider"]])
        assert list(trace.y) == [estimate.value]
        assert ends(trace.y, trace.error_y) == [between(estimate)]
    assert {axis.title.text for axis in figure.select_xaxes()} == {"CIDEr"}
    assert [trace.name for trace in figure.data if trace.showlegend] == ["nic", "sat"]
    assert len(zeros(figure, "y")) == len(judged)


def test_the_curve_of_alignment_marks_its_elbow(two):
    pairs = [(direction, name) for direction in ("a_to_t", "t_to_a") for name in two.captioners]
    for trace, (direction, captioner) in zip(alignment_plot(two).data, pairs, strict=True):
        by_delta = two.details("dbac", captioner)[direction]["alignment"]["by_delta"]
        assert (list(trace.x), list(trace.y)) == (by_delta["deltas"], by_delta["shares"])
        sizes = dict(zip(trace.x, trace.marker.size, strict=True))
        assert [delta for delta, size in sizes.items() if size == max(sizes.values())] == [by_delta["elbow"]]


def test_word_vectors_are_drawn_side_by_side(planted):
    captions, vectors = planted["nic"], {"small": "captions", "<b>other": "captions"}
    study = alignment_quality(
        predictions=captions.predictions, references=captions.references, vectors=vectors, captions=50
    )
    figure = vectors_plot(study)
    assert [trace.name for trace in figure.data] == ["small", "&lt;b&gt;other"]
    for trace, quality in zip(figure.data, study.vectors.values(), strict=True):
        assert list(trace.x) == quality.deltas.tolist()
        assert list(trace.y) == quality.shares.tolist()


def test_names_are_shown_letter_by_letter_and_a_number_is_a_name_too(planted):
    """Plotly reads tags in labels, and numbers or dates in names that look like them."""
    names = {"<b>nic</b>": "&lt;b&gt;nic&lt;/b&gt;", "2021": "2021"}
    found = audit(dict(zip(names, planted.values(), strict=True)), metrics=["lic"], **QUICK)
    figure = scores_plot(found)
    assert list(figure.data[0].y) == list(names.values())
    assert {axis.type for axis in figure.select_yaxes()} == {"category"}
    assert [trace.name for trace in tradeoff_plot(found).data] == list(names.values())
    rows = [{"direction": "a_to_t", "attribute": "<i>", "task": "a&b", "amplification_matched": 0.1}]
    assert list(sources_plot(rows).data[0].y) == ["&lt;i&gt; → a&amp;b"]
    study = consistency_plot(Study(list(names), ["bow", "linear"], {"lic": np.array([[1.0, 2.0], [3.0, 4.0]])}, {}))
    assert [list(trace.x) for trace in study.data] == [list(names.values())] * 2
    assert {axis.type for axis in study.select_xaxes()} == {"category"}
