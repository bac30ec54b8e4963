"""Captions that evaluation harnesses left, measured as they are: logs of lmms-eval, tables of VLMEvalKit."""

import json
from pathlib import Path

import pandas as pd
import pytest

from captionbias.captions import read_captions
from captionbias.captions.tables import row_of_log
from tests.cli.conftest import ran

LOGS = Path(__file__).parent / "harnesses"
OF_OWN_TASK, OF_COCO = LOGS / "samples_captionbias.jsonl", LOGS / "samples_coco.jsonl"
LABELS = ["female", "male"] * 3


@pytest.fixture
def logged():
    """What lmms-eval's task of COCO's captions kept of each image."""
    return [json.loads(line)["coco_CIDEr"] for line in OF_COCO.read_text().splitlines()]


def said(logged):
    return {str(row["image_id"]): row["pred"] for row in logged}


@pytest.fixture
def people(logged, tmp_path):
    """In another order than the log, with an image that it lacks."""
    rows = [
        {"image_id": row["image_id"], "references": row["answer"], "gender": label}
        for row, label in zip(logged, LABELS, strict=True)
    ]
    rows = [*rows[::-1], {"image_id": 7, "references": ["a man"], "gender": "male"}]
    pd.DataFrame(rows).to_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def test_the_log_of_a_task_that_keeps_references_and_labels_is_all_that_sway_needs():
    shown, notes = ran("measure", "sway", "--predictions", OF_OWN_TASK)
    assert "12 images: 6 female, 6 male" in shown
    assert "guessed: references from 'references' of" in notes  # ids, captions and labels have their usual names


def test_the_log_of_lmms_evals_coco_task_is_joined_by_coco_ids_not_by_row(logged, people):
    captions = read_captions(predictions=OF_COCO, references=people, attribute="gender")
    assert dict(zip(captions.image_ids, captions.predictions, strict=True)) == said(logged)


def test_a_log_without_image_ids_is_not_joined_by_its_row_numbers(people, tmp_path):
    rows = [{"doc_id": row, "filtered_resps": f"a man {row}"} for row in range(7)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match="no column 'image_id' to join it by"):
        read_captions(predictions=tmp_path / "log.jsonl", references=people, attribute="gender")


def test_answers_that_earlier_versions_wrap_in_lists_are_unwrapped():
    """Human captions that the document has under the same name give way."""
    row = row_of_log({"doc": {"caption": ["human"], "image_id": 7}, "filtered_resps": [["a man"]]})
    assert row == {"caption": "a man", "image_id": 7, "filtered_resps": [["a man"]]}


@pytest.mark.parametrize("suffix", ["xlsx", "tsv"])
def test_a_table_of_vlmevalkit_is_read(suffix, logged, people, tmp_path):
    """As it writes them: the columns of its data set, the picture left out, and `prediction`."""
    rows = [(row["image_id"], "Please describe this image.", str(row["answer"]), row["pred"]) for row in logged]
    table = pd.DataFrame(rows, columns=["index", "question", "answer", "prediction"])
    path = tmp_path / f"Tiny_COCO_VAL.{suffix}"
    table.to_excel(path, index=False) if suffix == "xlsx" else table.to_csv(path, sep="\t", index=False)
    captions = read_captions(predictions=path, references=people, attribute="gender")
    assert dict(zip(captions.image_ids, captions.predictions, strict=True)) == said(logged)
