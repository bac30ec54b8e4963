"""The rows that ship beside dataset cards: made by the command that they name, and enough for the cards' code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from captionbias.hub.modules import install_metrics
from tests.launch import ROOT

FOLDER = ROOT / "datasets_scripts"
MADE = runpy.run_path(str(ROOT / "docs" / "planted_rows.py"))["DATASETS"]


@pytest.mark.parametrize("name", MADE)
def test_the_code_of_the_card_runs_from_a_clone(name: str, modules_cache: Path, tmp_path: Path, monkeypatch) -> None:
    """If the rows are others: python docs/planted_rows.py."""
    install_metrics(["dbac"])
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.chdir(ROOT)
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    exec(compile(code, name, "exec"), {})
    tables = MADE[name]()
    files = {path.relative_to(FOLDER / name).as_posix(): pq.read_table(path) for path in FOLDER.glob(f"{name}/*/*")}
    assert {f"{place}-00000-of-00001.parquet": table.to_pylist() for place, table in tables.items()} == {
        file: table.to_pylist() for file, table in files.items()
    }
