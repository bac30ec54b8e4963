"""Rows of captioners: their order is by bias, and what has no upper end has none in any form."""

from captionbias.report.charts import leaderboard_chart
from captionbias.report.rows import Row, rows_csv, rows_markdown, rows_of


def row(captioner, score, value, low=None, high=None):
    return Row(captioner, "sway", score, value, low, high, "-", "s")


def test_a_gap_is_as_bad_below_0_as_above_and_of_another_score_the_largest_is_on_top():
    for score, values, order in (("sway_wrong_gap", (2, -9, 4), "bca"), ("sway_t_to_a", (2, -9, 4), "cab")):
        picture = leaderboard_chart([row(name, score, value) for name, value in zip("abc", values, strict=True)])
        assert sorted("abc", key=lambda name: picture.index(f">{name}<")) == list(order)
        assert ("second fares worse" in picture) == (score == "sway_wrong_gap")


def test_what_was_found_at_least_has_no_upper_end():
    flat = {"sway_words": 5.7, "sway_words_ci_low": 4.2, "sway_words_detectable": 2.0, "signature": "s"}
    (found,) = rows_of({"metric": "sway", "scores": flat}, "nic")
    assert (found.low, found.high, found.verdict) == (4.2, None, "more than people")
    assert "| 5.7, at least 4.2 | more than people |" in rows_markdown([found])
    assert "5.7,4.2,,more than people" in rows_csv([found])
    assert "5.7, at least 4.2" in leaderboard_chart([found])
