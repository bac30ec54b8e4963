"""`captionbias weights`: from results and training images to weights, what it says, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.analysis.audit import audit
from captionbias.io.formats import write_json
from captionbias.studies.resampling import in_words, resampling_weights
from captionbias.synthetic import plant
from tests.cli.conftest import invoke, refused

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 600 images are few

IMAGES, TRAINING = 600, 1000
QUICK = ["--preset", "fast", "--trials", "4", "--bootstrap", "40", "--no-cache"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results as `captionbias measure dbac` writes them, and training images with other ids than the measured ones."""
    folder = tmp_path_factory.mktemp("files")
    measured = plant(IMAGES, captions=2, a_to_t=0.6, t_to_a=0.9)
    table = {"image_id": list(range(IMAGES)), "caption": measured.predictions, "references": measured.references}
    table |= {"gender": measured.attributes, "tasks": measured.tasks}
    pq.write_table(pa.table(table), folder / "measured.parquet")
    given = folder / "measured.parquet"
    sides = ["--predictions", given, "--references", given]
    invoke("measure", "dbac", *sides, *QUICK, "--output", folder / "dbac.json")
    training = plant(TRAINING, captions=1, seed=1)
    ids = [1000 + image for image in range(TRAINING)]
    table = {"image_id": ids, "gender": training.attributes, "tasks": training.tasks}
    pq.write_table(pa.table(table), folder / "train.parquet")
    return folder


@pytest.fixture(scope="module")
def training():
    return plant(TRAINING, captions=1, seed=1)


@pytest.fixture
def sources(folder):
    return json.loads((folder / "dbac.json").read_text())["details"]["sources"]


@pytest.fixture
def changed(folder, tmp_path):
    """Writes the results with another part, and gives the arguments that name them."""

    def write(content):
        (tmp_path / "changed.json").write_text(content if isinstance(content, str) else json.dumps(content))
        return [tmp_path / "changed.json", "--attributes", folder / "train.parquet", "--output", tmp_path / "w.csv"]

    return write


def strongest(rows, top):
    adding = [row for row in rows if row["attribute"] and row["task"] and row.get("amplification_net_ci_low", 0) > 0]
    return sorted(adding, key=lambda row: -row["amplification_net"])[:top]


@pytest.mark.parametrize("direction", [None, "a_to_t"])
def test_the_files_give_the_library_s_weights(direction, folder, sources, training, tmp_path):
    chosen = ["--direction", direction] if direction else []
    train = folder / "train.parquet"
    out = tmp_path / "w.csv"
    told = invoke(
        "weights", folder / "dbac.json", "--attributes", train, "--tasks", train, "--top", 1, *chosen, "--output", out
    )
    rows = strongest(sources[direction] if direction else sources["a_to_t"] + sources["t_to_a"], 1)
    expected = resampling_weights(training.attributes, training.tasks, rows)
    written = pd.read_csv(out)
    assert written["image_id"].tolist() == [1000 + image for image in range(TRAINING)]
    assert written["weight"].to_numpy() == pytest.approx(expected)
    assert told.splitlines()[:3] == ["Pairs that add most to the score (net):", *map(in_words, rows), ""]
    assert f"1,000 images, weights from {expected.min():.2f} to {expected.max():.2f}" in told


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_lines_for_torch_and_datasets_run_as_they_are_printed(ending, folder, training, tmp_path):
    torch, datasets = pytest.importorskip("torch"), pytest.importorskip("datasets")
    out = tmp_path / f"it's.{ending}"
    told = invoke("weights", folder / "dbac.json", "--attributes", folder / "train.parquet", "--output", out)
    lines = told[told.index("read, with the ids") :].splitlines()
    ids = [*range(1000 + TRAINING - 1, 999, -1), 7]  # in another order, and one without a weight
    data = datasets.Dataset.from_dict({"image_id": ids})
    names = {"pandas": pd, "numpy": np, "torch": torch, "ids": ids, "data": data}
    exec("\n".join(line.strip() for line in lines if line.startswith("  ")), names)
    written = (pd.read_csv if ending == "csv" else pd.read_parquet)(out)["weight"].to_numpy()
    assert names["weights"] == pytest.approx([*written[::-1], 0])
    assert len(list(names["sampler"])) == len(names["drawn"]) == TRAINING + 1
    assert 7 not in names["drawn"]["image_id"][:]


def test_a_report_s_data_are_read_by_captioner(folder, tmp_path):
    planted = vars(plant(200, captions=1, a_to_t=0.7, t_to_a=0.7))
    two = {"biased": planted.pop("predictions"), "faithful": plant(200, captions=1).predictions}
    found = audit(two, **planted, metrics=["dbac"], trials=2, bootstrap=20, cache=False, quality_images=20)
    write_json(found.as_dict(), tmp_path / "report.json")
    given = ["--attributes", folder / "train.parquet", "--output", tmp_path / "w.parquet", "--top", 1]
    for name in two:
        told = invoke("weights", tmp_path / "report.json", *given, "--captioner", name)
        rows = [row for of in found.details("dbac", name)["sources"].values() for row in of]
        assert told.splitlines()[1] == in_words(strongest(rows, 1)[0])
    assert "several captioners: name one of biased, faithful" in refused("weights", tmp_path / "report.json", *given)
    assert "it has biased, faithful" in refused("weights", tmp_path / "report.json", *given, "--captioner", "nic")


def test_what_captionbias_measure_all_wrote_is_read_too(folder, changed):
    content = json.loads((folder / "dbac.json").read_text())
    told = invoke("weights", *changed({"metrics": {"dbac": content}}))
    assert told == invoke("weights", *changed(content))


ROW = {"direction": "a_to_t", "attribute": "female", "task": "cake", "named_m": 0.2, "named_h": 0.1}
ADDS = ROW | {"amplification": 0.1, "amplification_ci_low": 0.05}


def dbac_file(*rows):
    return {"metric": "dbac", "scores": {}, "details": {"sources": {"a_to_t": list(rows)}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a man on a bike", "does not say where a DBAC comes from"),
        ([1, 2], "does not say where a DBAC comes from"),
        ({"comparisons": {"lic": {"results": {"nic": {}}}}}, "give what captionbias measure dbac --output or"),
        (dbac_file(), "no pair of an attribute value and a task clearly adds to the score"),
        (dbac_file(ROW), "no pair of an attribute value and a task"),
        (dbac_file(ADDS | {"amplification": -0.1}, ADDS | {"task": None}), "no pair of an attribute value and a task"),
        (dbac_file(ADDS | {"amplification_matched": -0.1}), "no pair of an attribute value and a task"),
        (dbac_file(ADDS, ADDS | {"task": "Kuchen"}), "rows name task 'Kuchen', which no image has;"),
    ],
)
def test_odd_results_are_refused_in_one_line(content, message, changed, tmp_path):
    assert message in refused("weights", *changed(content))
    assert not (tmp_path / "w.csv").exists()


def test_pairs_whose_interval_holds_0_are_taken_only_if_asked_for(changed):
    unclear = ADDS | {"task": "dog", "amplification": 0.2, "amplification_ci_low": -0.1}
    for rows, more, taken in (([ADDS, unclear], [], [ADDS]), ([ADDS, unclear], ["--unclear"], [unclear, ADDS])):
        told = invoke("weights", *changed(dbac_file(*rows)), *more).splitlines()
        assert told[1 : told.index("")] == list(map(in_words, taken))
    assert "--unclear takes pairs whose interval holds 0" in refused("weights", *changed(dbac_file(unclear)))
