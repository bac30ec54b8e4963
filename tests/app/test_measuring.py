"""What the page measures: looked at before, as the library does, beside an earlier run, and again by a command."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from typer.testing import CliRunner

from captionbias import metrics
from captionbias.app.check_step import Check
from captionbias.app.compared import together
from captionbias.app.data import (
    CAPTIONER,
    LABELS,
    Columns,
    Data,
    as_said,
    captions_of,
    read_uploads,
    roles_of,
    with_columns,
)
from captionbias.app.example import example
from captionbias.app.measuring import Look, PageSettings, look, measure, read
from captionbias.app.results import again
from captionbias.app.uploads import open_tables
from captionbias.captions.tables import table_from_memory
from captionbias.cli.main import app
from captionbias.io.formats import json_text
from captionbias.metrics import catalogue
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from tests.refusals import refuses

READ = {"id_column": "id", "prediction_column": ["caption"], "attribute_column": "sex"}
NONE = dict.fromkeys(("metrics", "preset", "trials", "seed"))


def data_of(content, **said):
    """One captioner's file with everything, read by these columns."""
    data = as_said([table_from_memory(content, "x.csv")], {"x.csv": CAPTIONER})
    return with_columns(data, READ | said) if "sex" in content else data


def measured(data, *asked, watch=lambda step, done: None, **settings):
    *_, run = measure(data, PageSettings(*asked, **{"trials": 2} | settings), watch)
    return run


def test_what_is_missing_is_told():
    assert look(Data(), "gender") == Look()
    assert look(data_of({"id": [1], "caption": ["a man"]}), "gender").not_ready.startswith("none of these files has")
    refuses("choose at least one metric", measured, Data(), metrics=())
    refuses("seed is empty", measured, Data(), metrics=("lic",), seed=None)


def test_labels_too_few_are_left_out_or_told_of_if_they_are_kept():
    labels = ["unsure"] * 6 + ["female", "male", "male"] * 28
    content = {"id": range(90), "caption": ["a woman", "a man", "a guy"] * 30, "sex": labels}
    data = data_of(content)
    found = look(data, "gender")
    assert (found.labels, data.counts["unsure"]) == ({"female": 28, "male": 56}, 6)
    assert "left out by their label: 'unsure' (6 images, too few to split)" in found.notes[0]
    found = look(data_of(content, keep=["female", "male", "unsure"]), "gender")
    assert "labels with too few images to split: 'unsure' (6). An attacker needs 10" in found.not_ready
    assert any("'unsure' is not a label of attribute" in note for note in found.notes)


@pytest.mark.parametrize(
    ("labels", "attribute", "message"),
    [
        ("caption", "gender", "there are 90 labels: leave some out"),
        ("sex", "race", "'female', 'male' are not labels of attribute_lexicon 'race' ('light', 'dark')"),
    ],
)
def test_words_that_do_not_fit_the_column_are_told(labels, attribute, message):
    content = {"id": range(90), "caption": [f"a man {n}" for n in range(90)], "sex": ["female", "male"] * 45}
    found = look(data_of(content, attribute_column=labels), attribute)
    assert message in "; ".join([found.not_ready, *found.notes])


def test_captions_of_another_language_are_read_by_its_words():
    planted = plant(60, captions=2, language="de")
    content = {"id": range(60), "caption": planted.predictions, "references": planted.references}
    data = data_of({**content, "sex": planted.attributes}, reference_column="references", language="de")
    assert look(data, "gender").not_ready == ""
    assert look(data, "race").not_ready.startswith("language 'de' has no words of '")
    assert "tok:de" in measured(data, metrics=("lic",)).audit.signatures["lic"]


def test_a_column_scene_is_taken_unless_it_says_what_kind_of_place_an_image_shows_or_people_describe_it():
    planted = plant(200, scenes=True)
    content = {"id": range(200), "caption": planted.predictions, "sex": planted.attributes, "scene": planted.scene}
    taken = as_said([table_from_memory(content, "x.csv")], {"x.csv": CAPTIONER})
    assert look(taken, "gender").notes[0] == "scenes: 100 pairs, whose images differ in the person alone"
    for other in ({"scene": ["kitchen", "street"] * 100}, {"references": [["somebody here"]] * 200}):
        data = as_said([table_from_memory(content | other, "x.csv")], {"x.csv": CAPTIONER})
        assert (data.columns.scene_column, "scenes" in "".join(look(data, "gender").notes)) == ("", False)


def test_scenes_are_compared_within_once_their_column_is_chosen():
    planted = plant(200, scenes=True)
    content = {"id": range(200), "caption": planted.predictions, "sex": planted.attributes, "set": planted.scene}
    found = measured(data_of(content, scene_column="set"))
    assert "yardstick:scenes" in found.audit.signatures["sway"]
    assert "--scene-column set" in found.command
    assert {"more than people", "like people"}.isdisjoint(found.audit.verdicts.values())


