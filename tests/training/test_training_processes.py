"""Two processes under `accelerate launch` log what one process logs, once, and none waits for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import captionbias
from tests.patience import PATIENCE

SOURCE = Path(captionbias.__file__).parents[1]
ROOT = Path(__file__).parents[2]

SCRIPT = """
import json, sys, warnings
from pathlib import Path

sys.path.insert(0, sys.argv[2])
import numpy as np
import torch
from accelerate import PartialState
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, TrainerCallback, TrainingArguments

from captionbias.captions import CaptionBiasWarning
from captionbias.synthetic import plant
from captionbias.training import BiasCallback, bias_metrics, caption_images
from tests.training import conftest

folder = Path(sys.argv[1])
warnings.simplefilter("always", CaptionBiasWarning)
torch.set_num_threads(1)
planted = plant(101, captions=2, a_to_t=0.7, seed=5)  # an odd number, so that no share is equal
tokenizer = conftest.tokenizer.__wrapped__(planted)
learner = conftest.learner.__wrapped__(tokenizer)
pixels = [torch.tensor(image, dtype=torch.float32) for image in np.random.default_rng(0).random((101, 3, 8, 8))]
rows = [{"pixel_values": one, "labels": torch.tensor([4, 5, 3])} for one in pixels]
human = {"references": planted.references, "attributes": planted.attributes, "tasks": planted.tasks}
usual = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "per_device_eval_batch_size": 7, "seed": 3}
logged = []

class Logger(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero:
            logged.append(dict(logs))

trainer = Trainer(learner, TrainingArguments(folder, max_steps=2, eval_strategy="steps", eval_steps=1,
    learning_rate=0.0, save_strategy="no", metric_for_best_model="lic", **usual), train_dataset=rows,
    eval_dataset=rows[:7])
trainer.add_callback(Logger())
trainer.add_callback(BiasCallback(trainer, lambda: torch.stack(pixels).split(30), **human, tokenizer=tokenizer,
    trials=1, generation={"do_sample": True}, max_new_tokens=8))
trainer.train()
one_batch = caption_images(trainer.model, conftest.Processor(), [image.numpy() for image in pixels],
    tokenizer=tokenizer, batch_size=200, max_new_tokens=4)
compute = bias_metrics(tokenizer, **human, trials=1)
generating = Seq2SeqTrainer(learner, Seq2SeqTrainingArguments(folder, predict_with_generate=True,
    generation_max_length=9, **usual), eval_dataset=rows, compute_metrics=compute)
evaluated = generating.evaluate()
told = {
    "processes": PartialState().num_processes,
    "logged": [logs for logs in logged if "eval_empty_captions" in logs],
    "history": [row for row in trainer.state.log_history if "eval_empty_captions" in row],
    "one_batch": one_batch,
    "evaluated": {key: evaluated[key] for key in evaluated if "dbac" in key or "lic" in key or "empty" in key},
}
(folder / f"{PartialState().process_index}.json").write_text(json.dumps(told))
"""


def told(folder: Path, *command: str) -> list[dict]:
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(SCRIPT)
    launched = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"}
    environment = {name: value for name, value in os.environ.items() if name not in launched}
    environment |= {"PYTHONPATH": str(SOURCE), "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [*command, str(script), str(folder), str(ROOT)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [json.loads(path.read_text()) for path in sorted(folder.glob("?.json"))]


@pytest.fixture(scope="module")
def launches(tmp_path_factory):
    """What one process tells, and each of two."""
    folder = tmp_path_factory.mktemp("launches")
    launch = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--num_processes", "2", "--main_process_port", "0"]
    return told(folder / "one", sys.executable), told(folder / "two", *launch)


def test_two_processes_ran(launches):
    (one,), two = launches
    assert one["processes"] == 1
    assert [facts["processes"] for facts in two] == [2, 2]


def test_the_callback_logs_the_same_scores_once(launches):
    (one,), two = launches
    assert len(one["logged"]) == 2
    assert "eval_lic" in one["logged"][0]
    without_epoch = [[{**row, "epoch": None} for row in facts["logged"]] for facts in (one, two[0])]
    assert without_epoch[0] == without_epoch[1]
    assert two[1]["logged"] == []


def test_every_process_knows_the_scores(launches):
    """Each decides for itself which model is the best."""
    _, two = launches
    assert two[0]["history"] == two[1]["history"]
    assert len(two[0]["history"]) == 2


def test_a_process_without_images_has_all_captions_too(launches):
    (one,), two = launches
    assert len(one["one_batch"]) == 101
    assert two[0]["one_batch"] == two[1]["one_batch"] == one["one_batch"]


def test_compute_metrics_gives_the_same_scores_on_each(launches):
    """Though the Seq2SeqTrainer fills the last batches up with images from the start."""
    (one,), two = launches
    assert "eval_empty_captions" in one["evaluated"]
    assert two[0]["evaluated"] == two[1]["evaluated"] == one["evaluated"]
