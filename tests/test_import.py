"""`import captionbias` is cheap: what is heavy is imported by those who use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import captionbias

HEAVY = {"torch", "accelerate", "pandas", "pyarrow", "gensim", "scipy", "sklearn", "datasets", "evaluate"}
SOURCE = str(Path(captionbias.__file__).parents[1])


def imported_with(module):
    """The top-level modules that a fresh process has after it imported `module`."""
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("module", ["captionbias", "captionbias.metrics", "captionbias.synthetic", "captionbias.cli"])
def test_importing_takes_nothing_heavy(module):
    imported = imported_with(module)
    assert "captionbias" in imported
    assert not imported & HEAVY


def test_what_is_heavy_would_be_seen():
    assert "scipy" in imported_with("captionbias.metrics, scipy")
