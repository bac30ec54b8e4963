"""Publishing through the real huggingface_hub client, to a Hub on this machine that checks what it gets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from hashlib import sha256

import pytest
from huggingface_hub import HfApi

from captionbias.hub.publishing import publish_dataset, publish_metric, publish_space
from tests.hub.conftest import CARD, SPACE, table, write
from tests.hub.hub_server import TOKEN, RefusedError, environment

SECRET = "hf_" + "aB3" * 12


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def on_hub(hub, kind, repo):
    """The files there, without what the Hub itself puts into each repository."""
    return {path: data for path, data in hub.repos[kind, repo].files.items() if path != ".gitattributes"}


# What arrives


def test_a_space_arrives_whole_in_one_commit(hub, space):
    published = publish_space(space, "alice/bias", message="First")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space)
    assert hub.repos["spaces", "alice/bias"].sdk == "gradio"
    assert [commit.message for commit in hub.repos["spaces", "alice/bias"].commits] == ["before", "First"]
    assert published.url == f"{hub.url}/spaces/alice/bias"
    assert published.changed
    assert published.pull_request is None
    assert published.files == {path: len(data) for path, data in contents(space).items()}


def test_a_dataset_arrives_whole_with_its_tables_in_large_file_storage(hub, dataset):
    publish_dataset(dataset, "lab/captions")
    assert on_hub(hub, "datasets", "lab/captions") == contents(dataset)
    tables = {path: data for path, data in contents(dataset).items() if path.endswith(".parquet")}
    assert set(hub.large) == {sha256(data).hexdigest() for data in tables.values()}
    assert len(hub.commits_sent()) == 1


EVALUATE = """
import evaluate
metric = evaluate.load("alice/gender_error")
columns = {"predictions": ["a man", "a man"] * 5, "attributes": ["male", "female"] * 5}
print(metric.compute(**columns)["signature"].split("|")[0])
"""
DATASETS = "import datasets; print(datasets.load_dataset('alice/captions', 'coco')['test'].num_rows)"


@pytest.mark.parametrize(("code", "printed"), [(EVALUATE, "metric:gender_error"), (DATASETS, "50")])
def test_what_was_published_is_loaded_by_its_name(hub, dataset, tmp_path, code, printed):
    if code == DATASETS:
        publish_dataset(dataset, "alice/captions")
    else:
        publish_metric(["gender_error", "gender_error"], "alice")
        assert len(hub.commits_sent()) == 1
    done = subprocess.run([sys.executable, "-c", code], env=environment(hub, tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed


# Again


def test_what_has_not_changed_is_not_sent_again(hub, dataset):
    publish_dataset(dataset, "alice/captions")
    commits = len(hub.commits_sent())
    for options in ({}, {"create_pr": True}):
        again = publish_dataset(dataset, "alice/captions", **options)
        assert (again.changed, again.pull_request) == (False, None)
    assert len(hub.commits_sent()) == commits
    table(dataset / "flickr/test.parquet", 11)
    before = len(hub.requests)
    assert publish_dataset(dataset, "alice/captions").changed
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset)
    sent = [request for request in hub.requests[before:] if request.method == "PUT"]
    assert [request.body for request in sent] == [(dataset / "flickr/test.parquet").read_bytes()]


def test_files_that_only_a_space_on_the_hub_has_stay(hub, space):
    theirs = {"theirs.py": b"1", "old/theirs.parquet": b"2"}
    hub.add("spaces", "alice/bias", theirs, private=True)
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space) | theirs
    assert hub.repos["spaces", "alice/bias"].private


def test_rows_of_earlier_builds_go_in_the_same_commit_and_nothing_else_does(hub, dataset):
    """Those that the new card names, and those that the card there names."""
    earlier = CARD.replace("flickr", "vizwiz").encode()
    theirs = {"raw/theirs.parquet": b"t", "coco/notes.txt": b"n", "vizwiz/notes.md": b"m", "coco/train-0.parquet": b"o"}
    stale = {"coco/test-2.parquet": b"s", "vizwiz/test.parquet": b"v"}
    hub.add("datasets", "alice/captions", {"README.md": earlier, **theirs, **stale})
    published = publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset) | theirs
    assert ".gitattributes" in hub.repos["datasets", "alice/captions"].files
    assert published.deleted == tuple(sorted(stale))
    assert len(hub.commits_sent()) == 1
    (dataset / "coco/test-1.parquet").unlink()
    assert publish_dataset(dataset, "alice/captions").deleted == ("coco/test-1.parquet",)
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset) | theirs


@pytest.mark.parametrize("broken", [b"---\na: [\n---\n", b"no front matter", b"---\nconfigs: 3\n---\n"])
def test_a_broken_card_on_the_hub_is_replaced(hub, dataset, broken):
    hub.add("datasets", "alice/captions", {"README.md": broken, "old.parquet": b"o"})
    publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset) | {"old.parquet": b"o"}


# Pull requests and visibility


def test_a_pull_request_leaves_main_alone(hub, dataset):
    before = {"README.md": CARD.encode(), "coco/test-9.parquet": b"stale"}
    hub.add("datasets", "stranger/captions", before)
    published = publish_dataset(dataset, "stranger/captions", create_pr=True)
    found = hub.repos["datasets", "stranger/captions"]
    assert on_hub(hub, "datasets", "stranger/captions") == before
    assert {path: data for path, data in found.pulls[0].files.items() if path != ".gitattributes"} == contents(dataset)
    assert published.pull_request == f"{hub.url}/datasets/stranger/captions/discussions/1"
    assert len(hub.commits_sent()) == 1


def test_a_pull_request_to_a_missing_repository_creates_it_first(hub, space):
    assert publish_space(space, "alice/bias", create_pr=True).pull_request
    assert "app.py" not in on_hub(hub, "spaces", "alice/bias")
    assert "app.py" in hub.repos["spaces", "alice/bias"].pulls[0].files


def test_a_new_repository_is_as_private_as_requested_and_one_that_exists_stays(hub, space):
    for private in (True, None):
        publish_space(space, f"alice/{private}", private=private)
        assert hub.repos["spaces", f"alice/{private}"].private is bool(private)
    before = len(hub.commits_sent())
    refused(space, "private is True, but it is public", repo="alice/None", private=True)
    assert len(hub.commits_sent()) == before


# Dry runs


def test_a_dry_run_lists_the_files_without_a_request_or_a_token(hub, space, dataset, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    published = publish_space(space, "alice/bias", dry_run=True, create_pr=True, private=True)
    assert published.files == {path: len(data) for path, data in contents(space).items()}
    assert list(published.files) == sorted(published.files)
    assert not published.changed
    assert published.url == f"{hub.url}/spaces/alice/bias"
    assert publish_dataset(dataset, "alice/captions", dry_run=True).files.keys() == contents(dataset).keys()
    assert hub.requests == []


# What is refused before the first request


def test_a_bad_name_is_refused_before_anything_is_sent(hub, space):
    for publish, arguments in ((publish_space, (space, "alice")), (publish_metric, (["lic"], "alice/bias"))):
        with pytest.raises(ValueError, match="write OWNER/NAME"):
            publish(*arguments)
    with pytest.raises(ValueError, match=r"names\[1\] is '../lic', not a metric: choose from .*lic"):
        publish_metric(["lic", "../lic"], "alice")
    assert hub.requests == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"README.md": None}, r"there is no README.md"),
        ({"requirements.txt": None, "README.md": "# no front matter"}, "no requirements.txt; .*not say sdk: gradio"),
        ({"README.md": SPACE.replace("gradio", "docker")}, "does not say sdk: gradio"),
        ({"README.md": SPACE.replace("6.31.0", "6.30")}, "no sdk_version with three numbers"),
        ({"README.md": SPACE.replace("app_file: app.py\n", "")}, "app_file None"),
        ({"app.py": None}, "app_file 'app.py', which is not one of the files to send"),
        ({"README.md": SPACE.replace("app.py", ".app.py"), ".app.py": "1"}, r"app_file '\.app\.py'"),
        ({"README.md": "---\n- a\n---\n"}, "the front matter is not a YAML mapping"),
        ({"README.md": b"\xff\xfe\x00"}, "the front matter is not a YAML mapping"),
        *(({name: "x"}, f"{name} is named like a file of secrets") for name in ("hf_token.txt", "a/TOKEN", "a/b.pem")),
        ({"a/settings.py": f"KEY = '{SECRET}'\n"}, r"a/settings\.py holds what looks like an access token"),
    ],
)
def test_a_folder_that_cannot_be_a_space_is_refused(hub, space, change, fault):
    write(space, change)
    with pytest.raises(ValueError, match=fault) as caught:
        publish_space(space, "alice/bias", dry_run=True)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"README.md": None}, "there is no README.md with configs"),
        ({"README.md": "---\nconfigs:\n- config_name: a\n---\n"}, "config a has no data_files; no config reads coco"),
        ({"README.md": "---\nconfigs: [coco]\n---\n"}, "datasets cannot read its configs"),
        ({"README.md": CARD.replace("flickr/test.parquet", "")}, "config flickr has no data_files; no config reads fl"),
        ({"flickr/test.parquet": None}, r"flickr/test\.parquet in data_files is not a Parquet file here"),
        ({"README.md": CARD.replace("coco/test-*", "coco/test-0")}, "no config reads coco/test-1.parquet"),
        ({"left/over.parquet": b"PAR1"}, "no config reads left/over.parquet"),
    ],
)
def test_a_folder_that_cannot_be_a_dataset_is_refused(hub, dataset, change, fault):
    write(dataset, change)
    with pytest.raises(ValueError, match=fault):
        publish_dataset(dataset, "alice/captions")
    assert hub.requests == []


def test_a_table_cut_short_or_without_rows_is_refused(hub, dataset):
    file = dataset / "coco/test-0.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    table(dataset / "flickr/test.parquet", 0)
    with pytest.raises(ValueError, match=r"test-0.parquet has no rows or is damaged; flickr/test.parquet has no rows"):
        publish_dataset(dataset, "alice/captions")


def test_hidden_files_and_what_python_leaves_are_never_sent(hub, space, tmp_path):
    """And a link inside the folder is sent as what it points to."""
    (space / "link.txt").symlink_to("a/b.txt")
    expected = contents(space)
    left = [".env", ".git/config", ".DS_Store", "a/.secret/x.txt", "__pycache__/app.cpython.pyc", "a/__pycache__/x.txt"]
    write(space, dict.fromkeys([*left, "b.pyc", ".cache/huggingface/x", ".eval_results/x.yaml"], SECRET))
    (space / ".outside").symlink_to("/etc/hostname")
    (tmp_path / "alias").symlink_to(space)
    publish_space(tmp_path / "alias", "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == expected
    assert not [request.path for request in hub.requests if SECRET.encode() in request.body]


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside", "nowhere", ".env", "a", "link.txt", None])
def test_a_link_to_anything_that_would_not_be_sent_itself_is_refused(hub, space, tmp_path, target):
    write(tmp_path, {"outside/x.txt": "secret"})
    write(space, {".env": "secret"})
    if target:
        (space / "link.txt").symlink_to(target)
    else:
        os.mkfifo(space / "link.txt")  # reading it would wait for ever
    with pytest.raises(ValueError, match=r"link\.txt is neither a file nor a link to one .*put a copy in its place"):
        publish_space(space, "alice/bias", dry_run=True)


def test_without_a_valid_token_or_with_an_empty_message_nothing_is_requested(hub, space, monkeypatch):
    with pytest.raises(ValueError, match="token has spaces or characters") as caught:
        publish_space(space, "alice/bias", token="hf_wrong\nX-Other: 1")
    assert "wrong" not in str(caught.value)
    with pytest.raises(ValueError, match="message is empty"):
        publish_space(space, "alice/bias", message="  \n")
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ValueError, match=r"no access token.*hf auth login"):
        publish_space(space, "alice/bias")
    assert hub.requests == []


# What the Hub refuses


def refused(folder, match, repo="alice/bias", publish=publish_space, **options):
    with pytest.raises(ValueError, match=match) as caught:
        publish(folder, repo, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{repo}: ")
    assert TOKEN not in str(caught.value)


def test_a_token_that_may_not_write_there_is_refused(hub, space):
    hub.add("spaces", "stranger/bias", {})
    hub.add("spaces", "stranger/hidden", {}, private=True)
    refused(space, "does not accept the access token.*may write.*HF_TOKEN", token="hf_wrong")
    refused(space, "may not write there: use one that may", token="hf_reads")
    refused(space, "may not write there", repo="stranger/bias")
    refused(space, "may not write there", repo="stranger/hidden")
    refused(space, "no such repository or owner", repo="nobody/bias")
    assert len(hub.repos) == 2
    assert on_hub(hub, "spaces", "stranger/bias") == {}


@pytest.mark.parametrize(
    ("moment", "fault", "text"),
    [
        (("POST", "/commit/"), RefusedError(500, "oops"), r"the Hub failed \(500\): run again later"),
        (("GET", "/api/spaces"), RefusedError(429, "slow"), "too many requests for now: run again in some minutes"),
        (("POST", "/api/repos/create"), RefusedError(400, "bad\nlines"), r"refuses \(400\): "),
    ],
)
def test_when_the_hub_fails_nothing_is_half_published(hub, space, moment, fault, text):
    hub.faults[moment] = fault
    refused(space, text)
    assert not any("app.py" in repo.files for repo in hub.repos.values())
    hub.faults.clear()
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space)


def test_an_upload_that_fails_commits_nothing(hub, dataset):
    hub.faults["PUT", "/storage/"] = RefusedError(403, "expired")
    refused(dataset, "403 Forbidden|may not write there", repo="alice/captions", publish=publish_dataset)
    assert hub.commits_sent() == []


def test_a_commit_of_somebody_else_meanwhile_is_not_overwritten(hub, space, monkeypatch):
    hub.add("spaces", "alice/bias", {"README.md": b"old"})
    commit = HfApi.create_commit

    def late(*arguments, **options):
        hub.add("spaces", "alice/bias", {"README.md": b"somebody else's"})
        return commit(*arguments, **options)

    monkeypatch.setattr(HfApi, "create_commit", late)
    refused(space, "it was changed meanwhile: run again")
    assert on_hub(hub, "spaces", "alice/bias") == {"README.md": b"somebody else's"}


def test_a_hub_out_of_reach_is_reported_in_one_line(hub, space, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
        refused(space, r"http://127.0.0.1:\d+ is out of reach .*check the network and HF_ENDPOINT")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(space, "offline mode is enabled.*HF_HUB_OFFLINE")


# Rows that may not be redistributed


@pytest.fixture
def terms(dataset):
    """The dataset with a card that asks its readers to agree to something first."""
    write(dataset, {"README.md": CARD.replace("---\n", "---\nextra_gated_prompt: For research only.\n", 1)})
    return dataset


@pytest.mark.parametrize("options", [{}, {"private": False}, {"dry_run": True}, {"create_pr": True}])
def test_rows_that_may_not_be_redistributed_are_never_sent_to_a_public_repository(hub, terms, options):
    with pytest.raises(ValueError, match=r"alice/captions: .*extra_gated_prompt.*--private"):
        publish_dataset(terms, "alice/captions", **options)
    assert hub.requests == []
    hub.add("datasets", "alice/captions", {"README.md": b"public already"})
    with pytest.raises(ValueError, match=r"private is True, but it is public"):
        publish_dataset(terms, "alice/captions", private=True)
    assert not hub.commits_sent()


def test_they_are_sent_to_a_private_one_behind_a_gate(hub, terms):
    publish_dataset(terms, "alice/captions", private=True)
    found = hub.repos["datasets", "alice/captions"]
    assert (found.private, found.gated) == (True, "manual")
    assert on_hub(hub, "datasets", "alice/captions") == contents(terms)
    paths = [request.path.rpartition("/")[2] for request in hub.writes]
    assert paths.index("settings") < paths.index("main")  # of commit/main: rows come when the gate is there
    found.gated = "auto"
    publish_dataset(terms, "alice/captions", private=True)
    assert found.gated == "auto"
