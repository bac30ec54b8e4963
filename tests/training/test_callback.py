"""A real Trainer with the callback: what it logs, and that it trains as it would without."""

import json
import math
import warnings

import numpy as np
import pytest
import torch

from captionbias.captions import CaptionBiasWarning
from captionbias.training import BiasCallback, bias_scores, caption_images
from tests.refusals import refuses


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


@pytest.fixture
def add(planted, numbered, processor, tokenizer):
    """Adds the callback to a Trainer, by default for the parrot's pictures."""
    usual = {"processor": processor, "tokenizer": tokenizer, "generation": {"max_new_tokens": 8}, "trials": 1}

    def add_to(trainer, pictures=numbered, **options):
        people = planted.references, planted.attributes
        trainer.add_callback(BiasCallback(trainer, pictures, *people, tasks=planted.tasks, **usual | options))

    return add_to


def scores_logged(trainer):
    return [
        {name: value for name, value in row.items() if name not in ("epoch", "step")}
        for row in trainer.state.log_history
        if "eval_empty_captions" in row
    ]


def test_every_evaluation_logs_the_scores_of_its_captions(
    trainer, parrot, add, numbered, planted, processor, tokenizer
):
    trainer = trainer(parrot(planted.predictions), numbered)
    add(trainer)
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


def test_weights_and_losses_are_the_same_bit_for_bit_with_and_without(trainer, learner, images, add):
    import copy

    twin = copy.deepcopy(learner)
    ends = []
    for model, watched in ((learner, True), (twin, False)):
        one = trainer(model)
        if watched:
            add(one, images, generation={"do_sample": True, "max_new_tokens": 8}, metrics=["lic"])
        one.train()
        assert len(scores_logged(one)) == (3 if watched else 0)
        ends.append((model.state_dict(), [row["loss"] for row in one.state.log_history if "loss" in row]))
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=0)


@pytest.mark.parametrize("caption", ["", "a man stands with a tie on a street ."])
def test_a_degenerate_captioner_ends_no_training_and_is_noted_once(trainer, parrot, numbered, add, caption):
    trainer = trainer(parrot([caption] * 300), numbered, max_steps=2)
    add(trainer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaptionBiasWarning)
        trainer.train()
    (logged,) = scores_logged(trainer)
    assert logged["eval_empty_captions"] == float(caption == "")
    assert all(type(value) is float and math.isfinite(value) for value in logged.values())
    assert (len(logged) == 1) == (caption == "")
    (note,) = [str(one.message) for one in caught if one.category is CaptionBiasWarning]
    assert ("no caption in any row" in note) == (caption == "")


LEAST_BIASED = {"metric_for_best_model": "eval_bias", "greater_is_better": False}
KEPT = {"save_strategy": "steps", "save_steps": 2, "load_best_model_at_end": True}


def test_the_least_biased_checkpoint_is_kept(trainer, parrot, numbered, planted, add):
    """The captioner calls women men, then errs not at all, then calls men women: neither the largest gap nor the
    least is best."""

    right = {"female": "woman", "male": "man"}
    each_third = [right | {"female": "man"}, right, right | {"male": "woman"}]  # says so of each third image
    model = parrot(
        [
            f"a {(right if row % 3 else others)[label]} with a cake ."
            for others in each_third
            for row, label in enumerate(planted.attributes)
        ]
    )
    say = model.generate
    # The weight falls from 1: at the evaluations it is 0.8, 0.6 and 0.4.
    model.generate = lambda pixel_values, **_: say(pixel_values + 300 * int((0.9 - model.weight.item()) / 0.2))
    options = {"optim": "sgd", "learning_rate": 0.1, "lr_scheduler_type": "constant"}
    trainer = trainer(model, numbered, **KEPT, **LEAST_BIASED, **options)
    add(trainer, metrics=["sway"])
    trainer.train()
    logged = scores_logged(trainer)
    first, second, third = (one["eval_sway_wrong_gap"] for one in logged)
    assert first > 20 > second > -20 > third
    assert [one["eval_sway_wrong_gap_more_than_people"] for one in logged] == [1.0, 0.0, 1.0]
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-4")
    assert trainer.state.best_metric == logged[1]["eval_bias"] < 20
    assert model.weight.item() == pytest.approx(0.6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric_for_best_model": "eval_bias"},  # the Trainer then takes the greatest
        {"metric_for_best_model": "bias", "greater_is_better": True},
        {"metric_for_best_model": "sway_wrong_gap", "greater_is_better": False},
        {"metric_for_best_model": "eval_sway_t_to_a_ci_low", "greater_is_better": False},
        {"metric_for_best_model": "eval_lic"},
        {"metric_for_best_model": "eval_empty_captions", "greater_is_better": False},
        LEAST_BIASED | {"metrics": ["lic"]},
    ],
)
def test_what_would_keep_another_checkpoint_is_refused_before_the_training(
    trainer, parrot, numbered, planted, add, wrong
):
    metrics = wrong.get("metrics", ["sway", "lic"])
    args = {name: value for name, value in wrong.items() if name != "metrics"}
    trainer = trainer(parrot(planted.predictions), numbered, **args)
    refuses('write metric_for_best_model="eval_bias", greater_is_better=False', add, trainer, metrics=metrics)


@pytest.mark.parametrize("caption", ["", "a dog on a street ."])
def test_a_captioner_that_names_nobody_is_never_the_best(trainer, parrot, numbered, planted, tokenizer, add, caption):
    """It has no gap. The Trainer itself would raise a KeyError where there is no score."""
    model = parrot([caption] * 300)
    trainer = trainer(model, numbered, **KEPT, **LEAST_BIASED)
    add(trainer, metrics=["sway"])
    trainer.train()
    assert trainer.state.best_model_checkpoint is None
    assert not any("eval_bias" in one for one in scores_logged(trainer))
    json.dumps(trainer.state.log_history, allow_nan=False)

    model.tokens = tokenizer(planted.predictions, padding=True, return_tensors="pt")["input_ids"]
    trainer.train()
    assert trainer.state.best_metric == scores_logged(trainer)[-1]["eval_bias"]


def test_errors_come_before_the_training(trainer, parrot, numbered, planted, add):
    trainer = trainer(parrot(planted.predictions), numbered)
    for changes, message in [
        ({"pictures": numbered[:299]}, "images has length 299 and references has length 300"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more"),
        ({"attribute_lexicon": "nobody"}, "nobody"),
    ]:
        refuses(message, add, trainer, **changes)
    trainer.is_fsdp_enabled = True
    refuses(r"a part of the model.* use bias_scores as compute_metrics", add, trainer)


def test_the_processor_and_tokenizer_of_the_trainer_serve(
    trainer, parrot, numbered, planted, processor, tokenizer, add
):
    class Both(type(processor)):
        batch_decode = staticmethod(tokenizer.batch_decode)

    trainer = trainer(parrot(planted.predictions), numbered, max_steps=2)
    trainer.processing_class = Both()
    add(trainer, processor=None, tokenizer=None, metrics=["lic"])
    trainer.args.save_strategy = "no"
    trainer.train()
    assert np.isfinite(scores_logged(trainer)[0]["eval_lic"])
