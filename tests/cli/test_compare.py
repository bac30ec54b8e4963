"""`captionbias compare`: from captioners' files to what the library says of them."""

import json

import pytest

from captionbias.analysis.compare import compare
from captionbias.metrics import catalogue, find_metric
from tests.cli.conftest import IMAGES, invoke, refused

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "300", "--no-cache"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 300, "cache": False, "attribute_lexicon": "gender"}


@pytest.mark.parametrize("metric", ["dbac", "gender_error"])
def test_the_files_give_the_library_s_comparison_of_any_metric(metric, files, planted, tmp_path):
    shown = invoke("compare", *files, "--metric", metric, *QUICK, "--output", tmp_path / "all.json")
    people = {**vars(planted["nic"])}
    del people["predictions"]
    captioners = {name: one.predictions for name, one in planted.items()}
    expected = compare(captioners, **people, metric=metric, **find_metric(metric).accepted(CHOSEN))
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))
    assert (written["metric"], written["images"]) == (metric, IMAGES)
    assert written["signature"] == expected.signature
    labels = map(catalogue.label, expected.scores)
    assert all(
        text in shown for text in ("first less second", f"signature {expected.signature}", "p, corrected", *labels)
    )


def test_a_name_in_brackets_is_shown_letter_by_letter(files, folder):
    """Rich would take `[/v2]` for the end of a style that never began, after hours of training."""
    renamed = ["--predictions", f"nic[/v2]={folder / 'nic.parquet'}", "--predictions", f"[bold]={files[3]}"]
    shown = invoke(
        "compare", *renamed, *files[4:], "--metric", "lic", "--trials", "2", "--no-cache", "--encoder", "bow"
    )
    for text in ("nic[/v2]", "[bold]"):
        assert text in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "cider"], "metric 'cider' is unknown; choose one of sway, dbac, lic"),
        (["--metric", "lic", "--direction", "a_to_t"], "--direction is of DBAC"),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments, message, files):
    assert message in refused("compare", *files, *QUICK, *arguments)
