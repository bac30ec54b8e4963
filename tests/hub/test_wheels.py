"""An app arrives on the Hub with the wheel that it requires, and what it then requires can be installed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from huggingface_hub import SpaceCard
from packaging.requirements import Requirement

import captionbias
from captionbias.hub.publishing import publish_metric, publish_space
from captionbias.hub.wheels import find_wheel
from tests.hub.conftest import write
from tests.patience import FOREVER, PATIENCE

ROOT = Path(__file__).parents[2]
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
@pytest.mark.parametrize("name", ["captionbias", "lic"])
def test_a_published_space_starts_from_its_files_alone_and_measures(hub, wheel, tmp_path, name):
    """In a new venv, as the Hub does: the files of a dry run, the requirements, the SDK that the card names."""
    publish = (
        (lambda **options: publish_space(ROOT / "spaces/captionbias", "alice/captionbias", wheel=wheel, **options))
        if name == "captionbias"
        else (lambda **options: publish_metric([name], "alice", wheel=wheel, **options)[0])
    )
    planned = publish(dry_run=True).files
    publish()
    folder = tmp_path / "space"
    files = {path: hub.repos["spaces", f"alice/{name}"].files[path] for path in planned}
    write(folder, files)
    assert {path: len(content) for path, content in files.items()} == planned

    venv, sdk = tmp_path / "venv", SpaceCard.load(folder / "README.md").data.sdk_version
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=FOREVER)
    install = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--requirement", folder / "requirements.txt"]
    subprocess.run([*install, f"gradio=={sdk}"], check=True, timeout=FOREVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False", "HOME": str(tmp_path)}
    with subprocess.Popen([venv / "bin/python", "app.py"], cwd=folder, env=environment) as served:
        try:
            client = _client(f"http://127.0.0.1:{port}", served, tmp_path)
            client.predict(api_name="/example")
            client.predict(["gender"], "", "coco_objects", "", ["lic"], "fast", 2, 0, api_name="/measure")
            assert set(client.predict(api_name="/results")["signatures"]) == {"lic"}
            client.close()
        finally:
            served.terminate()


def _client(url, served, folder):
    """A client of the page once it answers."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(url, verbose=False, download_files=folder, httpx_kwargs={"timeout": PATIENCE})
        except httpx.TransportError:  # nobody listens yet
            assert served.poll() is None, "the app has ended"
            assert time.monotonic() < end, "the app does not answer"
            time.sleep(1)
