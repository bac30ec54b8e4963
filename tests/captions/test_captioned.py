"""Labels from people's captions: where they agree, and only there."""

from captionbias.captions import captioned_labels
from tests.refusals import refuses

TEXTS = [["a man", "a dude", "a dog"], ["a woman", "a cat"], ["a lady", "her bag", "a boy"], [], ["two people"]]


def test_enough_captions_must_name_one_value_and_none_another():
    for least, labels in ((1, ["male", "female"]), (2, ["male", None]), (3, [None, None])):
        assert captioned_labels(TEXTS, least=least) == [*labels, None, None, None]
    own = {"cat": ["cat", "kitten"], "dog": ["dog"]}
    assert captioned_labels([["a kitten", "a cat"], ["a dog"]], own) == ["cat", None]
    assert captioned_labels([["a black woman", "a black lady"]], ["gender", "race"]) == ["female, dark"]
    refuses(r"captions\[1\]\[1\] is missing", captioned_labels, [["a man"], ["a dog", None]])
    refuses("least must be 1 or more, not 0", captioned_labels, TEXTS, least=0)
