"""Captions are split into words once, and exactly as if both sides were split together."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import check_captions
from captionbias.text import tokenize

# Few letters, so that sides share words; the last letter is no blank, which would be an empty caption.
CAPTION = st.text(alphabet="abc. ", max_size=6).map(lambda text: f"{text}a")
SIDE = st.lists(CAPTION, min_size=2, max_size=5)
LABELS = ["male", "female", "male", "female", "male"]


@settings(deadline=None, max_examples=40)
@given(predictions=SIDE, data=st.data(), tokenizer=st.sampled_from(["words", "whitespace"]))
def test_both_sides_are_one_table(predictions, data, tokenizer):
    images = len(predictions)
    texts = st.lists(CAPTION, min_size=1, max_size=3)
    references = data.draw(st.lists(texts, min_size=images, max_size=images))
    human = check_captions(references=references, attributes=LABELS[:images])
    flat = [caption for of_image in human.references for caption in of_image]
    for captions, model in ((human, []), (human.with_predictions(predictions), predictions)):
        both, expected = captions.words(tokenizer), tokenize([*model, *flat], tokenizer)
        assert sorted(both.tokens.words) == sorted(expected.words)
        of_people = tokenize(flat, tokenizer).words
        assert both.tokens.words[: len(of_people)] == of_people, "the same beside any captioner"
        assert np.array_equal(both.tokens.offsets, expected.offsets)
        assert both.model.texts() == expected.texts()[: len(model)]
        assert both.human.texts() == expected.texts()[len(model) :]
        assert both.human_image.tolist() == [image for image, row in enumerate(references) for _ in row]
