"""Any argument may be given anything: a result, or an error that names an argument, a file or an image."""

import os
import warnings
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from captionbias import metrics
from captionbias.bench.arguments import ARGUMENTS
from captionbias.bench.catalogue import METRICS
from captionbias.images.drawings import draw
from captionbias.synthetic import plant

OF_EACH = int(os.environ.get("CAPTIONBIAS_HOSTILE_VALUES", "4"))  # of the values below, others for each argument
IMAGES = 24
QUICK = {"preset": "fast", "trials": 1, "draws": 1, "epochs": 1, "bootstrap": 0}
PLANTED = vars(plant(IMAGES, captions=2))
PICTURES = dict(zip(("images", "masks"), draw(plant(IMAGES, captions=2)), strict=True))
LABELS = {"attributes": ["f", "m"] * 12, "tasks": [["dog"], [], ["cat"], ["dog"]] * 6}
LABELS |= {f"predicted_{name}": column for name, column in LABELS.items()}
HOSTILE = [
    None,
    0,
    -1,
    10**400,
    1.5,
    float("nan"),
    True,
    1j,
    "x",
    "",
    "a\0b",
    "\ud800",
    "x" * 5000,
    b"x",
    len,
    object(),
]
HOSTILE += [
    "~nouser/x.json",
    "reference://x",
    "a/b",
    Path("a\0b.json"),
    Path("~nouser"),
    [],
    [None],
    ["a", "b"],
    [["x"]],
]
HOSTILE += [{}, {"": ["a"]}, {None: ["a"]}, {1: ["a"], 2: ["b"]}, {"a": "b"}, {"groups": 5}, {"extends": []}, {"a"}]
HOSTILE += [np.arange(IMAGES), np.array(5), np.array([]), pd.NA, pd.NaT, pd.Series(range(3)), pd.DataFrame({"a": [1]})]
HOSTILE += [[value] * IMAGES for value in ("s", None, 1, [], ["x"], {}, float("inf"), b"x", "")] + [
    ["x"] * (IMAGES - 1)
]
OWN = {"scene": [["s"] * IMAGES, [0, 0, 1, 1] * 6], "seeds": [np.arange(2)], "answers": [{"female": 5}]}  # always
values = cycle(HOSTILE)


@pytest.mark.parametrize("name", METRICS)
def test_a_value_of_any_kind_gives_a_result_or_an_error_that_names_what_is_wrong(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    metric, wrong = getattr(metrics, name), []
    call = metric.signature if METRICS[name].of_images else metric
    options = metric.accepted(QUICK)
    inputs = [PLANTED | (PICTURES if METRICS[name].of_images else {})]
    inputs += [metric.accepted(LABELS)] * ("predicted_tasks" in metric.options())
    warnings.simplefilter("ignore")
    for argument in sorted(metric.options() - {"progress", "cache"}):
        for value in (*OWN.get(argument, ()), *islice(values, OF_EACH)):
            for columns in inputs:
                try:
                    call(**columns | options | {argument: value})
                except ValueError as error:
                    if not any(each in str(error) for each in (*ARGUMENTS, "image ", str(value))):
                        wrong.append((argument, value, str(error)))
                except Exception as error:
                    wrong.append((argument, value, repr(error)))
    assert not wrong
