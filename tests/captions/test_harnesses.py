"""Captions that evaluation harnesses left, measured as they are: logs of lmms-eval, tables of VLMEvalKit."""

import json
from pathlib import Path

import pandas as pd
import pytest

from captionbias.captions import read_captions
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
