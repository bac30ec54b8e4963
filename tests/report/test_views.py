"""The tables of an audit: its own numbers in their own columns, and nothing where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.analysis.audit import audit
from captionbias.report import views
from captionbias.report.terminal import ROWS, verdict
from captionbias.report.views import Column, Grid
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

DIRECTIONS = ("a_to_t", "t_to_a")
KEYS = {
    views.score_name(row.key) if row.label.startswith(" ") else row.label: (metric, row.key, row.judged)
    for metric in ("dbac", "lic")
    for row in ROWS[metric]
}


def every_table(found):
    yield from (views.scores(found), views.differences(found), views.quality(found), views.leaks(found))
    yield views.certainty(found)
    for name in found.captioners:
        yield views.words(found, name)
        for direction in DIRECTIONS:
            yield from (views.sources(found, name, direction), views.alignment(found, name, direction))


@pytest.mark.parametrize("of", ["two", "alone"])
def test_every_row_has_a_cell_for_each_column_and_reads_as_text(of, request):
    for table in every_table(request.getfixturevalue(of)):
        assert all(len(row) == len(table.columns) for row in table.rows)
        for cells in table.texts():
            assert all(isinstance(cell, str) and cell for cell in cells)


def test_nothing_is_shown_as_a_dash_and_zero_without_a_sign():
    table = Grid("", (Column("name"), Column("value", "+.2f")), [["nic", None], [None, -0.001], ["sat", 0.126]])
    assert list(table.texts()) == [["nic", "-"], ["-", "0.00"], ["sat", "+0.13"]]


@pytest.mark.parametrize("of", ["two", "alone"])
def test_scores_are_the_audit_s_own_each_once(of, request):
    found = request.getfixturevalue(of)
    rows = views.scores(found).rows
    expected = 0
    for captioner in found.captioners:
        expected += sum(key in found.result(metric, captioner) for metric, key, _ in KEYS.values())
    assert len(rows) == len({(row[0], row[1]) for row in rows}) == expected
    for captioner, name, *cells in rows:
        metric, key, judged = KEYS[name]
        result = found.result(metric, captioner)
        assert cells[:3] == [result[key], result[f"{key}_ci_low"], result[f"{key}_ci_high"]]
        p = found.comparisons[metric].p_values[captioner].get(key)
        assert cells[3:] == ([p, verdict(result, key)] if judged else [None, None])


def test_planted_amplification_is_the_verdict_of_the_biased_captioner_alone(two):
    said = {(row[0], row[1]): row[-1] for row in views.scores(two).rows}
    assert said["sat", "DBAC A to T, matched"] == "amplifies"
    assert said["nic", "DBAC A to T, matched"] == "no clear change"
    assert said["sat", "DBAC A to T, as published"] is None


def test_what_the_columns_say_is_of_the_scores_that_there_are(two, alone):
    whole, one_side = views.scores(two).meaning, views.scores(alone).meaning
    for words in ("p: how often", "amplifies", "DBAC as published", "Matched DBAC nearer to 0 than 0.01 is no clear"):
        assert words in whole
        assert words not in one_side
    assert "Omega: " in one_side
    assert "LIC of the captioner" in one_side
    judged = views.scores(two, judged=True)
    assert judged.rows == [row for row in views.scores(two).rows if row[-1] is not None]
    assert "DBAC as published" not in judged.meaning
    assert "Omega: " not in judged.meaning
    assert views.scores(alone, judged=True) == views.scores(alone)


def test_without_an_interval_there_is_no_verdict(planted):
    given = planted["sat"]
    found = audit(
        {"sat": given.predictions},
        given.references,
        given.attributes,
        metrics=["lic"],
        trials=2,
        bootstrap=0,
        quality_images=10,
        cache=False,
    )
    for row in views.scores(found).rows:
        assert row[3:6] == [None, None, None]
        assert row[6] in (None, "-")


def test_t_to_a_below_zero_with_tasks_that_people_named_is_no_mitigation():
    given = plant(400, captions=2, t_to_a=-1.0)
    found = audit(
        {"nic": given.predictions},
        given.references,
        given.attributes,
        metrics=["dbac"],
        trials=2,
        bootstrap=60,
        quality_images=10,
        cache=False,
    )
    (row,) = (row for row in views.scores(found).rows if row[1] == "DBAC T to A, matched")
    assert row[4] < 0
    assert row[-1] == "cannot tell"


def test_differences_are_those_of_the_comparisons(two):
    pairs = [one for comparison in two.comparisons.values() for one in comparison.differences]
    rows = views.differences(two).rows
    assert len(rows) == len(pairs) == 5
    for one, row in zip(pairs, rows, strict=True):
        assert row[:2] == ["nic", "sat"]
        assert KEYS[row[2]][1] == one.score
        assert row[3:] == [one.difference, one.ci_low, one.ci_high, one.p, one.p_holm]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_all_sources_together_make_the_score_and_the_largest_comes_first(direction, two):
    for captioner in two.captioners:
        table = views.sources(two, captioner, direction)
        names = [column.name for column in table.columns]
        result = two.result("dbac", captioner)
        for name, key in (("adds, matched", f"dbac_{direction}_matched"), ("adds, as published", f"dbac_{direction}")):
            assert sum(row[names.index(name)] or 0 for row in table.rows) == pytest.approx(result[key])
        sizes = [abs(row[names.index("adds, matched")] or 0) for row in table.rows]
        assert sizes == sorted(sizes, reverse=True)
        assert table.meaning.endswith("All rows together make the score.")
        cut = views.sources(two, captioner, direction, 3)
        assert cut.rows == table.rows[:3]
        whole = f"These are the 3 largest of {len(table.rows)} rows, which together make the score."
        assert cut.meaning.endswith(whole)
        assert views.sources(two, captioner, direction, len(table.rows)) == table
        assert names[-1] == "test captions, captioner"


def test_a_source_stands_beside_what_shaped_it(two):
    table = views.sources(two, "sat", "t_to_a")
    by_pair = {row[0]: row for row in table.rows}
    for source in two.result("dbac", "sat")["details"]["sources"]["t_to_a"]:
        row = by_pair[f"{source['task'] or 'no task'} → {source['attribute'] or 'nobody named'}"]
        assert row[1:3] == [source.get("named_m"), source.get("named_h")]
        assert row[-1] == source["test_captions_m"]


def test_without_people_sources_make_the_captioner_s_omega(alone):
    for captioner in alone.captioners:
        table = views.sources(alone, captioner, "a_to_t")
        assert [column.name for column in table.columns][3:6] == ["omega", "low", "high"]
        assert sum(row[3] for row in table.rows) == pytest.approx(alone.result("dbac", captioner)["omega_m_a_to_t"])
        assert {row[2] for row in table.rows} == {None}
        assert "the part of omega, how surely an attacker tells, that it makes" in table.meaning
        assert table.meaning.endswith("All rows together make omega.")
        assert "score" not in table.meaning
        assert views.sources(alone, captioner, "t_to_a").rows == []


def test_words_are_the_first_ten_of_each_value_that_speak_for_it(two):
    for captioner in two.captioners:
        rows = views.words(two, captioner).rows
        for value, found in two.words[captioner]["by_word"].items():
            expected = [[value, one["word"], one["mean"], one["count"]] for one in found[:10] if one["mean"] > 0]
            assert [row for row in rows if row[0] == value] == expected


def test_quality_has_a_column_for_each_measure_and_none_for_the_signature(two, alone):
    table = views.quality(two)
    assert [column.name for column in table.columns][1:] == ["BLEU-4", "ROUGE-L", table.columns[3].name, "CIDEr"]
    for row in table.rows:
        measured = {name: value for name, value in two.quality[row[0]].items() if name != "signature"}
        assert sorted(row[1:]) == sorted(measured.values())
    assert views.quality(alone).rows == []


def test_what_alignment_replaced_is_counted(two, alone):
    table = views.alignment(two, "nic", "a_to_t")
    report = two.result("dbac", "nic")["details"]["a_to_t"]["alignment"]
    assert [row[0] for row in table.rows] == ["slowly"]
    assert table.rows[0][3] == report["replaced_contextual"] + report["replaced_unknown"] == 480
    assert "480 human words were replaced" in table.meaning.replace(f" of {report['tokens']:,}", "")
    assert views.alignment(alone, "nic", "a_to_t").rows == []


def test_leaks_are_shares_with_the_score_on_unseen_captions(two, alone):
    rows = {(row[0], row[1]): row[2:] for row in views.leaks(two).rows}
    for captioner in two.captioners:
        result = two.result("lic", captioner)
        shares = [result["seen_m"] / 100, result["seen_d"] / 100]
        assert rows[captioner, "LIC x 100"] == [*shares, result["lic"], result["details"]["unseen"]["lic"]]
        details = two.result("dbac", captioner)["details"]["a_to_t"]
        row = rows[captioner, "DBAC A to T, matched"]
        assert row[:2] == [details["seen"]["m"] / 100, details["seen"]["h"] / 100]
        assert row[3] == details["unseen"]["dbac_matched"]
    assert {row[3] for row in views.leaks(alone).rows} == {None}
    assert {row[1] for row in views.leaks(alone).rows} == {"LIC x 100, captioner", "omega A to T, captioner"}


def test_certainty_names_the_parts_and_no_number_of_images_where_images_do_not_help(two):
    rows = {(row[0], row[1]): row[2:] for row in views.certainty(two).rows}
    for metric, comparison in two.comparisons.items():
        for captioner, parts in comparison.parts.items():
            for score, of_score in parts.items():
                needed = two.needed[metric][captioner][score]
                row = rows[captioner, views.score_name(score)]
                assert row == [of_score.standard_error, of_score.share_of_trials, needed]
    assert [column.name for column in views.certainty(two).columns][2] == "standard error, at least"
    meaning = views.certainty(two).meaning
    assert "one trial or no bootstrap" in meaning
    assert "images alone cannot halve" in meaning
    of_none = replace(two, needed={metric: {name: {} for name in two.captioners} for metric in two.needed})
    assert {cells[-1] for cells in views.certainty(of_none).texts()} == {"-"}
