"""The command that the page shows measures again what it measured."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from captionbias.app import measuring
from captionbias.app.data import CAPTIONER, LABELS, Columns, Data, as_said, read_uploads
from captionbias.app.example import example
from captionbias.app.measuring import PageSettings
from captionbias.app.results import again
from captionbias.app.uploads import open_tables
from captionbias.cli.main import app
from captionbias.io.formats import json_text

VALUES = ["female", "male", "it's"] * 40
TEXTS = ["a man waits", "a dog"] * 60
HERE = ["a man waits here", "one dog"] * 60


def measured(data: Data, task_words: str = "coco_objects", metrics: Any = ("lic",)) -> Any:
    settings = PageSettings("gender", task_words, metrics, trials=2, seed=3)
    *_, run = measuring.measure(data, settings, lambda step, done: None)
    return run


def measured_again(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """By the command, in a folder with the files that were uploaded."""
    monkeypatch.chdir(folder)
    first, *words = shlex.split(run.command)
    assert first == "captionbias"
    result = CliRunner().invoke(app, [*words, "--json", "again.json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(Path("again.json").read_text())
    return found


def test_the_command_gives_the_same_scores(files, tmp_path, monkeypatch):
    for path in files.values():
        shutil.copy(path, tmp_path)
    data = read_uploads([*map(str, files.values())])
    run = measured(data, "coco_names", metrics=("dbac", "lic"))
    assert {path.name for path in run.files.values()} >= {"report.html", "everything.json", "scores.csv"}
    of_page = json.loads(json_text(run.audit.as_dict()))
    found = measured_again(run, tmp_path, monkeypatch)
    for part in ("signatures", "comparisons", "captioners", "images", "words", "quality"):
        assert found[part] == of_page[part], part


@pytest.mark.parametrize(
    ("tables", "columns"),
    [
        (  # odd names, labels to keep, tasks that are not chosen, and human captions in the captioner's file
            {"beam=5 $(rm -r ~).csv": {"nr": range(120), "said": TEXTS, "a label": VALUES, "tasks": TEXTS, "h": HERE}},
            Columns("nr", ("said",), "h", "a label", keep=("female", "male")),
        ),
        (  # several captioners in one file, without ids
            {"one.csv": {"a": TEXTS, "'b'": TEXTS[::-1], "gender": VALUES}},
            Columns("", ("a", "'b'"), "", "gender", keep=("female", "male")),
        ),
        (  # ids of another name in another file
            {
                "nic.csv": {"id": range(120), "caption": TEXTS},
                "people.csv": {"id": range(1, 121), "nr": range(120), "gender": VALUES},
            },
            Columns("id", ("caption",), "", "gender", keep=("female", "male")),
        ),
    ],
)
def test_data_of_any_form_are_read_alike(write, tmp_path, monkeypatch, tables, columns):
    paths = [str(write(name, content)) for name, content in tables.items()]
    tables = open_tables([Path(path) for path in paths])
    said = {table.name: role for table, role in zip(tables, (CAPTIONER, LABELS), strict=False)}
    run = measured(replace(as_said(tables, said), columns=columns))
    found = measured_again(run, tmp_path, monkeypatch)
    assert found["images"] == run.audit.images == 80
    assert found["captioners"] == list(run.audit.captioners)
    assert found["signatures"] == run.audit.signatures
    assert found["comparisons"] == json.loads(json_text(run.audit.as_dict()))["comparisons"]


def test_data_of_no_file_are_no_command():
    assert again(example(), dict.fromkeys(("metrics", "preset", "trials", "seed")), {}) is None
