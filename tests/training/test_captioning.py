"""Captions come in order and the training never notices."""

import copy
import random

import numpy as np
import pytest
import torch

from captionbias.training import caption_images


def test_captions_come_in_the_order_of_the_images(parrot, planted, tokenizer, numbered, processor):
    said = ["", *(text.removesuffix(".") + " ." for text in planted.predictions[1:])]
    found = caption_images(parrot(said), processor, numbered, tokenizer=tokenizer, batch_size=77)
    assert found == said
    assert processor.batches == [77, 77, 77, 69]
    assert caption_images(parrot(said), processor, [], tokenizer=tokenizer) == []


def test_images_as_column_or_array_give_the_same(parrot, planted, tokenizer, numbered, processor):
    from datasets import Array3D, Dataset, Features

    said = [text.removesuffix(".") + " ." for text in planted.predictions][:50]
    features = Features({"image": Array3D((3, 1, 1), "float32")})
    column = Dataset.from_dict({"image": numbered[:50]}, features=features).with_format("numpy")["image"]
    for form in (column, np.stack(numbered[:50])):
        assert caption_images(parrot(said), processor, form, tokenizer=tokenizer, batch_size=20) == said


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
