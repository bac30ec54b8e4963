"""Tokens lose nothing, words of any script stay whole, and each is marked where it stands."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from captionbias.text import TOKENIZERS, Tokens, load_lexicon, split_words, tokenize
from captionbias.text.marks import find_marks, token_places
from captionbias.text.tokens import folded, tokenizer_name
from tests.refusals import refuses

# Few letters, so that equal captions and equal words are common; blanks and punctuation among them.
CAPTION = st.text(alphabet="ab. ,\t", max_size=8)
ANY_TEXT = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=12)
SEARCH = settings(deadline=None, max_examples=40)
NAMES = pytest.mark.parametrize("name", list(TOKENIZERS))


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("On her cell phone.", "on her cell phone ."),
        ("A man's dog, a t-shirt; 3.5 miles!", "a man ' s dog , a t - shirt ; 3 . 5 miles !"),
        ("Wait...what?!", "wait . . . what ? !"),
        ("  a\tman \n walks  ", "a man walks"),
        ("a\u00a0man\u3000walks", "a man walks"),
        ("<gender> rides", "< gender > rides"),
        ("snake_case 42nd", "snake_case 42nd"),
        ("رجل يركب دراجة.", "رجل يركب دراجة ."),
        ("مَرْحَبًا، يا رجل", "مَرْحَبًا ، يا رجل"),  # vowel marks, and a comma of its own
        ("एक हिन्दी किताब।", "एक हिन्दी किताब ।"),  # vowel signs and the virama are marks
        ("می\u200cکنم.", "میکنم ."),  # a non-joiner inside a word
        ("a wo\u200bman and a \uff2d\uff41\uff4e", "a woman and a man"),  # what would escape a mask
        ("ÉTÉ à Île-de-Ré", "été à île - de - ré"),
        ("cafe\u0301 noir", "caf\u00e9 noir"),  # the accent as a mark of its own
        ("a dog 🐶🐶!", "a dog 🐶 🐶 !"),
    ],
)
def test_words_and_punctuation_stand_apart_and_words_of_any_script_stay_whole(caption, words):
    assert split_words(caption) == words.split(" ")


def plain(caption):
    """In one spelling, without what is invisible."""
    normal = unicodedata.normalize("NFKC", caption)
    return "".join(letter for letter in normal if unicodedata.category(letter) != "Cf").lower()


@SEARCH
@given(ANY_TEXT)
def test_words_lose_no_visible_character(caption):
    assert "".join(split_words(caption)) == "".join(plain(caption).split())


def test_an_unknown_tokenizer_is_refused_by_name():
    refuses("tokenizer 'nltk' is unknown; choose one of words, whitespace", tokenize, ["a"], "nltk")


@pytest.mark.parametrize("words", [None, "a man", 3])
def test_a_tokenizer_that_returns_no_list_of_words_is_refused_with_the_caption(words):
    name = tokenizer_name(lambda caption: words if caption == "a man" else caption.split())
    message = f"tokenizer: of caption 1, 'a man', it returned {words!r}; it must return a list"
    refuses(message, tokenize, ["a dog", "a man"], name)


@NAMES
@SEARCH
@given(captions=st.lists(ANY_TEXT, max_size=6))
def test_texts_are_what_was_split(name, captions):
    tokens = tokenize(captions, name)
    rows = [TOKENIZERS[name](caption) for caption in captions]
    assert len(tokens) == len(captions)
    assert tokens.texts() == [" ".join(row) for row in rows]
    assert tokens.lengths.tolist() == [len(row) for row in rows]
    assert tokens.rows.tolist() == [number for number, row in enumerate(rows) for _ in row]


@SEARCH
@given(captions=st.lists(CAPTION, min_size=1, max_size=6), data=st.data())
def test_select_takes_rows_in_the_order_asked(captions, data):
    tokens = tokenize(captions)
    rows = data.draw(st.lists(st.integers(0, len(captions) - 1), max_size=8))
    chosen = tokens.select(np.array(rows, np.int64))
    assert chosen.texts() == [tokens.texts()[row] for row in rows]
    assert chosen.words is tokens.words
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(captions), max_size=len(captions))))
    some = tokens.select(flags)
    assert some.texts() == [text for text, kept in zip(tokens.texts(), flags, strict=True) if kept]
    words = {word for caption in some.texts() for word in caption.split()}
    assert {word for word, here in zip(some.words, some.present(), strict=True) if here} == words


@NAMES
@SEARCH
@given(tables=st.lists(st.lists(CAPTION | ANY_TEXT, max_size=4), max_size=4))
def test_joined_tables_are_what_is_split_at_once(name, tables):
    joined = Tokens.joined([tokenize(captions, name) for captions in tables])
    at_once = tokenize([caption for captions in tables for caption in captions], name)
    assert joined.words == at_once.words
    for part in ("ids", "offsets"):
        got, expected = getattr(joined, part), getattr(at_once, part)
        assert got.dtype == expected.dtype
        assert np.array_equal(got, expected)


@SEARCH
@given(captions=st.lists(CAPTION, max_size=8))
@example(captions=["a b", "b a"])
def test_fingerprints_are_equal_exactly_when_captions_are(captions):
    tokens = tokenize(captions)
    texts, prints = tokens.texts(), tokens.fingerprints().tolist()
    assert len(set(zip(texts, prints, strict=True))) == len(set(texts)) == len(set(prints))


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
