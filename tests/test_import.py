"""`import captionbias` imports nothing but the standard library: what is heavy is imported by those who use it. The
core works without its wings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import captionbias
from tests.patience import PATIENCE

HEAVY = {"torch", "accelerate", "pandas", "pyarrow", "gensim", "scipy", "sklearn", "datasets", "evaluate"}
HEAVY |= {"transformers", "gradio", "huggingface_hub", "yaml", "matplotlib", "nltk"}
MODULES = [
    "captionbias",
    "captionbias.synthetic",
    "captionbias.metrics",
    "captionbias.cli.main",
    "captionbias.hub.commands",
    "scipy",
]
# In one process: what each import adds to the top-level modules that are not of the standard library.
CODE = """
import json, sys
from importlib import import_module
from pathlib import Path
def foreign():
    return {name.partition(".")[0] for name in list(sys.modules)} - set(sys.stdlib_module_names)
found, before = {}, foreign()
for module in sys.argv[1:]:
    import_module(module)
    found[module] = sorted(foreign() - before)
print(json.dumps(found))
"""


CORE = """
import captionbias
from captionbias.report.html import html_report
from captionbias.synthetic import plant
faithful, biased = (vars(plant(120, t_to_a=strength)) for strength in (0.0, 0.5))
people = {name: column for name, column in faithful.items() if name != "predictions"}
captioners = {"faithful": faithful["predictions"], "biased": biased["predictions"]}
options = {"trials": 2, "bootstrap": 20, "preset": "fast"}
assert captionbias.dbac(**faithful, **options)["signature"]
assert captionbias.compare(captioners, **people, metric="lic", **options).differences
assert html_report(captionbias.audit(captioners, **people, metrics=["sway"], bootstrap=20))
"""


@pytest.fixture(scope="module")
def imported():
    """The packages that a fresh process has imported after each of the modules."""
    command = [sys.executable, "-c", CODE, *MODULES]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return {module: set(packages) for module, packages in json.loads(run.stdout).items()}


def test_the_front_door_imports_no_package(imported):
    assert imported["captionbias"] == {"captionbias"}


def test_metrics_and_the_command_line_import_nothing_heavy(imported):
    for module in MODULES[:-1]:
        assert not imported[module] & HEAVY, module
    assert "scipy" in imported["scipy"]  # what is heavy would be seen


def test_every_public_name_is_found_and_an_unknown_one_is_named():
    for name in captionbias.__all__:
        assert getattr(captionbias, name).__module__.startswith("captionbias"), name
    assert captionbias.dbac is import_module("captionbias.metrics").dbac
    assert set(captionbias.__all__) <= set(dir(captionbias))
    with pytest.raises(AttributeError, match="module 'captionbias' has no attribute 'bleu'"):
        _ = captionbias.bleu


def test_the_core_works_without_its_wings(tmp_path):
    """With their folders gone it measures, compares and reports; the command line has the other commands."""
    source = Path(captionbias.__file__).parent
    shutil.copytree(source, tmp_path / "captionbias", ignore=shutil.ignore_patterns("__pycache__"))
    for wing in ("app", "images", "hub", "datasets", "studies"):
        shutil.rmtree(tmp_path / "captionbias" / wing)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CAPTIONBIAS_CACHE": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", CORE], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, env=environment
    )
    assert run.returncode == 0, run.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "captionbias", "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
    )
    assert "report" in listed.stdout
    assert "audit" not in listed.stdout
    assert "consistency" not in listed.stdout
