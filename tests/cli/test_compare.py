"""`captionbias compare`: from captioners' files to what the library says of them."""

import json

import pytest

from captionbias.analysis.compare import compare
from captionbias.metrics import catalogue, find_metric
from tests.cli.conftest import IMAGES, invoke

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "300", "--no-cache"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 300, "cache": False, "attribute_lexicon": "gender"}


@pytest.mark.parametrize("metric", ["dbac", "gender_error"])
def test_the_files_give_the_library_s_comparison_of_any_metric(metric, files, planted, tmp_path):
    """A name in brackets is shown letter by letter: Rich would take `[/v2]` for the end of a style."""
    renamed = ["--predictions", f"nic[/v2]={files[1]}", "--predictions", f"[bold]={files[3]}", *files[4:]]
    shown = invoke("compare", *renamed, "--metric", metric, *QUICK, "--output", tmp_path / "all.json")
    people = {name: column for name, column in vars(planted["nic"]).items() if name != "predictions"}
    captioners = {"nic[/v2]": planted["nic"].predictions, "[bold]": planted["sat"].predictions}
    expected = compare(captioners, **people, metric=metric, **find_metric(metric).accepted(CHOSEN))
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))
    assert (written["metric"], written["images"]) == (metric, IMAGES)
    assert written["signature"] == expected.signature
    texts = ["first less second", f"signature {expected.signature}", "p, corrected", *captioners]
    assert all(text in shown for text in [*texts, *map(catalogue.label, expected.scores)])
