"""An app arrives on the Hub with the wheel that it requires, and what it then requires can be installed."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import captionbias
from captionbias.hub.publishing import publish_metric, publish_space
from captionbias.hub.wheels import find_wheel
from tests.hub.conftest import write
from tests.patience import FOREVER

NAME = f"captionbias-{captionbias.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this clone, in a file."""
    built = find_wheel(None)
    path = tmp_path_factory.mktemp("wheel") / built.name
    path.write_bytes(built.content)
    return path


def test_the_wheel_of_the_clone_has_the_package_and_what_travels_with_it(wheel):
    assert wheel.name == NAME
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"captionbias/metrics/lic.py", "captionbias/_metrics/lic/lic.py", "captionbias/py.typed"} <= names
    assert "captionbias/_datasets_scripts/lic_captions/README.md" in names
    assert find_wheel(wheel).content == find_wheel(None).content  # the same files, the same bytes


def test_a_metric_arrives_with_its_wheel_which_requirements_and_card_name(hub, wheel):
    published = publish_metric(["lic"], "alice", wheel=wheel)[0]
    files = hub.repos["spaces", "alice/lic"].files
    assert files[NAME] == wheel.read_bytes()
    assert published.files.keys() == files.keys() - {".gitattributes"}
    address = f"{hub.url}/spaces/alice/lic/resolve/main/{NAME}"
    required = Requirement(files["requirements.txt"].decode().strip())
    assert (required.name, required.extras, required.url) == ("captionbias", {"app", "evaluate"}, address)
    installs = re.findall(r"^pip install .*", files["README.md"].decode(), re.MULTILINE)
    assert [line.split("  #")[0] for line in installs] == [f'pip install "captionbias[evaluate,torch] @ {address}"']
    assert published.files["requirements.txt"] == len(files["requirements.txt"])
    assert not publish_metric(["lic"], "alice")[0].changed  # built again, it is the same


def test_an_app_of_ones_own_keeps_its_other_lines_and_one_that_names_no_captionbias_carries_none(hub, space, wheel):
    assert NAME not in publish_space(space, "alice/other", dry_run=True, wheel="nowhere").files
    write(space, {"requirements.txt": "--prefer-binary\ngradio\n# mine\ncaptionbias >= 0.1\n"})
    publish_space(space, "alice/bias", wheel=wheel)
    address = f"{hub.url}/spaces/alice/bias/resolve/main/{NAME}"
    sent = hub.repos["spaces", "alice/bias"].files["requirements.txt"].decode()
    assert sent == f"--prefer-binary\ngradio\n# mine\ncaptionbias @ {address}\n"
    elsewhere = "captionbias @ https://example.org/captionbias-9-py3-none-any.whl\n"
    assert publish_space(write(space, {"requirements.txt": elsewhere}), "alice/bias").files.keys() == {
        *("README.md", "a/b.txt", "app.py", "requirements.txt")
    }


@pytest.mark.parametrize(
    ("requirements", "python", "options", "message"),
    [
        ("captionbias>=99\n", "3.11", {}, rf"requirements\.txt asks for captionbias>=99, which {NAME} does not meet"),
        ("captionbias[gpu]\n", "3.11", {}, rf"asks for the extra gpu, which {NAME} does not meet"),
        ("captionbias\n", "3.9", {}, r"python_version 3\.9, and the wheel requires >=3\.10"),
        ("captionbias\n", "3.11", {"private": True}, r"a private Space .* make it public"),
        ("captionbias\n", "3.11", {"wheel": "captionbias.whl"}, r"captionbias\.whl is not a wheel of captionbias"),
        ("captionbias\n", "3.11", {"wheel": "numpy-2.0-py3-none-any.whl"}, r"is not a wheel of captionbias"),
    ],
)
def test_what_could_not_be_installed_is_not_sent(hub, space, wheel, requirements, python, options, message):
    card = (space / "README.md").read_text().replace("app_file", f'python_version: "{python}"\napp_file')
    write(space, {"README.md": card, "requirements.txt": requirements})
    with pytest.raises(ValueError, match=message):
        publish_space(space, "alice/bias", **{"wheel": wheel, **options})
    assert not hub.writes


def test_without_a_clone_the_wheel_has_to_be_named(hub, wheel, monkeypatch, tmp_path):
    monkeypatch.setattr(captionbias, "__file__", str(tmp_path / "site-packages/captionbias/__init__.py"))
    with pytest.raises(ValueError, match=r"not installed from a clone.*--wheel FILE"):
        find_wheel(None)
    assert find_wheel(wheel).name == NAME


@pytest.mark.slow
def test_what_a_published_metric_requires_can_be_installed_and_used(hub, wheel, tmp_path):
    publish_metric(["gender_error"], "alice", wheel=wheel)
    requirements = tmp_path / "requirements.txt"
    requirements.write_bytes(hub.repos["spaces", "alice/gender_error"].files["requirements.txt"])
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=FOREVER)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True, timeout=FOREVER)
    code = "import captionbias, captionbias.app.page, captionbias.hub.modules; print(captionbias.__file__)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=FOREVER)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "venv")
