"""Tables for a terminal: every score with its interval and verdict, a dash where there is none, on 80 columns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from captionbias.metrics import catalogue
from captionbias.report.grid import Strong
from captionbias.report.terminal import measurement_table, said_of, score_table
from captionbias.report.wording import interval

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

DIRECTIONS = ("a_to_t", "t_to_a")


def rendered(grid, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(grid)
    return console.file.getvalue()


def test_dbac_has_net_to_published_in_both_directions_on_80_columns_and_no_wider(two):
    measured = two.measurement("dbac", "sat")
    grid = measurement_table(measured)
    rows = {row[0].strip(): row[1:] for row in grid.rows if row}
    for label, key in (
        ("DBAC, net", "dbac_{}_net"),
        ("DBAC, blind", "dbac_{}_blind"),
        ("DBAC, matched", "dbac_{}_matched"),
        ("DBAC, as published", "dbac_{}"),
        ("its weights alone", "dbac_{}_prior"),
        ("omega, captioner", "omega_m_{}"),
        ("omega, human captions", "omega_h_{}"),
    ):
        assert rows[label] == [interval(measured.estimates[key.format(name)], 3) for name in DIRECTIONS]
    assert rows["verdict"] == [said_of(measured, f"dbac_{name}_net") for name in DIRECTIONS]
    text = rendered(grid)
    assert all(cell in text for row in grid.rows for cell in row)
    assert text == rendered(grid, width=200)


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_row_for_each_score_and_a_verdict_in_bold_where_it_is_judged(metric, every_metric):
    measured = every_metric.measurement(metric, "sat")
    rows = score_table([measured]).rows
    for score in catalogue.scores_of(metric):
        if score.in_tables and score.key in measured.estimates:
            number, said = interval(measured.estimates[score.key], score.digits), said_of(measured, score.key)
            labels = {score.row, score.label}
            (row,) = (row for row in rows if row[:1] and row[0] in labels and row[1] == number)
            assert isinstance(row, Strong) == score.judged == (row[2] != "")
            assert row[2] in ("", said)
    assert rendered(measurement_table(measured)).count("\n") > 3
