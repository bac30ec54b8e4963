"""The metric folders are evaluate modules: found by path and by name, thin over the library, careful with captions."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

import captionbias
from captionbias import metrics
from captionbias.hub import modules
from tests.patience import PATIENCE

FOLDER = Path(__file__).parents[2] / "metrics"
NAMES = sorted(metrics.__all__)
OF_LABELS = ["ba_mals", "directional_ba", "dpa", "label_leakage", "multi_directional_ba"]
FAST = {"preset": "fast", "trials": 2, "bootstrap": 0}

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few


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


@pytest.fixture(scope="module", autouse=True)
def modules_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """evaluate copies each module that it loads to its cache and imports it from there: not the user's, here."""
    cache = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate.config, "HF_MODULES_CACHE", cache)
        patch.setattr(sys, "path", [*sys.path])
        for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
            patch.delitem(sys.modules, name)
        yield cache
    for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
        del sys.modules[name]


def load(name: str, cache: Path, **options: Any) -> Any:
    return evaluate.load(str(FOLDER / name), cache_dir=str(cache), **options)


def quick(name: str) -> dict[str, Any]:
    """The options of `FAST` that this metric has."""
    return {option: value for option, value in FAST.items() if option in arguments(name)}


def arguments(name: str) -> set[str]:
    return set(inspect.signature(getattr(metrics, name)).parameters)


def labels(name: str) -> dict[str, Any]:
    """The labels of 60 images and of training data, and what a classifier predicts for the former, as names."""
    columns = captions()
    tasks = [reference[0].rstrip(".").split()[-1] for reference in columns["references"]]
    given = {
        "attributes": columns["attributes"],
        "tasks": [[task] for task in tasks],
        "predicted_attributes": [{"umbrella": "female"}.get(task, "male") for task in tasks],
        "predicted_tasks": [[caption.split()[-1]] for caption in columns["predictions"]],
        "training_attributes": ["female", "male"] * 3,
        "training_tasks": [["umbrella"], ["skateboard"], ["umbrella"], ["phone"], ["phone"], ["skateboard"]],
    }
    return {argument: column for argument, column in given.items() if argument in arguments(name)}


def as_array(column: list[Any]) -> np.ndarray[Any, Any]:
    rows = [[value] if isinstance(value, str) else value for value in column]
    names = sorted({value for row in rows for value in row})
    return np.array([[int(name in row) for name in names] for row in rows])


