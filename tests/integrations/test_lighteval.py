"""The corpus metric in the real lighteval, which is heavy and often not installed: from documents to results."""

from __future__ import annotations

from typing import Any

import pytest

from captionbias import metrics
from captionbias.synthetic import plant

pytest.importorskip("lighteval", reason="lighteval is not installed: pip install 'captionbias[lighteval]'")

from lighteval.logging.info_loggers import MetricsLogger
from lighteval.metrics import apply_metric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTask, LightevalTaskConfig
from lighteval.tasks.requests import Doc

from captionbias.integrations.lighteval import caption_bias

pytestmark = pytest.mark.filterwarnings("ignore")  # few images; lighteval's own

FAST = {"preset": "fast", "trials": 2, "bootstrap": 0}


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return vars(plant(80, captions=2, a_to_t=0.8))


def documents(rows: dict[str, Any]) -> list[Doc]:
    return [
        Doc(query="describe it", choices=references, gold_index=[0, 1], specific={"attribute": label, "tasks": tasks})
        for references, label, tasks in zip(rows["references"], rows["attributes"], rows["tasks"], strict=True)
    ]


def test_a_document_without_a_label_is_refused():
    doc = Doc(query="", choices=["a man"], gold_index=0, id="7")
    with pytest.raises(ValueError, match="document '7'"):
        caption_bias("lic").compute_sample(doc=doc, model_response=ModelResponse(text=["a man"]))


def test_an_evaluation_reports_every_score_and_bootstraps_none(rows):
    """What lighteval does with the answers to a task of a user's own; a whole pipeline downloads at its start."""
    task = LightevalTaskConfig(
        name="captioning",
        prompt_function=lambda line, name: None,
        hf_repo="",
        hf_subset="default",
        metrics=[caption_bias("lic", **FAST)],
    )
    responses = [ModelResponse(text=[caption]) for caption in rows["predictions"]]
    logger = MetricsLogger()
    for outcome in apply_metric(responses, documents(rows), task.metrics):
        logger.log("captioning|0", outcome)
    logger.aggregate({"captioning|0": LightevalTask(task)})
    expected = metrics.lic(**rows, **FAST)
    found = logger.metric_aggregated["captioning|0"]
    assert found == {name: value for name, value in expected.items() if isinstance(value, (int, float))}
    assert str(task.metrics[0].corpus_level_fn) == "lic(preset=fast, trials=2, bootstrap=0)"