def test_of_labels_alone_the_words_of_their_tasks_are_taken_and_a_file_says_which_go_with_whom(tmp_path):
    jobs, ids = [*load_lexicon("visogender_occupations").labels], [*range(200)]
    shown, who = [jobs[n // 2 % len(jobs)] for n in ids], ["female", "male"] * 100
    said = [f"a {'woman' if n % 2 == 0 and n % 3 else 'man'} works as a {shown[n]}" for n in ids]
    tables = {
        "nic.csv": {"image_id": ids, "caption": said},
        "labels.csv": {"image_id": ids, "gender": who, "tasks": [[job] for job in shown]},
        "leans.json": {"image_id": ["female", "male"], "value": [jobs[:9], jobs[9:]]},
    }
    opened = [table_from_memory(columns, name) for name, columns in tables.items()]
    data = as_said(opened, roles_of(opened))
    settings = PageSettings().fitting(data)
    assert (data.lean["female"], settings.task_words) == (jobs[:9], "visogender_occupations")
    found = measured(data, metrics=("sway",), task_words=settings.task_words)
    assert "--lean leans.json" in found.command
    assert ("nic", "sway_t_to_a") in found.audit.verdicts
    swapped = [*opened[:1], opened[1].with_column("gender", who[::-1])]
    told = look(as_said(swapped, roles_of(swapped)), "gender").not_ready
    assert told.startswith("nic: attributes: predictions name another value in 83 of 100 images; check that labels are")


def test_a_metric_that_cannot_be_measured_takes_down_no_other():
    rows = {"id": range(60), "caption": ["a man walks", "a woman sits"] * 30, "sex": ["male", "female"] * 30}
    found = measured(data_of(rows | {"tasks": [["unheard of"]] * 60}, task_column="tasks"), metrics=("sway", "lic"))
    assert list(found.audit.comparisons) == ["lic"]
    assert found.audit.missing[0].startswith("Sway: x: tasks: none of its names")


def test_what_was_looked_at_is_not_read_again_as_long_as_the_data_are_there():
    data = data_of({"id": range(40), "caption": ["a man"] * 40, "sex": ["female", "male"] * 20})
    assert look(data, "gender").images == 40
    kept = read(data)
    assert read(data) is kept
    others = [replace(data) for _ in range(2)]
    for other in others:
        read(other)
    assert read(data) is not kept, "only the latest are kept"


def test_beside_the_usual_metrics_others_can_be_ticked():
    with gr.Blocks():
        ticked = Check(catalogue.REPORTED).settings["metrics"]
    assert [name for _, name in ticked.choices] == [*catalogue.REPORTED, "quality_gaps", "resolution"]
    assert ticked.value == [*catalogue.REPORTED]


@pytest.mark.parametrize("name", sorted(catalogue.of_captions()))
def test_each_metric_is_measured_as_the_library_does(name: str) -> None:
    few = plant(120, a_to_t=0.5)
    rows = {"caption": few.predictions, "references": few.references, "gender": few.attributes, "tasks": few.tasks}
    data, seen = as_said([table_from_memory(rows, "nic")], {"nic": CAPTIONER}), []
    found = (
        measured(data, metrics=(name,), watch=lambda step, done: seen.append(done))
        .audit.measurement(name, "nic")
        .flat()
    )
    options: dict[str, Any] = {"preset": "fast"} if catalogue.METRICS[name].presets else {}
    options |= metrics.find_metric(name).accepted({"trials": 2, "task_lexicon": "coco_objects"})  # the page's
    expected = metrics.find_metric(name)(**vars(few), **options)
    assert {key: found[key] for key in expected} == expected
    assert (seen[0], seen[-1]) == (0.0, 1.0)


# Beside an earlier run


def captioned(captioners, labels="gender", ids="id", caption="caption"):
    """Captioners' files, each text once, and labels of their images in another."""
    rows = range(40)
    texts = {f"{name}.csv": [f"{text} {row}" for row in rows] for name, text in captioners.items()}
    tables = [table_from_memory({ids: rows, caption: said}, name) for name, said in texts.items()]
    images = table_from_memory({ids: rows, labels: ["female", "male"] * 20}, f"{labels}.csv")
    data = as_said([*tables, images], dict.fromkeys(texts, CAPTIONER) | {images.name: LABELS})
    return replace(data, columns=Columns(ids, (caption,), attribute_column=labels))


def first_texts(data):
    return {name: captions.predictions[0] for name, captions in captions_of(data).items()}


def test_an_earlier_run_s_captioners_are_measured_on_the_images_of_this_one():
    data = together(
        captioned({"nic": "a man"}), captioned({"sat": "a guy"}, ids="image", caption="text", labels="skin")
    )
    assert first_texts(data) == {"nic": "a man 0", "sat": "a guy 0"}
    assert set(captions_of(data)["sat"].attributes) == set(data.counts) == {"female", "male"}
    assert again(data, NONE, {}) is None, "no command reads sat.csv by these columns"
    command = again(together(captioned({"nic": "x"}), captioned({"sat": "y"})), NONE, {})
    assert "--predictions nic.csv --predictions sat.csv" in command


def test_a_name_that_is_taken_is_told_apart():
    earlier = captioned({"v1.nic": "a guy", "v1.nic (2)": "a boy", "gender": "a lad"}, labels="skin")
    both = together(captioned({"v1.nic": "a man"}), earlier, "20:14 UTC")
    told = {
        "v1.nic": "a man 0",
        "v1.nic (20:14 UTC)": "a guy 0",
        "v1.nic (2)": "a boy 0",
        "gender (20:14 UTC)": "a lad 0",
    }
    assert first_texts(both) == told
    assert again(both, NONE, {}) is None, "there are no files of these names"


def test_one_file_with_everything_keeps_its_labels_and_several_columns_of_captions():
    rows = {"id": range(40), "a": ["a man"] * 40, "b": ["a guy"] * 40, "human": ["he"] * 40, "sex": ["f", "m"] * 20}
    whole = data_of(rows, prediction_column=["a", "b"], reference_column="human")
    data = together(whole, captioned({"nic": "a boy"}))
    assert first_texts(data) == {"a": "a man", "b": "a guy", "nic": "a boy 0"}
    assert {captions.references[0] for captions in captions_of(data).values()} == {("he",)}


@pytest.mark.parametrize("without", [0, 1])
def test_without_image_ids_nothing_is_compared(without):
    runs = [captioned({"nic": "a man"}), captioned({"sat": "a guy"})]
    runs[without] = replace(runs[without], columns=Columns("", ("caption",)))
    refuses("without image ids nobody knows", together, *runs)


# Again, by the command that is shown

VALUES, TEXTS = ["female", "male", "it's"] * 40, ["a man waits", "a dog"] * 60
HERE = ["a man waits here", "one dog"] * 60
KEEP = {"keep": ("female", "male")}


def measured_again(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """By the command, in a folder with the files that were uploaded."""
    monkeypatch.chdir(folder)
    first, *words = shlex.split(run.command)
    assert first == "captionbias"
    result = CliRunner().invoke(app, [*words, "--json", "again.json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(Path("again.json").read_text())
    return found


def test_the_command_gives_the_same_scores_and_data_of_no_file_are_no_command(files, tmp_path, monkeypatch):
    paths = [shutil.copy(path, tmp_path) for path in files.values()]
    run = measured(read_uploads([*map(str, paths)]), "gender", "coco_names", ("dbac", "lic"), seed=3)
    assert {path.name for path in run.files.values()} >= {"report.html", "everything.json", "scores.csv"}
    of_page = json.loads(json_text(run.audit.as_dict()))
    found = measured_again(run, tmp_path, monkeypatch)
    for part in ("signatures", "comparisons", "captioners", "images", "words", "quality"):
        assert found[part] == of_page[part], part
    assert again(example(), NONE, {}) is None


@pytest.mark.parametrize(
    ("tables", "columns"),
    [
        (  # odd names, labels to keep, tasks that are not chosen, and human captions in the captioner's file
            {"beam=5 $(rm -r ~).csv": {"nr": range(120), "said": TEXTS, "a label": VALUES, "tasks": TEXTS, "h": HERE}},
            Columns("nr", ("said",), "h", "a label", **KEEP),
        ),
        (  # several captioners in one file, without ids
            {"one.csv": {"a": TEXTS, "'b'": TEXTS[::-1], "gender": VALUES}},
            Columns("", ("a", "'b'"), "", "gender", **KEEP),
        ),
        (  # ids of another name in another file
            {
                "nic.csv": {"id": range(120), "caption": TEXTS},
                "people.csv": {"id": range(1, 121), "nr": range(120), "gender": VALUES},
            },
            Columns("id", ("caption",), "", "gender", **KEEP),
        ),
    ],
)
def test_data_of_any_form_are_read_alike(write, tmp_path, monkeypatch, tables, columns):
    opened = open_tables([write(name, content) for name, content in tables.items()])
    said = {table.name: role for table, role in zip(opened, (CAPTIONER, LABELS), strict=False)}
    run = measured(replace(as_said(opened, said), columns=columns), "gender", "coco_objects", ("lic",))
    found = measured_again(run, tmp_path, monkeypatch)
    assert found["images"] == run.audit.images == 80
    assert found["captioners"] == list(run.audit.captioners)
    assert found["signatures"] == run.audit.signatures
    assert found["comparisons"] == json.loads(json_text(run.audit.as_dict()))["comparisons"]
