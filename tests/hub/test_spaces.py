"""The folder of a Space and the package that its requirements name: on an index, at an address, in a file beside it."""

import pytest
from typer.testing import CliRunner

from captionbias.hub.commands import publish
from captionbias.hub.spaces import write_space

WHEEL = "captionbias-0.2.0+of-us-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    (folder / "more").mkdir(parents=True)
    files = {"README.md": "---\nsdk: gradio\n---\n", "app.py": "1", "more/x.txt": "x", ".env": "hidden"}
    for name, text in {**files, "requirements.txt": "numpy\ncaptionbias[app,quality]>=0.1\n# captionbias\n"}.items():
        (folder / name).write_text(text)
    (tmp_path / WHEEL).write_bytes(b"wheel")
    return folder


@pytest.mark.parametrize(
    ("package", "repo", "named"),
    [
        (None, None, "captionbias[app,quality]>=0.1"),
        ("https://a.b/c.whl", None, "captionbias[app,quality] @ https://a.b/c.whl"),
        (WHEEL, None, f"./{WHEEL}[app,quality]"),
        (
            WHEEL,
            "me/bias",
            "captionbias[app,quality] @ https://huggingface.co/spaces/me/bias/resolve/main/"
            "captionbias-0.2.0%2Bof-us-py3-none-any.whl",
        ),
    ],
)
def test_the_requirements_name_the_package(folder, tmp_path, monkeypatch, package, repo, named):
    monkeypatch.chdir(tmp_path)
    write_space(folder, tmp_path / "to", package, repo)
    assert (tmp_path / "to" / "requirements.txt").read_text() == f"numpy\n{named}\n# captionbias\n"
    there = {path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    beside = {WHEEL} if package == WHEEL else set()
    assert there == {"README.md", "app.py", "more/x.txt", "requirements.txt", *beside}


@pytest.mark.parametrize(
    ("package", "requirements", "message"),
    [
        ("captionbias-1.whl", "captionbias", "'captionbias-1.whl' is neither an address nor a wheel of captionbias"),
        ("app.py", "captionbias", "'app.py' is neither an address nor a wheel"),
        ("https://a.b/c.whl", "captionbiased", "requirements.txt of .* does not name captionbias"),
    ],
)
def test_what_is_not_the_package_is_refused(folder, tmp_path, monkeypatch, package, requirements, message):
    monkeypatch.chdir(folder)
    (folder / "requirements.txt").write_text(requirements)
    with pytest.raises(ValueError, match=message):
        write_space(folder, tmp_path / "to", package)


def test_a_folder_with_something_in_it_stays_as_it_is(folder):
    with pytest.raises(ValueError, match="is there already: name a folder that is new or empty"):
        write_space(folder, folder)


def test_a_space_is_sent_with_the_wheel(hub, folder, tmp_path):
    given = ["space", str(folder), "--package", str(tmp_path / WHEEL)]
    refused = CliRunner().invoke(publish, given, env={"COLUMNS": "200"})
    assert (refused.exit_code, "--to is missing" in refused.output) == (2, True)
    assert CliRunner().invoke(publish, [*given, "--to", "me/bias"]).exit_code == 0
    assert hub.files[WHEEL] == b"wheel"
    assert b"/spaces/me/bias/resolve/main/" in hub.files["requirements.txt"]
