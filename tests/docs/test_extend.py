"""The guide to a metric of one's own, followed to the letter."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import evaluate
import pytest

from captionbias.bench.catalogue import METRICS, SCORES
from captionbias.metrics import DEFINED, find_metric
from captionbias.synthetic import plant

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def test_a_metric_in_a_folder_is_loaded_and_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", tmp_path / "modules")
    for known in (DEFINED, METRICS, SCORES):
        monkeypatch.setitem(known, "vague", None)  # gone again after the test
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
        monkeypatch.delitem(sys.modules, name)  # of another folder
    module, use = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("vague").mkdir()
    Path("vague/vague.py").write_text(module)
    few = plant(200)
    given = {
        "predictions": [text.replace("a man", "a person") for text in few.predictions],
        "attributes": few.attributes,
    }
    exec(use, given)
    result = given["result"]
    assert result["vague"] == sum("a person" in text for text in given["predictions"]) / 2
    assert result["vague_ci_low"] < result["vague"] < result["vague_ci_high"]
    found = find_metric("vague")(predictions=given["predictions"], attributes=few.attributes)
    assert found["vague"] == result["vague"]
    assert given["vague"].description.startswith("How often")
    with pytest.raises(ValueError, match=r"predictions\[1\]"):
        given["vague"].compute(predictions=["a person", 3], attributes=["a", "b"])
