"""The metric folders are evaluate modules: found by path and by name, combined, careful with captions.

That each returns the score of the library, and refuses what it refuses, is in `test_conformance.py`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import datasets
import evaluate
import pytest

from captionbias import metrics
from captionbias.captions import CaptionBiasWarning, read_captions
from captionbias.captions.values import as_list
from captionbias.hub import modules
from tests.refusals import refuses

pytestmark = pytest.mark.usefixtures("modules_cache")

FOLDER = Path(__file__).parents[2] / "metrics"
FAST = {"preset": "fast", "trials": 2, "bootstrap": 0}
OBJECTS = ["umbrella", "skateboard", "phone"]


def captions() -> dict[str, Any]:
    """60 images sorted by label, so that a batch may hold one label only; the captioner exaggerates the data's bias."""
    columns: dict[str, Any] = {"predictions": [], "references": [], "attributes": []}
    for label, person in (("female", "woman"), ("male", "man")):
        for image in range(30):
            seen, usual = OBJECTS[image % 3], OBJECTS[label == "male"]
            columns["predictions"].append(f"a {person} with a {usual if image % 2 else seen}")
            columns["references"].append([f"a {person} with a {seen}.", f"one {person} holds the {seen}"])
            columns["attributes"].append(label)
    return columns


def part(columns: dict[str, Any], start: int | None, end: int | None = None) -> dict[str, Any]:
    return {name: column[start:end] for name, column in columns.items()}


@pytest.fixture
def load(tmp_path: Path) -> Any:
    return lambda name, **options: evaluate.load(str(FOLDER / name), cache_dir=str(tmp_path), **options)


def test_weights_scenes_and_several_captions_of_an_image_are_added_with_it(load: Any) -> None:
    rows = captions()
    rows["predictions"] = [[text, "a woman"] for text in rows["predictions"]]
    rows |= {"weights": [1, 2] * 30, "scene": [row % 30 for row in range(60)]}
    expected = metrics.directional_ba(**rows, bootstrap=0)
    assert "samples:mean" in expected["signature"]
    module = load("directional_ba")
    first = {name: column[0] for name, column in rows.items()}
    module.add(prediction=first.pop("predictions"), reference=first.pop("references"), **first)
    module.add_batch(**part(rows, 1))
    assert module.compute(bootstrap=0) == expected
    weights = rows.pop("weights")
    module.add_batch(**rows)
    assert module.compute(weights=weights, bootstrap=0) == expected


def test_combined_modules_take_images_one_by_one_and_in_batches_and_leave_out_options_with_a_warning(load: Any) -> None:
    """evaluate.combine calls them by other names than a module alone, and passes tasks to compute only."""
    rows = captions()
    together = evaluate.combine([load("lic"), load("gender_error")])
    for row in range(20):
        one = {name: column[row] for name, column in rows.items()}
        together.add(prediction=one["predictions"], reference=one["references"], attributes=one["attributes"])
    together.add_batch(**part(rows, 20))
    with pytest.warns(CaptionBiasWarning, match="gender_error has no preset, which other metrics have: left out"):
        found = together.compute(**FAST)
    for name, options in (("lic", FAST), ("gender_error", {"bootstrap": 0})):
        expected = getattr(metrics, name)(**rows, **options)
        assert found[f"{name}_signature"] == expected.pop("signature")
        assert found | expected == found
    tasks = [[caption.split()[-1]] for caption in rows["predictions"]]
    alone = evaluate.combine([load("directional_ba")]).compute(**rows, tasks=tasks)
    assert alone == metrics.directional_ba(**rows, tasks=tasks)


def test_class_labels_are_read_by_their_names(load: Any) -> None:
    """Of a dataset's own columns, which hold numbers; also in lists, and in files read as tables."""
    rows = captions()
    rows["tasks"] = [[caption.split()[-1]] for caption in rows["predictions"]]
    rows["references"] = [[f"{text} {row}" for text in texts] for row, texts in enumerate(rows["references"])]
    expected = metrics.directional_ba(**rows)
    schema = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
        "attributes": datasets.ClassLabel(names=["male", "female"]),
        "tasks": datasets.List(datasets.ClassLabel(names=OBJECTS)),
    }
    table = datasets.Dataset.from_dict(rows, features=datasets.Features(schema))
    assert table[0]["attributes"] == 1
    columns = {name: table[name] for name in rows}
    module = load("directional_ba")
    assert module.compute(**columns) == expected
    module.add_batch(**columns)
    assert module.compute() == expected
    named = read_captions(table, prediction_column="predictions", attribute_column="attributes")
    assert metrics.directional_ba(named) == expected
    unlabelled = datasets.Dataset.from_dict({"gender": [0, -1]}).cast_column("gender", datasets.ClassLabel(names=["a"]))
    assert as_list("attributes", unlabelled["gender"]) == ["a", None]


