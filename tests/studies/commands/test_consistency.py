"""`captionbias consistency`: from captioners' files to what the library says of them."""

from __future__ import annotations

import json

import pytest

from captionbias.studies.consistency import consistency
from tests.cli.conftest import ran

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


def test_consistency_prints_tables_and_writes_the_library_s_study(files, planted, tmp_path):
    encoders = ["--encoder", "bow", "--encoder", "[/i]=linear"]
    written = ["--output", tmp_path / "study.json"]
    shown, notes = ran("consistency", *files, *encoders, "--trials", "2", "--no-cache", *written)
    captioners = {name: vars(planted["nic"]) | {"predictions": one.predictions} for name, one in planted.items()}
    expected = consistency(captioners, {"bow": "bow", "[/i]": "linear"}, trials=2, bootstrap=0, cache=False)
    found = json.loads((tmp_path / "study.json").read_text())
    assert found["scores"] == json.loads(json.dumps(expected.as_dict()["scores"]))
    for text in ("LIC x 100", "DBAC T to A, matched", "coefficient of", "conflicts", "correlation", "variation"):
        assert text in shown
    assert f"{expected.scores['lic'][1, 0]:.1f} (2)" in shown
    assert "0% done: lic of nic by bow" in notes
    assert " s to go" in notes
