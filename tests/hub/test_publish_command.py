"""`captionbias publish`: what it prints, and how it fails, against a Hub on this machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from rich.filesize import decimal
from typer.testing import CliRunner

from captionbias import __version__
from captionbias.cli.publish import publish
from captionbias.metrics.catalogue import METRICS
from tests.hub.hub_server import RefusedError

ROOT = Path(__file__).parents[2]
# What the HTTP library says of huggingface_hub, and only where a test makes Python show it.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")


def invoke(*arguments, status=0):
    result = CliRunner().invoke(publish, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


def test_a_dry_run_lists_every_metric_s_files_and_sends_nothing(hub):
    printed = invoke("metric", "--to", "lab", "--dry-run").splitlines()
    start = printed.index("lab/lic")
    assert [line.split()[-1] for line in printed[start : start + 7]] == [
        *(
            "lab/lic",
            "README.md",
            "app.py",
            f"captionbias-{__version__}-py3-none-any.whl",
            "lic.py",
            "requirements.txt",
        ),
        f"{hub.url}/spaces/lab/lic",
    ]
    assert printed[start + 2].split() == [*decimal((ROOT / "metrics/lic/app.py").stat().st_size).split(), "app.py"]
    assert printed[start + 6].startswith("nothing was sent; this would be ")
    assert [line for line in printed if line.startswith("lab/")] == [f"lab/{name}" for name in sorted(METRICS)]
    assert hub.requests == []


def test_a_space_is_published_privately_and_then_changed_by_a_pull_request(hub, space):
    arguments = ["space", space, "--to", "alice/bias"]
    invoke(*arguments, "--private")
    assert hub.repos["spaces", "alice/bias"].private
    assert invoke(*arguments) == f"already up to date: {hub.url}/spaces/alice/bias\n"
    (space / "app.py").write_text("2\n")
    printed = invoke(*arguments, "--create-pr", "--message", "Two")
    assert printed == f"pull request: {hub.url}/spaces/alice/bias/discussions/1\n"
    assert hub.repos["spaces", "alice/bias"].pulls[0].message == "Two"


def test_rows_of_an_earlier_build_are_listed_as_deleted(hub, dataset):
    hub.add("datasets", "alice/captions", {"README.md": b"old", "coco/test-9.parquet": b"123"})
    printed = invoke("dataset", dataset, "--to", "alice/captions")
    assert printed.splitlines() == ["deleted: coco/test-9.parquet", f"published: {hub.url}/datasets/alice/captions"]


@pytest.mark.parametrize(
    ("arguments", "token", "message"),
    [
        (["metric", "lic", "--to", "alice"], "", r"there is no access token.*hf auth login"),
        (["metric", "lic", "--to", "alice"], "hf_wrong", r"alice/lic: the Hub does not accept the access token"),
        (["metric", "lic", "--to", "alice"], None, r"alice/lic: the Hub failed"),
        (["metric", "no_such", "--to", "alice"], None, "not a metric"),
        (["space", "nowhere", "--to", "alice/bias"], None, "which is not a folder"),
    ],
)
def test_what_fails_is_one_line_without_the_token(hub, monkeypatch, arguments, token, message):
    hub.faults["POST", "/commit/"] = RefusedError(500, "oops")
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    printed = invoke(*arguments, status=2)
    assert re.fullmatch(f"error: .*{message}.*\n", printed)
    assert "hf_" not in printed


def test_a_package_that_is_missing_is_named_with_how_to_install_it(hub, monkeypatch):
    monkeypatch.setitem(sys.modules, "captionbias.hub.modules", None)
    printed = invoke("metric", "lic", "--to", "alice", status=2)
    assert re.fullmatch(r"error: .*captionbias\.hub\.modules.*pip install 'captionbias\[hub\]' first\n", printed)
