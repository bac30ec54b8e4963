"""Captions are split into words and searched exactly as if both sides were one table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import check_captions
from captionbias.text import find_mentions, load_lexicon, named_values, tokenize

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


PEOPLE = {"references": [["a man and a dog", "a guy"], ["a black woman"], ["a hot dog"]], "attributes": ["m", "f", "f"]}
SAID = ["a girl", "a hot dog", "a man"]


@pytest.mark.parametrize("source", ["gender", "coco_objects", ["gender", "race"]])
def test_what_captions_mention_is_what_a_search_of_all_of_them_finds(source):
    lexicon, captions = load_lexicon(source), check_captions(predictions=SAID, **PEOPLE)
    tokens, mentions = captions.words().tokens, captions.mentions(lexicon)
    for kept, found in zip(mentions, find_mentions(tokens, lexicon), strict=True):
        assert np.array_equal(kept, found)
    assert np.array_equal(captions.named(lexicon), named_values(tokens, mentions, lexicon))
