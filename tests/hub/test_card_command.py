"""`captionbias card`: from results files to cards, what it says, and what it refuses."""

from __future__ import annotations

import csv
import json

import pytest
import yaml
from click import unstyle
from huggingface_hub import ModelCard
from typer.testing import CliRunner

from captionbias.cli.card import card
from captionbias.cli.measure import measure
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

QUICK = ["--trials", 2, "--bootstrap", 20, "--no-cache"]
DATASET = ["--dataset", "someone/captions"]


def invoke(app, *arguments, status=0):
    """What a command of this process prints, its standard error where it fails."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return unstyle(result.stderr if status else result.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Results as the command line writes them: everything of a captioner, and LIC of people alone."""
    folder = tmp_path_factory.mktemp("results")
    planted = plant(images=60, captions=2, a_to_t=0.5)
    with (folder / "captions.csv").open("w", encoding="utf-8", newline="") as file:
        rows = zip(planted.predictions, map(json.dumps, planted.references), planted.attributes, strict=True)
        header = ["image_id", "caption", "references", "gender"]
        csv.writer(file).writerows([header, *([number, *row] for number, row in enumerate(rows))])
    given = [folder / "captions.csv"]
    sides = ["--predictions", *given, "--references", *given]
    invoke(measure, "all", *sides, *QUICK, "--output", folder / "all.json")
    invoke(measure, "lic", "--preset", "fast", "--references", *given, *QUICK, "--output", folder / "lic.json")
    return folder


def test_a_dataset_card_is_named_and_the_second_time_nothing_changed(files, tmp_path):
    arguments = ["dataset", tmp_path, "--results", files / "lic.json"]
    assert invoke(card, *arguments).splitlines() == [str(tmp_path / "README.md")]
    assert "LIC x 100, human captions" in (tmp_path / "README.md").read_text()
    assert invoke(card, *arguments).splitlines() == ["nothing changed"]


def test_a_model_card_gets_every_option(files, tmp_path):
    options = ["--dataset-revision", "0" * 40, "--date", "2026-01-31", "--model-name", "nic"]
    options += ["--source-url", "https://example.org/run", "--source-name", "a run", "--source-user", "me"]
    arguments = ["model", tmp_path / "README.md", "--results", files / "all.json", *DATASET, *options]
    entries = tmp_path / ".eval_results" / "captionbias.yaml"
    written = [tmp_path / "README.md", tmp_path / "captionbias.svg", entries]
    assert invoke(card, *arguments).splitlines() == list(map(str, written))
    entry = yaml.safe_load(entries.read_text())[0]
    assert entry["dataset"] == {"id": "someone/captions", "task_id": "sway_t_to_a", "revision": "0" * 40}
    assert entry["date"] == "2026-01-31"
    assert entry["source"] == {"url": "https://example.org/run", "name": "a run", "user": "me"}
    assert ModelCard.load(tmp_path / "README.md").data.model_name == "nic"
    assert invoke(card, *arguments).splitlines() == ["nothing changed"]


def test_a_bad_file_is_an_error_in_one_line_and_no_card(files, tmp_path):
    broken = json.loads((files / "all.json").read_text())
    broken["metrics"]["lic"]["scores"]["lic"] = None
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    printed = invoke(card, "model", tmp_path, "--results", tmp_path / "broken.json", *DATASET, status=2)
    assert printed.startswith("error: ")
    assert "broken.json: lic: lic is None" in printed
    assert len(printed.splitlines()) == 1
    assert not (tmp_path / "README.md").exists()
