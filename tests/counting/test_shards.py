"""Files of captions are counted in parts, go on where they were killed, and leave a sample of what does not add."""

import json
import subprocess
import sys
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest

from captionbias.captions import check_captions
from captionbias.counting import count, merge_counts, read_counts
from captionbias.counting.shards import count_file, count_files
from captionbias.metrics import sway
from tests.cli.conftest import invoke, refused
from tests.counting.test_counts import parts, world

PEOPLE = {"reference_column": "people"}


@pytest.fixture
def shards(tmp_path):
    """Three files of one data set, each of another kind."""
    folder = tmp_path / "shards"
    folder.mkdir()
    first, second, third = (pd.DataFrame(part) for part in parts(world(240), 3))
    first.to_parquet(folder / "a.parquet")
    second.to_json(folder / "b.jsonl.gz", orient="records", lines=True)
    third.to_parquet(folder / "c.parquet")
    return folder


def test_files_of_any_kind_and_a_folder_are_counted_as_a_table_is(shards, tmp_path):
    count_files([shards], tmp_path / "all.parquet", **PEOPLE)
    assert pq.read_table(tmp_path / "all.parquet").equals(count(world(240), **PEOPLE))
    files = sorted(shards.iterdir(), reverse=True)
    count_files(files, tmp_path / "again.parquet", processes=2, **PEOPLE)
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "all.parquet").read_bytes()
    assert not (tmp_path / "again.parquet.parts").exists()
    assert merge_counts(count_file(file, **PEOPLE) for file in files).equals(count(world(240), **PEOPLE))


def test_images_of_a_scene_are_counted_together_wherever_they_stand_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("captionbias.counting.shards.ROWS", 30)
    for number, part in enumerate(parts(world(240, scenes=True), 2, scenes=True)):
        pd.DataFrame(part)[["image_id", "caption", "gender", "scene"]].to_parquet(tmp_path / f"{number}.parquet")
    count_files([tmp_path], tmp_path / "all.parquet", scene_column="scene")
    assert pq.read_table(tmp_path / "all.parquet").equals(count(world(240, scenes=True), scene_column="scene"))


def test_csv_with_labels_alone_is_counted_and_files_of_other_images_are_measured_together(tmp_path):
    files, counts = ([tmp_path / f"{number}.{ending}" for number in range(2)] for ending in ("csv", "parquet"))
    for part, file, output in zip(parts(world(240), 2), files, counts, strict=True):
        pd.DataFrame(part)[["image_id", "caption", "gender"]].to_csv(file, index=False)
        count_files([file], output)
    count_files(files, tmp_path / "all.parquet")
    assert sway(read_counts(tmp_path / "all.parquet")) == sway(read_counts(*counts))
    with pytest.raises(ValueError, match=r"counts: .*0.parquet has the captions of .*0.parquet: an image counts once"):
        read_counts(*counts, counts[0])


def test_a_shard_twice_is_refused_and_what_is_no_shard_is_told(shards, tmp_path):
    (shards / "copy.parquet").write_bytes((shards / "a.parquet").read_bytes())
    with pytest.raises(ValueError, match=r"copy.parquet has the captions of .*a.parquet: an image counts once"):
        count_files([shards], tmp_path / "all.parquet", **PEOPLE)
    with pytest.raises(ValueError, match=r"notes.txt is not a .*parquet"):
        count_files([tmp_path / "notes.txt"], tmp_path / "all.parquet")
    with pytest.raises(ValueError, match=r"a.parquet: batch has no column 'text'"):
        count_files([shards / "a.parquet"], tmp_path / "all.parquet", prediction_column="text")


def test_a_sample_is_of_the_same_images_however_files_are_divided(shards, tmp_path):
    count_files([shards], tmp_path / "all.parquet", sample=50)
    pd.DataFrame(world(240)).to_parquet(tmp_path / "whole.parquet")
    count_files([tmp_path / "whole.parquet"], tmp_path / "one.parquet", sample=50)
    of_shards, of_whole = (pd.read_parquet(tmp_path / f"{name}.sample.parquet") for name in ("all", "one"))
    assert of_shards.image_id.tolist() == of_whole.image_id.tolist()
    assert len({*of_whole.image_id}) == 50
    assert of_shards.caption.tolist() == of_whole.caption.tolist()


