"""The frequent words of LIC's variant of BA: counted anew by hand, whatever the order and the blocks."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from captionbias.captions import check_captions
from captionbias.metrics import pair_counts
from captionbias.metrics.frequent_words import frequent_words
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from captionbias.text.function_words import FUNCTION_WORDS
from captionbias.text.tokens import split_words

GENDER = load_lexicon("gender")


def captions(references):
    return check_captions(references=references, attributes=["female", "male"] * (len(references) // 2))


def words(references, most=1000, at_least=1, lexicon=GENDER):
    return list(frequent_words(captions(references), lexicon, "words", most, at_least).labels)


def by_definition(references, most, at_least):
    split = [split_words(text) for row in references for text in row]
    own = {word for words in GENDER.groups.values() for word in words}
    frequency = Counter(word for text in split for word in text)
    content = [word for word in frequency if word.isalpha() and word not in own | FUNCTION_WORDS]
    chosen = sorted(content, key=lambda word: (-frequency[word], word))[:most]
    kept = []
    for word in chosen:
        with_word = [set(text) for text in split if word in text]
        if all(
            sum(bool(text & set(GENDER.groups[label])) for text in with_word) >= at_least for label in GENDER.labels
        ):
            kept.append(word)
    return sorted(kept)


@pytest.mark.parametrize(("most", "at_least"), [(1000, 0), (1000, 20), (12, 1), (5, 10), (30, 40)])
def test_they_are_the_most_frequent_that_stand_often_enough_with_either_gender(most, at_least):
    references = plant(images=300, captions=2).references
    found = words(references, most, at_least)
    assert found == by_definition(references, most, at_least)
    assert found


def test_a_word_counts_once_a_caption_but_as_often_as_it_stands_for_its_frequency():
    references = [["a woman with dogs dogs dogs"], ["a man with dogs"], ["a lady with cakes"], ["a guy with cakes"]]
    assert words(references, at_least=1) == ["cakes", "dogs"]
    assert words(references, most=1, at_least=1) == ["dogs"]
    with pytest.raises(ValueError, match="no word occurs in 2 captions"):
        words(references, at_least=2)


def test_attribute_words_function_words_numbers_and_punctuation_are_never_chosen():
    text = "a woman and a man , with the 2 knives . two of them _ 3d ' \" !"
    assert words([[text]] * 6) == ["knives"]


def test_parts_of_a_lexicon_s_longer_words_are_its_own_too():
    lexicon = load_lexicon({"female": ["young lady", "she"], "male": ["young lad", "he"]})
    text = "she and he , a young lady and a young lad eat"
    assert words([[text]] * 2, lexicon=lexicon) == ["eat"]


def test_equally_frequent_words_are_chosen_by_the_alphabet_whatever_the_order_of_images():
    references = [[f"a woman and a man with {name}"] for name in ("pears", "apples", "plums", "figs", "dates", "limes")]
    found = {tuple(words(random.Random(seed).sample(references, 6), most=3)) for seed in range(10)}
    assert found == {("apples", "dates", "figs")}


def test_blocks_of_images_change_nothing(monkeypatch):
    references = plant(images=100, captions=3).references
    whole = words(references, most=15, at_least=5)
    monkeypatch.setattr(pair_counts, "ROWS_AT_ONCE", 7)
    assert words(references, most=15, at_least=5) == whole


def test_it_is_a_lexicon_of_one_word_a_label():
    found = frequent_words(captions([["a woman eats"], ["a man eats"]]), GENDER, "words", 10, 1)
    assert found.groups == {"eats": ("eats",)}


def test_no_word_often_enough_is_refused_with_the_way_out():
    with pytest.raises(
        ValueError, match=r"^references: no word occurs in 9 captions with each of female, male; .*at_least"
    ):
        words([["a woman eats"], ["a man eats"]], at_least=9)
