"""Tables for a terminal: every score with its interval and verdict, a dash where there is none, on 80 columns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from captionbias.metrics import catalogue
from captionbias.report.grid import Strong
from captionbias.report.terminal import measurement_tables, said_of
from captionbias.report.wording import interval

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few


def rendered(grid, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(grid)
    return console.file.getvalue()


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_row_for_each_score_and_a_verdict_in_bold_where_it_is_judged(metric, every_metric):
    measured = every_metric.measurement(metric, "sat")
    grid, *_ = measurement_tables(measured)
    rows = grid.rows
    for score in catalogue.scores_of(metric):
        if score.in_tables and score.key in measured.estimates:
            number, said = interval(measured.estimates[score.key], score.digits), said_of(measured, score.key)
            labels = {score.row, score.label}
            (row,) = (row for row in rows if row[:1] and row[0] in labels and row[1] == number)
            assert isinstance(row, Strong) == score.judged == (row[2] != "")
            assert row[2] in ("", said)
    text = rendered(grid)
    assert all(row[1] in text for row in rows if row)
