"""Scores over choices as tables and as charts: every number, every choice, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.analysis.sensitivity import Sensitivity, Specification
from captionbias.bench.verdicts import CANNOT_TELL, LESS, MORE
from captionbias.metrics import catalogue
from captionbias.report.sensitivity import moves, specifications
from captionbias.statistics.samples import Estimate

NET, OTHER, MATCHED = "dbac_a_to_t_net", "dbac_t_to_a_net", "dbac_a_to_t_matched"
VERDICTS = {1: MORE, 0: CANNOT_TELL, -1: LESS}


def specified(name, value, side=0, choice="", tried=""):
    estimate = Estimate(value, value - 0.02, value + 0.03)
    verdicts = {NET: VERDICTS[side], OTHER: VERDICTS[0]}
    return Specification(name, choice, tried, {NET: estimate, OTHER: estimate, MATCHED: estimate}, verdicts, "")


@pytest.fixture
def found():
    tried = {"alignment": ["contextual", "constant"], "delta": ["0.4", "0.3"], "encoder": ["bow"]}
    return Sensitivity(
        ["<b>nic</b>", "sat"],
        [NET, OTHER, MATCHED],
        tried,
        [
            specified("<b>nic</b>", 0.1, 1),
            specified("<b>nic</b>", -0.1, -1, "delta", "0.3"),
            specified("<b>nic</b>", 0.01, 0, "alignment", "constant"),
            specified("sat", 0.2, 1),
        ],
    )


def test_moves_stand_beside_the_verdicts_that_change(found):
    grid = moves(found)
    assert [column.name for column in grid.columns] == [
        *("captioner", "choice", "A to T, net", "T to A, net", "A to T, matched", "verdict changes")
    ]
    assert grid.rows == [
        ["<b>nic</b>", "alignment", *[pytest.approx(0.09)] * 3, "A to T"],
        ["<b>nic</b>", "delta", *[pytest.approx(0.2)] * 3, "A to T"],
    ]
    same = [replace(one, verdicts={}) for one in found.specifications]
    assert [row[-1] for row in moves(replace(found, specifications=same)).rows] == [None, None]


def test_every_choice_has_its_interval_and_verdict_for_each_score(found):
    nic, sat = (specifications(found, name) for name in found.captioners)
    assert [nic.columns[0].name, sat.columns[0].name] == found.captioners
    assert ["  delta 0.3", "-0.100 [-0.120, -0.070]", LESS] in nic.rows
    rows = [row for row in nic.rows if row]
    assert [row[0] for row in rows[:4]] == [catalogue.label(NET), "  base", "  delta 0.3", "  alignment constant"]
    assert len(rows) == 4 * len(found.scores)
    assert nic.meaning == "The base: alignment contextual, delta 0.4, attacker bow."
