"""`import captionbias` imports nothing but the standard library: what is heavy is imported by those who use it; and
no package imports one that stands on it."""

from __future__ import annotations

import ast
import json
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
    "captionbias.cli",
    "captionbias.cli.card",
    "scipy",
]
# From the ground up.
LAYERS = "io text captions statistics attackers alignment scores metrics training explain analysis report datasets"
LAYERS = [*LAYERS.split(), "integrations", "hub", "app", "cli"]
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


def test_imports_run_down_only():
    """Also those within functions and those for types alone."""
    source = Path(captionbias.__file__).parent
    upwards = []
    for file in (file for layer in LAYERS for file in sorted((source / layer).rglob("*.py"))):
        own = file.relative_to(source).parts[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            home, _, rest = (getattr(node, "module", None) or "").partition(".")
            layer = rest.partition(".")[0]
            if home == "captionbias" and layer in LAYERS and LAYERS.index(layer) > LAYERS.index(own):
                upwards.append(f"{file.relative_to(source)}: {node.module}")
    assert not upwards
