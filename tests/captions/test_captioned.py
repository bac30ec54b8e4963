"""Labels from people's captions: where they agree, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.captions import captioned_labels
from captionbias.synthetic import plant

TEXTS = [["a man", "a dude", "a dog"], ["a woman", "a cat"], ["a lady", "her bag", "a boy"], [], ["two people"]]


@pytest.mark.parametrize(("least", "labels"), [(1, ["male", "female"]), (2, ["male", None]), (3, [None, None])])
def test_enough_captions_must_name_one_value_and_none_another(least, labels):
    assert captioned_labels(TEXTS, least=least) == [*labels, None, None, None]


def test_planted_labels_come_back():
    planted = plant(200, captions=3)
    found = captioned_labels(np.array(planted.references, object))
    told = [(label, true) for label, true in zip(found, planted.attributes, strict=True) if label]
    assert len(told) > 100
    assert all(label == true for label, true in told)


def test_words_of_ones_own_and_crossed_attributes():
    own = {"cat": ["cat", "kitten"], "dog": ["dog"]}
    assert captioned_labels([["a kitten", "a cat"], ["a dog"]], own) == ["cat", None]
    assert captioned_labels([["a black woman", "a black lady"]], ["gender", "race"]) == ["female, dark"]


@pytest.mark.parametrize(
    ("captions", "least", "message"),
    [
        (["a man"], 1, r"captions\[0\] is a string"),
        ([["a man"], ["a dog", None]], 1, r"captions\[1\]\[1\] is missing"),
        ([], 1, "captions has no rows"),
        ([["a man"]], 0, "least must be 1 or more, not 0"),
    ],
)
def test_what_are_no_captions_is_named(captions, least, message):
    with pytest.raises(ValueError, match=message):
        captioned_labels(captions, least=least)
