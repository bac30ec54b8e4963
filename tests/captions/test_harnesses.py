"""Captions that evaluation harnesses left, measured as they are."""

import json
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pandas as pd
import pyarrow as pa
import pytest

from captionbias.captions import read_captions
from captionbias.captions.logs import ZSTD, row_of_answer
from captionbias.captions.tables import row_of_log
from tests.cli.conftest import ran

LOGS = Path(__file__).parent / "harnesses"
# What lmms-eval's task of COCO's captions kept of each image.
LOGGED = [json.loads(line)["coco_CIDEr"] for line in (LOGS / "samples_coco.jsonl").read_text().splitlines()]


@pytest.fixture
def people(tmp_path, write):
    """In another order than the log, with an image that it lacks."""
    rows = [
        {"image_id": row["image_id"], "references": row["answer"], "gender": ("female", "male")[number % 2]}
        for number, row in enumerate(LOGGED)
    ]
    lacking = {"image_id": 7, "references": ["a man"], "gender": "male"}
    return write(tmp_path / "people.parquet", [*rows[::-1], lacking])


def test_the_log_of_a_task_that_keeps_references_and_labels_is_all_that_sway_needs():
    shown, notes = ran("measure", "sway", "--predictions", LOGS / "samples_captionbias.jsonl")
    assert "12 images: 6 female, 6 male" in shown
    assert "guessed: references from 'references' of" in notes  # ids, captions and labels have their usual names


def test_a_log_without_image_ids_is_not_joined_by_its_row_numbers(people, tmp_path, write, fault):
    log = write(tmp_path / "log.jsonl", [{"doc_id": row, "filtered_resps": f"a man {row}"} for row in range(7)])
    told = fault(read_captions, predictions=log, references=people, attribute="gender")
    assert "no column 'image_id' to join it by" in told


def test_answers_that_earlier_versions_wrap_in_lists_are_unwrapped():
    """Human captions that the document has under the same name give way."""
    row = row_of_log({"doc": {"caption": ["human"], "image_id": 7}, "filtered_resps": [["a man"]]})
    assert row == {"caption": "a man", "image_id": 7, "filtered_resps": [["a man"]]}


def test_logs_of_lmms_eval_and_tables_of_vlmevalkit_are_joined_by_coco_ids_not_by_row(people, tmp_path):
    """A table as VLMEvalKit writes it: the columns of its data set, the picture left out, and `prediction`."""
    rows = [(row["image_id"], "Please describe this image.", str(row["answer"]), row["pred"]) for row in LOGGED]
    table = pd.DataFrame(rows, columns=["index", "question", "answer", "prediction"])
    table.to_excel(tmp_path / "Tiny_COCO_VAL.xlsx", index=False)
    table.to_csv(tmp_path / "Tiny_COCO_VAL.tsv", sep="\t", index=False)
    for path in (LOGS / "samples_coco.jsonl", *tmp_path.glob("Tiny_COCO_VAL.*")):
        captions = read_captions(predictions=path, references=people, attribute="gender")
        found = dict(zip(captions.image_ids, captions.predictions, strict=True))
        assert found == {str(row["image_id"]): row["pred"] for row in LOGGED}


