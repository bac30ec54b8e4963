"""The metric folders are evaluate modules: found by path and by name, thin over the library, careful with captions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import pytest

from captionbias import metrics
from captionbias.bench.catalogue import METRICS
from captionbias.captions import CaptionBiasWarning, read_captions
from captionbias.captions.values import as_list
from captionbias.hub import modules

pytestmark = pytest.mark.usefixtures("modules_cache")

FOLDER = Path(__file__).parents[2] / "metrics"
FAST = {"preset": "fast", "trials": 2, "bootstrap": 0}
PICTURES = {"epochs": 1, "images": np.random.default_rng(0).integers(0, 256, (60, 32, 32, 3), np.uint8)}


def captions() -> dict[str, Any]:
    """60 images sorted by label, so that a batch may hold one label only; the captioner exaggerates the data's bias."""
    objects = ["umbrella", "skateboard", "phone"]
    columns: dict[str, Any] = {"predictions": [], "references": [], "attributes": []}
    for label, person in (("female", "woman"), ("male", "man")):
        for image in range(30):
            seen, usual = objects[image % 3], objects[label == "male"]
            columns["predictions"].append(f"a {person} with a {usual if image % 2 else seen}")
            columns["references"].append([f"a {person} with a {seen}.", f"one {person} holds the {seen}"])
            columns["attributes"].append(label)
    return columns


def load(name: str, cache: Path, **options: Any) -> Any:
    return evaluate.load(str(FOLDER / name), cache_dir=str(cache), **options)


def quick(name: str) -> dict[str, Any]:
    """The options of `FAST` that this metric has."""
    return getattr(metrics, name).accepted(FAST | PICTURES if name == "imagecaptioner2" else FAST)


@pytest.mark.parametrize("name", METRICS)
def test_a_module_returns_the_score_of_the_library(name: str, tmp_path: Path) -> None:
    """All at once, and with rows that were added one by one and in batches; nothing goes to disk."""
    rows = captions()
    rows["tasks"] = [[caption.split()[-1]] for caption in rows["predictions"]]
    module = load(name, tmp_path)
    assert module.name == name
    expected = getattr(metrics, name)(**rows, **quick(name))
    assert module.compute(**rows, **quick(name)) == expected
    tasks = rows.pop("tasks")
    module.add(prediction=rows["predictions"][0], reference=rows["references"][0], attributes=rows["attributes"][0])
    module.add_batch(**{name: column[1:31] for name, column in rows.items()})
    assert len(module) == 31
    last = {name: column[31:] for name, column in rows.items()}
    assert module.compute(**last, tasks=tasks, **quick(name)) == expected
    assert not list(tmp_path.rglob("*.arrow"))


