"""`captionbias publish`: what it prints, and how it fails, against a Hub on this machine."""

from __future__ import annotations

import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from captionbias.cli.publish import publish
from tests.hub.hub_server import TOKEN, RefusedError, connect, environment, running
from tests.patience import PATIENCE

CARD = "---\nconfigs:\n- config_name: coco\n  data_files: coco/*.parquet\n---\n# Captions\n"
SPACE = "---\nsdk: gradio\nsdk_version: 6.31.0\napp_file: app.py\n---\n"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with running() as hub:
        connect(hub, monkeypatch, tmp_path)
        yield hub


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "dataset"
    (folder / "coco").mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    pq.write_table(pa.table({"caption": ["a man", "a woman"]}), folder / "coco/test.parquet")
    return folder


@pytest.fixture
def space(tmp_path):
    folder = tmp_path / "space"
    folder.mkdir()
    for name, text in {"README.md": SPACE, "app.py": "1\n", "requirements.txt": "gradio\n"}.items():
        (folder / name).write_text(text)
    return folder


def invoke(*arguments, status=0):
    result = CliRunner().invoke(publish, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


def process(hub, home, *arguments, **settings):
    """The command in a process of its own, which finds this Hub by HF_ENDPOINT as a user's would."""
    command = [sys.executable, "-c", "from captionbias.cli.publish import publish; publish()", *map(str, arguments)]
    return subprocess.run(
        command, env=environment(hub, home) | settings, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_process_publishes_to_the_endpoint_of_the_environment(hub, dataset, tmp_path):
    first = process(hub, tmp_path, "dataset", dataset, "--to", "alice/captions", "--message", "Two captions")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == f"published: {hub.url}/datasets/alice/captions\n"
    found = hub.repos["datasets", "alice/captions"]
    assert found.files["coco/test.parquet"] == (dataset / "coco/test.parquet").read_bytes()
    assert found.commits[-1].message == "Two captions"
    again = process(hub, tmp_path, "dataset", dataset, "--to", "alice/captions")
    assert again.stdout == f"already up to date: {hub.url}/datasets/alice/captions\n"
    assert len(found.commits) == 2


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", r"there is no access token.*hf auth login.*"),
        ("hf_wrong", r"alice/captions: the Hub does not accept the access token.*"),
    ],
)
def test_a_process_without_a_valid_token_says_so_and_does_not_print_it(hub, dataset, tmp_path, token, message):
    done = process(hub, tmp_path, "dataset", dataset, "--to", "alice/captions", HF_TOKEN=token)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"error: {message}\n", done.stderr)
    assert not token or token not in done.stderr
    assert hub.repos == {}


def test_a_package_that_is_missing_is_named_with_how_to_install_it(hub, monkeypatch):
    monkeypatch.setitem(sys.modules, "captionbias.hub.modules", None)
    printed = invoke("metric", "lic", "--to", "alice", status=2)
    assert printed.startswith("error: ")
    assert "captionbias.hub.modules" in printed
    assert "pip install 'captionbias[hub]' first" in printed
    assert printed.count("\n") == 1


def test_a_dry_run_lists_the_files_and_sends_nothing(hub):
    printed = invoke("metric", "lic", "dbac", "--to", "lab", "--dry-run").splitlines()
    assert [line.split()[-1] for line in printed[:6]] == [
        *("lab/lic", "README.md", "app.py", "lic.py", "requirements.txt"),
        f"{hub.url}/spaces/lab/lic",
    ]
    assert printed[4].split() == ["31", "bytes", "requirements.txt"]
    assert printed[5].startswith("nothing was sent; this would be ")
    assert printed[6] == "lab/dbac"
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
    assert hub.repos["spaces", "alice/bias"].files["app.py"] == b"1\n"


def test_rows_of_an_earlier_build_are_listed_as_deleted(hub, dataset):
    hub.add("datasets", "alice/captions", {"README.md": b"old", "coco/old.parquet": b"123"})
    printed = invoke("dataset", dataset, "--to", "alice/captions")
    assert printed.splitlines() == ["deleted: coco/old.parquet", f"published: {hub.url}/datasets/alice/captions"]


def test_a_hub_that_fails_and_bad_input_are_one_line_and_status_2(hub, space, tmp_path):
    hub.faults["POST", "/commit/"] = RefusedError(500, "oops")
    for arguments, text in (
        (["space", space, "--to", "alice/bias"], "alice/bias: the Hub failed"),
        (["space", tmp_path / "nowhere", "--to", "alice/bias"], "which is not a folder"),
        (["metric", "no_such", "--to", "alice"], "not a metric"),
        (["dataset", space, "--to", "alice/bias"], "cannot be a dataset"),
    ):
        printed = invoke(*arguments, status=2)
        assert printed.startswith("error: ")
        assert text in printed
        assert printed.count("\n") == 1
        assert TOKEN not in printed


@pytest.mark.parametrize("command", ["metric", "space", "dataset"])
def test_help_names_every_option_and_an_example(command):
    printed = invoke(command, "--help")
    for option in ("--to", "--dry-run", "--create-pr", "--private", "--message", f"publish {command} "):
        assert option in printed
