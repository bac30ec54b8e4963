"""What a metric takes, in words of one place, and what it returns: a flat dict, a table and a plot for people."""

import copy
import json
import pickle
import re
from inspect import signature

import evaluate
import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from pandas.testing import assert_frame_equal

from captionbias.analysis.audit import audit
from captionbias.bench.catalogue import METRICS
from captionbias.bench.measurement import metric
from captionbias.bench.sentence import NO_VERDICT
from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import Result, find_metric, sway
from captionbias.report.svg import picture
from captionbias.statistics.samples import ExtremeOf, Sample
from captionbias.synthetic import plant
from tests.refusals import refuses

FAST = {"preset": "fast", "trials": 2, "bootstrap": 50, "details": True, "cache": False}


@pytest.mark.parametrize("name", ["sway", "lic"])
def test_a_result_is_a_dict_to_everything_else_and_a_table_also_through_a_file(name, tmp_path):
    metric = find_metric(name)
    measurement = metric.measure(**vars(plant(120, captions=2, a_to_t=0.5)), **metric.accepted(FAST))
    result = measurement.flat()
    plain = dict(result)
    assert result == plain
    assert json.dumps(result) == json.dumps(plain)
    assert repr(result) == repr({**plain, "details": "..."})
    assert (str(result), repr(measurement)) == (str(measurement), str(result))
    shown = str(result).splitlines()
    assert len(shown) <= 20
    assert {result.sentence, result["signature"]} < {*shown}
    assert sum(line.rstrip().endswith(("more than people", "cannot tell", "like people", "  ")) for line in shown) >= 1
    for copied in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), Result(json.loads(json.dumps(result)))):
        assert isinstance(copied, Result)
        assert copied == plain
        assert_frame_equal(copied.to_frame(), measurement.to_frame())
        assert copied.estimates == measurement.estimates
        assert copied._repr_html_() == measurement._repr_html_()
    assert type(result | {"epoch": 1}) is dict
    saved = evaluate.save(tmp_path / "saved.json", **result)
    assert json.loads(saved.read_text())["signature"] == plain["signature"]
    frame = result.to_frame()
    result["epoch"] = 3
    assert_frame_equal(result.to_frame(), frame)
    assert Result().to_frame().empty
    assert (str(Result(epoch=3)), Result().sentence) == ("{'epoch': 3}", NO_VERDICT)


def test_a_table_is_the_captions_in_its_columns_and_what_is_none_is_told_how_to_call():
    planted = vars(plant(120, captions=2))
    by_lists, table = sway(**planted, bootstrap=50), pd.DataFrame(planted)
    assert sway(table, bootstrap=50) == sway(Dataset.from_pandas(table), bootstrap=50) == by_lists
    with pytest.warns(CaptionBiasWarning, match="guessed: "):
        other = sway(table.rename(columns={"attributes": "sex", "predictions": "caption"}), bootstrap=0)
    assert other["sway_t_to_a"] == pytest.approx(by_lists["sway_t_to_a"], abs=3)
    assert audit(table, metrics=["sway"], bootstrap=50).measurement("sway", "captioner").flat().keys() > by_lists.keys()
    refuses("^captions is of type list: give Captions, from read_captions or check_captions, a table, or", sway, [1])
    refuses(r"^measured is of type DataFrame: measure it first, as in picture\(sway\(...\)\)$", picture, table)


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


@pytest.mark.parametrize("name", METRICS)
def test_a_docstring_says_what_each_argument_is_in_the_order_of_the_signature(name):
    """A section of its own in the source would be there twice."""
    document = find_metric(name).__doc__
    assert re.findall(r"^(\w+):$", document, re.MULTILINE).count("Args") == 1
    args = document.partition("Args:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    (\w+): \S", args, re.MULTILINE) == [*signature(find_metric(name)).parameters]
    assert max(map(len, document.splitlines())) <= 120
    returned = document.partition("Returns:\n")[2].partition("\n\n")[0]
    assert " ".join(returned.split()) == METRICS[name].returns != ""


def test_an_argument_that_is_described_nowhere_is_refused(own_metrics):
    def length(captions, /, *, shortest=1): ...

    with pytest.raises(
        TypeError, match="length: shortest is not an argument of other metrics: say in `about` what it is"
    ):
        metric("Length", "how long?", [])(length)
    described = metric("Length", "how long?", [], about={"shortest": "words that count"})(length)
    assert "    shortest: words that count.\n" in described.__doc__
