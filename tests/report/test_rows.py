"""Rows of many captioners: their order is by bias, and what has no upper end has none in any form."""

from __future__ import annotations

import pandas as pd

from captionbias.report.charts import leaderboard_chart
from captionbias.report.rows import Row, leaderboard, rows_csv, rows_markdown, rows_of, write_table


def row(captioner, score, value, low=None, high=None):
    return Row(captioner, "sway", score, value, low, high, "-", "s")


def test_a_gap_is_as_bad_below_0_as_above():
    rows = [row("a", "sway_wrong_gap", 2.0), row("b", "sway_wrong_gap", -9.0), row("c", "sway_wrong_gap", 4.0)]
    rows.append(row("d", "sway_words", 1.0))
    found = leaderboard(rows)
    assert [line[0] for line in found.rows] == ["b", "c", "a", "d"]
    assert "as bad below 0 as above" in found.meaning
    picture = leaderboard_chart(rows)
    assert picture.index(">b<") < picture.index(">c<") < picture.index(">a<")
    assert "second fares worse" in picture


def test_without_gaps_the_most_biased_is_on_top():
    found = leaderboard([row("a", "sway_t_to_a", -9.0), row("b", "sway_t_to_a", 1.0)])
    assert [line[0] for line in found.rows] == ["b", "a"]
    assert "gap" not in found.meaning


def test_what_was_found_at_least_has_no_upper_end(tmp_path):
    flat = {"sway_words": 5.7, "sway_words_ci_low": 4.2, "sway_words_detectable": 2.0, "signature": "s"}
    (found,) = rows_of({"metric": "sway", "scores": flat}, "nic")
    assert (found.low, found.high, found.verdict) == (4.2, None, "more than people")
    assert "| 5.7, at least 4.2 | more than people |" in rows_markdown([found])
    assert "5.7,4.2,,more than people" in rows_csv([found])
    write_table([found], tmp_path / "rows.parquet")
    assert pd.isna(pd.read_parquet(tmp_path / "rows.parquet").high[0])
    assert "5.7, at least 4.2" in leaderboard_chart([found])
