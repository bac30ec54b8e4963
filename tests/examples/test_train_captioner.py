"""The example, end to end in a process of its own, with nothing to download."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import captionbias
from tests.patience import PATIENCE

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_captioner.py"
SOURCE = Path(captionbias.__file__).parents[1]
SMALL = {"steps": 60, "every": 30, "train_images": 800, "eval_images": 200, "batch_size": 16}


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    options = [text for name, value in SMALL.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "ACCELERATE_USE_CPU": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *options, *more],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same call twice, each with a cache of its own."""
    done = []
    for number in range(2):
        folder = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CAPTIONBIAS_CACHE", str(folder / f"cache{number}"))
            ran = run(folder)
        assert ran.returncode == 0, ran.stderr
        done.append((json.loads((folder / "bias_in_training.json").read_text()), ran.stdout))
    return done


def test_scores_are_logged_over_the_training(runs):
    rows, printed = runs[0]
    assert [row["step"] for row in rows] == [0, 30, 60]
    assert rows[2]["loss"] < rows[1]["loss"]
    table = printed.splitlines()
    assert "dbac_a_to_t_matched" in table[0]
    assert [line.split()[0] for line in table[1:4]] == ["0", "30", "60"]


def test_scores_are_finite_once_captions_make_sense(runs):
    last = runs[0][0][-1]
    assert last["empty_captions"] < 0.1
    for name in ("dbac_a_to_t_matched", "dbac_a_to_t", "dbac_t_to_a_matched", "dbac_t_to_a", "lic"):
        assert math.isfinite(last[name]), name


def test_the_same_seed_gives_the_same_numbers(runs):
    assert runs[0][0] == runs[1][0]


def test_half_a_pretrained_captioner_is_refused(tmp_path):
    ran = run(tmp_path / "half", "--model", "some/captioner")
    assert ran.returncode == 2
    assert "--model, --dataset and --images go together" in ran.stderr
