"""English words of the closed classes: no object among them."""

from captionbias.text.function_words import FUNCTION_WORDS
from captionbias.text.lexicon import load_lexicon


def test_no_object_has_such_a_name():
    names = {word for words in load_lexicon("coco_objects").groups.values() for word in words}
    assert not names & FUNCTION_WORDS