def test_weights_and_several_captions_of_an_image_are_added_with_it(tmp_path: Path) -> None:
    rows = captions()
    rows["predictions"] = [[text, "a woman"] for text in rows["predictions"]]
    rows["weights"] = [1, 2] * (len(rows["predictions"]) // 2)
    expected = metrics.directional_ba(**rows, bootstrap=0)
    assert "samples:mean" in expected["signature"]
    module = load("directional_ba", tmp_path)
    first = {name: rows[f"{name}s"][0] for name in ("prediction", "reference")}
    module.add(**first, attributes=rows["attributes"][0], weights=1)
    module.add_batch(**{name: column[1:] for name, column in rows.items()})
    assert module.compute(bootstrap=0) == expected
    weights = rows.pop("weights")
    module.add_batch(**rows)
    assert module.compute(weights=weights, bootstrap=0) == expected


def test_combined_modules_take_images_one_by_one_and_in_batches(tmp_path: Path) -> None:
    """evaluate.combine calls them by other names than a module alone, and passes tasks to compute only."""
    rows = captions()
    tasks = [[caption.split()[-1]] for caption in rows["predictions"]]
    together = evaluate.combine([load("directional_ba", tmp_path), load("gender_error", tmp_path)])
    for row in range(20):
        together.add(
            prediction=rows["predictions"][row], reference=rows["references"][row], attributes=rows["attributes"][row]
        )
    together.add_batch(**{name: column[20:] for name, column in rows.items()})
    found = together.compute()
    for name in ("directional_ba", "gender_error"):
        expected = getattr(metrics, name)(**rows)
        assert found[f"{name}_signature"] == expected.pop("signature")
        assert found | expected == found
    alone = evaluate.combine([load("directional_ba", tmp_path)]).compute(**rows, tasks=tasks)
    assert alone == metrics.directional_ba(**rows, tasks=tasks)


def test_options_that_a_combined_metric_does_not_have_are_left_out_with_a_warning(tmp_path: Path) -> None:
    rows = captions()
    together = evaluate.combine([load("lic", tmp_path), load("gender_error", tmp_path)])
    with pytest.warns(CaptionBiasWarning, match="gender_error has no preset, which other metrics have: left out"):
        scores = together.compute(**rows, **FAST)
    assert scores | metrics.lic(**rows, **FAST) | {"signature": None} == scores | {"signature": None}
    expected = metrics.gender_error(**rows, bootstrap=0)
    assert scores["gender_error_signature"] == expected["signature"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'presett'"):
        load("gender_error", tmp_path).compute(**rows, presett="fast")


def test_class_labels_are_read_by_their_names(tmp_path: Path) -> None:
    """Of a dataset's own columns, which hold numbers; also in lists, and in files read as tables."""
    rows = captions()
    rows["tasks"] = [[caption.split()[-1]] for caption in rows["predictions"]]
    expected = metrics.directional_ba(**rows)
    schema = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
        "attributes": datasets.ClassLabel(names=["male", "female"]),
        "tasks": datasets.List(datasets.ClassLabel(names=["umbrella", "skateboard", "phone"])),
    }
    table = datasets.Dataset.from_dict(rows, features=datasets.Features(schema))
    assert table[0]["attributes"] == 1
    columns = {name: table[name] for name in rows}
    module = load("directional_ba", tmp_path)
    assert module.compute(**columns) == expected
    module.add_batch(**columns)
    assert module.compute() == expected
    assert (
        metrics.directional_ba(read_captions(table, prediction_column="predictions", attribute_column="attributes"))
        == expected
    )
    unlabelled = datasets.Dataset.from_dict({"gender": [0, -1]}).cast_column("gender", datasets.ClassLabel(names=["a"]))
    assert as_list("attributes", unlabelled["gender"]) == ["a", None]


LABELS = {
    "attributes": ["female", "male"] * 30,
    "tasks": [["phone"], [], ["umbrella"]] * 20,
    "predicted_tasks": [["phone"], ["umbrella"]] * 30,
}


def test_labels_pass_through_and_are_not_collected(tmp_path: Path) -> None:
    arrays = {
        "attributes": np.tile(np.eye(2, dtype=int), (30, 1)),
        "tasks": np.tile([[1, 0], [0, 0], [0, 1]], (20, 1)),
        "predicted_tasks": np.tile(np.eye(2, dtype=int), (30, 1)),
    }
    for given in (LABELS, arrays):
        assert load("directional_ba", tmp_path).compute(**given) == metrics.directional_ba(**given)
    added = load("directional_ba", tmp_path)
    added.add_batch(**captions())
    with pytest.raises(ValueError, match=r"predicted_tasks: labels do not go with captions added before"):
        added.compute(**LABELS)
    assert len(added) == 0


@pytest.mark.parametrize(
    ("column", "bad", "message"),
    [
        ("predictions", 3, r"predictions\[17\] is "),
        ("references", "a man", r"references\[17\] "),
        ("references", ["a man", 3], r"references\[17\]"),
        ("attributes", None, r"attributes\[17\] "),
    ],
)
def test_bad_input_is_refused_by_row(column: str, bad: Any, message: str, tmp_path: Path) -> None:
    """evaluate itself would turn these into strings, or print all captions."""
    rows = captions()
    rows[column][17] = bad
    module = load("lic", tmp_path)
    for take in (module.add_batch, module.compute):
        with pytest.raises(ValueError, match=message):
            take(**rows)
    assert len(module) == 0


def test_images_without_a_caption_are_left_out(tmp_path: Path) -> None:
    """As from a captioner that is silent once, or a person who was not asked."""
    rows = captions()
    rows["predictions"][3], rows["predictions"][40], rows["references"][17] = None, "", [None, "a man with a phone"]
    module = load("lic", tmp_path)
    module.add_batch(**{name: column[:30] for name, column in rows.items()})
    found = module.compute(**{name: column[30:] for name, column in rows.items()}, **FAST)
    assert found == metrics.lic(**rows, **FAST)
    rows = {name: [text for row, text in enumerate(column) if row not in (3, 40)] for name, column in rows.items()}
    rows["references"][16] = ["a man with a phone"]
    assert found == metrics.lic(**rows, **FAST)


def test_what_only_all_rows_show_is_refused_and_all_rows_are_forgotten(tmp_path: Path) -> None:
    rows, module = captions(), load("lic", tmp_path)
    good = {name: list(column) for name, column in rows.items()}
    rows["attributes"][40] = "nobody"
    for start in (0, 20, 40):
        module.add_batch(**{name: column[start : start + 20] for name, column in rows.items()})
    with pytest.raises(ValueError, match="this batch has predictions and attributes, those before"):
        module.add_batch(predictions=["a man"], attributes=["male"])
    with pytest.raises(ValueError, match="predictions has 2 rows and attributes has 1 rows"):
        module.add_batch(predictions=["a", "b"], references=[["a"], ["b"]], attributes=["male"])
    with pytest.raises(ValueError, match="nobody"):
        module.compute(**FAST)
    with pytest.raises(ValueError, match="predictions and references are both missing"):
        module.compute()
    assert module.compute(**good, **FAST) == metrics.lic(**good, **FAST)


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


def test_a_cache_that_cannot_be_written_and_an_unknown_metric_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for names, cache, named in ((None, tmp_path / "file", "file"), (["lic", "bleu"], tmp_path, "bleu")):
        with pytest.raises(ValueError, match=named):
            modules.install_metrics(names, cache=cache)


def test_processes_that_each_add_a_part_are_refused_before_they_do(tmp_path):
    with pytest.raises(ValueError, match="num_process: captions are not collected from processes; give all of them"):
        load("lic", tmp_path, num_process=2, process_id=0)


def test_rows_are_kept_when_an_option_is_misspelt(tmp_path):
    module = load("gender_error", tmp_path)
    module.add_batch(predictions=["a man", "a woman"], attributes=["male", "female"])
    with pytest.raises(TypeError, match="boostrap"):
        module.compute(boostrap=0)
    assert module.compute(bootstrap=0)["ratio"] == 1.0
