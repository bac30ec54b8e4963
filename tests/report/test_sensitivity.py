"""Scores over choices as tables and as charts: every number, every choice, and nothing else."""

from dataclasses import replace

import pytest

from captionbias.bench.verdicts import LESS
from captionbias.metrics import catalogue
from captionbias.report.sensitivity import moves, specifications
from tests.report.conftest import NET


def test_moves_stand_beside_the_verdicts_that_change(choices):
    grid = moves(choices)
    assert [column.name for column in grid.columns] == [
        *("captioner", "choice", "A to T, net", "T to A, net", "A to T, matched", "verdict changes")
    ]
    assert grid.rows == [
        ["<b>nic</b>", "alignment", *[pytest.approx(0.09)] * 3, "A to T"],
        ["<b>nic</b>", "delta", *[pytest.approx(0.2)] * 3, "A to T"],
    ]
    same = [replace(one, verdicts={}) for one in choices.specifications]
    assert [row[-1] for row in moves(replace(choices, specifications=same)).rows] == [None, None]


def test_every_choice_has_its_interval_and_verdict_for_each_score(choices):
    nic, sat = (specifications(choices, name) for name in choices.captioners)
    assert [nic.columns[0].name, sat.columns[0].name] == choices.captioners
    assert ["  delta 0.3", "-0.100 [-0.120, -0.070]", LESS] in nic.rows
    rows = [row for row in nic.rows if row]
    assert [row[0] for row in rows[:4]] == [catalogue.label(NET), "  base", "  delta 0.3", "  alignment constant"]
    assert len(rows) == 4 * len(choices.scores)
    assert nic.meaning == "The base: alignment contextual, delta 0.4, attacker bow."
