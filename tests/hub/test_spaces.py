"""The folder of a Space and the package that its requirements name: on an index, at an address, in a file beside it."""

from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from captionbias.hub.commands import publish
from captionbias.hub.spaces import write_space
from tests.hub.conftest import write
from tests.launch import python
from tests.refusals import refuses

WHEEL = "captionbias-0.2.0+of-us-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path):
    files = {"README.md": "---\nsdk: gradio\n---\n", "app.py": "1", "more/x.txt": "x", ".env": "hidden"}
    files["requirements.txt"] = "numpy\ncaptionbias[app,quality]>=0.1\n# captionbias\n"
    files["app.py"] = '"""A Space."""\nfrom __future__ import annotations\nimport captionbias\nprint(captionbias)\n'
    needs = ("scipy>=1", "a; extra == 'app'", "captionbias[plots]; extra == 'app'", "scipy>=1; extra == 'plots'")
    needs += ("b; python_version < '4' and extra == \"plots\"", "c; extra == 'torch'", "d<2; extra == 'quality'")
    with ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.writestr("captionbias-0.2.0.dist-info/METADATA", "\n".join(f"Requires-Dist: {need}" for need in needs))
    return write(tmp_path / "folder", files)


NEEDED = "scipy>=1\na\nb; python_version < '4'\nd<2"


@pytest.mark.parametrize(
    ("package", "named"),
    [
        ("git+https://a.b/c", "captionbias[app,quality] @ git+https://a.b/c"),
        ("https://a.b/c.whl", "captionbias[app,quality] @ https://a.b/c.whl"),
        (WHEEL, NEEDED),
    ],
)
def test_the_requirements_name_the_package(folder, tmp_path, monkeypatch, package, named):
    monkeypatch.chdir(tmp_path)
    write_space(folder, tmp_path / "to", package)
    assert (tmp_path / "to" / "requirements.txt").read_text() == f"numpy\n{named}\n# captionbias\n"
    there = {path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    beside = {WHEEL} if package == WHEEL else set()
    assert there == {"README.md", "app.py", "more/x.txt", "requirements.txt", *beside}


def test_the_app_installs_the_wheel_beside_it_before_it_imports_it_wherever_it_is_started(folder, tmp_path):
    write_space(folder, tmp_path / "to", str(tmp_path / WHEEL))
    pip = "import sys\nprint(sys.argv[1:])"
    write(tmp_path / "bin", {"pip/__main__.py": pip, "pip/__init__.py": "", "captionbias.py": ""})
    shown = python(tmp_path / "to" / "app.py", folder=tmp_path, PYTHONPATH=tmp_path / "bin")
    assert f"'--no-deps', '{tmp_path / 'to' / WHEEL}']" in shown
    assert "<module 'captionbias'" in shown


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
    assert (hub.files[WHEEL], b"captionbias" in hub.files["requirements.txt"].split(b"#")[0]) == (
        (tmp_path / WHEEL).read_bytes(),
        False,
    )
