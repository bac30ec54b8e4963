"""Charts of made-up numbers are the pictures beside these tests, and a mark is where its number is.

`python -m tests.report.test_charts` draws the pictures anew, after a change that is meant to change them.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from captionbias.analysis.sensitivity import Sensitivity, Specification
from captionbias.bench.verdicts import CANNOT_TELL, LESS, MORE
from captionbias.metrics import catalogue
from captionbias.report import charts
from captionbias.report.rows import Row
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate

PICTURES = Path(__file__).with_name("pictures")
NAMES = ("<b>nic</b>", "2021")
A_TO_T = "dbac_a_to_t_net"
LIC = {NAMES[0]: {"lic": (17.3, 23.0)}, NAMES[1]: {"lic": (-1.5, 4.0)}}
BAR = {"direction": "a_to_t", "attribute": "woman", "task": "knife", "amplification": 0.2}


def choices() -> Sensitivity:
    tried = {"alignment": ["contextual", "constant"], "delta": ["0.4", "0.3"]}
    made = [("", "", 0.1, MORE), ("delta", "0.3", -0.1, LESS), ("alignment", "constant", 0, CANNOT_TELL)]
    found = [
        Specification(NAMES[0], *changed, {A_TO_T: Estimate(value, value - 0.02, value + 0.03)}, {A_TO_T: said}, "")
        for *changed, value, said in made
    ]
    return Sensitivity([NAMES[0]], [A_TO_T], tried, found)


def drawn() -> dict[str, str]:
    rows = [
        Row(name, "lic", "lic", sum(ends) / 2, *ends, CANNOT_TELL, "s")
        for name, of in LIC.items()
        for ends in of.values()
    ]
    certain = {"amplification_ci_low": 0.1, "amplification_ci_high": 0.3}
    return {
        "leaderboard": charts.leaderboard_chart(rows),
        "choices": charts.specification_chart(choices()),
        "bar": charts.pair_bar(BAR | certain, 0.4),
        "bar of less": charts.pair_bar(BAR | {"amplification": -0.2}, 0.4),
    }


def in_lines(svg: str) -> str:
    return svg.replace("><", ">\n<") + "\n"


@pytest.mark.parametrize("name", sorted(path.stem for path in PICTURES.glob("*.svg")))
def test_a_chart_is_its_picture(name):
    svg = drawn()[name]
    ElementTree.fromstring(svg)
    assert "<b>" not in svg
    assert in_lines(svg) == (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


def test_every_chart_has_a_picture():
    assert {path.stem for path in PICTURES.glob("*.svg")} == drawn().keys()


def test_a_mark_and_the_ends_of_its_interval_are_where_their_numbers_are():
    numbers = [Estimate(3.0, 1.0, 5.0), Estimate(-2.0, -4.0, 0.5), Estimate(0.0)]
    entries = [charts.Entry(str(number), one) for number, one in enumerate(numbers)]
    panel = charts.Panel("LIC", [*entries, charts.Entry("undefined", None)], catalogue.SCORES["lic"])
    root = ElementTree.fromstring(charts.intervals([panel], "Scores"))
    marks = [float(one.get("cx")) for one in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(marks) == 3
    unit = (marks[0] - marks[1]) / 5
    ends = [
        [float(one.get(end)) for end in ("x1", "x2")]
        for one in root.iter("{http://www.w3.org/2000/svg}line")
        if one.get("stroke-width") == "3"
    ]
    wanted = [[marks[2] + unit * end for end in (one.low, one.high)] for one in numbers[:2]]
    assert np.allclose(ends, wanted, atol=0.2)
    texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {interval(one, 1) for one in numbers} | {"undefined"} <= texts


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, svg in drawn().items():
        (PICTURES / f"{name}.svg").write_text(in_lines(svg), encoding="utf-8")
