"""Publishing through the real huggingface_hub client, to a Hub on this machine that checks what it gets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias import metrics
from captionbias.captions import CaptionBiasWarning
from captionbias.hub import publishing
from captionbias.hub.modules import metric_folders
from captionbias.hub.publishing import publish_dataset, publish_metric, publish_space
from tests.hub.hub_server import TOKEN, RefusedError, connect, environment, running

SECRET = "hf_" + "aB3" * 12
CARD = """---
configs:
- config_name: coco
  data_files:
  - split: test
    path: coco/test-*.parquet
- config_name: flickr
  data_files: flickr/test.parquet
---
# Captions
"""
SPACE = "---\ntitle: Bias\nsdk: gradio\nsdk_version: 6.31.0\napp_file: app.py\n---\n# Bias\n"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty Hub, to which huggingface_hub talks in this process with a token that may write as alice."""
    with running() as hub:
        connect(hub, monkeypatch, tmp_path)
        yield hub


def write(folder, files):
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"caption": [f"caption {row}" for row in range(rows)]}), path)
    return path


@pytest.fixture
def space(tmp_path):
    app = "import gradio\n\nprint('ü')\n"
    return write(
        tmp_path / "space", {"README.md": SPACE, "app.py": app, "requirements.txt": "gradio\n", "a/b.txt": "b"}
    )


@pytest.fixture
def dataset(tmp_path):
    folder = write(tmp_path / "dataset", {"README.md": CARD})
    for path, rows in (("coco/test-0.parquet", 30), ("coco/test-1.parquet", 20), ("flickr/test.parquet", 10)):
        table(folder / path, rows)
    return folder


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def states(published):
    return {file.path: file.state for file in published.files}


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
    assert {file.path: file.size for file in published.files} == {p: len(data) for p, data in contents(space).items()}
    assert set(states(published).values()) == {"new"}


def test_a_dataset_arrives_whole_with_its_tables_in_large_file_storage(hub, dataset):
    publish_dataset(dataset, "lab/captions")
    assert on_hub(hub, "datasets", "lab/captions") == contents(dataset)
    tables = {path: data for path, data in contents(dataset).items() if path.endswith(".parquet")}
    assert set(hub.large) == {sha256(data).hexdigest() for data in tables.values()}
    assert hub.repos["datasets", "lab/captions"].commits[-1].large == set(tables)
    assert len(hub.commits_sent()) == 1


def test_all_metrics_become_spaces_when_none_is_named(hub):
    published = publish_metric(None, "lab")
    assert sorted(done.repo for done in published) == sorted(f"lab/{name}" for name in metrics.__all__)
    for folder in metric_folders():
        assert on_hub(hub, "spaces", f"lab/{folder.name}") == {
            path: data for path, data in contents(folder).items() if "__pycache__" not in path
        }
    assert len(hub.commits_sent()) == len(published)


def test_evaluate_loads_a_published_metric_by_its_name(hub, tmp_path):
    publish_metric(["gender_error"], "alice")
    code = (
        "import evaluate\n"
        "metric = evaluate.load('alice/gender_error')\n"
        "print(metric.compute(predictions=['a man', 'a man'] * 5, references=[['a man'], ['a woman']] * 5,"
        " attributes=['male', 'female'] * 5)['signature'])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(hub, tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("metric:gender_error|")


def test_datasets_loads_a_published_dataset_with_its_rows(hub, dataset, tmp_path):
    publish_dataset(dataset, "alice/captions")
    code = "import datasets; print(datasets.load_dataset('alice/captions', 'coco')['test'].num_rows)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(hub, tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "50"


# Again


def test_what_has_not_changed_is_not_sent_again(hub, space, dataset):
    publish_space(space, "alice/bias")
    publish_dataset(dataset, "alice/captions")
    before = len(hub.writes)
    again = [publish_space(space, "alice/bias"), publish_dataset(dataset, "alice/captions")]
    assert len(hub.writes) == before
    assert [done.changed for done in again] == [False, False]
    assert {state for done in again for state in states(done).values()} == {"same"}
    assert publish_space(space, "alice/bias", create_pr=True).pull_request is None


def test_only_what_changed_is_sent(hub, dataset):
    publish_dataset(dataset, "alice/captions")
    table(dataset / "flickr/test.parquet", 11)
    before = len(hub.requests)
    published = publish_dataset(dataset, "alice/captions")
    assert states(published) == {
        "README.md": "same",
        "coco/test-0.parquet": "same",
        "coco/test-1.parquet": "same",
        "flickr/test.parquet": "changed",
    }
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset)
    sent = [request for request in hub.requests[before:] if request.method == "PUT"]
    assert [request.body for request in sent] == [(dataset / "flickr/test.parquet").read_bytes()]


