"""`captionbias compare`: from captioners' files to differences, what it says, and what it refuses."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from captionbias.analysis.compare import compare as comparison_of
from captionbias.cli import app
from captionbias.metrics import catalogue, find_metric
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 200 images are few

IMAGES = 200
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "300", "--no-cache"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 300, "cache": False, "attribute_lexicon": "gender"}


def ran(command, *arguments, status=0):
    result = CliRunner().invoke(app, [command, *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result


def invoke(*arguments):
    return ran("compare", *arguments).stdout


def refused(*arguments):
    """The one line of an error."""
    (line,) = (line for line in ran("compare", *arguments, status=2).stderr.splitlines() if line.startswith("error: "))
    return line


@pytest.fixture(scope="module")
def planted():
    return {"nic": plant(IMAGES, captions=2), "sat": plant(IMAGES, captions=2, a_to_t=0.9)}


@pytest.fixture(scope="module")
def folder(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    ids = list(range(IMAGES))
    for name, given in planted.items():
        pq.write_table(pa.table({"image_id": ids, "caption": given.predictions}), folder / f"{name}.parquet")
    given = planted["nic"]
    people = {"image_id": ids, "references": given.references, "gender": given.attributes, "tasks": given.tasks}
    pq.write_table(pa.table(people), folder / "people.parquet")
    return folder


@pytest.fixture
def files(folder):
    people = folder / "people.parquet"
    two = ["--predictions", folder / "nic.parquet", "--predictions", folder / "sat.parquet"]
    return [*two, "--references", people, "--tasks", people]


def compared(planted, metric, rows=slice(None), names=("nic", "sat")):
    """What the library says of these images."""
    nic = planted["nic"]
    chosen = {name: value for name, value in CHOSEN.items() if name in find_metric(metric).options()}
    return comparison_of(
        {name: one.predictions[rows] for name, one in zip(names, planted.values(), strict=True)},
        references=nic.references[rows],
        attributes=nic.attributes[rows],
        tasks=None if metric == "lic" else nic.tasks[rows],
        metric=metric,
        **chosen,
    )


@pytest.mark.parametrize("metric", ["lic", "dbac", "gender_error", "dpa", "directional_ba"])
def test_the_files_give_the_library_s_comparison_of_any_metric(metric, files, planted, tmp_path):
    shown = invoke(*files, "--metric", metric, *QUICK, "--output", tmp_path / "all.json")
    expected = compared(planted, metric)
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))
    assert {one["score"] for one in written["differences"]} == set(catalogue.headlines(metric))
    assert (written["metric"], written["images"]) == (metric, IMAGES)
    assert written["signature"] == expected.signature
    for text in (
        "nic - sat",
        f"signature {expected.signature}",
        "p, corrected",
        *map(catalogue.label, expected.scores),
    ):
        assert text in shown


def test_captioners_can_be_named_and_other_scores_chosen(files, folder):
    two = ["--predictions", f"plain={folder / 'nic.parquet'}", *files[2:]]
    shown = invoke(*two, "--metric", "lic", "--score", "leakage", *QUICK)
    assert "plain - sat" in shown
    assert "leakage" in shown


@pytest.mark.parametrize("command", ["compare", "consistency"])
def test_a_name_in_brackets_is_shown_letter_by_letter(command, files, folder):
    """Rich would take `[/v2]` for the end of a style that never began, after hours of training."""
    renamed = ["--predictions", f"nic[/v2]={folder / 'nic.parquet'}", "--predictions", f"[bold]={files[3]}"]
    arguments = [*renamed, *files[4:], "--metric", "lic", "--trials", "2", "--no-cache"]
    arguments += ["--encoder", "bow"] if command == "compare" else ["--encoder", "bow", "--encoder", "[/i]=linear"]
    shown = ran(command, *arguments).stdout
    for text in ("nic[/v2]", "[bold]", "[95% interval]" if command == "compare" else "[/i]"):
        assert text in shown


def test_only_images_of_all_captioners_are_compared_and_the_rest_is_noted(files, planted, tmp_path):
    part = tmp_path / "part.parquet"
    ids = list(range(IMAGES))[:19:-1]  # in another order too
    pq.write_table(pa.table({"image_id": ids, "caption": [planted["sat"].predictions[i] for i in ids]}), part)
    arguments = ["--predictions", files[1], "--predictions", part, *files[4:], "--metric", "lic", *QUICK]
    result = ran("compare", *arguments, "--output", tmp_path / "out.json")
    assert "20 of 200 images of nic are left out: not every captioner has a caption of them" in result.stderr
    expected = compared(planted, "lic", slice(20, None), ("nic", "part"))
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))


def test_files_that_do_not_fit_together_are_refused(files, tmp_path, planted):
    labels, half = planted["nic"].attributes, IMAGES // 2
    for name, ids in (("early", range(half)), ("late", range(half, IMAGES)), ("turned", range(IMAGES))):
        captions = [planted["sat"].predictions[i] for i in ids]
        gender = [labels[IMAGES - 1 - i] if name == "turned" else labels[i] for i in ids]
        table = pa.table({"image_id": list(ids), "caption": captions, "gender": gender})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    early, late, turned = (["--predictions", tmp_path / f"{name}.parquet"] for name in ("early", "late", "turned"))
    assert "have no image in common" in refused(*early, *late, *files[4:], *QUICK)
    assert "attributes of early and turned differ" in refused(*early, *turned, "--metric", "lic", *QUICK)
    assert "needs two or more" in refused(*early, *QUICK)
    assert "two are called 'early'" in refused(*early, *early, *QUICK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "cider"], "metric 'cider' is unknown; choose one of dbac, lic"),
        (["--metric", "lic", "--direction", "a_to_t"], "--direction is of DBAC"),
        (["--score", "cider"], "scores names 'cider'"),
        (["--preset", "slow"], "preset 'slow' is unknown"),
        (["--output", "/nowhere/all.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments, message, files):
    assert message in refused(*files, *QUICK, *arguments)
