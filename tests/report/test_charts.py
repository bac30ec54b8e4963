"""Charts of made-up numbers: each number is told, and a mark is where its number is."""

from xml.etree import ElementTree

import numpy as np

from captionbias.bench.verdicts import CANNOT_TELL
from captionbias.metrics import catalogue
from captionbias.report import charts
from captionbias.report.rows import Row
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("<b>nic</b>", "2021")
LIC = {NAMES[0]: (17.0, 23.0), NAMES[1]: (-2.0, 4.0)}


def test_every_number_is_in_its_chart_and_no_name_is_a_part_of_the_page():
    rows = [Row(name, "lic", "lic", sum(ends) / 2, *ends, CANNOT_TELL, "s") for name, ends in LIC.items()]
    chart = charts.leaderboard_chart(rows)
    told = {one.text for one in ElementTree.fromstring(chart).iter(f"{SVG}text")}
    assert {"20.0 [17.0, 23.0]", "1.0 [-2.0, 4.0]"} <= told
    assert "<b>" not in chart


def test_a_mark_and_the_ends_of_its_interval_are_where_their_numbers_are():
    numbers = [Estimate(3.0, 1.0, 5.0), Estimate(-2.0, -4.0, 0.5), Estimate(0.0)]
    entries = [charts.Entry(str(number), one) for number, one in enumerate(numbers)]
    panel = charts.Panel("LIC", [*entries, charts.Entry("undefined", None)], catalogue.SCORES["lic"])
    root = ElementTree.fromstring(charts.intervals([panel], "Scores"))
    marks = [float(one.get("cx")) for one in root.iter(f"{SVG}circle")]
    assert len(marks) == 3
    unit = (marks[0] - marks[1]) / 5
    ends = [
        [float(one.get(end)) for end in ("x1", "x2")]
        for one in root.iter(f"{SVG}line")
        if one.get("stroke-width") == "3"
    ]
    wanted = [[marks[2] + unit * end for end in (one.low, one.high)] for one in numbers[:2]]
    assert np.allclose(ends, wanted, atol=0.2)
    texts = {one.text for one in root.iter(f"{SVG}text")}
    assert {interval(one, 1) for one in numbers} | {"undefined"} <= texts
