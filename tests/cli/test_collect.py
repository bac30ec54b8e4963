"""`captionbias collect`: the files of measure, compare and report as one table, and one honest leaderboard."""

from __future__ import annotations

import csv
import json
import re

import pandas as pd
import pytest

from captionbias.metrics import catalogue
from tests.cli.conftest import invoke, ran, refused

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "30"]


@pytest.fixture(scope="module")
def written(folder, tmp_path_factory):
    """What the commands write of the same two captioners, LIC of each."""
    made = tmp_path_factory.mktemp("written")
    people = ["--references", folder / "people.parquet"]
    both = ["--predictions", folder / "nic.parquet", "--predictions", folder / "sat.parquet", *people]
    for name in ("nic", "sat"):
        one = ["--predictions", folder / f"{name}.parquet", *people]
        invoke("measure", "lic", *one, *QUICK, "--output", made / f"{name}.json")
    invoke("measure", "lic", *both, *QUICK, "--output", made / "both.json")
    invoke("compare", *both, "--metric", "lic", *QUICK, "--output", made / "compare.json")
    report = ["--metric", "lic", *QUICK, "--output", made / "report.html", "--json", made / "report.json"]
    invoke("report", *both, *report)
    return made


def rows(path):
    return pd.read_parquet(path).to_dict("records")


def test_captioners_measured_one_by_one_are_the_table_of_both(written, tmp_path):
    single = invoke("collect", written / "nic.json", written / "sat.json", "--output", tmp_path / "single.parquet")
    board = invoke("collect", written / "both.json", "--output", tmp_path / "both.parquet").splitlines()
    values = [float(line.split()[1]) for line in board if line.startswith(("nic", "sat"))]
    assert values == sorted(values, reverse=True)
    assert len(values) == 2
    found = rows(tmp_path / "single.parquet")
    assert found == rows(tmp_path / "both.parquet")
    assert f"{len(found)} scores of 2 captioners" in single
    scores = json.loads((written / "sat.json").read_text())["scores"]
    (lic,) = (row for row in found if row["captioner"] == "sat" and row["score"] == "lic")
    assert list(lic) == ["captioner", "metric", "score", "value", "low", "high", "verdict", "signature", "image_set"]
    assert (lic["value"], lic["low"], lic["high"]) == (scores["lic"], scores["lic_ci_low"], scores["lic_ci_high"])
    assert (lic["metric"], lic["signature"]) == ("lic", scores["signature"])
    assert lic["verdict"] in ("more than people", "cannot tell")
    measured = [score.key for score in catalogue.scores_of("lic") if score.key in scores]
    assert [row["score"] for row in found if row["captioner"] == "nic"] == measured


@pytest.mark.parametrize("of", ["compare", "report"])
def test_files_of_comparisons_and_reports_give_the_same_scores(of, written, tmp_path):
    invoke("collect", written / f"{of}.json", "--output", tmp_path / "table.csv")
    invoke("collect", written / "both.json", "--output", tmp_path / "both.csv")
    tables = []
    for name in ("table.csv", "both.csv"):
        with (tmp_path / name).open(newline="") as file:
            tables.append({(row["captioner"], row["score"]): row["value"] for row in csv.DictReader(file)})
    assert tables[0].items() >= {key: tables[1][key] for key in tables[0]}.items()
    assert {("nic", "lic"), ("sat", "lic")} <= tables[0].keys()


def test_the_leaderboard_is_one_page_of_captioners_by_their_scores(written, tmp_path):
    written_table = tmp_path / "table.parquet"
    shown = invoke(*("collect", written / "both.json", "--output", written_table, "--plot", tmp_path / "board.svg"))
    assert "the plot is in" in shown
    page = (tmp_path / "board.svg").read_text()
    assert all(text in page for text in ("<svg", "nic", "sat", catalogue.label("lic")))
    error = refused(
        *("collect", written / "both.json", "--output", tmp_path / "other.csv", "--plot", tmp_path / "board.png")
    )
    assert "board.png does not end in .svg" in error
    assert not (tmp_path / "other.csv").exists()


@pytest.fixture
def other_seed(folder, tmp_path):
    files = ["--predictions", folder / "sat.parquet", "--references", folder / "people.parquet"]
    invoke("measure", "lic", *files, *QUICK, "--seed", "3", "--output", tmp_path / "other.json")
    return tmp_path / "other.json"


def test_what_was_measured_in_different_ways_is_no_leaderboard(written, other_seed, tmp_path):
    files = [written / "nic.json", other_seed]
    error = refused("collect", *files, "--output", tmp_path / "table.csv", "--plot", tmp_path / "board.svg")
    assert "lic: seed is 0 (nic), 3 (other)" in error
    assert not (tmp_path / "table.csv").exists()
    _, notes = ran("collect", *files, "--output", tmp_path / "table.csv")
    assert "note: not measured in the same way, lic: seed is 0 (nic), 3 (other)" in notes
    assert (tmp_path / "table.csv").exists()


@pytest.fixture
def other_images(folder, tmp_path):
    """LIC of the same captioner on all images but one, and on all images in another order."""
    people = pd.read_parquet(folder / "people.parquet")
    for name, rows in (("fewer", people[1:]), ("shuffled", people.sample(frac=1, random_state=0))):
        rows.to_parquet(tmp_path / "people.parquet", index=False)
        pd.read_parquet(folder / "sat.parquet").set_index("image_id").loc[rows["image_id"]].reset_index().to_parquet(
            tmp_path / f"{name}.parquet", index=False
        )
        files = ["--predictions", tmp_path / f"{name}.parquet", "--references", tmp_path / "people.parquet"]
        invoke("measure", "lic", *files, *QUICK, "--output", tmp_path / f"{name}.json")
    return tmp_path


@pytest.mark.parametrize("of", ["nic", "compare", "report"])
def test_what_was_measured_on_other_images_is_no_leaderboard_but_their_order_is_no_matter(
    of, written, other_images, tmp_path
):
    output = ["--output", tmp_path / "table.csv"]
    fewer = [written / f"{of}.json", other_images / "fewer.json", *output]
    error = refused("collect", *fewer, "--plot", tmp_path / "board.svg")
    assert "on different images" in error
    assert re.search(r"lic: image_set is [0-9a-f]{8} \(nic.*\), [0-9a-f]{8} \(fewer\)", error)
    assert "lic: image_set is" in ran("collect", *fewer)[1]
    assert "image_set" not in ran("collect", written / f"{of}.json", other_images / "shuffled.json", *output)[1]


def test_a_captioner_twice_and_a_file_without_scores_are_named(written, tmp_path):
    error = refused("collect", written / "nic.json", written / "both.json", "--output", tmp_path / "t.csv")
    assert error.startswith(f"lic of nic is in {written / 'nic.json'} and in {written / 'both.json'}")
    assert f"{tmp_path} has no .json file" in refused("collect", tmp_path, "--output", tmp_path / "t.csv")
    (tmp_path / "other.json").write_text("[]")
    error = refused("collect", tmp_path / "other.json", "--output", tmp_path / "t.csv")
    assert error.startswith(f"{tmp_path / 'other.json'} holds no scores")
    assert "does not end in .parquet or .csv" in refused("collect", written / "nic.json", "--output", tmp_path / "t.md")
