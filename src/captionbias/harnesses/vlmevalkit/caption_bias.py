"""VLMEvalKit's run.py with one more dataset, of the images in images.jsonl beside this file; in VLMEvalKit's folder:
python caption_bias/caption_bias.py --data CaptionBias --model MODEL"""

import json
import runpy
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import vlmeval.dataset
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import dump, load
from vlmeval.smp.file import INFER_FAIL_MSG, get_intermediate_file_path

from captionbias.harnesses.rows import PROMPT, WORST, flat_scores


class CaptionBias(ImageBaseDataset):
    TYPE = "Caption"
    DATASET_URL: ClassVar = {"CaptionBias": ""}

    def load_data(self, dataset: str) -> pd.DataFrame:
        """The images; lists are JSON, as the table of answers is a sheet."""
        lines = Path(__file__).with_name("images.jsonl").read_text(encoding="utf-8").splitlines()
        images = pd.DataFrame(map(json.loads, lines)).rename(columns={"id": "index", "file": "image_path"})
        return images.map(lambda cell: json.dumps(cell) if isinstance(cell, list) else cell).assign(question=PROMPT)

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
        answers = load(eval_file)
        answers = answers.rename(columns={"index": "id"}).astype(object).where(answers.notna().to_numpy(), None)
        answered = [isinstance(text, str) and INFER_FAIL_MSG not in text for text in answers["prediction"]]
        rows = answers.assign(caption=answers["prediction"].where(answered, "")).to_dict("records")
        scores = flat_scores(rows)
        dump(scores, get_intermediate_file_path(eval_file, "_score", "json"))
        return scores

    @classmethod
    def report_primary_metric(cls, metrics: dict[str, float] | None) -> dict[str, float]:
        return {WORST: metrics[WORST]} if metrics else {}


vlmeval.dataset.DATASET_CLASSES.append(CaptionBias)
if __name__ == "__main__":
    runpy.run_path("run.py", run_name="__main__")
