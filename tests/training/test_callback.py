"""Captions during a training, and a real Trainer with the callback: what it logs, and that it never notices."""

import copy
import json
import math
import random
import warnings

import numpy as np
import pytest
import torch
from datasets import Array3D, Dataset, Features
from transformers import Trainer, TrainingArguments, VisionEncoderDecoderModel, ViTImageProcessor

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import sway
from captionbias.training import BiasCallback, bias_scores, caption_images
from tests.refusals import refuses

LEAST_BIASED = {"metric_for_best_model": "eval_sway_worst", "greater_is_better": False}
KEPT = {"save_strategy": "steps", "save_steps": 2, "load_best_model_at_end": True}


@pytest.fixture
def trainer(tmp_path, tokenizer, planted, numbered):
    """A Trainer of any of the captioners, six steps with an evaluation at every second."""

    def make(model, pictures=numbered, **options):
        captions = tokenizer(planted.predictions, padding="max_length", max_length=14, return_tensors="pt")
        labels = captions.input_ids.masked_fill(captions.attention_mask == 0, -100)
        rows = [
            {"pixel_values": torch.tensor(picture, dtype=torch.float32), "labels": label}
            for picture, label in zip(pictures, labels, strict=True)
        ]
        usual = {"eval_strategy": "steps", "eval_steps": 2, "max_steps": 6, "logging_steps": 1, "report_to": "none"}
        usual |= {"per_device_train_batch_size": 8, "disable_tqdm": True, "save_strategy": "no", "use_cpu": True}
        own = {"compute_metrics": options.pop("compute_metrics", None)}
        args = TrainingArguments(tmp_path / "run", **(usual | options))
        return Trainer(model, args, train_dataset=rows, eval_dataset=rows[:8], **own)

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


def test_every_evaluation_logs_the_scores_of_its_captions_read_by_the_trainer_s_own_processor(
    trainer, parrot, add, numbered, planted, processor, tokenizer
):
    class Both(type(processor)):
        batch_decode = staticmethod(tokenizer.batch_decode)

    trainer = trainer(parrot(planted.predictions))
    trainer.processing_class = Both()
    add(trainer, processor=None, tokenizer=None)
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
    ends = []
    for model, watched in ((learner, True), (copy.deepcopy(learner), False)):
        one = trainer(model, images)
        if watched:
            add(one, images, generation={"do_sample": True, "max_new_tokens": 8}, metrics=["lic"])
        one.train()
        assert len(scores_logged(one)) == (3 if watched else 0)
        ends.append((model.state_dict(), [row["loss"] for row in one.state.log_history if "loss" in row]))
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=0)


@pytest.mark.parametrize("caption", ["", "a man stands with a tie on a street .", "a dog on a street ."])
def test_a_degenerate_captioner_ends_no_training_is_noted_once_and_never_the_best(
    trainer, parrot, planted, tokenizer, add, caption
):
    """It has no gap. The Trainer itself would raise a KeyError where there is no score."""
    model = parrot([caption] * 300)
    trainer = trainer(model, **KEPT, **LEAST_BIASED, max_steps=2)
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
    assert trainer.state.best_model_checkpoint is None
    assert not {"eval_bias", "eval_sway_worst"} & logged.keys()
    json.dumps(trainer.state.log_history, allow_nan=False)

    model.tokens = tokenizer(planted.predictions, padding=True, return_tensors="pt")["input_ids"]
    trainer.train()
    last = scores_logged(trainer)[-1]
    assert trainer.state.best_metric == last["eval_sway_worst"] == last["eval_bias"]


def test_the_least_biased_checkpoint_is_kept(trainer, parrot, planted, add):
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
    trainer = trainer(model, **KEPT, **LEAST_BIASED, **options)
    add(trainer, metrics=["sway"])
    trainer.train()
    logged = scores_logged(trainer)
    first, second, third = (one["eval_sway_wrong_gap"] for one in logged)
    assert first > 20 > second > -20 > third
    assert [one["eval_sway_wrong_gap_more_than_people"] for one in logged] == [1.0, 0.0, 1.0]
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-4")
    assert trainer.state.best_metric == logged[1]["eval_sway_worst"] < 4
    assert model.weight.item() == pytest.approx(0.6)