def test_a_file_of_the_same_size_and_other_bytes_is_changed(hub, space):
    publish_space(space, "alice/bias")
    (space / "a/b.txt").write_text("c")
    assert states(publish_space(space, "alice/bias"))["a/b.txt"] == "changed"
    assert on_hub(hub, "spaces", "alice/bias")["a/b.txt"] == b"c"


def test_files_that_only_a_space_on_the_hub_has_stay(hub, space):
    hub.add("spaces", "alice/bias", {"theirs.py": b"1", "old/theirs.parquet": b"2"})
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space) | {"theirs.py": b"1", "old/theirs.parquet": b"2"}


def test_rows_of_earlier_builds_go_in_the_same_commit_and_nothing_else_does(hub, dataset):
    earlier = CARD.replace("flickr", "vizwiz").encode()
    theirs = {"raw/theirs.parquet": b"t", "coco/notes.txt": b"n", "vizwiz/notes.md": b"m", "coco/train-0.parquet": b"o"}
    stale = {"coco/test-2.parquet": b"s", "vizwiz/test.parquet": b"v"}
    hub.add("datasets", "alice/captions", {"README.md": earlier, **theirs, **stale})
    published = publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset) | theirs
    assert ".gitattributes" in hub.repos["datasets", "alice/captions"].files
    assert {path for path, state in states(published).items() if state == "deleted"} == set(stale)
    assert len(hub.commits_sent()) == 1


def test_a_build_with_fewer_tables_deletes_the_rest_under_an_unchanged_card(hub, dataset):
    publish_dataset(dataset, "alice/captions")
    (dataset / "coco/test-1.parquet").unlink()
    published = publish_dataset(dataset, "alice/captions")
    assert published.changed
    assert states(published)["coco/test-1.parquet"] == "deleted"
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset)


@pytest.mark.parametrize("broken", [b"---\na: [\n---\n", b"no front matter", b"---\nconfigs: 3\n---\n", b"\xff\xfe"])
def test_a_broken_card_on_the_hub_is_replaced(hub, dataset, broken):
    hub.add("datasets", "alice/captions", {"README.md": broken, "old.parquet": b"o"})
    publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset) | {"old.parquet": b"o"}


def test_a_repository_of_several_pages_is_compared_whole(hub, dataset):
    publish_dataset(dataset, "alice/captions")
    hub.page = 2
    assert not publish_dataset(dataset, "alice/captions").changed


# Pull requests and visibility


def test_a_pull_request_leaves_main_alone(hub, space):
    hub.add("spaces", "stranger/bias", {"README.md": b"old"})
    published = publish_space(space, "stranger/bias", create_pr=True)
    found = hub.repos["spaces", "stranger/bias"]
    assert on_hub(hub, "spaces", "stranger/bias") == {"README.md": b"old"}
    assert {path: found.pulls[0].files[path] for path in contents(space)} == contents(space)
    assert published.pull_request == f"{hub.url}/spaces/stranger/bias/discussions/1"
    assert len(hub.commits_sent()) == 1


def test_a_dataset_goes_into_a_pull_request_with_its_large_files(hub, dataset):
    hub.add("datasets", "stranger/captions", {"README.md": CARD.encode(), "coco/test-9.parquet": b"stale"})
    publish_dataset(dataset, "stranger/captions", create_pr=True)
    (pull,) = hub.repos["datasets", "stranger/captions"].pulls
    assert {path: data for path, data in pull.files.items() if path != ".gitattributes"} == contents(dataset)


def test_a_pull_request_to_a_missing_repository_creates_it_first(hub, space):
    published = publish_space(space, "alice/bias", create_pr=True)
    assert published.pull_request
    assert "app.py" not in on_hub(hub, "spaces", "alice/bias")
    assert "app.py" in hub.repos["spaces", "alice/bias"].pulls[0].files


@pytest.mark.parametrize(("private", "expected"), [(True, True), (None, False), (False, False)])
def test_a_new_repository_is_as_private_as_asked(hub, space, private, expected):
    publish_space(space, "alice/bias", private=private)
    assert hub.repos["spaces", "alice/bias"].private is expected


