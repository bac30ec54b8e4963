"""Tables for a terminal: every number of a measurement in its column, each word in one piece at any width."""

import re

import numpy as np
import pytest

from captionbias.bench.verdicts import LEARNED_NOTHING
from captionbias.metrics import Measurement, catalogue
from captionbias.report import views
from captionbias.report.grid import RULE, Grid, GridColumn, Scored, Strong
from captionbias.report.terminal import measurement_tables
from captionbias.report.views import sway_level, sway_words
from captionbias.report.wording import interval, verdict_text
from captionbias.statistics.samples import Estimate, LowerBound
from tests.report.conftest import changed, rendered

BY_LABEL = {score.label: score for score in catalogue.SCORES.values()}


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_row_for_each_score_and_a_verdict_in_bold_where_it_is_judged(metric, every_metric):
    measured = every_metric.measurement(metric, "sat")
    grid = next(grid for grid in measurement_tables(measured) if grid.title == "[95% interval]")
    rows = iter([row for row in grid.rows if row])
    for score in catalogue.scores_of(metric):
        if score.in_tables and score.key in measured.estimates:
            found, row = measured.estimates[score.key], next(rows)
            assert row[0] in (score.row, score.label)
            assert row[1] == interval(found, score.digits)
            assert isinstance(row, Strong) == score.judged == (row[2] != "")
            assert row[2] in ("", verdict_text(score.key, found, measured.details))
    text = rendered(grid)
    assert all(row[1] in text for row in grid.rows if row)


def test_sway_is_told_question_by_question(happy):
    grids, details = list(measurement_tables(happy.measurement("sway", "nic"))), happy.details("sway", "nic")
    assert grids[0].title.startswith("captioner ")
    assert [grid.title for grid in grids[1:]] == [
        "[95% interval]",
        "Each value named wrong, and not named [95% interval]",
        "True value by what the tasks suggest",
        "Captions that use any word that follows their value",
        "Words that follow a value more than in people's captions [95% interval]",
        "Tasks that are named more for one value [95% interval]",
    ]
    chosen = {row["attribute"]: row["columns"][0] for row in details["words_chosen"] if row["columns"]}
    for value, score, words in grids[4].rows:
        column = chosen[value]
        people = f"{column['uses_captioner']:.1f} ({column['uses_person']:.1f})"
        assert words.startswith(f"{column['words'].replace('|', ' or ')} {people}")
        assert score.endswith(", at least " + score.split()[-1])


def test_levels_and_words_of_sway_are_those_of_its_details(happy):
    details = happy.details("sway", "nic")
    level, more = sway_level(details), sway_words(details)
    for shown, row in zip(level.rows, details["level"], strict=True):
        assert shown[0] == row["attribute"]
        keys = ("wrong", "wrong_person", "unnamed", "unnamed_person")
        assert [cell.estimate.value for cell in shown[1:]] == [row[key] for key in keys]
        assert shown[1].estimate[1:3] == (row["wrong_ci_low"], row["wrong_ci_high"])
    (girl,) = (row for row in more.rows if row[0] == "girl or boy")
    assert girl[1] == "female"
    assert {"happy": "yes", "girl or boy": "no"}.items() <= {row[0]: row[-1] for row in more.rows}.items()
    row = details["words"][more.rows.index(girl)]
    assert girl[2].estimate[:3] == (row["beyond"], row["beyond_ci_low"], row["beyond_ci_high"])
    uses = [row[side][value] for value in ("female", "male") for side in ("uses_captioner", "uses_person")]
    assert girl[3:7] == uses
    assert len(sway_words(details, top=1).rows) == 1
    assert sway_words({}).rows == sway_level({}).rows == []


def test_of_several_values_a_word_may_go_with_all_but_one_and_is_told_of_the_others():
    row = {"word": "a", "attribute": "old", "kind": "more", "captioner": -9.0, "person": 0.0, "scaled": False}
    row |= {"beyond": -9.0, "beyond_ci_low": -10.0, "beyond_ci_high": -8.0}
    row |= {f"uses_{side}": {"old": 1.0, "young": 9.0} for side in ("captioner", "person")}
    assert sway_words({"words": [row]}).rows[0][1] == "not old"
    uses = {"a": 10.0, "b": 0.0, "c": 2.0, "d": 0.0, "e": 2.0}
    row = {"word": "smiling", "attribute": "a", "kind": "more", "captioner": 9.0, "beyond": 9.0, "scaled": True}
    grid = sway_words({"words": [row | {"uses_captioner": uses}]})
    assert [column.name for column in grid.columns][-2:] == ["of it: captioner", "of the others: captioner"]
    assert grid.rows[0][-2:] == [10.0, 1.0]


