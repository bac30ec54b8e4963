"""Lexicons of several attributes as one: all their words are masked, and a caption names what it names of each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.scores.omega import number_sets
from captionbias.text import Lexicon, find_mentions, load_lexicon, named_values, tokenize
from tests.refusals import refuses
from tests.text.conftest import masked, named

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


WORDS = ("a", "black", "white", "woman", "man", "girl", "old", "person", "young black")
PHRASES = Lexicon("phrases", "<p>", {"youth": ("young black", "old man"), "old": ("old",)})
CROSSINGS = [BOTH, load_lexicon(["gender", "age"]), load_lexicon([PHRASES, "gender", "race"])]
CAPTIONS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=8)


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