@pytest.mark.parametrize("dry_run", [False, True])
def test_private_is_refused_when_the_repository_is_public(hub, space, dry_run):
    hub.add("spaces", "alice/bias", {})
    with pytest.raises(ValueError, match="private is True, but alice/bias is public"):
        publish_space(space, "alice/bias", private=True, dry_run=dry_run)
    assert hub.writes == []


def test_a_private_repository_is_updated(hub, space):
    hub.add("spaces", "alice/bias", {}, private=True)
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space)
    assert hub.repos["spaces", "alice/bias"].private


# Dry runs


def test_a_dry_run_tells_what_would_happen_and_writes_nothing(hub, dataset):
    old = {"README.md": b"old", "coco/test-0.parquet": (dataset / "coco/test-0.parquet").read_bytes()}
    hub.add("datasets", "alice/captions", old | {"coco/test-7.parquet": b"stale"})
    published = publish_dataset(dataset, "alice/captions", dry_run=True)
    assert states(published) == {
        "README.md": "changed",
        "coco/test-0.parquet": "same",
        "coco/test-1.parquet": "new",
        "flickr/test.parquet": "new",
        "coco/test-7.parquet": "deleted",
    }
    assert published.changed
    assert hub.requests
    assert hub.writes == []
    assert states(publish_dataset(dataset, "alice/captions")) == states(published)


def test_a_dry_run_of_a_repository_that_is_not_there_creates_none(hub, space):
    published = publish_space(space, "alice/bias", dry_run=True, create_pr=True, private=True)
    assert set(states(published).values()) == {"new"}
    assert hub.writes == []
    assert hub.repos == {}


def test_a_dry_run_without_a_token_compares_with_a_public_repository(hub, space, monkeypatch):
    publish_space(space, "alice/bias")
    before = len(hub.writes)
    monkeypatch.delenv("HF_TOKEN")
    assert not publish_space(space, "alice/bias", dry_run=True).changed
    assert len(hub.writes) == before


@pytest.mark.parametrize("token", [None, "hf_wrong"])
def test_a_dry_run_that_cannot_read_lists_everything_and_says_so(hub, space, monkeypatch, token):
    hub.add("spaces", "alice/bias", contents(space), private=True)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.warns(CaptionBiasWarning, match="not compared, so all files are listed: alice/bias"):
        published = publish_space(space, "alice/bias", dry_run=True, token=token)
    assert states(published) == dict.fromkeys(contents(space), "to send")
    assert hub.writes == []


def test_a_dry_run_without_a_network_lists_everything_and_says_so(hub, space, closed):
    with pytest.warns(CaptionBiasWarning, match=r"not compared.*out of reach"):
        published = publish_space(space, "alice/bias", dry_run=True)
    assert set(states(published).values()) == {"to send"}


# What is refused before the first request


@pytest.mark.parametrize(
    "repo",
    [
        *("bias", "", "/", "alice/", "/bias", "alice/bias/x", "../bias", "alice/..", "alice/../x", "alice/.", "a b/c"),
        *("alice/bias.git", "alice/b--s", "alice\\bias", "alice/bias\n", "alice/bías", "alice/-b", "https://x/alice/b"),
        "alice/" + "x" * 97,
    ],
)
def test_a_name_that_is_no_repository_is_refused(hub, space, dataset, repo):
    for publish, folder in ((publish_space, space), (publish_dataset, dataset)):
        with pytest.raises(ValueError, match="give OWNER/NAME"):
            publish(folder, repo)
    assert hub.requests == []


@pytest.mark.parametrize("owner", ["", "..", "a/b", "alice/", "a b"])
def test_an_owner_that_is_none_is_refused(hub, owner):
    with pytest.raises(ValueError, match="give OWNER/NAME"):
        publish_metric(["lic"], owner)
    assert hub.requests == []


@pytest.mark.parametrize("name", ["no_such", "../lic", "lic/", "", "."])
def test_a_metric_that_is_none_is_refused_before_the_others_are_sent(hub, name):
    with pytest.raises(ValueError, match=r"names\[1\] is .*, which is no metric here: choose from .*lic"):
        publish_metric(["lic", name], "alice")
    assert hub.requests == []


def test_a_metric_named_twice_is_published_once(hub):
    assert len(publish_metric(["lic", "lic"], "alice")) == 1
    assert len(hub.commits_sent()) == 1