def test_what_was_killed_goes_on_to_the_same_bytes(shards, tmp_path):
    """Killed once a part is there, so in the middle, or at the end on a fast machine."""
    output = tmp_path / "counts.parquet"
    code = f"from captionbias.counting.shards import count_files; count_files([{str(shards)!r}], {str(output)!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    while process.poll() is None and not list(tmp_path.glob("counts.parquet.parts/*.parquet")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    count_files([shards], output)
    count_files([shards], tmp_path / "unbroken.parquet")
    assert output.read_bytes() == (tmp_path / "unbroken.parquet").read_bytes()


def test_the_command_counts_and_measure_takes_counts_in_the_place_of_captions(shards, tmp_path):
    output = tmp_path / "counts.parquet"
    invoke("count", shards, "--output", output, "--reference-column", "people")
    scores = json.loads(invoke("measure", "sway", "--counts", output, "--json"))["scores"]
    counted = sway(read_counts(output))
    assert scores["sway_t_to_a"] == counted["sway_t_to_a"]
    assert scores["signature"] == counted["signature"]
    assert "draws:1|" in scores["signature"]


def test_a_report_of_counts_has_the_rows_of_one_of_captions(shards, tmp_path):
    """Of two captioners, with the difference between them; not what it takes captions for."""
    invoke("count", shards, "--output", tmp_path / "nic.parquet", "--reference-column", "people")
    invoke("count", shards, "--output", tmp_path / "sat.parquet", "--reference-column", "people", "--draws", "2")
    counts = [argument for name in ("nic", "sat") for argument in ("--counts", tmp_path / f"{name}.parquet")]
    shown = invoke("report", *counts, "--output", tmp_path / "r.html", "--json", tmp_path / "r.json")
    written = json.loads((tmp_path / "r.json").read_text())
    own = sway(read_counts(tmp_path / "nic.parquet"), details=True)
    assert {"nic", "sat", "people"} <= set(shown.split())
    assert written["comparisons"]["sway"]["results"]["nic"]["sway_wrong_gap"] == own["sway_wrong_gap"]
    assert written["attribute_counts"] == own["details"]["attribute_counts"]
    assert "words, A to T and captions" in written["missing"][0]
    assert "<title>" in (tmp_path / "r.html").read_text()
    assert "a report of counts has sway alone" in refused("report", *counts, "--metric", "lic")


def test_what_many_captions_share_is_learned_of_all_shards_and_measures_what_rows_do(tmp_path):
    """A prompt before each, which a shard of 12 images cannot tell, and one caption for 86 of 600."""
    table = world(600)
    table["caption"] = [text and f"Here is the caption: {text}" for text in table["caption"]]
    table["caption"][::7] = ["Here is the caption: a cake and a dog in a yard by the road near a wall"] * 86
    rows = {"image_id": "image_ids", "caption": "predictions", "gender": "attributes", "people": "references"}
    with pytest.warns(UserWarning, match="said of many images"):
        captions = check_captions(**{argument: table[name] for name, argument in rows.items()})
    frame = pd.DataFrame(table)
    for name, part in (("a", frame[:12]), ("b", frame[12:300]), ("c", frame[300:])):
        part.to_parquet(tmp_path / f"{name}.parquet")
    count_files([tmp_path], tmp_path / "counts" / "all.parquet", **PEOPLE)
    counted, measured = sway.measure(read_counts(tmp_path / "counts")), sway.measure(captions, draws=5)
    assert counted.estimates["sway_wrong_gap"] == measured.estimates["sway_wrong_gap"]
    assert counted.estimates["sway_t_to_a"] == measured.estimates["sway_t_to_a"]
    assert "predictions: 'Here is the caption: ' is taken off or left out" in counted.notes
    with pytest.raises(ValueError, match=r"tables were counted with other settings.*with the same filters"):
        merge_counts([count(frame[:12], **PEOPLE), count_file(tmp_path / "c.parquet", **PEOPLE)])
