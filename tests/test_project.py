"""The tests behind claims exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_claim_of_the_table_of_expectations_names_tests_that_exist() -> None:
    lines = (ROOT / "docs/expectations.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]
    assert len(rows) > 10
    for row in rows:
        assert len(row) == 4
        assert all(row), row
        shown = re.findall(r"`([^`]+)`", row[-1])
        assert shown, row
        assert [path for path in shown if not (ROOT / path).exists()] == [], row
