"""Where words are in captions: the letters that stand there are the word, in any script and spelling."""

import pytest

from captionbias.text import load_lexicon, split_words
from captionbias.text.marks import find_marks, token_places
from captionbias.text.tokens import folded


@pytest.mark.parametrize(
    "caption", ["A Man's dog.", "", "\uff37oman in a café", "ﬁne e\u0301te\u0301", "zero\u200bwidth İstanbul"]
)
def test_each_place_holds_its_word(caption):
    tokens, places = split_words(caption), token_places(caption)
    assert [folded(caption[start:end]) for start, end in places] == tokens
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("language", "caption", "marked"),
    [
        ("de", "Zwei Radfahrerinnen im Café: Frauen!", ["Radfahrerinnen", "Frauen"]),
        ("ja", "ｶﾌｪで女の人とＷＯＭＡＮ、少女。", ["女の人", "少女"]),
        ("zh", "一个小男孩和她", ["男孩", "她"]),
    ],
)
def test_words_of_other_languages_are_marked_where_they_are_written(language, caption, marked):
    (marks,) = find_marks([caption], load_lexicon(f"gender-{language}"), language)
    assert [caption[start:end] for start, end, _ in marks] == marked


def test_the_longest_words_are_marked_and_those_of_each_part_of_a_crossing():
    captions = ["Two hot dogs and a dog", "a black woman", "nothing"]
    assert find_marks(captions, load_lexicon("coco_objects"))[0] == [(4, 12, "hot dog"), (19, 22, "dog")]
    crossed = find_marks(captions, load_lexicon(["gender", "race"]))
    assert crossed == [[], [(2, 7, "dark"), (8, 13, "female")], []]
