"""A script: the same training by one process, and by two that share the work, each report in a file of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import gensim  # noqa: F401  so that each process finds it imported
import numpy as np
import torch
from accelerate import PartialState
from transformers import Trainer, TrainerCallback, TrainingArguments

from captionbias.synthetic import Planted, plant
from captionbias.training import BiasCallback, caption_images
from tests.training import conftest


class Logger(TrainerCallback):
    def __init__(self) -> None:
        self.logged = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero:
            self.logged.append(dict(logs))


def bias_in(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An epoch has half as many steps with two processes."""
    return [{**row, "epoch": None} for row in logs if "eval_empty_captions" in row]


def trained(folder: Path, planted: Planted, tokenizer: Any, learner: torch.nn.Module) -> dict[str, Any]:
    pixels = [torch.tensor(image, dtype=torch.float32) for image in np.random.default_rng(0).random((101, 3, 8, 8))]
    rows = [{"pixel_values": one, "labels": torch.tensor([4, 5, 3])} for one in pixels]
    human = {"references": planted.references, "attributes": planted.attributes, "tasks": planted.tasks}
    usual = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "per_device_eval_batch_size": 7, "seed": 3}

    schedule = {"max_steps": 2, "eval_strategy": "steps", "eval_steps": 1, "learning_rate": 0.0, "save_strategy": "no"}
    arguments = TrainingArguments(folder, metric_for_best_model="lic", **schedule, **usual)
    logger = Logger()
    trainer = Trainer(learner, arguments, train_dataset=rows, eval_dataset=rows[:7], callbacks=[logger])
    images, processor = [image.numpy() for image in pixels], conftest.Processor()
    options = {"generation": {"do_sample": True, "max_new_tokens": 8}, "tokenizer": tokenizer, "batch_size": 30}
    trainer.add_callback(BiasCallback(trainer, images, **human, **options, processor=processor, trials=1))
    trainer.train()

    options = {"tokenizer": tokenizer, "batch_size": 200, "generation": {"max_new_tokens": 4}}
    return {
        "processes": PartialState().num_processes,
        "logged": bias_in(logger.logged),
        "history": bias_in(trainer.state.log_history),
        "one_batch": caption_images(trainer.model, processor, images, **options),
    }


if __name__ == "__main__":
    folder, port = Path(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    planted = plant(101, captions=2, a_to_t=0.7, seed=5)  # an odd number, so that no share is equal
    tokenizer = conftest.tokenizer.__wrapped__(planted)
    learner = conftest.learner.__wrapped__(tokenizer)
    launched = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    environments = {"one": {}} | {
        str(rank): {**launched, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in (0, 1)
    }
    for name, environment in environments.items():
        if not os.fork():  # imports take longer than all else
            os.environ.update(environment)
            (folder / f"{name}.json").write_text(json.dumps(trained(folder, planted, tokenizer, learner)))
            sys.exit()
    sys.exit(any(os.wait()[1] for _ in environments))
