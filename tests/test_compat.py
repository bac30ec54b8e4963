"""What 0.2 wrote is read as what is written now, and what is gone says what to do instead."""

import json

import pandas as pd
import pytest

from captionbias.compat import REMOVED, result_of, told_of
from captionbias.hub.results import read_results
from captionbias.metrics import find_metric
from captionbias.report.picture import picture
from captionbias.report.rows import rows_of
from captionbias.synthetic import plant
from tests.whole import whole

FAST = {"preset": "fast", "trials": 2, "bootstrap": 50, "details": True}


@pytest.fixture(scope="module", params=["sway", "lic", "label_leakage"])
def measured(request):
    metric = find_metric(request.param)
    return metric.measure(**vars(plant(300, captions=3, t_to_a=0.4)), **metric.accepted(FAST))


@pytest.fixture
def old(measured):
    """The same result as 0.2 wrote it: every number flat, no verdict."""
    flat = whole(measured)
    details = {name: table for name, table in flat.pop("details").items() if name not in ("scores", "facts")}
    return {**flat, "details": details}


def test_a_result_of_an_earlier_version_is_read_as_one_of_now(measured, old):
    now = measured.flat()
    read = result_of(json.loads(json.dumps(old)))
    assert read.estimates == now.estimates
    assert {key: read[key] for key in read if key != "details"} == {key: now[key] for key in now if key != "details"}
    assert picture(old) == picture(now)
    assert result_of(now) == now


def test_files_of_an_earlier_version_give_the_same_rows_and_cards(measured, old, tmp_path):
    now = measured.flat()
    written = {}
    for name, result in (("old", old), ("now", now)):
        scores = {key: entry for key, entry in result.items() if key != "details"}
        written[name] = {"metric": measured.metric, "scores": scores, "details": result["details"]}
        (tmp_path / f"{name}.json").write_text(json.dumps(written[name]))
    pd.testing.assert_frame_equal(pd.DataFrame(rows_of(written["old"])), pd.DataFrame(rows_of(written["now"])))
    files = [read_results([tmp_path / f"{name}.json"])[measured.metric] for name in written]
    assert result_of(files[0]).estimates == files[1].estimates


def test_what_is_gone_says_what_to_do_instead():
    assert all(told_of(name) == text for name, text in REMOVED.items())
    assert told_of("lic_std").endswith("give the score itself, lic")
    assert told_of("lic") is None
