"""Families that differ in how they are asked and in what they answer, built tiny as the benchmark builds them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import families
from captionbias.attackers.base import Examples, Trial
from captionbias.images.captioning import caption
from captionbias.images.judges import Question, find_judge
from captionbias.images.reading import read_images
from captionbias.text import tokenize

PROMPTS = {
    "BLIP-2 (T5)": "a photo of",
    "Kosmos-2": "<grounding>An image of",
    "PaliGemma": "caption en",
    "Florence-2": "<CAPTION>",
    "Mllama": "user <|image|> Describe the image in one short sentence. assistant ",
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_family_is_asked_as_it_was_trained_and_the_prompt_is_not_in_captions(name, tmp_path):
    model, images = families.saved(tmp_path / "model", name), families.pictures()
    assert families.opened(model).asked == PROMPTS[name]
    short = {"max_new_tokens": 6, "cache": False}
    found = caption(model, images, **short)
    assert found == caption(model, images, batch_size=1, **short)
    assert len(found) == families.IMAGES
    assert not any(words in text for text in found.values() for words in ("An image of", "caption en", "user"))


def test_a_family_that_cannot_judge_is_named(tmp_path):
    model = str(families.saved(tmp_path / "model", "Pix2Struct"))
    asked = Question(read_images(families.pictures()), "the gender is", ("woman", "man"))
    tokens = tokenize(["a dog", "a cake", "the street"], "words")
    rows = np.arange(3)
    trial = Trial(Examples(tokens, np.array([0, 1, 0]), 2, ()), rows, rows, 0)
    with pytest.raises(ValueError, match=r"judge .* cannot go on after an image and a text .*: give another model"):
        find_judge(model, asked, as_is=True).fit(trial)