@pytest.mark.parametrize(
    ("change", "lack"),
    [
        ({"README.md": None}, "there is no README.md"),
        ({"requirements.txt": None}, "there is no requirements.txt"),
        ({"README.md": "# no front matter"}, "does not say sdk: gradio"),
        ({"README.md": SPACE.replace("gradio", "docker")}, "does not say sdk: gradio"),
        ({"README.md": SPACE.replace("sdk_version: 6.31.0\n", "")}, "no sdk_version"),
        ({"README.md": SPACE.replace("6.31.0", "6.30")}, "no sdk_version with three numbers"),
        ({"README.md": SPACE.replace("app_file: app.py\n", "")}, "app_file None"),
        ({"app.py": None}, "app_file 'app.py', which is none of the files to send"),
        ({"README.md": SPACE.replace("app.py", "../app.py")}, r"app_file '\.\./app\.py'"),
        ({"README.md": SPACE.replace("app.py", ".app.py"), ".app.py": "1"}, r"app_file '\.app\.py'"),
        ({"README.md": SPACE.replace("app.py", "[app.py]")}, "app_file"),
        ({"README.md": "---\na: [\n---\n"}, "front matter that is no YAML"),
        ({"README.md": "---\n- a\n---\n"}, "front matter that is no YAML"),
        ({"README.md": b"\xff\xfe\x00"}, "front matter that is no YAML"),
        ({"README.md": None, "app.py": None, "requirements.txt": None}, r"README.md; there is no requirements.txt"),
    ],
)
def test_a_folder_that_is_no_space_is_refused(hub, space, change, lack):
    apply(space, change)
    with pytest.raises(ValueError, match=lack) as caught:
        publish_space(space, "alice/bias")
    assert "\n" not in str(caught.value)
    assert hub.requests == []


def apply(folder, change):
    for path, content in change.items():
        if content is None:
            (folder / path).unlink()
        else:
            write(folder, {path: content})


@pytest.mark.parametrize(
    ("change", "lack"),
    [
        ({"README.md": None}, "there is no README.md"),
        ({"README.md": "# no front matter"}, "README.md has no configs"),
        (
            {"README.md": "---\nconfigs:\n- config_name: coco\n---\n"},
            "config coco has no data_files; no config reads coco",
        ),
        ({"README.md": "---\nconfigs: [coco]\n---\n"}, "README.md has no configs"),
        ({"README.md": CARD.replace("flickr/test.parquet", "")}, "config flickr has no data_files; no config reads fl"),
        ({"flickr/test.parquet": None}, r"config flickr reads flickr/test\.parquet, which is no Parquet file here"),
        ({"README.md": CARD.replace("coco/test-*", "../*")}, r"config coco reads \.\./\*\.parquet"),
        ({"README.md": CARD.replace("coco/test-*", "coco/test-0")}, "no config reads coco/test-1.parquet"),
        ({"left/over.parquet": b"PAR1"}, "no config reads left/over.parquet"),
        ({"coco/test-1.parquet": b""}, "coco/test-1.parquet cannot be read as Parquet"),
        ({"coco/test-1.parquet": b"PAR1 and then no footer PAR1"}, "coco/test-1.parquet cannot be read as Parquet"),
        ({"coco/test-0.parquet": b"x", "flickr/test.parquet": None}, "config flickr.*; coco/test-0.parquet cannot"),
    ],
)
def test_a_folder_that_is_no_dataset_is_refused(hub, dataset, change, lack):
    apply(dataset, change)
    with pytest.raises(ValueError, match=lack):
        publish_dataset(dataset, "alice/captions")
    assert hub.requests == []


def test_a_table_cut_short_or_without_rows_is_refused(hub, dataset):
    file = dataset / "coco/test-0.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    table(dataset / "flickr/test.parquet", 0)
    with pytest.raises(ValueError, match=r"test-0.parquet cannot be read as Parquet; flickr/test.parquet has no rows"):
        publish_dataset(dataset, "alice/captions")
    assert hub.requests == []


@pytest.mark.parametrize(
    "data_files",
    ["'**/*.parquet'", "[coco/*.parquet, flickr/test.parquet]", "[{split: a, path: [coco/*, flickr/*]}]", "'**'"],
)
def test_a_card_may_write_its_data_files_in_each_of_the_usual_ways(hub, dataset, data_files):
    write(dataset, {"README.md": f"---\nconfigs:\n- data_files: {data_files}\n---\n"})
    publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset)