def test_nothing_found_says_what_would_have_been_found():
    words = LowerBound(np.array([0.1]), np.array([-0.2, 0.4]), seen=2.0)
    measured = Measurement({"sway_words": words}, {}, metric="sway", settings={})
    told = verdict_text("sway_words", measured.estimates["sway_words"])
    assert told == "nothing found (would have seen a word in 2 of 100 captions)"
    assert measured.to_frame().loc["sway_words", ["low", "high"]].isna().tolist() == [False, True]
    assert "0.100" in measured._repr_html_()


def test_scores_of_every_metric_have_their_intervals_p_values_and_verdicts(every_metric):

    def told(measured, captioner, score):
        verdict, one = every_metric.verdicts.get((captioner, score.key), "-"), measured.estimates[score.key]
        return f"{verdict}: {one.doubt}" if verdict == "cannot tell" and one.doubt == LEARNED_NOTHING else verdict

    expected = []
    for captioner in every_metric.captioners:
        for score in [score for name in catalogue.of_captions() for score in catalogue.scores_of(name)]:
            measured = every_metric.measurement(score.metric, captioner)
            if score.in_tables and score.key in measured.estimates:
                p = every_metric.comparisons[score.metric].p_values[captioner].get(score.key)
                judged = [p, told(measured, captioner, score)] if score.judged else [None, None]
                seen = measured.estimates[score.key].detectable if score.judged else None
                value = (measured.estimates[score.key], score.digits)
                expected.append([captioner, score.label, value, seen, *judged])
    assert sorted(views.scores(every_metric).rows, key=str) == sorted(expected, key=str)
    assert {BY_LABEL[row[1]].metric for row in expected} == set(catalogue.of_captions())


def test_why_one_cannot_tell_is_told_with_the_verdict(two):
    longer = changed(two, "lic", "nic", doubts={"lic": "longer than people's"})
    for grid in (views.scores(longer), views.papers(longer), *measurement_tables(longer.measurement("lic", "nic"))):
        assert "cannot tell: longer than people's" in [row[-1] for row in grid.rows if row]


def test_differences_are_those_of_the_comparisons_of_every_metric(every_metric):
    pairs = [one for comparison in every_metric.comparisons.values() for one in comparison.differences]
    rows = views.differences(every_metric.comparisons.values()).rows
    assert {catalogue.SCORES[one.score].metric for one in pairs} == set(catalogue.of_captions())
    for one, row in zip(pairs, rows, strict=True):
        assert row[:3] == ["nic", "sat", catalogue.label(one.score)]
        assert row[3:] == [(one.estimate, catalogue.SCORES[one.score].digits), one.p, one.p_holm]


HEADS = ["word", "goes with", "beyond people", "of female: captioner", "of female: people", "of male: captioner"]
ROW = ["lady or gentleman", "female", Scored(Estimate(-13.8, -14.3, -13.2), 1), 14.6, 11.0, 16.3]
WORDS = Grid(
    "Words that follow a value [95% interval]",
    tuple(GridColumn(name, "" if number < 2 else ".1f") for number, name in enumerate([*HEADS, "not only said more"])),
    [Strong([*ROW, "yes\nof course"]), RULE, ["  [b]size[/b] counted as wrong", *ROW[1:], "no"]],
    "Of 100 captions.",
)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_word_of_a_head_and_no_interval_is_cut(width):
    text = rendered(WORDS, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    words = set(re.findall(r"\S+", text))
    assert words >= {word for column in WORDS.columns for word in column.name.split()}
    assert words >= {"gentleman", "[b]size[/b]", "14.6", "yes"}
    assert not re.search("yes +of", text), "a line of a cell stays one"
    assert text.count("[-14.3, -13.2]") == 2
    assert (text.count(WORDS.title), text.count(WORDS.meaning)) == (1, 1)


def test_columns_for_which_there_is_no_room_go_below_beside_the_first_and_rows_keep_their_indent():
    assert rendered(WORDS, 200).count("gentleman") == 1
    assert rendered(WORDS, 60).count("gentleman") == 2
    lines = rendered(WORDS, 60).splitlines()
    assert [line.split()[0] for line in lines if "goes" in line or "only" in line] == ["goes", "not"]
    text = rendered(WORDS, 40)
    assert text.count("\n  counted as") == text.count("\n  wrong") == 3
    assert not re.search("^(counted|as|wrong)", text, re.MULTILINE)


@pytest.mark.parametrize("width", [4, 20, 60])
def test_a_name_that_is_longer_than_the_terminal_is_folded(width):
    name = "captioner" * 10
    grid = Grid("", (GridColumn(name), GridColumn("score", ".1f")), [[name, 1.5]])
    text = rendered(grid, width)
    assert name in re.sub(r"\s|1\.5|score|─", "", text)
    assert max(map(len, text.splitlines())) <= width
