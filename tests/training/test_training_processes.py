"""Two processes log what one process logs, once, and each knows all of it.

Run as a script, it is the same training by one process, and by two that share the work.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from captionbias.synthetic import plant
from captionbias.training import BiasCallback, caption_images
from tests.launch import free_port, python
from tests.training import conftest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started by forking, so that they import once")
def test_two_processes_have_the_scores_and_captions_of_one_and_log_them_once(tmp_path):
    """Though the process without a batch captions nothing itself."""
    python("-m", "tests.training.test_training_processes", tmp_path, str(free_port()), folder=tmp_path)
    one, first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "0", "1"))
    assert (one.pop("processes"), first.pop("processes"), second.pop("processes")) == (1, 2, 2)
    assert len(one["logged"]) == 1
    assert len(one["one_batch"]) == 101
    assert first == one
    assert second == {**one, "logged": []}


def trained(folder: Path) -> dict[str, Any]:
    from accelerate import PartialState
    from transformers import Trainer, TrainerCallback, TrainingArguments

    logged = []

    class Logger(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            if state.is_world_process_zero:
                logged.append(dict(logs))

    def bias_in(logs):
        """An epoch has half as many steps with two processes."""
        return [{**row, "epoch": None} for row in logs if "eval_empty_captions" in row]

    planted = plant(101, captions=2, a_to_t=0.7, seed=5)  # an odd number, so that no share is equal
    human = {"references": planted.references, "attributes": planted.attributes, "tasks": planted.tasks}
    tokenizer = conftest.tokenizer.__wrapped__(planted)
    images, processor = list(np.random.default_rng(0).random((101, 3, 8, 8))), conftest.Processor()
    labels = torch.tensor([4, 5, 3])
    rows = [{"pixel_values": torch.tensor(image, dtype=torch.float32), "labels": labels} for image in images]
    usual = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "per_device_eval_batch_size": 7, "seed": 3}
    schedule = {"max_steps": 1, "eval_strategy": "steps", "eval_steps": 1, "learning_rate": 0.0, "save_strategy": "no"}
    arguments = TrainingArguments(
        folder, metric_for_best_model="eval_bias", greater_is_better=False, **schedule, **usual
    )
    learner = conftest.learner.__wrapped__(tokenizer)
    trainer = Trainer(learner, arguments, train_dataset=rows, eval_dataset=rows[:7], callbacks=[Logger()])
    options = {"generation": {"do_sample": True, "max_new_tokens": 4}, "tokenizer": tokenizer, "processor": processor}
    watched = BiasCallback(trainer, images, **human, **options, batch_size=30, trials=1, metrics=["sway"])
    trainer.add_callback(watched)
    trainer.train()
    return {
        "processes": PartialState().num_processes,
        "logged": bias_in(logged),
        "history": bias_in(trainer.state.log_history),
        "one_batch": caption_images(trainer.model, images=images, **options, batch_size=200, distributed=True),
    }


if __name__ == "__main__":
    folder, port = Path(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    import transformers.trainer  # noqa: F401  imports take longer than all else

    two = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    environments = {"one": {}} | {rank: {**two, "RANK": rank, "LOCAL_RANK": rank} for rank in "01"}
    for name, environment in environments.items():
        if not os.fork():
            os.environ.update(environment)
            (folder / f"{name}.json").write_text(json.dumps(trained(folder)))
            sys.exit()
    sys.exit(any(os.wait()[1] for _ in environments))