@pytest.mark.parametrize("by_callback", [True, False])
def test_a_first_evaluation_that_is_nan_does_not_stand_in_the_way_of_a_later_checkpoint(
    trainer, parrot, planted, add, by_callback
):
    """Nor a later nan: a captioner that calls everybody a man, then one that errs in a fifth, then nouns alone."""
    names, tasks = {"female": "a woman", "male": "a man"}, [" and a ".join(shown) for shown in planted.tasks]
    biased = ["a man" if row % 5 == 0 else names[label] for row, label in enumerate(planted.attributes)]
    rounds = [["a man stands with a tie ."] * 300, [], list(map(names.get, planted.attributes))]
    rounds[1] = [f"{who} stands in a room with a {what} ." for who, what in zip(biased, tasks, strict=True)]

    def compute_metrics(_):
        said = rounds[round(trainer.state.global_step / 2) - 1]
        return {"sway_worst": sway(**vars(planted) | {"predictions": said})["sway_worst"]}

    model = parrot([text for said in rounds for text in said])
    say = model.generate
    model.generate = lambda pixel_values, **_: say(pixel_values + 300 * max(trainer.state.global_step // 2 - 1, 0))
    options = {} if by_callback else {"compute_metrics": compute_metrics}
    trainer = trainer(model, **KEPT, **LEAST_BIASED, **options)
    if by_callback:
        add(trainer, metrics=["sway"])
    trainer.train()
    found = [row.get("eval_sway_worst", math.nan) for row in trainer.state.log_history if "eval_loss" not in row]
    found = [worst for worst in found if not math.isnan(worst)]
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-4")
    assert trainer.state.best_metric > 1
    assert len(found) <= 1


def captioner_in(folder, learner, tokenizer):
    """A model, its tokenizer and image processor as a repository of the Hub holds them."""
    learner.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    reader = ViTImageProcessor(size={"height": 8, "width": 8})
    reader.save_pretrained(folder)
    return VisionEncoderDecoderModel.from_pretrained(folder), reader


@pytest.mark.parametrize("own", ["tokenizer", "image processor", "none"])
def test_what_the_trainer_s_processing_class_lacks_is_found_where_the_model_is_from(
    trainer, learner, tokenizer, images, add, tmp_path, own
):
    """Of ViT-GPT2, whose image processor and tokenizer are two."""
    model, reader = captioner_in(tmp_path / "model", learner, tokenizer)
    trainer = trainer(model, images)
    trainer.processing_class = {"tokenizer": tokenizer, "image processor": reader}.get(own)
    pictures = [(255 * image).astype("uint8") for image in images]
    options = {"pictures": pictures, "processor": None, "tokenizer": None, "metrics": ["sway"]}
    add(trainer, **options)
    assert "eval_empty_captions" in trainer.evaluate()
    model.config.name_or_path = ""
    lacks = {"tokenizer": "processor", "image processor": "tokenizer", "none": "processor"}[own]
    refuses(f"^{lacks} is missing", add, trainer, **options)
    refuses(
        "^processor and tokenizer cannot caption the first image",
        add,
        trainer,
        **options | {"processor": print, "tokenizer": tokenizer},
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric_for_best_model": "eval_bias"},  # the Trainer then takes the greatest
        {"metric_for_best_model": "bias", "greater_is_better": True},
        {"metric_for_best_model": "sway_wrong_gap", "greater_is_better": False},
        {"metric_for_best_model": "eval_sway_t_to_a_ci_low", "greater_is_better": False},
        {"metric_for_best_model": "eval_lic_worst", "greater_is_better": False},
        {"metric_for_best_model": "eval_empty_captions", "greater_is_better": False},
        LEAST_BIASED | {"metrics": ["lic"]},
    ],
)
def test_what_would_keep_another_checkpoint_is_refused_before_the_training(trainer, parrot, planted, add, wrong):
    metrics = wrong.get("metrics", ["sway", "lic"])
    trainer = trainer(parrot(["a"]), **{name: value for name, value in wrong.items() if name != "metrics"})
    refuses('write metric_for_best_model="eval_sway_worst", greater_is_better=False', add, trainer, metrics=metrics)


def test_errors_come_before_the_training(trainer, parrot, numbered, add):
    trainer = trainer(parrot(["a"]))
    for changes, message in [
        ({"pictures": numbered[:299]}, "images has length 299 and references has length 300"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more"),
        ({"attribute_lexicon": "nobody"}, "nobody"),
    ]:
        refuses(message, add, trainer, **changes)
    trainer.is_fsdp_enabled = True
    refuses(r"a part of the model.* use bias_scores as compute_metrics", add, trainer)


def test_captions_come_in_the_order_of_the_images_also_of_a_column_or_an_array(
    parrot, planted, tokenizer, numbered, processor
):
    said = ["", *(text.removesuffix(".") + " ." for text in planted.predictions[1:])]
    found = caption_images(parrot(said), processor, numbered, tokenizer=tokenizer, batch_size=77)
    assert found == said
    assert processor.batches == [77, 77, 77, 69]
    features = Features({"image": Array3D((3, 1, 1), "float32")})
    column = Dataset.from_dict({"image": numbered[:50]}, features=features).with_format("numpy")["image"]
    for form in (column, np.stack(numbered[:50]), []):
        found = caption_images(parrot(said), processor, form, tokenizer=tokenizer, batch_size=20)
        assert found == said[: len(form)]


@pytest.mark.parametrize("generation", [{}, {"do_sample": True, "num_beams": 2}])
def test_nothing_of_the_training_is_changed(learner, tokenizer, images, planted, processor, generation):
    learner.train()
    learner.encoder.eval()  # a frozen part
    learner.config.use_cache = False  # as gradient checkpointing wants it
    tokens = tokenizer(planted.predictions[:4], padding=True, return_tensors="pt")
    labels = tokens.input_ids.masked_fill(tokens.attention_mask == 0, -100)
    learner(pixel_values=torch.tensor(np.stack(images[:4]), dtype=torch.float32), labels=labels).loss.backward()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)

    def state():
        return {
            "modes": [module.training for module in learner.modules()],
            "gradients": [None if one.grad is None else one.grad.clone() for one in learner.parameters()],
            "needed": [one.requires_grad for one in learner.parameters()],
            "weights": [one.detach().clone() for one in learner.parameters()],
            "configs": [learner.generation_config.to_dict(), learner.config.to_dict()],
            "numpy": np.random.get_state()[1].copy(),
            "python": random.getstate(),
            "torch": torch.get_rng_state(),
            "grad": torch.is_grad_enabled(),
        }

    before = copy.deepcopy(state())
    caption_images(learner, processor, images[:40], tokenizer=tokenizer, generation=generation | {"max_new_tokens": 8})
    after = state()
    assert set(before["modes"]) == {True, False}
    for name in ("modes", "needed", "configs", "python", "grad"):
        assert after[name] == before[name], name
    for name in ("gradients", "weights", "numpy", "torch"):
        torch.testing.assert_close(after[name], before[name], rtol=0, atol=0)


def test_a_failure_leaves_the_training_as_it_was_too(learner, tokenizer, images):
    learner.train()
    before = torch.get_rng_state()

    def broken(**_):
        torch.rand(1)
        raise OSError("no such image")

    with pytest.raises(OSError, match="no such image"):
        caption_images(learner, broken, images, tokenizer=tokenizer)
    assert learner.training
    assert torch.equal(torch.get_rng_state(), before)


def test_drawn_captions_repeat_with_their_seed_only(learner, tokenizer, images, processor):
    def drawn(seed):
        generation = {"do_sample": True, "max_new_tokens": 8}
        return caption_images(learner, processor, images[:64], tokenizer=tokenizer, generation=generation, seed=seed)

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