SAID = {"42": "a man on a bike", "7": "", "9": "a woman"}
GENDERS = {"42": "male", "7": "male", "9": "female"}
OF_IMAGES = {image: {"image_id": image, "gender": gender} for image, gender in GENDERS.items()}
# A record of each harness's log, as its own code writes it, without what is not read.
INSPECT = [
    {
        "id": number,
        "epoch": 1,
        "target": "",
        "metadata": OF_IMAGES[image],
        "output": {"choices": [], "completion": text},
    }
    for number, (image, text) in enumerate(SAID.items())
]
LIGHTEVAL = [
    {
        "doc": {"query": "?", "choices": ["x"], "specific": OF_IMAGES[image], "id": str(number)},
        "model_response": {"text": [text], "logprobs": None},
        "metric": {"exact": 0.0},
    }
    for number, (image, text) in enumerate(SAID.items())
]
EVALSCOPE = [
    {
        "index": number,
        "input": "?",
        "target": "",
        "sample_score": {
            "score": {"value": {"bleu": 0.1}, "extracted_prediction": text, "prediction": text},
            "sample_id": number,
            "sample_metadata": OF_IMAGES[image],
        },
    }
    for number, (image, text) in enumerate(SAID.items())
]
VHELM = [
    {
        "instance": {
            "input": {
                "text": "",
                "multimedia_content": {"media_objects": [{"location": f"/coco/{int(image):012d}.jpg"}]},
            },
            "references": [{"output": {"text": "a person there"}, "tags": ["correct"]}],
            "id": f"id{number}",
        },
        "request": {"prompt": "?"},
        "result": {"success": True, "completions": [{"text": text}] if text else []},
    }
    for number, (image, text) in enumerate(SAID.items())
]


def eval_log(path, samples, method):
    """Inspect's .eval; by method 93 as it writes it, with files that this Python may not be able to write."""
    with ZipFile(path, "w", ZIP_STORED if method == ZSTD else method) as archive:
        archive.writestr("header.json", "{}")
        for number, sample in enumerate(map(json.dumps, samples)):
            packed = pa.compress(sample.encode(), codec="zstd", asbytes=True) if method == ZSTD else sample
            archive.writestr(f"samples/{number}_epoch_1.json", packed)
            if method == ZSTD:
                archive.filelist[-1].compress_type, archive.filelist[-1].file_size = ZSTD, len(sample)


LOGS_OF = [
    ("inspect.json", {"version": 2, "plan": {"steps": [{}]}, "samples": INSPECT, "reductions": [{}]}),
    ("packed.eval", ZSTD),
    ("packed.eval", ZIP_DEFLATED),
    ("details_coco.parquet", LIGHTEVAL),
    ("reviews.jsonl", EVALSCOPE),
    ("scenario_state.json", {"adapter_spec": {"method": "generation"}, "request_states": VHELM}),
]


def write_log(path, content, write):
    if path.suffix == ".eval":
        eval_log(path, INSPECT, content)
    elif path.suffix == ".json":
        path.write_text(json.dumps(content))
    else:
        write(path, content)
    return path


@pytest.mark.parametrize(("name", "content"), LOGS_OF)
def test_logs_of_harnesses_are_read_without_options(name, content, tmp_path, write):
    """What a task keeps of the image serves, too; of VHELM, which keeps none, a table has the labels."""
    path = write_log(tmp_path / name, content, write)
    labels = {"attributes": write(tmp_path / "labels.csv", list(OF_IMAGES.values()))} if "state" in name else {}
    captions = read_captions(path, **labels, attribute="gender")
    assert dict(zip(captions.image_ids, captions.predictions, strict=True)) == {"42": SAID["42"], "9": SAID["9"]}
    assert captions.attributes == tuple(OF_IMAGES[image]["gender"] for image in captions.image_ids)


def test_a_log_that_is_cut_off_or_unpacks_to_too_much_is_refused(tmp_path, fault, monkeypatch):
    eval_log(tmp_path / "a.eval", INSPECT, ZSTD)
    (tmp_path / "cut.eval").write_bytes((tmp_path / "a.eval").read_bytes()[:-30])
    assert "cannot be read (File is not a zip file)" in fault(read_captions, tmp_path / "cut.eval")
    monkeypatch.setattr("captionbias.captions.logs.MOST_BYTES", 10)
    assert "the samples unpack to more than 0 MB" in fault(read_captions, tmp_path / "a.eval")


def test_records_that_are_no_log_stay_as_they_are():
    own = {"id": 1, "target": "t", "metadata": {}, "output": "a man"}
    assert row_of_answer(own) is None
    assert row_of_answer({**own, "output": {"text": "a man"}}) is None
