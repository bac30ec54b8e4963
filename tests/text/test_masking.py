"""Masking: the longest name first, each name one token, and nothing across the edges of captions."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from captionbias.text import Lexicon, find_mentions, load_lexicon, mask_mentions, tokenize
from captionbias.text.masking import NO_LABEL
from captionbias.text.tokens import TOKENIZERS
from tests.text.conftest import masked, named


def lexicon_of(*phrases, alone=()):
    """Each phrase under a label of its own name."""
    return Lexicon("x", "<x>", {phrase: (phrase,) for phrase in phrases}, alone)


COCO, GENDER = load_lexicon("coco_objects"), load_lexicon("gender")


@pytest.mark.parametrize(
    ("caption", "hidden", "names"),
    [
        ("A dog eats a hot dog.", "a <object> eats a <object> .", {"dog", "hot dog"}),
        ("hot hot dogs dog", "hot <object> <object>", {"hot dog", "dog"}),
        ("a glass, a wine glass", "a glass , a <object>", {"wine glass"}),
        ("a microwave oven", "a <object>", {"microwave"}),
        ("the dog's bowl", "the <object> ' s <object>", {"dog", "bowl"}),
        ("nothing of note", "nothing of note", set()),
    ],
)
def test_objects_are_found_longest_first_and_become_one_token(caption, hidden, names):
    assert masked([caption], COCO) == [hidden]
    assert named([caption], COCO) == [names]


def test_possessives_plurals_and_capitals_hide_no_person():
    captions = ["The man's hat", "WOMEN'S shoes", "a she-wolf", "a policeman", "Her. He! HIS?"]
    assert masked(captions, GENDER) == [
        "the <gender> ' s hat",
        "<gender> ' s shoes",
        "a <gender> - wolf",
        "a policeman",
        "<gender> . <gender> ! <gender> ?",
    ]
    assert named(captions, GENDER) == [{"male"}, {"female"}, {"female"}, set(), {"female", "male"}]


def test_names_are_split_as_the_captions_are():
    shirt = lexicon_of("t-shirt")
    assert masked(["a t-shirt, t - shirt"], shirt) == ["a <x> , <x>"]
    assert masked(["a t-shirt t - shirt"], shirt, "whitespace") == ["a <x> t - shirt"]


def test_masked_only_words_are_hidden_but_name_nothing():
    age = load_lexicon("age")
    assert masked(["a man and a child"], age) == ["a <age> and a <age>"]
    assert named(["a man and a child", "a man"], age) == [{"young"}, set()]
    mentions = find_mentions(tokenize(["a man and a child"]), age)
    assert mentions.starts.tolist() == [1, 4]
    assert mentions.labels.tolist() == [NO_LABEL, age.labels.index("young")]


WORDS = st.lists(st.sampled_from("abcd"), max_size=9)
PHRASES = st.dictionaries(
    st.lists(st.sampled_from("abce"), min_size=1, max_size=4).map(" ".join), st.integers(-1, 2), max_size=6
)


def slow_mentions(captions, phrases):
    """Caption, place in it, number of words and label of each mention: the longest phrase at each place, then on."""
    found = []
    for row, words in enumerate(captions):
        place = 0
        while place < len(words):
            for length in range(len(words) - place, 0, -1):
                label = phrases.get(" ".join(words[place : place + length]))
                if label is not None:
                    found.append((row, place, length, label))
                    place += length
                    break
            else:
                place += 1
    return found


@pytest.mark.parametrize("split", list(TOKENIZERS))
@settings(deadline=None, max_examples=50)
@example(captions=[["a", "a", "b", "b"]], phrases=dict.fromkeys(("a", "b", "b b", "a a b"), 0))
@given(captions=st.lists(WORDS, max_size=5), phrases=PHRASES)
def test_mentions_are_those_of_a_slow_search(split, captions, phrases):
    groups = {str(label): tuple(p for p, own in phrases.items() if own == label) for label in range(3)}
    lexicon = Lexicon("x", "<x>", groups, tuple(p for p, own in phrases.items() if own == -1))
    tokens = tokenize([" ".join(words) for words in captions], split)
    expected = slow_mentions(captions, phrases)

    mentions = find_mentions(tokens, lexicon, split)
    rows = tokens.rows[mentions.starts]
    places = mentions.starts - tokens.offsets[rows]
    assert list(zip(rows, places, mentions.lengths, mentions.labels, strict=True)) == expected

    hidden = [list(words) for words in captions]
    flags = np.zeros((len(captions), 3), bool)
    for row, place, length, label in reversed(expected):
        hidden[row][place : place + length] = ["<x>"]
        if label >= 0:
            flags[row, label] = True
    assert mask_mentions(tokens, (mentions, "<x>")).texts() == [" ".join(words) for words in hidden]
    assert np.array_equal(mentions.named(tokens, 3), flags)


def both_masked(captions, words, phrases):
    """With the words as `<a>` and the phrases as `<t>`."""
    tokens = tokenize(captions)
    return mask_mentions(tokens, (find_mentions(tokens, words), "<a>"), (find_mentions(tokens, phrases), "<t>")).texts()


@settings(deadline=None, max_examples=100)
@given(captions=st.lists(WORDS, max_size=5), words=PHRASES, phrases=PHRASES)
def test_of_two_kinds_nothing_is_left_and_nothing_else_goes(captions, words, phrases):
    texts = [" ".join(caption) for caption in captions]
    words, phrases = lexicon_of(*words), lexicon_of(*phrases)
    tokens, hidden = tokenize(texts), []
    for lexicon in (words, phrases):
        mentions = find_mentions(tokens, lexicon)
        spans = zip(mentions.starts, mentions.starts + mentions.lengths, strict=True)
        hidden.append({place for start, end in spans for place in range(start, end)})
    found = both_masked(texts, words, phrases)
    for row, text in enumerate(found):
        places = set(range(tokens.offsets[row], tokens.offsets[row + 1])) - hidden[0] - hidden[1]
        left = [tokens.words[tokens.ids[place]] for place in sorted(places)]
        assert [word for word in text.split() if word not in ("<a>", "<t>")] == left
    if not hidden[0] & hidden[1]:
        once = mask_mentions(tokens, (find_mentions(tokens, words), "<a>"))
        assert found == mask_mentions(once, (find_mentions(once, phrases), "<t>")).texts()
