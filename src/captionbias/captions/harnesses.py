"""What evaluation harnesses log of each image, as a row of captions."""

from __future__ import annotations

from typing import Any

ANSWER = "filtered_resps"  # what lmms-eval's `--log_samples` calls the model's text


def row_of_log(record: dict[str, Any]) -> dict[str, Any]:
    """A line of lmms-eval's log with the model's text as `caption`, and what the task keeps of the image beside it.

    Tasks keep it once for each score, as `"coco_CIDEr": {"image_id": 42, "answer": [...], "pred": "..."}`. Other
    records stay as they are.

    >>> row = row_of_log({"doc_id": 0, "filtered_resps": "a man", "coco_CIDEr": {"image_id": 42, "pred": "a man"}})
    >>> row["image_id"], row["caption"]
    (42, 'a man')
    """
    if ANSWER not in record:
        return record
    row: dict[str, Any] = {}
    for name, value in record.items():
        row |= value if isinstance(value, dict) else {name: value}
    caption = record[ANSWER]
    while isinstance(caption, list) and len(caption) == 1:  # earlier versions wrap it
        caption = caption[0]
    return row | {"caption": caption}
