"""What is said once is said in one place: the repository's address, the tests behind claims, the targets of make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_address_of_the_repository_is_in_pyproject_alone() -> None:
    """The info of evaluate's modules and the site read it there; no other text gives one."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone: there is no list of files")
    other_ways = r"git\+\w+://|^repository-code:|^repo_url:"
    address = re.compile("|".join([other_ways, *map(re.escape, filter(None, [URLS.get("Repository")]))]), re.MULTILINE)
    found = set()
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if name and path.is_file() and name not in ("pyproject.toml", "tests/test_project.py"):
            found |= {name} if address.search(path.read_bytes().decode(errors="ignore")) else set()
    assert not found


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


def test_make_lists_its_targets() -> None:
    command = ["make", "--no-print-directory", "help"]  # which these tests may have been run by
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in listed.splitlines()} == TARGETS
