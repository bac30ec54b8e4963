"""The tables of an audit: its numbers in their columns, and nothing where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.bench.verdicts import detectable
from captionbias.metrics import catalogue
from captionbias.report import views
from captionbias.report.wording import pair_name

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

DIRECTIONS = ("a_to_t", "t_to_a")
BY_LABEL = {score.label: score for score in catalogue.SCORES.values()}


def test_scores_of_every_metric_have_their_intervals_p_values_and_verdicts(every_metric):
    expected = []
    for captioner in every_metric.captioners:
        for score in [score for name in catalogue.of_captions() for score in catalogue.scores_of(name)]:
            measured = every_metric.measurement(score.metric, captioner)
            if score.in_tables and score.key in measured.estimates:
                p = every_metric.comparisons[score.metric].p_values[captioner].get(score.key)
                judged = [p, every_metric.verdicts.get((captioner, score.key), "-")] if score.judged else [None, None]
                seen = detectable(measured.estimates, score.key) if score.judged else None
                value = (measured.estimates[score.key], score.digits)
                expected.append([captioner, score.label, value, seen, *judged])
    assert sorted(views.scores(every_metric).rows, key=str) == sorted(expected, key=str)
    assert {BY_LABEL[row[1]].metric for row in expected} == set(catalogue.of_captions())


def test_differences_are_those_of_the_comparisons_of_every_metric(every_metric):
    pairs = [one for comparison in every_metric.comparisons.values() for one in comparison.differences]
    rows = views.differences(every_metric.comparisons.values()).rows
    assert {catalogue.SCORES[one.score].metric for one in pairs} == set(catalogue.of_captions())
    for one, row in zip(pairs, rows, strict=True):
        assert row[:3] == ["nic", "sat", catalogue.label(one.score)]
        assert row[3:] == [(one.estimate, catalogue.SCORES[one.score].digits), one.p, one.p_holm]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_all_sources_together_make_the_score_and_the_largest_comes_first(direction, two):
    for captioner in two.captioners:
        table = views.sources(two, captioner, direction)
        names = [column.name for column in table.columns]
        estimates = two.measurement("dbac", captioner).estimates
        for name, form in (("adds, net", "_net"), ("adds, matched", "_matched"), ("adds, as published", "")):
            whole = sum(row[names.index(name)] or 0 for row in table.rows)
            assert whole == pytest.approx(estimates[f"dbac_{direction}{form}"].value)
        sizes = [abs(row[names.index("adds, net")] or 0) for row in table.rows]
        assert sizes == sorted(sizes, reverse=True)
        by_pair = {row[0]: (*row[1:3], row[-1]) for row in table.rows}
        for source in two.details("dbac", captioner)["sources"][direction]:
            assert by_pair[pair_name(source)] == tuple(map(source.get, ("named_m", "named_h", "test_captions_m")))
        cut = views.sources(two, captioner, direction, 3)
        assert cut.rows == table.rows[:3]
        assert cut.meaning == f"{table.meaning} These are the 3 largest of {len(table.rows)}."


def test_what_alignment_replaced_is_counted(two, alone):
    table = views.alignment(two, "nic", "a_to_t")
    report = two.details("dbac", "nic")["a_to_t"]["alignment"]
    assert [row[0] for row in table.rows] == ["slowly"]
    assert table.rows[0][3] == report["replaced_contextual"] + report["replaced_unknown"] == 480
    assert "480 human words were replaced" in table.meaning.replace(f" of {report['tokens']:,}", "")
    assert views.alignment(alone, "nic", "a_to_t").rows == []


def test_leaks_are_shares(two, alone):
    rows = {(row[0], row[1]): row[2:] for row in views.leaks(two).rows}
    for captioner in two.captioners:
        facts = two.measurement("lic", captioner).facts
        seen, human, _ = rows[captioner, "LIC x 100"]
        assert [100 * seen, 100 * human] == pytest.approx([facts["seen_m"], facts["seen_d"]])
        dbac = two.details("dbac", captioner)["a_to_t"]
        for form, of in (("matched", ""), ("net", "_net")):
            seen, human, value = rows[captioner, f"DBAC A to T, {form}"]
            assert [100 * seen, 100 * human] == pytest.approx([dbac["seen"][f"m{of}"], dbac["seen"][f"h{of}"]])
            assert value == two.measurement("dbac", captioner).estimates[f"dbac_a_to_t_{form}"].value
    assert {row[3] for row in views.leaks(alone).rows} == {None}
    assert {row[1] for row in views.leaks(alone).rows} == {"LIC x 100, captioner", "omega A to T, captioner"}


def test_certainty_has_the_parts_of_the_variance_and_a_dash_where_images_do_not_help(two):
    rows = {(row[0], row[1]): row[2:] for row in views.certainty(two).rows}
    for captioner, parts in two.comparisons["lic"].parts.items():
        needed = two.needed["lic"][captioner]["lic"]
        expected = [parts["lic"].standard_error, parts["lic"].share_of_trials, needed]
        assert rows[captioner, "LIC x 100"] == expected
    nothing = {metric: {name: {} for name in two.captioners} for metric in two.needed}
    grid = views.certainty(replace(two, needed=nothing))
    assert {cells[-1] for cells in grid.texts()} == {"-"}
    assert "images alone cannot halve" in grid.meaning
