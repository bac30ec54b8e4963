"""What 0.2 wrote is read as what is written now, and what is gone says what to do instead."""

import json

import pandas as pd
import pytest

from captionbias.compat import REMOVED, result_of, told_of
from captionbias.hub.results import read_results
from captionbias.metrics import find_metric
from captionbias.report.rows import rows_of
from captionbias.report.svg import picture
from captionbias.synthetic import plant
from tests.whole import whole

FAST = {"preset": "fast", "trials": 2, "bootstrap": 50, "details": True, "cache": False}


@pytest.mark.parametrize("name", ["sway", "lic", "label_leakage"])
def test_a_result_of_an_earlier_version_is_read_as_one_of_now_and_its_files_give_the_same_rows_and_cards(
    name, tmp_path
):
    metric = find_metric(name)
    measured = metric.measure(**vars(plant(300, captions=3, t_to_a=0.4)), **metric.accepted(FAST))
    now, old = measured.flat(), whole(measured)  # as 0.2 wrote it: every number flat, no verdict
    old["details"] = {name: table for name, table in old["details"].items() if name not in ("scores", "facts")}
    read = result_of(json.loads(json.dumps(old)))
    assert read.estimates == now.estimates
    assert {key: read[key] for key in read if key != "details"} == {key: now[key] for key in now if key != "details"}
    assert picture(old) == picture(now)
    assert result_of(now) == now
    written, cards = [], []
    for result in (old, now):
        scores = {key: entry for key, entry in result.items() if key != "details"}
        written.append({"metric": name, "scores": scores, "details": result["details"]})
        (tmp_path / "result.json").write_text(json.dumps(written[-1]))
        cards.append(result_of(read_results([tmp_path / "result.json"])[name]))
    pd.testing.assert_frame_equal(*(pd.DataFrame(rows_of(one)) for one in written))
    assert cards[0].estimates == cards[1].estimates


def test_what_is_gone_from_a_result_is_left_out_where_it_is_read():
    result = find_metric("sway").measure(**vars(plant(300, captions=3)), bootstrap=50, details=True).flat()
    scores, gap = result["details"]["scores"], result["details"]["scores"]["sway_wrong_gap"]
    scores |= dict.fromkeys(("sway_words_most", "sway_captioned"), gap) | {
        "sway_unnamed_gap": scores["sway_unnamed_gap"] | {"verdict": "cannot tell", "doubt": "sway_captioned"}
    }
    read = result_of(result | {"sway_words_most": 3.0, "sway_captioned": 98.0})
    assert not {"sway_words_most", "sway_captioned"} & read.estimates.keys()
    assert "sway_wrong_gap" in read.to_frame().index
    row = {"scores": {key: read[key] for key in read if key != "details"}, "details": read["details"]}
    assert {one.score for one in rows_of({"metric": "sway", **row})} == read.estimates.keys()
    assert "sway_captioned" not in picture(read)


def test_what_is_gone_says_what_to_do_instead():
    assert all(told_of(name) == text for name, text in REMOVED.items())
    assert told_of("lic_std").endswith("give the score itself, lic")
    assert told_of("lic") is None
