"""`captionbias publish`: what it prints, what it sends, and how it fails, against a Hub on this machine."""

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
    assert first.stdout.splitlines()[0] == "alice/captions"
    assert [line.split()[0] for line in first.stdout.splitlines()[1:3]] == ["new", "new"]
    assert first.stdout.splitlines()[3:] == [f"published: {hub.url}/datasets/alice/captions"]
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
    assert hub.writes == []


def test_a_process_without_a_network_lists_what_it_would_send(hub, dataset, tmp_path):
    settings = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": ""}
    done = process(hub, tmp_path, "dataset", dataset, "--to", "alice/captions", "--dry-run", **settings)
    assert done.returncode == 0
    assert done.stderr.startswith("note: not compared, so all files are listed: alice/captions")
    assert done.stdout.count("  to send") == 2


@pytest.mark.parametrize("package", ["huggingface_hub", "evaluate"])
def test_a_package_that_is_missing_is_named_with_how_to_install_it(monkeypatch, package):
    for name in [name for name in sys.modules if name.startswith(("captionbias.hub", f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    (error,) = invoke("metric", "lic", "--to", "alice", status=2).splitlines()
    assert package in error
    assert "pip install 'captionbias[hub]' first" in error


def test_a_metric_is_listed_in_a_dry_run_and_not_sent(hub):
    printed = invoke("metric", "lic", "dbac", "--to", "lab", "--dry-run")
    for name in ("lic", "dbac"):
        assert f"lab/{name}\n" in printed
        assert f"  {name}.py\n" in printed
        assert f"nothing was sent; this would be {hub.url}/spaces/lab/{name}" in printed
    assert hub.requests
    assert hub.writes == []


def test_a_space_is_published_privately_and_then_changed_by_a_pull_request(hub, space):
    invoke("space", space, "--to", "alice/bias", "--private")
    assert hub.repos["spaces", "alice/bias"].private
    (space / "app.py").write_text("2\n")
    printed = invoke("space", space, "--to", "alice/bias", "--create-pr", "--message", "Two")
    assert printed.splitlines() == [
        "alice/bias",
        "  changed     2 bytes  app.py",
        f"pull request: {hub.url}/spaces/alice/bias/discussions/1",
    ]
    assert hub.repos["spaces", "alice/bias"].pulls[0].message == "Two"
    assert hub.repos["spaces", "alice/bias"].files["app.py"] == b"1\n"


def test_a_dry_run_shows_every_state(hub, dataset):
    table = (dataset / "coco/test.parquet").read_bytes()
    hub.add("datasets", "alice/captions", {"README.md": b"old", "coco/test.parquet": table, "coco/old.parquet": b"123"})
    pq.write_table(pa.table({"caption": ["a dog"]}), dataset / "coco/train.parquet")
    printed = invoke("dataset", dataset, "--to", "alice/captions", "--dry-run")
    listed = {line.split()[-1]: line.split()[0] for line in printed.splitlines() if line.startswith("  ")}
    assert listed == {
        "README.md": "changed",
        "coco/test.parquet": "same",
        "coco/train.parquet": "new",
        "coco/old.parquet": "deleted",
    }
    assert hub.writes == []


@pytest.mark.parametrize(
    ("fault", "text"),
    [(RefusedError(500, "oops"), "fault of its own"), (RefusedError(429, "slow"), "too many requests")],
)
def test_a_hub_that_fails_is_one_line_and_status_2(hub, space, fault, text):
    hub.faults["POST", "/commit/"] = fault
    printed = invoke("space", space, "--to", "alice/bias", status=2)
    assert printed.startswith("error: alice/bias: ")
    assert text in printed
    assert printed.count("\n") == 1
    assert TOKEN not in printed


def test_bad_folders_and_names_are_one_line_and_status_2(hub, space, tmp_path):
    assert "no metric here" in invoke("metric", "no_such", "--to", "alice", status=2)
    assert "give OWNER/NAME" in invoke("space", space, "--to", "bias", status=2)
    assert "which is no folder" in invoke("space", tmp_path / "nowhere", "--to", "alice/bias", status=2)
    assert "cannot be a dataset" in invoke("dataset", space, "--to", "alice/bias", status=2)
    assert hub.requests == []


@pytest.mark.parametrize("command", ["metric", "space", "dataset"])
def test_help_names_every_option_and_an_example(command):
    printed = invoke(command, "--help")
    for option in ("--to", "--dry-run", "--create-pr", "--private", "--message", f"publish {command} "):
        assert option in printed
