"""A release can happen: workflows run what there is, `make release` checks what it builds and uploads nothing, and what
indexes, Zenodo, conda-forge and JOSS read agrees with the project."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import markdown
import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from captionbias import __version__

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
        if "deploy-pages" in step.get("uses", ""):
            assert permissions.pop("id-token") == permissions.pop("pages") == "write"
            assert (job["environment"], job["if"]) == ("github-pages", "github.event_name == 'push'")
            assert "make docs" in str(JOBS[f"docs, {job['needs']}"])
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
    address = "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"
    assert runs == [f'make release ADDRESS="{address}" TAG="$GITHUB_REF_NAME"', "make test"]
    sent = {step["with"]["name"]: step["with"]["path"] for step in jobs["build"]["steps"] if "upload" in str(step)}
    assert sent == {"packages": "dist/captionbias-*", "notes": "dist/notes.md"}
    assert jobs["publish"]["steps"][0]["with"]["name"] == "packages"  # the index takes nothing else


def test_every_python_that_the_package_names_is_tested() -> None:
    jobs = WORKFLOWS["test"]["jobs"]
    assert jobs["newest"]["strategy"]["matrix"]["python"] == PYTHONS
    assert jobs["lowest"]["steps"][1]["with"]["python-version"] == PYTHONS[0]
    assert all(os.access(ROOT / script, os.X_OK) for script in re.findall(r"\.ci/\w+", MAKEFILE))


ADDRESS = "https://github.com/owner/captionbias"
PROJECT = {
    "pyproject.toml": """build-system = {requires = ["hatchling"], build-backend = "hatchling.build"}
