"""Labels from people's captions: where they agree, and only there."""

import pytest

from captionbias.captions import captioned_labels
from tests.refusals import refuses

TEXTS = [["a man", "a dude", "a dog"], ["a woman", "a cat"], ["a lady", "her bag", "a boy"], [], ["two people"]]


@pytest.mark.parametrize(("least", "labels"), [(1, ["male", "female"]), (2, ["male", None]), (3, [None, None])])
def test_enough_captions_must_name_one_value_and_none_another(least, labels):
    assert captioned_labels(TEXTS, least=least) == [*labels, None, None, None]


def test_words_of_ones_own_and_crossed_attributes():
    own = {"cat": ["cat", "kitten"], "dog": ["dog"]}
    assert captioned_labels([["a kitten", "a cat"], ["a dog"]], own) == ["cat", None]
    assert captioned_labels([["a black woman", "a black lady"]], ["gender", "race"]) == ["female, dark"]


def test_what_are_no_captions_is_named():
    refuses(r"captions\[1\]\[1\] is missing", captioned_labels, [["a man"], ["a dog", None]])
    refuses("least must be 1 or more, not 0", captioned_labels, TEXTS, least=0)