@pytest.mark.parametrize("folder", ["nowhere", "space/app.py"])
def test_a_folder_that_is_none_is_refused(hub, space, tmp_path, folder):
    with pytest.raises(ValueError, match="which is no folder"):
        publish_space(tmp_path / folder, "alice/bias")


def test_hidden_files_and_what_python_leaves_are_never_sent(hub, space):
    expected = contents(space)
    left = [".env", ".git/config", ".DS_Store", "a/.secret/x.txt", "__pycache__/app.cpython.pyc", "a/__pycache__/x.txt"]
    write(space, dict.fromkeys([*left, "b.pyc", ".cache/huggingface/x", ".eval_results/x.yaml"], SECRET))
    (space / ".outside").symlink_to("/etc/hostname")
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == expected
    assert not [request.path for request in hub.requests if SECRET.encode() in request.body]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    "target", ["/etc/hostname", "../outside.txt", "../outside", "nowhere", ".env", "a", "app.py/x", "link.txt"]
)
def test_a_link_to_anything_that_would_not_be_sent_itself_is_refused(hub, space, tmp_path, target, dry_run):
    write(tmp_path, {"outside.txt": "secret", "outside/x.txt": "secret"})
    write(space, {".env": "secret"})
    (space / "link.txt").symlink_to(target)
    with pytest.raises(ValueError, match=r"link\.txt is a link to .*put a copy in its place"):
        publish_space(space, "alice/bias", dry_run=dry_run)
    assert hub.requests == []


def test_a_link_inside_the_folder_is_sent_as_what_it_points_to(hub, space, tmp_path):
    (space / "link.txt").symlink_to("a/b.txt")
    (tmp_path / "alias").symlink_to(space)
    publish_space(tmp_path / "alias", "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias")["link.txt"] == b"b"


@pytest.mark.parametrize("name", ["token", "hf_token.txt", "a/TOKEN", "stored_tokens", "me.token", "a/server.pem"])
def test_a_file_named_like_a_secret_is_refused(hub, space, name):
    write(space, {name: "x"})
    with pytest.raises(ValueError, match=f"{name} is named like a file of secrets"):
        publish_space(space, "alice/bias")
    assert hub.requests == []


def test_a_file_that_holds_a_token_is_refused_and_the_token_not_repeated(hub, space):
    write(space, {"a/settings.py": f"KEY = '{SECRET}'\n"})
    with pytest.raises(ValueError, match=r"a/settings\.py holds what looks like an access token") as caught:
        publish_space(space, "alice/bias")
    assert SECRET not in str(caught.value)
    assert hub.requests == []


