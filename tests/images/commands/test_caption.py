"""`captionbias caption` and `captionbias audit`: from a model's folder and pictures to captions, and to a report."""

import json

import pandas as pd
import pytest

from captionbias.captions import read_captions
from captionbias.images import captioning
from tests.cli.conftest import invoke, refused
from tests.images.conftest import write_people
from tests.launch import launched

SHORT = ["--max-new-tokens", "8", "--batch-size", "2"]


def no_model(*_):
    raise AssertionError("a model was loaded")


def captions_in(file):
    table = pd.read_parquet(file)
    return dict(zip(table["image_id"], table["caption"], strict=True))


@pytest.fixture
def people(tmp_path):
    """What people say of pictures 0 to 10, whose ids are numbers, and of one more."""
    return write_people(tmp_path / "people.jsonl", [*range(11), 99])


def test_the_output_joins_with_a_table_of_people_and_can_be_measured(tiny_encoder_decoder, pictures, people, tmp_path):
    output, csv = tmp_path / "vit.parquet", tmp_path / "vit.csv"
    shown = invoke("caption", tiny_encoder_decoder, "--images", pictures, "--output", output, *SHORT)
    assert shown == f"12 captions are in {output}\n"
    made = captions_in(output)
    assert list(made) == [str(number) for number in range(12)]
    assert made == captioning.caption(tiny_encoder_decoder, pictures, max_new_tokens=8, cache=False)
    with pytest.warns(UserWarning, match="left out"):
        joined = read_captions(predictions=output, references=people, attribute="gender")
    assert joined.image_ids == tuple(map(str, range(11)))
    assert list(joined.predictions) == [made[image] for image in joined.image_ids]
    assert "gender" in invoke("measure", "gender_error", "--predictions", output, "--references", people)
    invoke("caption", tiny_encoder_decoder, "--images", pictures, "--output", csv, *SHORT)
    assert pd.read_csv(csv, dtype=str).equals(pd.read_parquet(output))


def test_arguments_of_the_template_reach_the_captions(tiny_chat_model, pictures, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(captioning, "caption", lambda model, images, **options: seen.update(options) or {"0": "a dog"})
    command = ["caption", tiny_chat_model, "--images", pictures, "--output", tmp_path / "all.csv"]
    invoke(*command, "--template-argument", "enable_thinking=false", "--template-argument", "style=plain")
    assert seen["template_arguments"] == {"enable_thinking": False, "style": "plain"}
    assert "must be name=value" in refused(*command, "--template-argument", "thinking")


def test_a_run_that_was_ended_goes_on_and_a_finished_one_is_not_made_again(tiny_blip, pictures, tmp_path, monkeypatch):
    from captionbias.training import captioning as training

    output = tmp_path / "blip.parquet"
    command = ["caption", tiny_blip, "--images", pictures, "--output", output, *SHORT]
    plain, made = training.caption_images, []

    def ending(*given, **options):
        made.extend(given[2])
        if len(made) == 6:
            raise KeyboardInterrupt
        return plain(*given, **options)

    monkeypatch.setattr(training, "caption_images", ending)
    with pytest.raises(KeyboardInterrupt):
        captioning.caption(tiny_blip, pictures, max_new_tokens=8, batch_size=2)
    invoke(*command)
    assert len(made) == 12 + 2, "of the batch that was not finished"
    assert captions_in(output) == captioning.caption(tiny_blip, pictures, max_new_tokens=8, cache=False)

    before = output.read_bytes()
    monkeypatch.setattr(captioning, "load_captioner", no_model)
    invoke(*command)
    assert output.read_bytes() == before


def test_an_audit_is_captions_and_then_their_report(tiny_blip, pictures, people, tmp_path):
    captions, page, data = tmp_path / "blip.parquet", tmp_path / "audit.html", tmp_path / "audit.json"
    measured = ["--references", people, "--metric", "gender_error", "--bootstrap", "50", "--json", data]
    usual = ["audit", tiny_blip, "--images", pictures, *measured, "--output", page, *SHORT]
    shown = invoke(*usual, "--captions", captions)
    first, *_, last, _ = shown.splitlines()
    assert (first, last) == (f"12 captions are in {captions}", f"the report is in {page}")
    assert len(captions_in(captions)) == 12
    found, again = json.loads(data.read_text()), tmp_path / "again.json"
    assert list(found["comparisons"]["gender_error"]["results"]) == [tiny_blip.name]
    measured[-1] = again
    invoke("report", "--predictions", f"{tiny_blip.name}={captions}", *measured, "--output", page)
    assert json.loads(again.read_text()) == found
    assert "--captions and --output name the same file" in refused(*usual, "--captions", page)


def test_an_audit_of_scenes_needs_no_human_captions_and_shows_both_pictures_of_a_scene(tiny_blip, pictures, tmp_path):
    scenes, data, page = tmp_path / "scenes.parquet", tmp_path / "audit.json", tmp_path / "audit.html"
    table = {"image_id": range(12), "scene": [number // 2 for number in range(12)], "gender": ["female", "male"] * 6}
    pd.DataFrame({**table, "tasks": [["dog"]] * 12}).to_parquet(scenes)
    written = ["--output", page, "--json", data, "--captions", tmp_path / "blip.parquet", "--bootstrap", "50", *SHORT]
    command = ["audit", tiny_blip, "--images", pictures, *written, "--scenes", scenes]
    invoke(*command)
    found = json.loads(data.read_text())
    (signature,) = found["signatures"].values()
    assert {"tasks:given", "yardstick:scenes"} <= {*signature.split("|")}
    of_scenes = found["evidence"]["captioners"][tiny_blip.name]["scenes"]
    assert of_scenes["compared"] == 6
    assert page.read_text().count("<img ") == 2 * len(of_scenes["pairs"]) > 0
    assert "--scenes and --attributes" in refused(*command, "--attributes", scenes)


@pytest.mark.slow
def test_two_processes_make_the_captions_of_one(tiny_blip, pictures, tmp_path):
    output = tmp_path / "two.parquet"
    (pictures / "broken.jpg").write_bytes(b"no picture")
    command = ["-m", "captionbias", "caption", tiny_blip, "--images", pictures, "--output", output, *SHORT]
    status, printed = launched(command, tmp_path)
    assert status == 0, printed
    assert printed.count("captions are in") == 1
    assert printed.count("1 of 13 images cannot be read") == 1
    with pytest.warns(UserWarning, match="cannot be read"):
        assert captions_in(output) == captioning.caption(tiny_blip, pictures, max_new_tokens=8, cache=False)