def test_labels_do_not_go_with_captions_that_were_added(load: Any) -> None:
    module = load("directional_ba")
    module.add_batch(**captions())
    labels = {"attributes": ["f", "m"], "tasks": [["phone"], []], "predicted_tasks": [["phone"], []]}
    refuses("predicted_tasks: labels do not go with captions added before", module.compute, **labels)
    assert len(module) == 0


@pytest.mark.parametrize(
    ("column", "bad"), [("predictions", 3), ("references", "a man"), ("references", ["a man", 3]), ("attributes", None)]
)
def test_a_batch_with_a_bad_row_is_refused_by_that_row(column: str, bad: Any, load: Any) -> None:
    """evaluate itself would turn these into strings, or print all captions."""
    rows, module = captions(), load("lic")
    rows[column][17] = bad
    refuses(rf"{column}\[17\]", module.add_batch, **rows)
    assert len(module) == 0


def test_images_without_a_caption_are_left_out(load: Any) -> None:
    """As from a captioner that is silent once, or a person who was not asked."""
    rows, module = captions(), load("lic")
    rows["predictions"][3], rows["predictions"][40], rows["references"][17] = None, "", [None, "a man with a phone"]
    module.add_batch(**part(rows, 0, 30))
    found = module.compute(**part(rows, 30), **FAST)
    assert found == metrics.lic(**rows, **FAST)
    rows = {name: [text for row, text in enumerate(column) if row not in (3, 40)] for name, column in rows.items()}
    rows["references"][16] = ["a man with a phone"]
    left = metrics.lic(**rows, **FAST)
    assert found.pop("signature") != left.pop("signature"), "without ids images are called by their rows"
    assert found == left


def test_what_only_all_rows_show_is_refused_and_all_rows_are_forgotten(load: Any) -> None:
    good, rows, module = captions(), captions(), load("gender_error")
    rows["attributes"][40:44] = ["nobody"] * 4
    for start in (0, 20, 40):
        module.add_batch(**part(rows, start, start + 20))
    one = {"predictions": ["a man"], "attributes": ["male"]}
    refuses("this batch has predictions and attributes, those before", module.add_batch, **one)
    two = {"predictions": ["a", "b"], "references": [["a"], ["b"]], "attributes": ["male"]}
    refuses("predictions has 2 rows and attributes has 1 rows", module.add_batch, **two)
    refuses("nobody", module.compute)
    refuses("predictions and references are both missing", module.compute)
    module.add_batch(**good)
    with pytest.raises(TypeError, match="boostrap"):
        module.compute(boostrap=0)
    assert module.compute(bootstrap=0) == metrics.gender_error(**good, bootstrap=0), "kept when an option is misspelt"


def test_what_is_installed_is_the_newest_version_and_whole(tmp_path: Path) -> None:
    [installed] = modules.install_metrics(["lic"], cache=tmp_path)
    other = installed.parents[1] / ("0" * 64) / "lic.py"
    other.parent.mkdir()
    other.write_text("another version")
    installed.write_text("half of it")
    os.utime(installed, (1, 1))
    assert modules.install_metrics(["lic"], cache=tmp_path) == [installed]
    assert installed.read_bytes() == (FOLDER / "lic" / "lic.py").read_bytes()
    assert installed.stat().st_mtime_ns >= other.stat().st_mtime_ns
    assert {path.name for path in installed.parent.iterdir()} == {"__init__.py", "lic.py"}


def test_a_cache_that_cannot_be_written_an_unknown_metric_and_parts_of_processes_are_refused(
    load: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    refuses("file", modules.install_metrics, None, cache=tmp_path / "file")
    refuses("bleu", modules.install_metrics, ["lic", "bleu"], cache=tmp_path)
    message = "num_process: captions are not collected from processes; give all of them"
    refuses(message, load, "lic", num_process=2, process_id=0)