@pytest.mark.parametrize("name", ["a\nb.txt", "a\\b.txt", "a\x1b[31m.txt", os.fsdecode(b"\xff.txt")])
def test_a_file_name_that_does_not_print_is_refused(hub, space, name):
    (space / name).write_text("x")
    with pytest.raises(ValueError, match="rename it") as caught:
        publish_space(space, "alice/bias")
    assert str(caught.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_rather_than_read_for_ever(hub, space):
    os.mkfifo(space / "pipe")
    with pytest.raises(ValueError, match="pipe is neither a file nor a folder"):
        publish_space(space, "alice/bias")


@pytest.mark.parametrize("message", ["", "  \n"])
def test_an_empty_message_is_refused(hub, space, message):
    with pytest.raises(ValueError, match="message is empty"):
        publish_space(space, "alice/bias", message=message)
    assert hub.requests == []


# What the Hub refuses


@pytest.fixture
def closed(monkeypatch):
    """The address of a Hub that nobody serves."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
        yield


def refused(space, match, repo="alice/bias", **options):
    with pytest.raises(ValueError, match=match) as caught:
        publish_space(space, repo, **options)
    assert "\n" not in str(caught.value)
    assert repo in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_without_a_token_nothing_is_asked(hub, space, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ValueError, match=r"no access token.*hf auth login"):
        publish_space(space, "alice/bias")
    assert hub.requests == []


@pytest.mark.parametrize("token", ["hf_wr ong", "hf_wrong\nX-Other: 1", "hf_wröng"])
def test_a_token_that_no_header_can_hold_is_not_repeated(hub, space, token):
    with pytest.raises(ValueError, match="token has spaces or characters") as caught:
        publish_space(space, "alice/bias", token=token)
    assert "wr" not in str(caught.value)
    assert hub.requests == []


def test_a_token_that_the_hub_does_not_know_is_told_how_to_be_replaced(hub, space):
    refused(space, "does not accept the access token.*may write.*HF_TOKEN", token="hf_wrong")
    assert hub.writes == []


def test_a_token_without_rights_is_told_so(hub, space):
    refused(space, "may not write there: use one that may write as alice", token="hf_reads")
    hub.add("spaces", "stranger/bias", {})
    refused(space, "may not write there", repo="stranger/bias")
    assert len(hub.repos) == 1
    assert on_hub(hub, "spaces", "stranger/bias") == {}


def test_an_owner_that_nobody_is_is_told_so(hub, space):
    refused(space, "nor an owner nobody", repo="nobody/bias")
    assert hub.repos == {}


def test_a_private_repository_of_others_is_not_written(hub, space):
    hub.add("spaces", "stranger/bias", {}, private=True)
    refused(space, "may not write there", repo="stranger/bias")


@pytest.mark.parametrize("moment", [("GET", "/api/spaces"), ("POST", "/api/repos/create"), ("POST", "/commit/")])
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (RefusedError(500, "oops"), r"fault of its own \(500\): run again later"),
        (RefusedError(503, "<html>"), r"fault of its own \(503\)"),
        (RefusedError(429, "slow", **{"Retry-After": "17"}), "too many requests for now: run again in 17 seconds"),
        (RefusedError(429, "slow"), "run again in some minutes"),
        (RefusedError(402, "Subscribe to PRO"), r"refuses \(402\): .*Subscribe to PRO"),
        (RefusedError(400, "bad\nlines"), r"refuses \(400\): "),
    ],
)
def test_a_hub_that_fails_is_told_in_one_line_and_nothing_is_half_published(hub, space, moment, fault, text):
    hub.faults[moment] = fault
    refused(space, text)
    assert not any("app.py" in repo.files for repo in hub.repos.values())
    hub.faults.clear()
    publish_space(space, "alice/bias")
    assert on_hub(hub, "spaces", "alice/bias") == contents(space)


def test_an_upload_that_fails_commits_nothing(hub, dataset):
    hub.faults["PUT", "/storage/"] = RefusedError(403, "expired")
    with pytest.raises(ValueError, match="alice/captions: the access token may not write there"):
        publish_dataset(dataset, "alice/captions")
    assert hub.commits_sent() == []
    hub.faults.clear()
    publish_dataset(dataset, "alice/captions")
    assert on_hub(hub, "datasets", "alice/captions") == contents(dataset)


def test_an_upload_by_xet_that_is_refused_is_told_in_one_line_and_commits_nothing(hub, dataset, monkeypatch):
    pytest.importorskip("hf_xet")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    hub.faults["GET", "xet-write-token"] = RefusedError(403, "no")
    with pytest.raises(ValueError, match=r"alice/captions was not published: .*403 Forbidden") as caught:
        publish_dataset(dataset, "alice/captions")
    assert "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert hub.commits_sent() == []


def test_a_card_that_the_hub_does_not_accept_is_told_by_its_words(hub, space):
    write(space, {"README.md": SPACE.replace("title", "wrong")})
    refused(space, 'alice/bias was not published: Invalid metadata in README.md. - "wrong" is not allowed')


def test_a_commit_of_somebody_else_meanwhile_is_not_overwritten(hub, space, monkeypatch):
    hub.add("spaces", "alice/bias", {"README.md": b"old"})
    send = publishing._send

    def late(*arguments):
        hub.add("spaces", "alice/bias", {"README.md": b"somebody else's"})
        return send(*arguments)

    monkeypatch.setattr(publishing, "_send", late)
    refused(space, "changed by somebody else meanwhile: run again")
    assert on_hub(hub, "spaces", "alice/bias") == {"README.md": b"somebody else's"}


def test_a_hub_that_nobody_serves_is_told_in_one_line(hub, space, closed):
    refused(space, r"http://127.0.0.1:\d+ is out of reach .*check the network and HF_ENDPOINT")


def test_offline_mode_is_told_in_one_line(hub, space, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(space, "offline mode is enabled.*HF_HUB_OFFLINE")


def test_all_repositories_are_read_before_the_first_is_changed(hub):
    hub.faults["GET", "/api/spaces/alice/lic"] = RefusedError(500, "oops")
    with pytest.raises(ValueError, match="alice/lic"):
        publish_metric(["dbac", "lic"], "alice")
    assert hub.writes == []
