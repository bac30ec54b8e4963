"""The command and the lines of Python that the page shows measure again what it measured."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from captionbias.app import actions, results
from captionbias.app.reproduce import command, python
from captionbias.app.upload_state import Chosen, Given, read_given
from captionbias.captions.tables import table_from_memory
from captionbias.cli import app
from captionbias.io.formats import json_text

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

OWN = "female: woman, lady, girl\nmale: man, guy, boy"
OWN_TASKS = "cake: cake\ndog: dog\ntie: tie, neck tie\nhandbag: handbag, bag"
SETTINGS = {
    **{"metrics": ["lic"], "preset": "fast", "trials": 2, "seed": 3},
    **{"attribute_lexicon": "gender", "task_lexicon": "coco_objects"},
}


def measured(
    given: Given, chosen: Chosen, *, own: str = "", own_tasks: str = "", metrics: Any = ("dbac", "lic")
) -> Any:
    words = ("my own words" if own else "gender", own, "my own words" if own_tasks else "coco_objects", own_tasks)
    return actions.measure(given, chosen, *words, list(metrics), "fast", 2, 3, watch=lambda step, done: None)


def guessed(given: Given) -> Chosen:
    chosen: Chosen = actions.guessed(given)[1]
    return chosen


def measured_again(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """By the command and by Python, in a folder with the files that were uploaded and those to take away."""
    for path in results.files(run):
        shutil.copy(path, folder)
    monkeypatch.chdir(folder)
    first, *words = shlex.split(run.command)
    assert first == "captionbias"
    result = CliRunner().invoke(app, [*words, "--json", "again.json"])
    assert result.exit_code == 0, result.output
    variables: dict[str, Any] = {}
    exec(run.python, variables)
    return json.loads(Path("again.json").read_text()), json.loads(json_text(variables["found"].as_dict()))


@pytest.mark.parametrize("own", ["", OWN])
def test_the_command_and_the_python_give_the_same_scores(files, tmp_path, monkeypatch, own):
    for path in files.values():
        shutil.copy(path, tmp_path)
    given = read_given([str(files["nic"]), str(files["sat"])], str(files["people"]), None, None)
    run = measured(given, guessed(given), own=own, own_tasks=OWN_TASKS if own else "")
    assert ("attribute-words.json" in run.command) == bool(own)
    of_page = json.loads(json_text(run.audit.as_dict()))
    by_command, by_python = measured_again(run, tmp_path, monkeypatch)
    for found in (by_command, by_python):
        assert found["signatures"] == of_page["signatures"]
        for part in ("comparisons", "captioners", "images", "words", "quality", "needed"):
            assert found[part] == of_page[part], part


def test_kept_labels_and_a_file_with_everything_are_named(write, tmp_path, monkeypatch):
    labels = ["female", "male", "it's"] * 40
    path = write("one file.csv", {"nr": range(120), "said": ["a man waits", "a dog"] * 60, "a label": labels})
    given = read_given([str(path)], None, None, None)
    chosen = Chosen("nr", ("said",), None, "a label", None, ("female", "it's"))
    run = measured(given, chosen, metrics=["lic"])
    by_command, by_python = measured_again(run, tmp_path, monkeypatch)
    assert by_command["images"] == by_python["images"] == run.audit.images == 80
    assert by_command["signatures"] == by_python["signatures"] == run.audit.signatures
    assert by_command["comparisons"] == by_python["comparisons"]


def test_several_columns_of_one_file_are_no_command_but_python(write, tmp_path, monkeypatch):
    labels = ["male", "female"] * 40
    columns = {"id": range(80), "a": ["a man waits"] * 80, "b": ["a girl", "a dog"] * 40, "gender": labels}
    given = read_given([str(write("one.csv", columns))], None, None, None)
    run = measured(given, Chosen("id", ("a", "b"), None, "gender", None), metrics=["lic"])
    assert run.command is None
    monkeypatch.chdir(tmp_path)
    variables: dict[str, Any] = {}
    exec(run.python, variables)
    assert variables["found"].captioners == run.audit.captioners == ("a", "b")
    assert variables["found"].signatures == run.audit.signatures


def test_files_that_call_their_ids_otherwise_and_data_in_memory_are_no_command():
    table = table_from_memory({"id": [1], "caption": ["a man"]})._replace(name="nic.csv")
    other = table_from_memory({"nr": [1], "gender": ["male"]})._replace(name="people.csv")
    chosen = Chosen("id", ("caption",), None, "gender", None)
    assert command(Given({"nic": table}, attributes=other), chosen, SETTINGS, {}) is None
    in_memory = Given({"nic": table}, again="captioners = people = None\n")
    assert command(in_memory, chosen, SETTINGS, {}) is None
    assert in_memory.again in python(in_memory, chosen, SETTINGS, {})


def test_names_that_a_shell_would_take_apart_are_quoted():
    name = "a $(rm -r ~); 'b'"
    table = table_from_memory({"id": [1], name: ["a man"], "gender": ["male"]})._replace(name=f"{name}.csv")
    chosen = Chosen("id", (name,), None, "gender", None)
    line = command(Given({name: table}), chosen, SETTINGS, {})
    assert line is not None
    words = shlex.split(line)
    assert words[words.index("--predictions") + 1] == f"{name}={name}.csv"
    assert words[words.index("--prediction-column") + 1] == name
    compile(python(Given({name: table}), chosen, SETTINGS, {}), "shown", "exec")


def test_there_is_no_command_where_it_would_read_otherwise():
    """But Python, which reads as the app does."""

    def of(name: str, **columns: Any) -> Any:
        return table_from_memory(columns)._replace(name=name)

    nic = of("nic.csv", id=[1, 2], caption=["a man", "a girl"])
    people = of("people.csv", id=[5, 6], image_id=[1, 2], gender=["male", "female"], references=["a man", "a girl"])
    chosen = Chosen("id", ("caption",), "references", "gender", None)
    assert command(Given({"nic": nic}, references=people), chosen, SETTINGS, {}) is None, "ids of another name"
    tasked = of(
        "people.csv", id=[1, 2], gender=["male", "female"], references=["a man", "a girl"], tasks=["tie", "cake"]
    )
    assert command(Given({"nic": nic}, references=tasked), chosen, SETTINGS, {}) is None, "tasks that were not chosen"
    with_tasks = Chosen("id", ("caption",), "references", "gender", "tasks")
    line = command(Given({"nic": nic}, references=tasked), with_tasks, SETTINGS, {})
    assert line is not None
    assert "--tasks people.csv --" in line
    beam = nic._replace(name="beam=5.csv")
    assert command(Given({"beam=5": beam}, references=tasked), with_tasks, SETTINGS, {}) is None, "= parts names"
    same = tasked._replace(name="nic.csv")
    assert command(Given({"nic": nic}, references=same), with_tasks, SETTINGS, {}) is None, "two files of one name"
