"""What a metric returns is a flat dict for whoever wants one, and a table and a plot for people."""

import copy
import json
import pickle

import evaluate
import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from captionbias import metrics
from captionbias.bench.catalogue import of_captions
from captionbias.metrics import Result
from captionbias.statistics.samples import ExtremeOf, Sample
from captionbias.synthetic import plant

FAST = {"preset": "fast", "trials": 2, "bootstrap": 50, "details": True}


@pytest.fixture(scope="module")
def measured():
    """Each metric's measurement of the same few images."""
    captions = vars(plant(120, captions=2, a_to_t=0.5))

    def of(name):
        metric = getattr(metrics, name)
        return metric.measure(**captions, **{key: value for key, value in FAST.items() if key in metric.options()})

    return {name: of(name) for name in of_captions()}


@pytest.mark.parametrize("name", of_captions())
def test_the_flat_result_shows_what_the_measurement_shows(measured, name):
    """Also one that went through a file."""
    measurement = measured[name]
    for result in (measurement.flat(), Result(json.loads(json.dumps(measurement.flat())))):
        assert_frame_equal(result.to_frame(), measurement.to_frame())
        assert result.estimates == measurement.estimates
        assert result._repr_html_() == measurement._repr_html_()


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


def sample(values, replicates=None):
    """A quantity of images alone, with evenly spread replicates around its mean."""
    drawn = np.linspace(np.mean(values) - 1, np.mean(values) + 1, 401) if replicates is None else replicates
    return Sample(np.array(values), np.array(drawn))


@pytest.mark.parametrize(("pick", "low", "value", "high"), [(min, 1, 2, 3), (max, 3.5, 4, 4.5)])
def test_the_interval_of_an_extreme_is_that_of_the_ends(pick, low, value, high):
    """The least from the least lower end to the least upper end, the largest likewise."""
    wide, narrow = sample([2.0]), sample([4.0], np.linspace(3.5, 4.5, 401))
    found = ExtremeOf.of(pick, [wide, narrow]).estimate()
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=0.06)
    assert found.detectable == wide.estimate().detectable > narrow.estimate().detectable
    assert found[3:6] == (None, None, None)


def test_an_extreme_of_what_is_not_defined_is_not_defined():
    """Or one value that nothing is known of would leave the verdict to the others."""
    assert ExtremeOf.of(min, [sample([1.0]), sample([np.nan], np.full(401, np.nan))]).estimate() is None
    bare = ExtremeOf.of(min, [sample([1.0], []), sample([2.0], [])]).estimate()
    assert (bare.value, bare.low, bare.high) == (1.0, None, None)
