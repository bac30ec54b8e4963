"""A task of lighteval, of the images in images.jsonl beside this file:
lighteval accelerate MODEL "caption_bias|0" --vision-model --custom-tasks caption_bias/caption_bias.py"""

from pathlib import Path
from typing import Any

from lighteval.metrics.metrics_corpus import CorpusLevelComputation
from lighteval.metrics.sample_preparator import Preparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod
from PIL import Image

from captionbias.harnesses.rows import PROMPT, flat_scores


def document(row: dict[str, Any], task_name: str) -> Doc:
    picture, golds = Image.open(row["file"]).convert("RGB"), row.get("references", [row["label"]])
    return Doc(PROMPT, golds, [*range(len(golds))], images=[picture], specific=row, task_name=task_name)


class Row(Preparator):
    def prepare(self, doc: Doc, model_response: Any, **_: Any) -> dict[str, Any]:
        return {**doc.specific, "caption": model_response.final_text}


class Scores(CorpusLevelComputation):
    def compute_corpus(self, items: list[dict[str, Any]]) -> dict[str, float]:
        return flat_scores(items)


TASKS_TABLE = [
    LightevalTaskConfig(
        *("caption_bias", document, str(Path(__file__).parent), "default"),
        hf_avail_splits=["train"],
        evaluation_splits=["train"],
        metrics=[CorpusLevelMetric("caption_bias", False, SamplingMethod.GENERATIVE, Row(), Scores())],
        generation_size=64,
    )
]