def stored_captions(cache: Path) -> list[Path]:
    return list(cache.rglob("*.arrow"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_a_module_returns_the_score_of_the_library(name: str, keep_in_memory: bool, tmp_path: Path) -> None:
    module = load(name, tmp_path, keep_in_memory=keep_in_memory)
    assert module.name == name
    assert module.compute(**captions(), **quick(name)) == getattr(metrics, name)(**captions(), **quick(name))
    assert not stored_captions(tmp_path)


@pytest.mark.parametrize("left_out", ["predictions", "references"])
def test_one_side_is_measured_alone(left_out: str, tmp_path: Path) -> None:
    one_side = {**captions(), left_out: None}
    result = load("lic", tmp_path).compute(**one_side, **FAST)
    assert result == metrics.lic(**one_side, **FAST)
    assert "lic" not in result
    assert ("lic_m" in result) == (left_out == "references")


@pytest.mark.parametrize("name", NAMES)
def test_rows_added_one_by_one_and_in_batches_score_like_all_at_once(name: str, tmp_path: Path) -> None:
    rows = captions()
    tasks = [[caption.split()[-1]] for caption in rows["predictions"]]
    at_once = load(name, tmp_path).compute(**rows, tasks=tasks, **quick(name))
    module = load(name, tmp_path)
    module.add(prediction=rows["predictions"][0], reference=rows["references"][0], attributes=rows["attributes"][0])
    module.add_batch(**{name: column[1:31] for name, column in rows.items()})
    last = {name: column[31:] for name, column in rows.items()}
    assert module.compute(**last, tasks=tasks, **quick(name)) == at_once


def test_gender_error_needs_model_captions_alone(tmp_path: Path) -> None:
    rows = {name: column for name, column in captions().items() if name != "references"}
    rows["predictions"][0] = "a man"
    result = load("gender_error", tmp_path).compute(**rows)
    assert (result["ratio"], result["error"]) == (pytest.approx(31 / 29), pytest.approx(100 / 60))


@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize("arrays", [False, True])
def test_labels_pass_through_to_the_library(name: str, arrays: bool, tmp_path: Path) -> None:
    """As names and as 0/1 arrays, which evaluate's schema has no place for; no row of them goes to disk."""
    given = labels(name)
    options = {option: value for option, value in quick(name).items() if option != "bootstrap"}
    expected = getattr(metrics, name)(**given, **options)
    shown = {argument: as_array(column) for argument, column in given.items()} if arrays else given
    module = load(name, tmp_path)
    assert module.compute(**shown, **options) == expected
    assert not stored_captions(tmp_path)
    assert module.compute(**captions(), **quick(name)) == getattr(metrics, name)(**captions(), **quick(name))


@pytest.mark.parametrize("added_before", [False, True])
@pytest.mark.parametrize("attributes", ["names", "array", "none"])
def test_captions_and_predicted_labels_are_refused_together(
    added_before: bool, attributes: str, tmp_path: Path
) -> None:
    rows, given = captions(), labels("directional_ba")
    module = load("directional_ba", tmp_path)
    if added_before:
        module.add_batch(**rows)
        rows = {}
    if attributes == "none":
        del given["attributes"]
    elif attributes == "array":
        given["attributes"] = as_array(given["attributes"])
    with pytest.raises(ValueError, match="give captions or predicted labels, not both"):
        module.compute(**{**rows, **given})
    assert not stored_captions(tmp_path)


def test_bad_labels_get_the_errors_of_the_library(tmp_path: Path) -> None:
    module, given = load("directional_ba", tmp_path), labels("directional_ba")
    with pytest.raises(ValueError, match=r"predicted_tasks\[17\] names 'spoon'"):
        module.compute(**{**given, "predicted_tasks": [*given["predicted_tasks"][:17], ["spoon"]] + [[]] * 42})
    with pytest.raises(ValueError, match="predicted_tasks and predicted_attributes are both missing"):
        module.compute(attributes=given["attributes"], tasks=given["tasks"])
    with pytest.raises(ValueError, match="attributes is missing"):
        module.compute(predicted_tasks=given["predicted_tasks"])
    with pytest.raises(ValueError, match="training_attributes and training_tasks belong together"):
        module.compute(**{**given, "training_tasks": None})
    with pytest.raises(TypeError, match="unexpected keyword argument 'predicted_attributes'"):
        load("label_leakage", tmp_path).compute(**given)


@pytest.mark.parametrize("rank", [0, 1])
def test_labels_are_not_collected_from_processes(rank: int, tmp_path: Path) -> None:
    """Each process is told so at once; none waits for the others."""
    module = load("directional_ba", tmp_path, num_process=2, process_id=rank, experiment_id="labels")
    with pytest.raises(ValueError, match=r"predicted_attributes: .* 2 processes; gather them .* in one process"):
        module.compute(**labels("directional_ba"))
    assert not stored_captions(tmp_path)


def test_one_side_alone_can_be_added_in_batches_but_not_sometimes(tmp_path: Path) -> None:
    rows = captions()
    human = {"references": rows["references"], "attributes": rows["attributes"]}
    module = load("lic", tmp_path)
    module.add_batch(**human)
    with pytest.raises(ValueError, match="this batch has predictions and references, those before had references"):
        module.add_batch(**rows)
    assert module.compute(**FAST) == metrics.lic(**human, **FAST)


@pytest.mark.parametrize(
    ("column", "bad", "message"),
    [
        ("predictions", None, r"predictions\[17\] "),
        ("predictions", 3, r"predictions\[17\] is 3"),
        ("predictions", ["a man"], r"predictions\[17\] "),
        ("references", "a man", r"references\[17\] "),
        ("references", [["a man"]], r"references\[17\]"),
        ("references", ["a man", None], r"references\[17\]"),
        ("attributes", None, r"attributes\[17\] "),
    ],
)
@pytest.mark.parametrize("added_before", [False, True])
def test_bad_input_is_refused_by_row(column: str, bad: Any, message: str, added_before: bool, tmp_path: Path) -> None:
    """evaluate itself would turn these into strings, or print all captions."""
    rows = captions()
    rows[column][17] = bad
    module = load("lic", tmp_path)
    with pytest.raises(ValueError, match=message):
        module.add_batch(**rows) if added_before else module.compute(**rows, **FAST)
    assert not stored_captions(tmp_path)


def test_what_only_all_rows_show_is_refused_when_they_were_added(tmp_path: Path) -> None:
    rows = captions()
    rows["references"][40] = []
    module = load("lic", tmp_path)
    for start in (0, 20, 40):
        module.add_batch(**{name: column[start : start + 20] for name, column in rows.items()})
    with pytest.raises(ValueError, match=r"references\[40\] is empty"):
        module.compute(**FAST)


def test_no_captions_at_all(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no captions to score"):
        load("lic", tmp_path).compute()


@pytest.mark.parametrize("keep_in_memory", [False, True])
@pytest.mark.parametrize("added_before", [False, True])
def test_a_failed_compute_leaves_no_captions_behind(keep_in_memory: bool, added_before: bool, tmp_path: Path) -> None:
    module = load("lic", tmp_path, keep_in_memory=keep_in_memory)
    if added_before:
        module.add_batch(**captions())
        assert keep_in_memory or stored_captions(tmp_path)
    with pytest.raises(ValueError, match="preset"):
        module.compute(**({} if added_before else captions()), preset="no such preset")
    assert not stored_captions(tmp_path)
    assert module.data is None
    assert module.compute(**captions(), **FAST) == metrics.lic(**captions(), **FAST)


def test_a_failed_compute_leaves_the_captions_of_others_alone(tmp_path: Path) -> None:
    first, second = load("lic", tmp_path), load("lic", tmp_path)
    first.compute(**captions(), **FAST)
    second.add_batch(**captions())  # in the file that the first one has given back
    with pytest.raises(ValueError, match="there are no captions to score"):
        first.compute()
    assert second.compute(**FAST) == metrics.lic(**captions(), **FAST)


@pytest.mark.parametrize(
    ("name", "wrong"), [("lic", {}), ("lic", {"preset": "none"}), ("directional_ba", {}), ("gender_error", {})]
)
def test_processes_share_their_images_and_the_first_one_reports(
    name: str, wrong: dict[str, str], tmp_path: Path
) -> None:
    """Also metrics that train nothing, and so have nothing to share."""
    rows = captions()
    outcomes: dict[int, Any] = {}

    def process(rank: int) -> None:
        # evaluate's processes meet through locked files, which serve threads as well.
        module = load(name, tmp_path, num_process=2, process_id=rank, experiment_id="shared", timeout=PATIENCE)
        half = {name: column[30 * rank : 30 * (rank + 1)] for name, column in rows.items()}
        try:
            outcomes[rank] = module.compute(**half, **{**quick(name), **wrong})
        except ValueError as error:
            outcomes[rank] = error

    load(name, tmp_path)  # imported once before both threads want it
    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes[1] is None
    if wrong:
        assert isinstance(outcomes[0], ValueError)
    else:
        assert outcomes[0] == getattr(metrics, name)(**rows, **quick(name))
    assert not stored_captions(tmp_path)


OFFLINE = """
import doctest
import socket
import sys


def refuse(*arguments):
    raise OSError("this process has no network")


socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse

import evaluate

for name in sys.argv[2:]:
    module = evaluate.load(name, cache_dir=sys.argv[1])
    examples = doctest.DocTestParser().get_doctest(module.inputs_description, {}, name, None, None)
    assert examples.examples
    assert not doctest.DocTestRunner().run(examples).failed
"""


@pytest.mark.parametrize(
    ("setting", "names"),
    [("HF_HUB_OFFLINE", ["lic"]), ("HF_EVALUATE_OFFLINE", NAMES)],  # with the former each look-up takes seconds
)
def test_installed_modules_load_by_name_from_anywhere_offline(setting: str, names: list[str], tmp_path: Path) -> None:
    """Also runs the example that each module shows its users."""
    cache, elsewhere = tmp_path / "modules", tmp_path / "elsewhere"
    elsewhere.mkdir()
    installed = modules.install_metrics(cache=cache)
    assert [file.stem for file in installed] == NAMES
    environment = {
        **os.environ,
        "HF_MODULES_CACHE": str(cache),
        setting: "1",
        "PYTHONPATH": str(Path(captionbias.__file__).parents[1]),
    }
    command = [sys.executable, "-c", OFFLINE, str(tmp_path), *names]
    subprocess.run(command, cwd=elsewhere, env=environment, check=True)


def test_installing_replaces_an_older_version_and_mends_a_damaged_one(tmp_path: Path) -> None:
    [installed] = modules.install_metrics(["lic"], cache=tmp_path)
    written = installed.stat().st_mtime_ns
    older = installed.parents[1] / ("0" * 64) / "lic.py"
    older.parent.mkdir()
    older.write_text("an older version")
    os.utime(older, (2**32, 2**32))  # evaluate would take it for the newest
    assert modules.install_metrics(["lic"], cache=tmp_path) == [installed]
    assert not older.exists()
    assert installed.stat().st_mtime_ns == written
    installed.write_text("half of it")
    modules.install_metrics(["lic"], cache=tmp_path)
    assert installed.read_bytes() == (FOLDER / "lic" / "lic.py").read_bytes()
    assert {path.name for path in installed.parents[1].iterdir()} == {"__init__.py", installed.parent.name}


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match=rf"cannot be written to {file}.*HF_MODULES_CACHE"):
        modules.install_metrics(cache=file)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError, match=r"names\[1\] is 'bleu'.*choose from ba_mals, dbac, "):
        modules.install_metrics(["lic", "bleu"])
