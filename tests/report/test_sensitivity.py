"""Scores over choices as tables and as charts: every number, every choice, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.analysis.sensitivity import Sensitivity, Specification
from captionbias.metrics import catalogue
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.report.sensitivity import moves, specifications
from captionbias.statistics.samples import Estimate

NET, OTHER, MATCHED = "dbac_a_to_t_net", "dbac_t_to_a_net", "dbac_a_to_t_matched"
VERDICTS = {1: "amplifies", 0: "unclear", -1: "mitigates"}


def specified(name, value, side=0, **choices):
    estimate = Estimate(value, value - 0.02, value + 0.03)
    verdicts = {NET: VERDICTS[side], OTHER: VERDICTS[0]}
    return Specification(name, choices, {NET: estimate, OTHER: estimate, MATCHED: estimate}, verdicts, "")


@pytest.fixture
def found():
    tried = {"alignment": ["contextual", "constant"], "delta": ["0.4", "0.3"], "encoder": ["bow"]}
    return Sensitivity(
        ["<b>nic</b>", "sat"],
        [NET, OTHER, MATCHED],
        tried,
        [
            specified("<b>nic</b>", 0.1, 1, alignment="contextual", delta="0.4", encoder="bow"),
            specified("<b>nic</b>", -0.1, -1, alignment="contextual", delta="0.3", encoder="bow"),
            specified("<b>nic</b>", 0.01, 0, alignment="constant", delta=None, encoder="bow"),
            specified("sat", 0.2, 1, alignment="contextual", delta="0.4", encoder="bow"),
        ],
    )


def test_every_specification_has_a_row_for_each_score(found):
    grid = specifications(found, "<b>nic</b>")
    rows = [(row[0], row[1], row[5]) for row in grid.rows]
    said = {NET: ("amplifies", "mitigates", "unclear"), OTHER: ("unclear",) * 3, MATCHED: (None,) * 3}
    labels = ("base", "delta 0.3", "alignment constant")
    assert rows == [
        (catalogue.label(key), label, verdict)
        for key in found.scores
        for label, verdict in zip(labels, said[key], strict=True)
    ]
    assert grid.rows[0][2:5] == [0.1, 0.08, 0.13]
    assert grid.meaning.endswith("The base: alignment contextual, delta 0.4, attacker bow.")


def test_moves_stand_beside_the_verdicts_that_change(found):
    grid = moves(found)
    assert [column.name for column in grid.columns] == [
        *("captioner", "choice", "A to T, net", "T to A, net", "A to T, matched", "verdict changes")
    ]
    assert grid.rows == [
        ["<b>nic</b>", "alignment", *[pytest.approx(0.11)] * 3, "A to T"],
        ["<b>nic</b>", "delta", *[pytest.approx(0.2)] * 3, "A to T"],
    ]
    same = [replace(one, verdicts={}) for one in found.specifications]
    assert [row[-1] for row in moves(replace(found, specifications=same)).rows] == [None, None]


@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")
def test_a_report_has_the_section_if_it_was_requested(two, found):
    of_two = replace(
        found,
        captioners=["nic", "sat"],
        specifications=[
            replace(one, captioner="sat" if one.captioner == "sat" else "nic") for one in found.specifications
        ],
    )
    with_choices = replace(two, sensitivity=of_two)
    for report, text in ((html_report, 'id="choices"'), (markdown_report, "How far each choice moves DBAC")):
        assert text in report(with_choices)
        assert text not in report(two)
    assert with_choices.as_dict()["sensitivity"] == of_two.as_dict()
