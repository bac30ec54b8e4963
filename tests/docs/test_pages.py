"""What pages name is there: the stations of a caption's walk, the scripts of benchmarks, the guide to an own metric."""

import re
import runpy
from pathlib import Path
from pkgutil import resolve_name

import pytest

from captionbias.metrics import find_metric
from tests.launch import ROOT
from tests.refusals import refuses

BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = [path for path in sorted(BENCHMARKS.glob("*.py")) if "__main__" in path.read_text(encoding="utf-8")]


def test_every_station_of_the_walk_is_a_function_and_none_is_visited_twice() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stations = re.findall(r"^\| \d+ \| `([\w.]+)`", text, re.MULTILINE)
    assert len(stations) == len(set(stations)) == 12
    for name in {*stations, *re.findall(r"`(captionbias\.[\w.]+)`", text)}:
        assert resolve_name(name), name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_finds_what_it_imports(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # scripts share functions
    left = runpy.run_path(str(script), run_name=f"benchmarks.{script.stem}")
    assert callable(left.get("main") or left.get("app"))


def test_a_metric_in_a_folder_is_loaded_and_measures(tmp_path, monkeypatch, modules_cache, own_metrics) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    module, use = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    Path("vague").mkdir()
    Path("vague/vague.py").write_text(module)
    predictions = ["a person", "a man", "a woman", "somebody and a man"] * 50
    sides = {"predictions": predictions, "attributes": ["female", "male"] * 100}
    given = dict(sides)
    exec(use, given)
    result = given["result"]
    assert result["vague_ci_low"] < result["vague"] == 25 < result["vague_ci_high"]
    assert find_metric("vague")(**sides)["vague"] == result["vague"]
    assert given["vague"].description.startswith("How often")
    refuses(r"predictions\[1\]", given["vague"].compute, predictions=["a person", 3], attributes=["a", "b"])
