"""A warning points to the line that called the library, however deep it is raised, and through `evaluate`."""

import warnings

import pytest

from captionbias import audit
from captionbias.hub.modules import CaptionMetric
from captionbias.metrics import lic, sway
from captionbias.synthetic import plant
from captionbias.training import bias_scores


class Sway(CaptionMetric):
    metric = sway


QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
CALLS = {
    "a metric": lambda rows: sway(**rows),
    "an attacker": lambda rows: lic(**rows, **QUICK),
    "a module": lambda rows: Sway().compute(**rows, trials=3),
    "an audit": lambda rows: audit({"a": rows.pop("predictions")}, **rows, metrics=["sway"]),
    "a training": lambda rows: bias_scores(**rows, metrics=["sway"]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_warning_points_to_the_caller_s_line(call):
    rows = vars(plant(100, captions=2))
    rows["predictions"][3] = ""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        call(rows)
    assert {(one.filename, one.lineno) for one in noted} == {(__file__, call.__code__.co_firstlineno)}
