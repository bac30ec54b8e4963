"""VLMEvalKit's run.py with one more dataset, CaptionBias, of the images in images.jsonl beside this file. In the folder
of VLMEvalKit: python caption_bias/caption_bias.py --data CaptionBias --model MODEL"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import vlmeval.dataset
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import dump, load
from vlmeval.smp.file import get_intermediate_file_path

from captionbias.harnesses.rows import PROMPT, WORST, flat_scores


class CaptionBias(ImageBaseDataset):
    TYPE = "Caption"
    DATASET_URL: ClassVar = {"CaptionBias": ""}

    def load_data(self, dataset: str) -> pd.DataFrame:
        """The images; lists are JSON, as the table of answers is a sheet."""
        with Path(__file__).with_name("images.jsonl").open(encoding="utf-8") as file:
            rows = map(json.loads, file)
            return pd.DataFrame(
                {"index": row["id"], "image_path": row["file"], "question": PROMPT, "row": json.dumps(row)}
                for row in rows
            )

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
        """The scores of the table of answers, which are also written beside it."""
        answers = load(eval_file)
        pairs = zip(answers["row"], answers["prediction"], strict=True)
        scores = flat_scores([{**json.loads(row), "caption": str(text)} for row, text in pairs])
        dump(scores, get_intermediate_file_path(eval_file, "_score", "json"))
        return scores

    @classmethod
    def report_primary_metric(cls, metrics: dict[str, float] | None) -> dict[str, float]:
        return {WORST: (metrics or {})[WORST]} if metrics else {}


vlmeval.dataset.DATASET_CLASSES.append(CaptionBias)
if __name__ == "__main__":
    runpy.run_path("run.py", run_name="__main__")
