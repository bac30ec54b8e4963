"""The folder of a Space and the package that its requirements name: on an index, at an address, in a file beside it."""

import pytest
from typer.testing import CliRunner

from captionbias.hub.commands import publish
from captionbias.hub.spaces import write_space
from tests.hub.conftest import write
from tests.refusals import refuses

WHEEL = "captionbias-0.2.0+of-us-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path):
    files = {"README.md": "---\nsdk: gradio\n---\n", "app.py": "1", "more/x.txt": "x", ".env": "hidden"}
    files["requirements.txt"] = "numpy\ncaptionbias[app,quality]>=0.1\n# captionbias\n"
    (tmp_path / WHEEL).write_bytes(b"wheel")
    return write(tmp_path / "folder", files)


AT_ADDRESS = "https://huggingface.co/spaces/me/bias/resolve/main/captionbias-0.2.0%2Bof-us-py3-none-any.whl"


@pytest.mark.parametrize(
    ("package", "repo", "named"),
    [
        ("git+https://a.b/c", None, "captionbias[app,quality] @ git+https://a.b/c"),
        ("https://a.b/c.whl", None, "captionbias[app,quality] @ https://a.b/c.whl"),
        (WHEEL, None, f"./{WHEEL}[app,quality]"),
        (WHEEL, "me/bias", f"captionbias[app,quality] @ {AT_ADDRESS}"),
    ],
)
def test_the_requirements_name_the_package(folder, tmp_path, monkeypatch, package, repo, named):
    monkeypatch.chdir(tmp_path)
    write_space(folder, tmp_path / "to", package, repo)
    assert (tmp_path / "to" / "requirements.txt").read_text() == f"numpy\n{named}\n# captionbias\n"
    there = {path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    beside = {WHEEL} if package == WHEEL else set()
    assert there == {"README.md", "app.py", "more/x.txt", "requirements.txt", *beside}


def test_what_is_not_the_package_is_refused_and_a_folder_with_something_in_it_stays(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    neither = "is neither an address nor a wheel of captionbias"
    refuses(f"'captionbias-1.whl' {neither}", write_space, folder, tmp_path / "to", "captionbias-1.whl")
    refuses(f"'app.py' {neither}", write_space, folder, tmp_path / "to", "app.py")
    refuses("package is missing: captionbias is on no index yet", write_space, folder, tmp_path / "to")
    refuses("is there already: name a folder that is new or empty", write_space, folder, folder)
    (folder / "requirements.txt").write_text("captionbiased")
    missing = "requirements.txt of .* does not name captionbias"
    refuses(missing, write_space, folder, tmp_path / "to", "https://a.b/c.whl")
    assert not (tmp_path / "to").exists()


def test_a_space_is_sent_with_the_wheel(hub, folder, tmp_path):
    given = ["space", str(folder), "--package", str(tmp_path / WHEEL)]
    refused = CliRunner().invoke(publish, given, env={"COLUMNS": "200"})
    assert (refused.exit_code, "--to is missing" in refused.output) == (2, True)
    assert CliRunner().invoke(publish, [*given, "--to", "me/bias"]).exit_code == 0
    assert hub.files[WHEEL] == b"wheel"
    assert b"/spaces/me/bias/resolve/main/" in hub.files["requirements.txt"]
