"""Tables for a terminal: every score with its interval and verdict, a dash where there is none, on 80 columns."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from captionbias.metrics import catalogue, dbac, lic
from captionbias.report.terminal import measurement_table, said_of, score_table
from captionbias.report.wording import interval
from captionbias.statistics.samples import Sample

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 30}
INTERVAL = re.compile(r"-?\d+\.\d+ \[-?\d+\.\d+, -?\d+\.\d+\]")
DIRECTIONS = ("a_to_t", "t_to_a")
LIC_COLUMNS = ("lic", "leakage", "confidence")
SIDES = {"predictions": ("captioner", "human captions"), "references": ("human captions", "captioner")}


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


def test_lic_of_two_sides_has_both_their_difference_and_a_verdict(two):
    measured = two.measurement("lic", "sat")
    text = rendered(measured)
    for label, suffix in (("captioner", "_m"), ("human captions", "_d"), ("difference", "")):
        assert row(text, label) == cells(measured, [f"{score}{suffix}" for score in LIC_COLUMNS], 1)
    assert row(text, "verdict") == [said_of(measured, score) for score in LIC_COLUMNS]
    assert row(text, "chance") == ["25.0 or more", "50.0", "50.0"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("metric", [lic, dbac], ids=["lic", "dbac"])
def test_one_side_alone_has_no_difference_and_no_verdict(planted, metric, side):
    captions = planted["nic"]
    tasks = {"tasks": captions.tasks} if metric is dbac else {}
    measured = metric.measure(**{side: getattr(captions, side)}, attributes=captions.attributes, **tasks, **CHOSEN)
    text = rendered(measured)
    shown, absent = SIDES[side]
    omega = "omega, " if metric is dbac else ""
    assert len(row(text, f"{omega}{shown}")) == (2 if metric is dbac else 3)
    other = (f"{omega}{absent}", "difference", "verdict", "DBAC,")
    assert not any(line.strip().startswith(other) for line in text.splitlines())
    assert "amplifies" not in text


def test_chance_depends_on_the_number_of_labels(planted):
    predictions = planted["nic"].predictions
    measured = lic.measure(predictions=predictions, attributes=["a", "b", "c", "d"] * 60, **CHOSEN)
    assert row(rendered(measured), "chance") == ["6.2 or more", "25.0", "25.0"]


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


def test_dbac_of_one_direction_has_one_column_and_a_dash_where_it_cannot_be_matched():
    people = {"references": [["a person with a cake"]] * 60, "attributes": ["female", "male"] * 30}
    said = ["a person with a dog"] * 60
    text = rendered(dbac.measure(predictions=said, **people, directions=["a_to_t"], **CHOSEN))
    assert row(text, "DBAC, matched") == ["-"]
    assert not any(line.strip().startswith(("DBAC, net", "verdict")) for line in text.splitlines())
    assert len(row(text, "DBAC, as published")) == 1
    assert row(text, "DBAC, as published") != ["-"]
    assert "T to A" not in text


def test_the_longest_intervals_are_in_one_piece_on_80_columns(two):
    extreme = Sample(np.array([-94.35]), np.zeros((1, 0)), np.repeat([-99.9, -88.8], 50))
    measured = two.measurement("lic", "sat")
    text = rendered(replace(measured, samples=dict.fromkeys(measured.samples, extreme)))
    assert len(INTERVAL.findall(text)) == 9
    assert max(map(len, text.splitlines())) <= 80


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
