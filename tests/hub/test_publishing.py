"""Folders that are sent to the Hub: whole, without secrets, old rows or rows that the public may not have."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub.errors import HTTPError
from typer.testing import CliRunner

from captionbias.bench.catalogue import METRICS
from captionbias.hub.commands import publish as command
from captionbias.hub.publishing import publish
from tests.hub.conftest import write
from tests.refusals import refuses

SECRET = "hf_" + "aB3" * 12
CARD = """---
configs:
- {config_name: coco, data_files: [{split: test, path: coco/test-*.parquet}]}
- {config_name: flickr, data_files: flickr/test.parquet}
---
# Captions
"""
TERMS = CARD.replace("---\n", "---\nextra_gated_prompt: For research only.\n", 1)


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def space(tmp_path):
    files = {"README.md": "---\nsdk: gradio\n---\n", "app.py": "print('ü')", "a/b.txt": "b"}
    return write(tmp_path / "space", files)


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "dataset"
    write(folder, {"README.md": CARD, "coco/test-0.parquet": "", "coco/test-1.parquet": "", "flickr/test.parquet": ""})
    for path in folder.rglob("*.parquet"):
        pq.write_table(pa.table({"caption": ["a man"]}), path)
    return folder


def test_a_folder_arrives_whole_without_what_is_hidden_and_what_others_put_there_stays(hub, space):
    expected = contents(space)
    hub.files = {"theirs.parquet": b"1", "app.py": b"2"}
    assert publish(space, "alice/bias", "space", dry_run=True).files == tuple(sorted(expected))
    assert (hub.files, hub.calls) == ({"theirs.parquet": b"1", "app.py": b"2"}, [])
    write(space, dict.fromkeys([".env", ".git/config", "__pycache__/app.pyc", "a/.secret/x.txt"], SECRET))
    published = publish(space, "alice/bias", "space")
    assert hub.files == {**expected, "theirs.parquet": b"1"}
    assert published.url.endswith("/spaces/alice/bias")
    assert published.files == tuple(sorted(expected))
    assert hub.calls.count("commit") == 1


def test_rows_of_an_earlier_build_are_deleted_and_nothing_else_is(hub, dataset):
    theirs = {"raw/theirs.parquet": b"t", "coco/notes.txt": b"n", "coco/train-0.parquet": b"o"}
    theirs |= {"coco/a/test-0.parquet": b"p"}
    hub.files = {**theirs, "coco/test-2.parquet": b"s"}
    assert publish(dataset, "alice/captions", "dataset").deleted == ("coco/test-2.parquet",)
    assert hub.files == contents(dataset) | theirs


def test_secrets_and_links_are_refused_and_not_repeated(hub, space):
    secrets = {"hf_token.txt": "x", "a/TOKEN": "x", "a/b.pem": "x", "a/settings.py": f"KEY = '{SECRET}'\n"}
    for path, content in secrets.items():
        write(space, {path: content})
        with pytest.raises(ValueError, match=path) as caught:
            publish(space, "alice/bias", "space")
        assert SECRET not in str(caught.value)
        (space / path).unlink()
    (space / "notes.txt").symlink_to("/etc/hostname")
    refuses(r"notes\.txt", publish, space, "alice/bias", "space")
    assert not hub.calls


def test_tables_and_a_card_that_do_not_match_are_refused(hub, dataset):
    for card, named in {
        "# Captions": "none",
        "---\n- a\n---\n": "README.md",
        "---\nconfigs: [coco]\n---\n": "configs",
        CARD.replace("flickr/test.parquet", ""): "configs",
        CARD.replace("flickr/test.parquet", "flickr/train.parquet"): "flickr/train.parquet",
        CARD.replace("coco/test-*", "coco/test-0"): "coco/test-1.parquet",
    }.items():
        write(dataset, {"README.md": card})
        refuses(named, publish, dataset, "alice/captions", "dataset")
    assert not hub.calls


def test_rows_that_may_not_be_redistributed_are_never_sent_to_a_public_repository(hub, dataset):
    write(dataset, {"README.md": TERMS})
    for options in ({}, {"private": False}, {"dry_run": True}):
        refuses("private", publish, dataset, "alice/captions", "dataset", **options)
    hub.files = {"README.md": b"public already"}
    refuses("public", publish, dataset, "alice/captions", "dataset", private=True)
    assert "commit" not in hub.calls

    hub.files, hub.calls = {}, []
    publish(dataset, "alice/captions", "dataset", private=True)
    assert (hub.private, hub.gated, hub.calls) == (True, "manual", ["create", "gate", "commit"])
    hub.gated = "auto"
    publish(dataset, "alice/captions", "dataset", private=True)
    assert hub.gated == "auto"


def invoke(*arguments, status=0):
    result = CliRunner().invoke(command, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.output.splitlines()


def test_every_metric_can_be_published_as_it_is(hub):
    assert "--package is missing: captionbias is on no index" in invoke("metric", "--to", "lab", status=2)[0]
    printed = invoke("metric", "--to", "lab", "--dry-run", "--package", "git+https://a.b/c")
    addresses = [line.rpartition("/spaces/")[2] for line in printed if "/spaces/" in line]
    assert addresses == [f"lab/{name}" for name in sorted(METRICS)]
    assert "would be sent: lic.py" in printed
    assert not hub.calls


def test_the_command_says_what_was_deleted_and_what_fails_in_one_line(hub, dataset, monkeypatch):
    hub.files = {"coco/test-9.parquet": b"1"}
    printed = invoke("dataset", dataset, "--to", "alice/captions")
    assert printed[0] == "deleted: coco/test-9.parquet"
    assert len(printed) == 2

    def fail(*_, **__):
        raise HTTPError("out of\nreach")

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", fail)
    (printed,) = invoke("dataset", dataset, "--to", "alice/captions", status=2)
    assert printed == "error: alice/captions: out of reach"
    (printed,) = invoke("dataset", dataset, "--to", "alice", status=2)
    assert "alice" in printed
