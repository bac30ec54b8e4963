"""The guide to a metric of one's own, followed to the letter."""

import re
from pathlib import Path

import pytest

from captionbias.metrics import find_metric

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def test_a_metric_in_a_folder_is_loaded_and_measures(tmp_path, monkeypatch, modules_cache, own_metrics) -> None:
    monkeypatch.chdir(tmp_path)
    module, use = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("vague").mkdir()
    Path("vague/vague.py").write_text(module)
    given = {
        "predictions": ["a person", "a man", "a woman", "somebody and a man"] * 50,
        "attributes": ["female", "male"] * 100,
    }
    exec(use, given)
    result = given["result"]
    assert result["vague"] == 25
    assert result["vague_ci_low"] < result["vague"] < result["vague_ci_high"]
    found = find_metric("vague")(predictions=given["predictions"], attributes=given["attributes"])
    assert found["vague"] == result["vague"]
    assert given["vague"].description.startswith("How often")
    with pytest.raises(ValueError, match=r"predictions\[1\]"):
        given["vague"].compute(predictions=["a person", 3], attributes=["a", "b"])
