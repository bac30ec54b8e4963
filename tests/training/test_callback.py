"""A real Trainer with the callback: what it logs, and that it trains as it would without."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
import torch

from captionbias.captions import CaptionBiasWarning
from captionbias.training import BiasCallback, bias_scores, caption_images

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


@pytest.fixture
def trainer(tmp_path, tokenizer, planted, images):
    """A Trainer of any of the captioners, six steps with an evaluation at every second."""

    def make(model, pictures=images, **options):
        from transformers import Trainer, TrainingArguments

        captions = tokenizer(planted.predictions, padding="max_length", max_length=14, return_tensors="pt")
        labels = captions.input_ids.masked_fill(captions.attention_mask == 0, -100)
        rows = [
            {"pixel_values": torch.tensor(picture, dtype=torch.float32), "labels": label}
            for picture, label in zip(pictures, labels, strict=True)
        ]
        usual = {"eval_strategy": "steps", "eval_steps": 2, "max_steps": 6, "logging_steps": 1, "report_to": "none"}
        usual |= {"per_device_train_batch_size": 8, "disable_tqdm": True, "save_strategy": "no", "use_cpu": True}
        args = TrainingArguments(tmp_path / "run", **(usual | options))
        return Trainer(model, args, train_dataset=rows, eval_dataset=rows[:8])

    return make


def add(trainer, pictures, planted, processor, tokenizer, **options):
    callback = BiasCallback(
        trainer,
        pictures,
        planted.references,
        planted.attributes,
        tasks=planted.tasks,
        processor=processor,
        tokenizer=tokenizer,
        **{"generation": {"max_new_tokens": 8}, "trials": 1} | options,
    )
    trainer.add_callback(callback)
    return callback


def scores_logged(trainer):
    return [
        {name: value for name, value in row.items() if name not in ("epoch", "step")}
        for row in trainer.state.log_history
        if "eval_empty_captions" in row
    ]


def test_every_evaluation_logs_the_scores_of_its_captions(trainer, parrot, numbered, planted, processor, tokenizer):
    trainer = trainer(parrot(planted.predictions), numbered)
    add(trainer, numbered, planted, processor, tokenizer)
    trainer.train()
    said = caption_images(trainer.model, processor, numbered, tokenizer=tokenizer)
    wanted = bias_scores(said, planted.references, planted.attributes, tasks=planted.tasks, trials=1)
    assert {"empty_captions", "sway_wrong_gap", "lic"} < wanted.keys()
    assert scores_logged(trainer) == [{f"eval_{name}": value for name, value in wanted.items()}] * 3
    assert [row["step"] for row in trainer.state.log_history if "eval_lic" in row] == [2, 4, 6]
    json.dumps(trainer.state.log_history, allow_nan=False)
    returned = trainer.evaluate()
    assert returned["eval_dbac_a_to_t_matched"] == wanted["dbac_a_to_t_matched"]
    assert "eval_loss" in returned


def test_weights_and_losses_are_the_same_bit_for_bit_with_and_without(
    trainer, learner, images, planted, processor, tokenizer
):
    import copy

    twin = copy.deepcopy(learner)
    ends = []
    for model, watched in ((learner, True), (twin, False)):
        one = trainer(model)
        if watched:
            add(
                one,
                images,
                planted,
                processor,
                tokenizer,
                generation={"do_sample": True, "max_new_tokens": 8},
                metrics=["lic"],
            )
        one.train()
        assert len(scores_logged(one)) == (3 if watched else 0)
        ends.append((model.state_dict(), [row["loss"] for row in one.state.log_history if "loss" in row]))
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=0)


@pytest.mark.parametrize("caption", ["", "a man stands with a tie on a street ."])
def test_a_degenerate_captioner_ends_no_training_and_is_noted_once(
    trainer, parrot, numbered, planted, processor, tokenizer, caption
):
    trainer = trainer(parrot([caption] * 300), numbered, max_steps=2)
    add(trainer, numbered, planted, processor, tokenizer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaptionBiasWarning)
        trainer.train()
    (logged,) = scores_logged(trainer)
    assert logged["eval_empty_captions"] == float(caption == "")
    assert all(type(value) is float and math.isfinite(value) for value in logged.values())
    assert (len(logged) == 1) == (caption == "")
    (note,) = [str(one.message) for one in caught if one.category is CaptionBiasWarning]
    assert ("300 of 300 captions are empty" in note) == (caption == "")


def test_a_gap_which_is_bad_on_either_side_of_0_does_not_choose_the_best_model(
    trainer, parrot, numbered, planted, processor, tokenizer
):
    trainer = trainer(parrot(planted.predictions), numbered, metric_for_best_model="eval_sway_wrong_gap")
    with pytest.raises(ValueError, match="metric_for_best_model is sway_wrong_gap, which is as bad below 0"):
        add(trainer, numbered, planted, processor, tokenizer)


def test_an_undefined_score_may_choose_the_best_model(trainer, parrot, numbered, planted, processor, tokenizer):
    """The Trainer itself would raise a KeyError."""
    options = {"metric_for_best_model": "dbac_a_to_t_matched", "greater_is_better": False, "save_strategy": "steps"}
    model = parrot([""] * 300)
    trainer = trainer(model, numbered, save_steps=2, load_best_model_at_end=True, **options)
    add(trainer, numbered, planted, processor, tokenizer, metrics=["dbac"])
    trainer.train()
    assert trainer.state.best_model_checkpoint is None
    assert scores_logged(trainer) == [{"eval_empty_captions": 1.0}] * 3
    json.dumps(trainer.state.log_history, allow_nan=False)

    model.tokens = tokenizer(planted.predictions, padding=True, return_tensors="pt")["input_ids"]
    trainer.train()
    assert trainer.state.best_metric == scores_logged(trainer)[-1]["eval_dbac_a_to_t_matched"]


def test_errors_come_before_the_training(trainer, parrot, numbered, planted, processor, tokenizer):
    trainer = trainer(parrot(planted.predictions), numbered)
    for changes, message in [
        ({"pictures": numbered[:299]}, "images has length 299 and references has length 300"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more"),
        ({"attribute_lexicon": "nobody"}, "nobody"),
    ]:
        arguments = {"pictures": numbered, "processor": processor, "tokenizer": tokenizer} | changes
        with pytest.raises(ValueError, match=message):
            add(trainer, planted=planted, **arguments)
    trainer.is_fsdp_enabled = True
    with pytest.raises(ValueError, match=r"a part of the model.* use bias_scores as compute_metrics"):
        add(trainer, numbered, planted, processor, tokenizer)


def test_the_processor_and_tokenizer_of_the_trainer_serve(trainer, parrot, numbered, planted, processor, tokenizer):
    class Both(type(processor)):
        batch_decode = staticmethod(tokenizer.batch_decode)

    trainer = trainer(parrot(planted.predictions), numbered, max_steps=2)
    trainer.processing_class = Both()
    add(trainer, numbered, planted, None, None, metrics=["lic"])
    trainer.args.save_strategy = "no"
    trainer.train()
    assert np.isfinite(scores_logged(trainer)[0]["eval_lic"])
