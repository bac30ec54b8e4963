"""What a metric returns is a flat dict for whoever wants one, and a table and a plot for people."""

from __future__ import annotations

import copy
import json
import pickle

import evaluate
import pytest
from pandas.testing import assert_frame_equal

from captionbias import metrics
from captionbias.metrics import Result
from captionbias.metrics.catalogue import OF_CAPTIONS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images

FAST = {"preset": "fast", "trials": 2, "bootstrap": 50, "details": True}


@pytest.fixture(scope="module")
def measured():
    """Each metric's measurement of the same few images."""
    captions = vars(plant(120, captions=2, a_to_t=0.5))

    def of(name):
        metric = getattr(metrics, name)
        return metric.measure(**captions, **{key: value for key, value in FAST.items() if key in metric.options()})

    return {name: of(name) for name in OF_CAPTIONS}


@pytest.mark.parametrize("name", OF_CAPTIONS)
def test_the_flat_result_shows_what_the_measurement_shows(measured, name):
    """Also one that went through a file."""
    measurement = measured[name]
    for result in (measurement.flat(), Result(json.loads(json.dumps(measurement.flat())))):
        assert_frame_equal(result.to_frame(), measurement.to_frame())
        assert result.estimates == measurement.estimates
        assert result._repr_html_() == measurement._repr_html_()
        assert result.plot() == measurement.plot()


def test_a_result_is_a_dict_to_everything_else(measured, tmp_path):
    result = measured["lic"].flat()
    plain = dict(result)
    assert isinstance(result, dict)
    assert result == plain
    assert repr(result) == repr(plain)
    assert json.dumps(result) == json.dumps(plain)
    for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert copied == plain
        assert isinstance(copied, Result)
    assert type(result | {"epoch": 1}) is dict
    saved = evaluate.save(tmp_path / "lic.json", **result)
    assert json.loads(saved.read_text())["lic"] == plain["lic"]


def test_a_metric_returns_one_and_what_is_added_to_it_is_not_in_its_table():
    result = metrics.gender_error(predictions=["a man", "a woman"] * 30, attributes=["male", "female"] * 30)
    assert isinstance(result, Result)
    frame = result.to_frame()
    result["epoch"] = 3
    assert_frame_equal(result.to_frame(), frame)
    assert Result().to_frame().empty
    assert "<desc>" not in Result().plot()


def test_notes_and_signature_are_escaped_in_a_notebook():
    page = Result(lic=1.0, signature="metric:lic|<b>", details={"warnings": ["few <images>"]})._repr_html_()
    assert "LIC x 100" in page
    assert "<li>few &lt;images&gt;</li>" in page
    assert "metric:lic|&lt;b&gt;" in page
