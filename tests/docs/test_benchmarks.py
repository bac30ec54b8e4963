"""Every benchmark begins: what it takes from the library is there."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = [path for path in sorted(BENCHMARKS.glob("*.py")) if "__main__" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_finds_what_it_imports(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)  # scripts share functions
    spec = importlib.util.spec_from_file_location(f"benchmarks.{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert callable(vars(module).get("main") or vars(module).get("app"))
