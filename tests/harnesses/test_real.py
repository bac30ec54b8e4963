"""An evaluation in each harness that is installed: a model that says what was planted gets the library's numbers."""

import json
import runpy
from base64 import b64decode
from io import BytesIO
from unittest.mock import Mock

import pytest
from PIL import Image

from captionbias.captions import read_captions
from captionbias.metrics import sway

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # few images; the harnesses' own warnings


def worst_of_log(path):
    return sway(read_captions(path, attribute="gender"))["sway_worst"]


def test_lmms_eval(asked, tmp_path):
    pytest.importorskip("lmms_eval")
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    class Planted(lmms):
        def generate_until(self, requests):
            shown = [
                (pictures, self.task_dict[task][split][row])
                for *_, pictures, row, task, split in (request.args for request in requests)
            ]
            return [asked.caption(pictures(document)[0]) for pictures, document in shown]

        loglikelihood = generate_until_multi_round = None

    tasks = TaskManager(include_path=str(asked.task_for("lmms-eval", tmp_path / "task")))
    evaluated = simple_evaluate(Planted(), tasks=["caption_bias"], task_manager=tasks)
    results = evaluated["results"]["caption_bias"]
    numbers = {key.removesuffix(",none"): value for key, value in results.items() if "stderr" not in key}
    questions = numbers.pop("sway_worst_of").split(", ")
    numbers = {key: value for key, value in numbers.items() if isinstance(value, (int, float)) and value == value}
    assert numbers == pytest.approx({key: asked.scores[key] for key in numbers}, abs=1e-12)
    assert {"sway_worst", "sway_images", "sway_wrong_gap_ci_low", "sway_a_to_t"} < {*numbers}
    log = tmp_path / "samples.jsonl"
    log.write_text("\n".join(json.dumps(line, default=str) for line in evaluated["samples"]["caption_bias"]))
    assert worst_of_log(log) == asked.scores["sway_worst"]
    assert questions == [key[14:] for key in asked.scores if key.startswith("sway_worst_of_")]


def test_inspect(asked, tmp_path):
    pytest.importorskip("inspect_ai")
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def planted(messages, *_):
        picture = b64decode(messages[-1].content[1].image.partition(",")[2])
        said = ModelOutput.from_content("mockllm", asked.caption(Image.open(BytesIO(picture))))
        said.usage = ModelUsage()  # tokens are counted by a file from the network
        return said

    (log,) = evaluate(
        "captionbias/caption_bias",
        model=get_model("mockllm/model", custom_outputs=planted),
        task_args={"images": str(asked.folder / "val2014"), "references": str(asked.folder / "people.parquet")},
        log_dir=str(tmp_path),
        score_display=False,
        display="none",
    )
    assert log.status == "success", log.error
    (score,) = log.results.scores
    assert {key: each.value for key, each in score.metrics.items()} == pytest.approx(asked.scores, abs=1e-12)
    assert log.results.headline.metric == "sway_worst"
    assert worst_of_log(log.location) == asked.scores["sway_worst"]


def test_lighteval(asked, tmp_path, monkeypatch):
    pytest.importorskip("lighteval")
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

    class Planted(DummyModel):
        def greedy_until(self, docs):
            return [ModelResponse(text=[asked.caption(doc.images[0])]) for doc in docs]

    task = asked.task_for("lighteval", tmp_path / "task") / "caption_bias.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("requests.get", lambda *_: Mock(status_code=404))  # it fetches a file of another task
    monkeypatch.setattr("huggingface_hub.HfApi.list_models", lambda *_, **__: [None])  # for another task
    pipeline = Pipeline(
        "caption_bias|0",
        PipelineParameters(launcher_type=ParallelismManager.NONE, custom_tasks_directory=str(task)),
        EvaluationTracker(str(tmp_path / "logs"), save_details=True),
        model=Planted(DummyModelConfig()),
    )
    pipeline.evaluate()
    pipeline.save_and_push_results()
    numbers = pipeline.get_results()["results"]["caption_bias:0"]
    assert numbers == pytest.approx(asked.scores, abs=1e-12)
    assert worst_of_log(next(tmp_path.glob("logs/details/**/*.parquet"))) == asked.scores["sway_worst"]


def test_vlmevalkit(asked, tmp_path, monkeypatch):
    pytest.importorskip("vlmeval")
    file = asked.task_for("vlmevalkit", tmp_path / "task") / "caption_bias.py"
    monkeypatch.setenv("LMUData", str(tmp_path))
    runpy.run_path(str(file))
    from vlmeval.dataset import DATASET_MODALITY, DATASET_TYPE, build_dataset
    from vlmeval.inference import infer_data_job
    from vlmeval.smp import load

    class Planted:
        """As `vlmeval.vlm.BaseModel` is asked."""

        is_api = False

        def generate(self, message, dataset):
            return asked.caption(Image.open(message[0]["value"]))

        def set_dump_image(self, *_):
            pass

        def use_custom_prompt(self, *_):
            return False

    dataset = build_dataset("CaptionBias")
    assert (DATASET_TYPE("CaptionBias"), DATASET_MODALITY("CaptionBias")) == ("Caption", "IMAGE")
    infer_data_job(Planted(), str(tmp_path), "planted", dataset)
    answers = next(tmp_path.glob("planted_CaptionBias.*"))
    scores = dataset.evaluate(str(answers))
    assert scores == pytest.approx(asked.scores, abs=1e-12)
    assert dataset.report_primary_metric(scores) == {"sway_worst": asked.scores["sway_worst"]}
    assert load(str(next(tmp_path.glob("*_score.json"))))["sway_worst"] == asked.scores["sway_worst"]
