"""Families that differ in how they are asked and in what they answer, built tiny as the benchmark builds them."""

import pytest

from benchmarks import families
from captionbias.images.captioning import caption

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
