"""The frequent words of LIC's variant of BA: counted anew by hand, whatever the order of images."""

from __future__ import annotations

from collections import Counter

import pytest

from captionbias.captions import check_captions
from captionbias.metrics.ba_mals import frequent_words
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from captionbias.text.function_words import FUNCTION_WORDS
from captionbias.text.tokens import split_words

GENDER = load_lexicon("gender")


def words(references, most=1000, at_least=1, lexicon=GENDER):
    captions = check_captions(references=references, attributes=["female", "male"] * (len(references) // 2))
    return list(frequent_words(captions, lexicon, "words", most, at_least).labels)


def by_definition(references, most, at_least):
    split = [split_words(text) for row in references for text in row]
    masked = {word for words in GENDER.groups.values() for word in words}
    frequency = Counter(word for text in split for word in text)
    most_frequent = sorted(filter(str.isalpha, frequency), key=lambda word: (-frequency[word], word))[:most]
    kept = []
    for word in set(most_frequent) - masked - FUNCTION_WORDS:
        with_word = [set(text) for text in split if word in text]
        if all(
            sum(bool(text & set(GENDER.groups[label])) for text in with_word) >= at_least for label in GENDER.labels
        ):
            kept.append(word)
    return sorted(kept)


@pytest.mark.parametrize(("most", "at_least"), [(1000, 0), (1000, 20), (40, 1), (25, 10), (30, 40)])
def test_they_are_the_most_frequent_that_occur_often_enough_with_either_gender(most, at_least):
    references = plant(images=300, captions=2).references
    found = words(references, most, at_least)
    assert found == by_definition(references, most, at_least)
    assert found


def test_a_word_counts_once_a_caption_but_every_time_for_its_frequency():
    references = [["a woman with dogs dogs dogs"], ["a man with dogs"], ["a lady with cakes"], ["a guy with cakes"]]
    assert words(references, most=3, at_least=1) == ["dogs"], "after 'a' and 'with'"
    with pytest.raises(
        ValueError, match=r"^references: no word occurs in 2 captions with each of female, male; .*at_l"
    ):
        words(references, at_least=2)
