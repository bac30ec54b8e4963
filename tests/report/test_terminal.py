"""Tables for a terminal: every score with its interval and verdict, a dash where there is none, on 80 columns."""

import re

import numpy as np
import pytest

from captionbias.metrics import Measurement, catalogue, sway
from captionbias.report.grid import Strong
from captionbias.report.terminal import measurement_tables
from captionbias.report.views import sway_level, sway_words
from captionbias.report.wording import interval, verdict_text
from captionbias.statistics.samples import LowerBound
from captionbias.synthetic import plant
from tests.report.conftest import rendered


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_row_for_each_score_and_a_verdict_in_bold_where_it_is_judged(metric, every_metric):
    measured = every_metric.measurement(metric, "sat")
    grid, *_ = measurement_tables(measured)
    rows = grid.rows
    for score in catalogue.scores_of(metric):
        if score.in_tables and score.key in measured.estimates:
            number, said = (
                interval(measured.estimates[score.key], score.digits),
                verdict_text(score.key, measured.estimates[score.key], measured.details),
            )
            labels = {score.row, score.label}
            (row,) = (row for row in rows if row[:1] and row[0] in labels and row[1] == number)
            assert isinstance(row, Strong) == score.judged == (row[2] != "")
            assert row[2] in ("", said)
    text = rendered(grid)
    assert all(row[1] in text for row in rows if row)


@pytest.fixture(scope="module")
def swayed():
    """A captioner that calls some women men and all girls; people say that some men work, and it does not."""
    planted = vars(plant(1200, captions=4, seed=1))

    def of_men(text, value, row):
        return f"{text} working" if value == "male" and row % 3 == 0 else text

    values = planted["attributes"]
    planted["references"] = [
        [of_men(text, value, row) for text in texts]
        for row, (texts, value) in enumerate(zip(planted["references"], values, strict=True))
    ]
    for row in range(0, 1200, 2):
        name = "a man" if row % 10 == 0 else "a girl"
        planted["predictions"][row] = re.sub("(a )?(woman|lady|girl)", name, planted["predictions"][row])
    return sway.measure(**planted, bootstrap=100, details=True)


def test_sway_is_told_question_by_question(swayed):
    titles = [grid.title for grid in measurement_tables(swayed)]
    assert titles == [
        "[95% interval]",
        "Each value named wrong, and not named [95% interval]",
        "True value by what the tasks suggest",
        "Words that follow a value more than in people's captions [95% interval]",
        "Tasks that are named more for one value [95% interval]",
    ]
    assert (
        verdict_text("sway_wrong_gap", swayed.estimates["sway_wrong_gap"], swayed.details)
        == "more than people, worse for women"
    )


def test_levels_and_words_of_sway_are_those_of_its_details(swayed):
    level, more = sway_level(swayed.details), sway_words(swayed.details)
    for shown, row in zip(level.rows, swayed.details["level"], strict=True):
        assert shown[0] == row["attribute"]
        assert [cell.estimate.value for cell in shown[1:]] == [
            row[key] for key in ("wrong", "wrong_person", "unnamed", "unnamed_person")
        ]
        assert shown[1].estimate[1:3] == (row["wrong_ci_low"], row["wrong_ci_high"])
    girl = more.rows[0]
    assert (girl[:2], girl[-1]) == (["girl or boy", "female"], "yes")
    row = swayed.details["words"][0]
    assert girl[2].estimate[:3] == (row["beyond"], row["beyond_ci_low"], row["beyond_ci_high"])
    uses = [row[side][value] for value in ("female", "male") for side in ("uses_captioner", "uses_person")]
    assert girl[3:7] == uses
    assert len(sway_words(swayed.details, top=1).rows) == 1
    assert sway_words({}).rows == sway_level({}).rows == []


def test_of_several_values_a_word_may_go_with_all_but_one():
    row = {"word": "a", "attribute": "old", "kind": "more", "captioner": -9.0, "person": 0.0, "scaled": False}
    row |= {"beyond": -9.0, "beyond_ci_low": -10.0, "beyond_ci_high": -8.0}
    row |= {f"uses_{side}": {"old": 1.0, "young": 9.0} for side in ("captioner", "person")}
    assert sway_words({"words": [row]}).rows[0][1] == "not old"


def test_nothing_found_says_what_would_have_been_found():
    words = LowerBound(np.array([0.1]), np.array([-0.2, 0.4]), seen=2.0)
    measured = Measurement({"sway_words": words}, {}, metric="sway", settings={})
    assert (
        verdict_text("sway_words", measured.estimates["sway_words"])
        == "nothing found (would have seen a word in 2 of 100 captions)"
    )
    assert interval(measured.estimates["sway_words"], 1) == "0.1, at least -0.2"
    assert measured.to_frame().loc["sway_words", ["low", "high"]].isna().tolist() == [False, True]
    assert "0.100" in measured._repr_html_()
