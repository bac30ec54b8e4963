"""The example, end to end in a separate process, with nothing to download."""

import json
import math

import pytest

from tests.launch import ROOT, python

EXAMPLE = ROOT / "examples" / "train_captioner.py"
SMALL = ["--steps", "40", "--every", "20", "--train-images", "400", "--eval-images", "100", "--batch-size", "16"]


@pytest.mark.slow
def test_finite_scores_are_logged_over_the_training(tmp_path):
    table = python(EXAMPLE, *SMALL, folder=tmp_path).splitlines()
    rows = json.loads((tmp_path / "bias_in_training.json").read_text())
    assert [row["step"] for row in rows] == [0, 20, 40]
    assert rows[2]["loss"] < rows[1]["loss"]
    assert "dbac_a_to_t_matched" in table[0]
    assert [line.split()[0] for line in table[1:4]] == ["0", "20", "40"]
    assert rows[2]["empty_captions"] < 0.1
    for name in ("dbac_a_to_t_matched", "dbac_a_to_t", "dbac_t_to_a_matched", "dbac_t_to_a", "lic"):
        assert math.isfinite(rows[2][name]), name


@pytest.mark.slow
def test_the_saved_captioner_is_audited_and_its_planted_bias_shows(tmp_path):
    """From attribute to task, and not the other way."""
    training = ["--bias", "0.9", "--save", "trained", "--steps", "150", "--every", "150", "--eval-images", "400"]
    python(EXAMPLE, *training, folder=tmp_path)
    audit = ["audit", "trained/captioner", "--images", "trained/drawings", "--references", "trained/people.parquet"]
    measured = ["--metric", "dbac", "--trials", "3", "--json", "audit.json", "--batch-size", "100"]
    python("-m", "captionbias", *audit, *measured, folder=tmp_path)
    (found,) = json.loads((tmp_path / "audit.json").read_text())["comparisons"]["dbac"]["results"].values()
    assert found["dbac_a_to_t_net_ci_low"] > 0.1
    assert abs(found["dbac_t_to_a_net"]) < 0.05
