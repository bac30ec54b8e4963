"""`captionbias compare`: from captioners' files to differences, what it says, and what it refuses."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from captionbias.analysis.compare import compare as comparison_of
from captionbias.cli.compare import compare
from captionbias.cli.consistency import consistency
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 200 images are few

IMAGES = 200
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "300", "--no-cache"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 300, "cache": False, "attribute_lexicon": "gender"}
app = typer.Typer()
app.command()(compare)


def invoke(*arguments, status=0):
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


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


@pytest.mark.parametrize("metric", ["lic", "dbac"])
def test_the_files_give_the_library_s_comparison(metric, files, planted, tmp_path):
    told = invoke(*files, "--metric", metric, *QUICK, "--output", tmp_path / "all.json")
    given = planted["nic"]
    expected = comparison_of(
        {name: one.predictions for name, one in planted.items()},
        references=given.references,
        attributes=given.attributes,
        tasks=given.tasks,
        metric=metric,
        **CHOSEN,
    )
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))
    assert written["signature"] == expected.signature
    assert written["images"] == IMAGES
    assert "nic - sat" in told
    assert f"signature {expected.signature}" in told
    assert "p, corrected" in told


def test_captioners_can_be_named_and_other_scores_chosen(files, folder):
    renamed = [f"{name}={folder / name}.parquet" for name in ("nic", "sat")]
    told = invoke(
        "--predictions", f"plain={folder / 'nic.parquet'}", "--predictions", renamed[1], *files[4:],
        "--metric", "lic", "--score", "leakage", *QUICK,
    )  # fmt: skip
    assert "plain - sat" in told
    assert "leakage" in told


@pytest.mark.parametrize("command", [compare, consistency])
def test_a_name_in_brackets_is_shown_letter_by_letter(command, files, folder):
    """Rich would take `[/v2]` for the end of a style that never began, after hours of training."""
    alone = typer.Typer()
    alone.command()(command)
    renamed = ["--predictions", f"nic[/v2]={folder / 'nic.parquet'}", "--predictions", f"[bold]={files[3]}"]
    arguments = [*renamed, *files[4:], "--metric", "lic", "--trials", "2", "--no-cache"]
    arguments += ["--encoder", "bow"] if command is compare else ["--encoder", "bow", "--encoder", "[/i]=linear"]
    result = CliRunner().invoke(alone, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "nic[/v2]" in result.stdout
    assert "[bold]" in result.stdout
    assert ("[95% interval]" if command is compare else "[/i]") in result.stdout


def test_only_images_of_all_captioners_are_compared_and_the_rest_is_noted(files, folder, planted, tmp_path):
    part = tmp_path / "part.parquet"
    ids = list(range(IMAGES))[:19:-1]  # in another order too
    pq.write_table(pa.table({"image_id": ids, "caption": [planted["sat"].predictions[i] for i in ids]}), part)
    arguments = ["--predictions", files[1], "--predictions", part, *files[4:], "--metric", "lic", *QUICK]
    result = CliRunner().invoke(app, [*map(str, arguments), "--output", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    assert re.search(r"20 of 200 images of nic are left out: not every captioner has a caption of them", result.stderr)
    given = planted["nic"]
    expected = comparison_of(
        {"nic": given.predictions[20:], "part": planted["sat"].predictions[20:]},
        references=given.references[20:],
        attributes=given.attributes[20:],
        metric="lic",
        **CHOSEN,
    )
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))


def test_no_image_in_common_is_refused(files, tmp_path, planted):
    other = tmp_path / "other.parquet"
    half = IMAGES // 2
    for name, ids in (("other", range(half)), ("nic", range(half, IMAGES))):
        captions = [planted["sat"].predictions[i] for i in ids]
        pq.write_table(pa.table({"image_id": list(ids), "caption": captions}), tmp_path / f"{name}.parquet")
    error = invoke("--predictions", tmp_path / "nic.parquet", "--predictions", other, *files[4:], *QUICK, status=2)
    assert "have no image in common" in error


def test_labels_that_differ_between_captioners_files_are_refused(files, tmp_path, planted):
    for name, labels in (("nic", planted["nic"].attributes), ("sat", planted["nic"].attributes[::-1])):
        table = pa.table({"image_id": list(range(IMAGES)), "caption": planted[name].predictions, "gender": labels})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    two = ["--predictions", tmp_path / "nic.parquet", "--predictions", tmp_path / "sat.parquet"]
    assert "attributes of nic and sat differ" in invoke(*two, "--metric", "lic", *QUICK, status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "cider"], "metric must be one of"),
        (["--metric", "lic", "--direction", "a_to_t"], "--direction is of DBAC"),
        (["--score", "cider"], "scores names 'cider'"),
        (["--preset", "slow"], "preset 'slow' is unknown"),
        (["--output", "/nowhere/all.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments, message, files):
    error = invoke(*files, *QUICK, *arguments, status=2)
    (line,) = [line for line in error.splitlines() if line.startswith("error: ")]
    assert message in line


def test_one_captioner_or_two_of_one_name_are_refused(files):
    assert "needs two or more" in invoke(*files[:2], *files[4:], *QUICK, status=2)
    assert "two are called 'nic'" in invoke(*files[:2], *files[:2], *files[4:], *QUICK, status=2)
