"""A release can happen: workflows run what there is, and `make release` checks what it builds and uploads nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
PYTHONS = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
JOBS = {f"{workflow}, {name}": job for workflow, content in WORKFLOWS.items() for name, job in content["jobs"].items()}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_runs_what_there_is_and_declares_what_it_needs(job: dict[str, Any]) -> None:
    assert {"runs-on", "timeout-minutes", "steps"} <= set(job)
    permissions, environment = job.get("permissions", {}), job.get("env", {})
    assert "secrets." not in str(job)
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step.get("uses", "owner/action@v1"))
        if "pypi-publish" in step.get("uses", ""):
            assert permissions.pop("id-token") == "write"
            assert job["environment"] == "pypi"
        for line in step.get("run", "").splitlines():
            program, what, *rest = shlex.split(line, comments=True)
            if program == "make":
                assert what in TARGETS
                assert all(f"$({argument.split('=')[0]})" in MAKEFILE for argument in rest), line
            elif program == ".venv/bin/python":
                options = {word for word in rest if word.startswith("-")}
                assert options <= set(re.findall(r"--[\w-]+", (ROOT / what).read_text(encoding="utf-8"))), line
            else:
                assert (program, what, rest[0]) == ("gh", "release", "create"), line
                assert permissions.pop("contents") == "write"
                assert {"GH_TOKEN", "GH_REPO"} <= set(environment)
    assert not permissions, "more than it needs"


def test_a_tag_is_checked_then_published_then_told() -> None:
    assert all(content["permissions"] == {"contents": "read"} for content in WORKFLOWS.values())
    release, jobs = WORKFLOWS["release"], WORKFLOWS["release"]["jobs"]
    assert release[True] == {"push": {"tags": ["v*"]}}  # `on` is True in YAML
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None,
        "publish": "build",
        "notes": "publish",
    }
    runs = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert runs == ['make release TAG="$GITHUB_REF_NAME"', "make test"]
    sent = {step["with"]["name"]: step["with"]["path"] for step in jobs["build"]["steps"] if "upload" in str(step)}
    assert sent == {"packages": "dist/captionbias-*", "notes": "dist/notes.md"}
    assert jobs["publish"]["steps"][0]["with"]["name"] == "packages"  # the index takes nothing else


def test_every_python_that_the_package_names_is_tested() -> None:
    jobs = WORKFLOWS["test"]["jobs"]
    assert jobs["newest"]["strategy"]["matrix"]["python"] == PYTHONS
    assert jobs["lowest"]["steps"][1]["with"]["python-version"] == PYTHONS[0]
    assert all(os.access(ROOT / script, os.X_OK) for script in re.findall(r"\.ci/\w+", MAKEFILE))


PROJECT = {
    "pyproject.toml": """build-system = {requires = ["hatchling"], build-backend = "hatchling.build"}
project = {name = "captionbias", dynamic = ["version"], requires-python = ">=3.10"}
tool.hatch.version.path = "src/captionbias/_version.py"
""",
    "src/captionbias/__init__.py": "",
    "src/captionbias/_version.py": '__version__ = "1.2.0"\n',
    "tests/test_one.py": "def test_one(): pass\n",
    "CITATION.cff": "version: 1.2.0\n",
    "CHANGELOG.md": "# Changelog\n\n## [1.2.0] - 2026-01-31\n\n- New.\n\n## 1.1.0\n\n- Old.\n",
    ".gitignore": ".venv/\ncalls\ndist/\nleft.py\n",
    ".ci/release": (ROOT / ".ci/release").read_text(encoding="utf-8"),
    ".ci/wheel": '#!/bin/sh\necho "wheel $*" >>calls\n',
    ".venv/bin/uv": '#!/bin/sh\necho "uv $*" >>calls\n',
    ".venv/bin/python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
}
UNRELEASED = {"CHANGELOG.md": "## Unreleased\n\n- Newer.\n\n" + PROJECT["CHANGELOG.md"]}


def built(setting: str) -> dict[str, str]:
    return {"pyproject.toml": PROJECT["pyproject.toml"] + f"tool.hatch.build.targets.{setting}\n"}


def released(folder: Path, tag: str, changed: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What `.ci/release` did in a small project: builds, git and pytest are real, twine and the installing are not."""
    for name, text in (PROJECT | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    git = "git -c user.name=a -c user.email=a@example.org"
    subprocess.run(f"git init -q && git add . && {git} commit -q -m All", cwd=folder, shell=True, check=True)
    (folder / "src/captionbias/left.py").touch()
    environment = os.environ | {"TAG": tag, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # pytest starts in a second
    return subprocess.run([folder / ".ci/release"], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(("tag", "changed", "next_step"), [
    ("v1.2.0", {}, "git tag v1.2.0 && git push origin v1.2.0"),
    ("", UNRELEASED, "CHANGELOG.md has changes under Unreleased"),
])  # fmt: skip
def test_a_release_is_built_checked_and_told_and_not_uploaded(tmp_path: Path, tag, changed, next_step) -> None:
    done = released(tmp_path, tag, changed)
    assert done.returncode == 0, done.stderr
    wheel, sdist = "captionbias-1.2.0-py3-none-any.whl", "captionbias-1.2.0.tar.gz"
    assert sorted(os.listdir(tmp_path / "dist")) == [wheel, sdist, "notes.md"]
    assert (tmp_path / "dist/notes.md").read_text() == "- New.\n"
    twine = f"uv tool run --python {tmp_path}/.venv/bin/python twine check --strict dist/{wheel} dist/{sdist}"
    assert (tmp_path / "calls").read_text().splitlines() == [twine, f"wheel dist/{wheel}"]
    assert "Nothing was uploaded." in done.stdout
    assert next_step in done.stdout


@pytest.mark.parametrize(("tag", "changed", "message"), [
    ("v1.3.0", {}, "the tag is v1.3.0 and the version is 1.2.0"),
    ("v1.2.0", UNRELEASED, "must have nothing under Unreleased"),
    ("", {"CITATION.cff": "version: 1.1.0\n"}, "the version in CITATION.cff must be 1.2.0"),
    ("", {"CHANGELOG.md": "## 1.2.0\n\n## 1.1.0\n\n- Old.\n"}, "must have a section '## 1.2.0'"),
    ("", {".gitignore": ".venv/\n"}, "?? src/captionbias/left.py"),
    ("", built('sdist.exclude = ["tests"]'), "the sdist lacks\ntests/test_one.py"),
    ("", built('wheel.artifacts = ["left.py"]'), "the wheel of the sdist is another one"),
    ("", {"tests/test_one.py": "import nothing_of_the_name\n"}, "the sdist's tests fail to collect"),
])  # fmt: skip
def test_what_should_not_be_released_is_not(tmp_path: Path, tag: str, changed: dict[str, str], message: str) -> None:
    done = released(tmp_path, tag, changed)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (tmp_path / "dist/notes.md").exists()
