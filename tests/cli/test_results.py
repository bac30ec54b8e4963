"""What measure and compare write: several captioners, by the suffix of the file, or on standard output."""

from __future__ import annotations

import csv
import json

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from captionbias.cli import app
from tests.cli.conftest import IMAGES, invoke, ran, refused

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "30"]


@pytest.fixture
def people(folder):
    return ["--references", folder / "people.parquet"]


def one(folder, name):
    return ["--predictions", folder / f"{name}.parquet"]


def content(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("metric", ["lic", "all"])
def test_several_captioners_are_each_measured_as_one_alone(metric, folder, people, tmp_path):
    quick = QUICK[2:] if metric == "all" else QUICK
    alone = {}
    for name in ("nic", "sat"):
        shown = invoke("measure", metric, *one(folder, name), *people, *quick, "--output", tmp_path / f"{name}.json")
        alone[name] = content(tmp_path / f"{name}.json")
    both = [*one(folder, "nic"), *one(folder, "sat"), *people]
    shown = invoke("measure", metric, *both, *quick, "--output", tmp_path / "both.json")
    written = content(tmp_path / "both.json")
    assert list(written["results"]) == ["nic", "sat"]
    for name, found in written["results"].items():
        assert alone[name].pop("image_set") == written["image_set"]
        assert found == {key: value for key, value in alone[name].items() if key not in ("version", "metric")}
    lines = shown.splitlines()
    assert lines.index("nic") < lines.index("sat")
    assert shown.count("signature metric:lic|") == 2


def test_columns_of_one_file_are_captioners_and_a_bad_one_is_named(folder, people, tmp_path):
    body = "\n".join(f"{image},a woman,a man" for image in range(IMAGES))
    (tmp_path / "all.csv").write_text(f"image_id,one,two\n{body}\n")
    columns = ["--prediction-column", "one", "--prediction-column", "two"]
    invoke(
        *("measure", "gender-error", "--predictions", tmp_path / "all.csv", *columns, *people, "--bootstrap", "0"),
        *("--output", tmp_path / "result.json"),
    )
    assert list(content(tmp_path / "result.json")["results"]) == ["one", "two"]
    (tmp_path / "bad.csv").write_text("image_id,caption\n1,a woman\n2,\n")
    error = refused("measure", "lic", *one(folder, "nic"), "--predictions", tmp_path / "bad.csv", *people)
    assert error.startswith("bad: predictions")


def test_objects_by_image_id_are_the_tasks_and_images_without_are_left_out(folder, people, planted, tmp_path):
    """Of COCO's instances and of a table with nulls alike."""
    shown = {image: list(planted["nic"].tasks[image]) for image in range(20, IMAGES)}
    names = sorted({task for tasks in shown.values() for task in tasks})
    instances = {
        "images": [{"id": image} for image in shown],
        "annotations": [{"image_id": i, "category_id": names.index(task)} for i in shown for task in shown[i]],
        "categories": [*({"id": n, "name": name} for n, name in enumerate(names)), {"id": 99, "name": "person"}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(instances))
    table = pa.table({"image_id": range(IMAGES), "objects": [shown.get(image) for image in range(IMAGES)]})
    pq.write_table(table, tmp_path / "objects.parquet")
    results = []
    for name in ("instances.json", "objects.parquet"):
        given = [*one(folder, "nic"), *people, "--tasks", tmp_path / name]
        text, notes = ran("measure", "dbac", *given, *QUICK, "--output", tmp_path / "result.json")
        note = f"20 of {IMAGES} images have no entry in {tmp_path / name} and are left out (first: 0, 1, 2)"
        assert note in notes.replace("\n", " ")
        assert "guessed" not in notes
        assert "|tasks:given|" in text
        results.append(content(tmp_path / "result.json"))
    assert results[0] == results[1]


@pytest.mark.parametrize("command", [["measure", "lic"], ["compare", "--metric", "lic"]])
def test_the_suffix_chooses_the_format(command, folder, people, tmp_path):
    both = [*one(folder, "nic"), *one(folder, "sat"), *people, *QUICK]
    for suffix in ("json", "csv", "md"):
        invoke(*command, *both, "--output", tmp_path / f"result.{suffix}")
    found = content(tmp_path / "result.json")["results"]["sat"]
    scores = found.get("scores", found)
    with (tmp_path / "result.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (lic,) = (row for row in rows if (row["captioner"], row["score"]) == ("sat", "lic"))
    assert float(lic["value"]) == scores["lic"]
    assert float(lic["low"]) == scores["lic_ci_low"]
    assert lic["signature"] == scores["signature"]
    text = (tmp_path / "result.md").read_text()
    assert f"| sat | LIC x 100 | {scores['lic']:.1f} [{scores['lic_ci_low']:.1f}, " in text
    assert f"`{scores['signature']}`" in text


@pytest.mark.parametrize("command", [["measure", "lic"], ["measure", "all"], ["compare"]])
@pytest.mark.parametrize("name", ["result.html", "result", "result.jsonl"])
def test_another_suffix_is_refused_before_the_work(command, name, tmp_path):
    files = ["--predictions", "gone.csv", "--output", tmp_path / name]
    error = refused(*command, *files)
    assert error == f"--output {tmp_path / name} must end in .json, .csv, .md, or be - for standard output"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [["--json"], ["--output", "-"]])
def test_standard_output_has_the_json_and_nothing_else(how, folder, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["measure", "lic", *one(folder, "nic"), *people, *QUICK]
    invoke(*arguments, "--output", "result.json")
    result = CliRunner().invoke(app, list(map(str, [*arguments, *how])))
    assert json.loads(result.stdout) == content(tmp_path / "result.json")
    assert "LIC x 100" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert "LIC x 100" in invoke(*arguments)  # and the next command prints as usual


def test_files_may_be_on_any_file_system(folder, people):
    for name in ("nic", "people"):
        with fsspec.open(f"memory://cli/{name}.parquet", "wb") as file:
            file.write((folder / f"{name}.parquet").read_bytes())
    remote = ["--predictions", "memory://cli/nic.parquet", "--references", "memory://cli/people.parquet"]
    remote += ["--attributes", "memory://cli/people.parquet", "--tasks", "memory://cli/people.parquet"]
    tasks = ["--tasks", folder / "people.parquet"]
    here = invoke("measure", "directional-ba", *one(folder, "nic"), *people, *tasks, "--bootstrap", "0")
    assert invoke("measure", "directional-ba", *remote, "--bootstrap", "0") == here
    shown, _ = ran("compare", "--predictions", "memory://cli/nic.parquet", *one(folder, "sat"), *remote[2:], *QUICK)
    assert "nic - sat" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bootstrap", "-1"], "--bootstrap must be"),
        (["--trials", "0"], "--trials must be"),
        (["--preset", "slow"], "--preset 'slow' is unknown"),
        (["--encoder", "bow", "--precision", "fp32"], "--precision 'fp32': --encoder 'bow' has no choice"),
    ],
)
def test_messages_name_options(options, message, folder, people):
    assert refused("measure", "lic", *one(folder, "nic"), *people, *QUICK[:2], *options).startswith(message)
