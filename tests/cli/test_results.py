"""What measure and compare write: several captioners, by the suffix of the file, or on standard output."""

import csv
import json

import pytest
from typer.testing import CliRunner

from captionbias.cli.main import app
from tests.cli.conftest import invoke, refused

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
    assert error == f"--output {tmp_path / name} must end in .json, .csv, .md; --json prints to standard output"
    assert list(tmp_path.iterdir()) == []


def test_standard_output_has_the_json_and_nothing_else(folder, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["measure", "lic", *one(folder, "nic"), *people, *QUICK]
    invoke(*arguments, "--output", "result.json")
    result = CliRunner().invoke(app, list(map(str, [*arguments, "--json"])))
    assert json.loads(result.stdout) == content(tmp_path / "result.json")
    assert "LIC x 100" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert "LIC x 100" in invoke(*arguments)  # and the next command prints as usual
