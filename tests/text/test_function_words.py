"""English words of the closed classes: no content word among them, and all that captions commonly have."""

from __future__ import annotations

from captionbias.text.function_words import FUNCTION_WORDS
from captionbias.text.lexicon import load_lexicon

CONTENT = (
    "man woman dog knife kitchen street table water red large young old white sitting standing holding riding playing "
    "looks walks run eat made quickly slowly together away back front top side group couple pair bunch piece"
)
SENTENCES = (
    "there is a of the with his and its in on at to for by from up near next behind while as that which who some "
    "several many two three are was were being it they their them an"
)


def test_what_holds_a_sentence_together_is_among_them_and_what_it_says_is_not():
    assert set(SENTENCES.split()) <= FUNCTION_WORDS
    assert not set(CONTENT.split()) & FUNCTION_WORDS


def test_no_object_has_such_a_name():
    names = {word for words in load_lexicon("coco_objects").groups.values() for word in words}
    assert not names & FUNCTION_WORDS
