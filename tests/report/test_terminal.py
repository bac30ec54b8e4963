"""Tables for a terminal: every score with its interval and verdict, a dash where there is none, on 80 columns."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from captionbias.metrics import catalogue
from captionbias.report.terminal import measurement_table, said_of, score_table
from captionbias.report.wording import interval

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

INTERVAL = re.compile(r"-?\d+\.\d+ \[-?\d+\.\d+, -?\d+\.\d+\]")
DIRECTIONS = ("a_to_t", "t_to_a")


def rendered(measured, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(measurement_table(measured))
    return console.file.getvalue()


def row(text, label):
    """The cells of the row with this label."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith(label))
    return re.split(r"\s{2,}", line.strip())[1:]


def cells(measured, keys, digits):
    return [interval(measured.estimates[key], digits) for key in keys]


def test_dbac_has_net_to_published_in_both_directions_on_80_columns_and_no_wider(two):
    measured = two.measurement("dbac", "sat")
    text = rendered(measured)
    for label, key in (
        ("DBAC, net", "dbac_{}_net"),
        ("DBAC, blind", "dbac_{}_blind"),
        ("DBAC, matched", "dbac_{}_matched"),
        ("DBAC, as published", "dbac_{}"),
        ("its weights alone", "dbac_{}_prior"),
        ("omega, captioner", "omega_m_{}"),
        ("omega, human captions", "omega_h_{}"),
    ):
        assert row(text, label) == cells(measured, [key.format(name) for name in DIRECTIONS], 3)
    assert row(text, "verdict") == [said_of(measured, f"dbac_{name}_net") for name in DIRECTIONS]
    assert len(INTERVAL.findall(text)) == 14
    assert text == rendered(measured, width=200)


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_row_for_each_score_and_a_verdict_where_it_is_judged(metric, every_metric):
    measured = every_metric.measurement(metric, "sat")
    console = Console(file=io.StringIO(), width=100)
    console.print(score_table([measured]))
    lines = [re.split(r"\s{2,}", line.strip()) for line in console.file.getvalue().splitlines()]
    for score in catalogue.scores_of(metric):
        if score.in_tables and score.key in measured.estimates:
            said = [said_of(measured, score.key)] if score.judged else []
            written = interval(measured.estimates[score.key], score.digits)
            assert [(score.row or score.label).strip(), written, *said] in lines
    assert rendered(measured).count("\n") > 3
