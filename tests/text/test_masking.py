"""Masking: the longest name first, each name one token, and nothing across the edges of captions."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from captionbias.scores.omega import number_sets
from captionbias.text import Lexicon, find_mentions, load_lexicon, mask_mentions, named_values, tokenize
from captionbias.text.masking import NO_LABEL
from captionbias.text.tokens import TOKENIZERS
from tests.refusals import refuses
from tests.text.conftest import masked, named


def lexicon_of(*phrases, alone=()):
    """Each phrase under a label of its own name."""
    return Lexicon("x", "<x>", {phrase: (phrase,) for phrase in phrases}, alone)


COCO, GENDER = load_lexicon("coco_objects"), load_lexicon("gender")


@pytest.mark.parametrize(
    ("lexicon", "caption", "hidden", "names"),
    [
        (COCO, "A dog eats a hot dog.", "a <object> eats a <object> .", {"dog", "hot dog"}),
        (COCO, "hot hot dogs dog", "hot <object> <object>", {"hot dog", "dog"}),
        (COCO, "a glass, a wine glass", "a glass , a <object>", {"wine glass"}),
        (COCO, "a microwave oven", "a <object>", {"microwave"}),
        (COCO, "the dog's bowl", "the <object> ' s <object>", {"dog", "bowl"}),
        (COCO, "nothing of note", "nothing of note", set()),
        (GENDER, "The man's hat", "the <gender> ' s hat", {"male"}),
        (GENDER, "WOMEN'S shoes", "<gender> ' s shoes", {"female"}),
        (GENDER, "a she-wolf", "a <gender> - wolf", {"female"}),
        (GENDER, "a policeman, a postman", "a <gender> , a postman", {"male"}),
        (GENDER, "Her. He! HIS?", "<gender> . <gender> ! <gender> ?", {"female", "male"}),
    ],
)
def test_words_are_found_longest_first_and_become_one_token(lexicon, caption, hidden, names):
    assert masked([caption], lexicon) == [hidden]
    assert named([caption], lexicon) == [names]


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


# Lexicons of several attributes as one

BOTH = load_lexicon(["gender", "race"])


@pytest.mark.parametrize(
    ("caption", "hidden", "values"),
    [
        ("a black woman", "a # #", "female, dark"),
        ("a white guy", "a # #", "male, light"),
        ("a woman", "a #", "female"),
        ("an asian person", "an # person", "dark"),
        ("a dog", "a dog", ""),
        ("a man and a woman", "a # and a #", "male/female"),
        ("a black woman and a man", "a # # and a #", "female, dark/male, dark"),
        ("a black woman and a white man", "a # # and a # #", "female, dark/female, light/male, dark/male, light"),
    ],
)
def test_a_caption_names_what_it_names_of_each_attribute(caption, hidden, values):
    assert masked([caption], BOTH) == [hidden.replace("#", "<gender+race>")]
    assert named([caption], BOTH) == [{*filter(None, values.split("/"))}]


SPOKEN = ("a", "black", "white", "woman", "man", "girl", "old", "person", "young black")
PHRASES = Lexicon("phrases", "<p>", {"youth": ("young black", "old man"), "old": ("old",)})
CROSSINGS = [BOTH, load_lexicon(["gender", "age"]), load_lexicon([PHRASES, "gender", "race"])]
CAPTIONS = st.lists(st.lists(st.sampled_from(SPOKEN), max_size=6).map(" ".join), min_size=1, max_size=8)


@settings(deadline=None)
@given(captions=CAPTIONS, lexicon=st.sampled_from(CROSSINGS))
def test_captions_name_the_same_if_they_do_of_every_attribute(captions, lexicon):
    tokens = tokenize(captions)
    of_parts = [find_mentions(tokens, part).named(tokens, len(part.labels)) for part in lexicon.parts]
    crossed = named_values(tokens, find_mentions(tokens, lexicon), lexicon)
    (expected, _), (found, _) = number_sets(np.column_stack(of_parts)), number_sets(crossed)
    assert len(set(zip(expected.tolist(), found.tolist(), strict=True))) == len(set(expected)) == len(set(found))


@settings(deadline=None)
@given(captions=CAPTIONS, lexicon=st.sampled_from(CROSSINGS))
def test_masking_hides_exactly_what_any_of_the_lexicons_hides(captions, lexicon):
    tokens = tokenize(captions)

    def hidden(of):
        flags = np.zeros(len(tokens.ids), int)
        mentions = find_mentions(tokens, of)
        for start, length in zip(mentions.starts, mentions.lengths, strict=True):
            flags[start : start + length] += 1
        return flags

    crossed = hidden(lexicon)
    assert crossed.max(initial=0) <= 1
    np.testing.assert_array_equal(crossed > 0, np.any([hidden(part) > 0 for part in lexicon.parts], axis=0))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["gender"], "a crossing needs two lexicons or more, not 1"),
        ([], "a crossing needs two lexicons or more, not 0"),
        (["gender", "height"], "lexicon 'height' is neither a built-in one"),
        (["gender", "gender"], r"lexicon 'gender\+gender': 'female' is a label of more than one"),
        (["gender", ["race", "age"]], "not of crossings: give all of them in one list"),
    ],
)
def test_what_cannot_be_crossed_is_refused(sources, message):
    refuses(message, load_lexicon, sources)