project = {name = "captionbias", dynamic = ["version", "readme", "urls"], requires-python = ">=3.10"}
tool.hatch.version.path = "src/captionbias/_version.py"
tool.hatch.metadata.hooks.custom.urls = {Paper = "https://example.org/paper"}
""",
    "hatch_build.py": (ROOT / "hatch_build.py").read_text(encoding="utf-8"),
    "README.md": """[![a `p`](p.svg)](docs/a.md#b "c") [`d`](../x.md) [e](#f) [g](https://example.org) `h[0](i)`

    h[0](i)

```python
h[0](i)
```
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


def released(
    folder: Path, tag: str, changed: dict[str, str], address: str = ADDRESS
) -> subprocess.CompletedProcess[str]:
    """What `.ci/release` did in a small project: builds, git and pytest are real, twine and the installing are not."""
    for name, text in (PROJECT | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    git = "git -c user.name=a -c user.email=a@example.org"
    subprocess.run(f"git init -q && git add . && {git} commit -q -m All", cwd=folder, shell=True, check=True)
    (folder / "src/captionbias/left.py").touch()
    environment = os.environ | {
        "ADDRESS": address,
        "TAG": tag,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # pytest starts in a second
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
    metadata = ZipFile(tmp_path / "dist" / wheel).read("captionbias-1.2.0.dist-info/METADATA").decode()
    urls = dict(re.findall(r"^Project-URL: (\w+), (.+)$", metadata, re.MULTILINE))
    assert urls == {
        "Paper": "https://example.org/paper",
        "Repository": ADDRESS,
        "Issues": f"{ADDRESS}/issues",
        "Changelog": f"{ADDRESS}/blob/v1.2.0/CHANGELOG.md",
        "Documentation": "https://owner.github.io/captionbias/",
    }
    of_tag = f"{ADDRESS}/blob/v1.2.0"
    line, code = PROJECT["README.md"].split("\n", 1)
    for target, whole in (("p.svg", f"{ADDRESS}/raw/v1.2.0/p.svg"), ("docs/a.md#b", f"{of_tag}/docs/a.md#b"),
                          ("../x.md", f"{ADDRESS}/blob/x.md"), ("#f", f"{of_tag}/README.md#f")):  # fmt: skip
        line = line.replace(f"({target}", f"({whole}")
    assert metadata.endswith(f"\n\n{line}\n{code}")


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


@pytest.mark.parametrize("address", ["", "captionbias"])
def test_a_release_asks_where_the_repository_is(tmp_path: Path, address: str) -> None:
    done = released(tmp_path, "", {}, address)
    assert done.returncode != 0
    assert "make release ADDRESS=https://github.com/OWNER/captionbias" in done.stderr
    assert not (tmp_path / "dist").exists()


def project(monkeypatch: pytest.MonkeyPatch, address: str) -> Any:
    """What a build of this repository tells an index."""
    monkeypatch.setenv("ADDRESS", address)
    return ProjectMetadata(str(ROOT), PluginManager()).core


@pytest.mark.parametrize("address", [ADDRESS, f"{ADDRESS}/", f"{ADDRESS}.git"])
def test_links_of_the_long_description_are_absolute_and_lead_to_what_is_there(monkeypatch, address) -> None:
    html = markdown.markdown(project(monkeypatch, address).readme, extensions=["tables", "fenced_code"])
    targets = re.findall(r'\b(href|src)="([^"]+)"', html)
    own = [(kind, url.removeprefix(f"{ADDRESS}/")) for kind, url in targets if url.startswith(ADDRESS)]
    assert {kind for kind, _ in own} == {"href", "src"}
    for kind, path in own:
        tree, tag, file = path.partition("#")[0].split("/", 2)
        assert (tree, tag) == ({"href": "blob", "src": "raw"}[kind], f"v{__version__}")
        assert (ROOT / file).exists(), file
    assert all(url.startswith("https://") for _, url in targets)


def test_a_clone_is_built_with_its_readme_as_it_is_and_without_addresses(monkeypatch) -> None:
    core = project(monkeypatch, "")
    assert core.readme == (ROOT / "README.md").read_text(encoding="utf-8")
    assert {label.split(":")[0] for label in core.urls} == {"Paper"}


def test_the_site_has_the_addresses_that_the_index_has(monkeypatch) -> None:
    monkeypatch.setenv("ADDRESS", ADDRESS)
    site = runpy.run_path(str(ROOT / "docs/hooks.py"))["on_config"](SimpleNamespace())
    assert vars(site) == {"repo_url": ADDRESS, "site_url": "https://owner.github.io/captionbias/"}


def test_the_citation_is_of_this_version_and_names_the_paper_of_every_metric() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    heading = f"## {citation['version']} - {citation['date-released']}"
    assert citation["version"] == __version__
    assert heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # what CFF 1.2 and Zenodo need
    assert all({"authors", "title", "type"} <= reference.keys() for reference in citation["references"])
    cards = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "metrics").glob("*/README.md"))
    titles = set(re.findall(r"^  title *= \{(.+)\},$", cards, re.MULTILINE))
    assert titles <= {reference["title"] for reference in citation["references"]}


def test_the_conda_recipe_agrees_with_the_project_and_with_the_rules_of_conda_forge(monkeypatch) -> None:
    text = (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    recipe, core = yaml.safe_load(text), project(monkeypatch, "")
    build, needs, about = recipe["build"], recipe["requirements"], recipe["about"]
    assert recipe["context"]["version"] == __version__
    assert build["python"]["entry_points"] == [f"{name} = {target}" for name, target in core.scripts.items()]
    assert (about["license"], about["summary"]) == (core.license_expression, core.description)
    python, *run = needs["run"]
    assert sorted(need.replace(" ", "").replace("_", "-") for need in run) == sorted(core.dependencies)
    assert all(re.fullmatch(r"[a-z0-9_-]+ >=[\d.]+", need) for need in run)
    assert {python, needs["host"][0]} == {"python >=${{ python_min }}", "python ${{ python_min }}.*"}
    assert needs["host"][1:] == ["pip", "hatchling >=1.27"]
    assert (build["number"], build["noarch"]) == (0, "python")
    sections = "schema_version context package source build requirements tests about extra"
    assert list(recipe) == sections.split()  # in this order
    assert re.fullmatch("[0-9a-f]{64}", recipe["source"]["sha256"])
    assert {"homepage", "license", "license_file", "summary"} <= about.keys()
    assert recipe["extra"]["recipe-maintainers"]
    assert text.rstrip("\n") + "\n" == text


def test_the_paper_has_what_joss_asks_for_and_cites_what_it_lists() -> None:
    _, front, body = (ROOT / "paper/paper.md").read_text(encoding="utf-8").split("---\n", 2)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == yaml.safe_load(front).keys()
    assert 750 <= len(body.split()) <= 1750
    sections = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
    sections += ["AI usage disclosure", "Acknowledgements", "References"]
    assert re.findall(r"^# (.+)$", body, re.MULTILINE) == sections
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+\d{4}\w+)", body))) == listed
