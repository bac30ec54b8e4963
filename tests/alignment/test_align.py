"""Alignment: which human words are replaced, by what, and what the report says of it."""

import json
import math

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.alignment.align import align
from captionbias.text import UNKNOWN, Tokens, load_lexicon, named_by_words, tokenize
from tests.refusals import refuses

NOTHING = frozenset()


def make(**rows):
    vectors = KeyedVectors(len(next(iter(rows.values()))))
    vectors.add_vectors(list(rows), np.array(list(rows.values()), np.float32))
    return vectors


def flags(tokens, *words):
    return np.array([word in words for word in tokens.words], bool)


# Unit vectors at angles whose cosines are 3-4-5 fractions: distances are exact by hand.
VECTORS = make(chair=[1, 0], seat=[0.8, 0.6], dog=[0, 1], sofa=[0.6, 0.8], rock=[-1, 0])


def test_a_word_becomes_the_closest_word_below_delta():
    human = tokenize(["a seat , a rock and a dog", "a seat and a zebu"])
    model = flags(human, "a", "and", ",")
    human = Tokens(human.ids, human.offsets, (*human.words, "chair"))
    aligned, report = align(human, np.append(model, True), NOTHING, VECTORS)
    assert aligned.texts() == ["a chair , a <unk> and a <unk>", "a chair and a <unk>"]
    assert aligned.words == (*human.words, UNKNOWN)
    assert report.tokens == 13
    assert (report.replaced_contextual, report.replaced_unknown) == (2, 3)
    assert report.share_contextual == pytest.approx(2 / 5)
    assert report.pairs == (
        ("seat", "chair", pytest.approx(0.2), 2),
        ("rock", UNKNOWN, 2.0, 1),
        ("dog", UNKNOWN, 1.0, 1),
        ("zebu", UNKNOWN, None, 1),
    )


def test_a_distance_of_delta_is_not_below_delta():
    # cos(sofa, chair) is 0.6: the distance is 0.4 exactly, though 1 - 0.6 in single precision is 0.39999998.
    human = tokenize(["sofa chair"])
    model = flags(human, "chair")
    assert align(human, model, NOTHING, VECTORS, 0.4)[0].texts() == ["<unk> chair"]
    assert align(human, model, NOTHING, VECTORS, 0.400002)[0].texts() == ["chair chair"]


def test_of_equally_close_words_the_first_is_taken():
    # Twins of other lengths: in single precision their unit vectors differ in the last digit.
    random = np.random.default_rng(0)
    twin = random.normal(size=50)
    twins = {f"twin{number}": list(twin * scale) for number, scale in enumerate([1.0, 3.0, 0.1, 7.0])}
    others = {f"word{number}": list(random.normal(size=50)) for number in range(300)}
    vectors = make(**twins, **others)
    for order in (["twin0", "twin1", "twin2", "twin3"], ["twin3", "twin1", "twin0", "twin2"]):
        human = tokenize([" ".join([*order, *others])])
        aligned, _ = align(human, flags(human, *order), NOTHING, vectors, 2)
        assert set(aligned.texts()[0].split()[4:]) == {order[0]}


def test_masks_and_unknown_are_never_replaced_and_replace_nothing():
    vectors = make(**{"<gender>": [1, 0], UNKNOWN: [1, 0.02], "man": [1, 0.01], "dog": [0.9, 0.3]})
    words = ("<gender>", "man", "dog", "<age>", UNKNOWN)
    human = Tokens(np.arange(5, dtype=np.int32), np.array([0, 5]), words)
    masks = frozenset({"<gender>", "<age>"})
    aligned, report = align(human, flags(human, "<gender>", UNKNOWN, "dog"), masks, vectors)
    assert aligned.texts() == ["<gender> dog dog <age> <unk>"]
    assert aligned.words == human.words
    assert [pair.word for pair in report.pairs] == ["man"]


def test_report_for_json():
    human = tokenize(["seat rock rock zebu chair"])
    _, report = align(human, flags(human, "chair"), NOTHING, VECTORS)
    pairs = [
        {"word": "rock", "replacement": UNKNOWN, "distance": 2.0, "tokens": 2},
        {"word": "seat", "replacement": "chair", "distance": pytest.approx(0.2), "tokens": 1},
    ]
    counts = {"tokens": 5, "replaced_contextual": 1, "replaced_unknown": 3, "share_contextual": 0.25}
    assert json.loads(json.dumps(report.as_dict(pairs=2), allow_nan=False)) == counts | {"pairs": pairs}
    assert len(report.as_dict()["pairs"]) == 3
    for delta in (0, 2.1, math.nan, "0.4"):
        refuses(r"delta is .*above 0 and at most 2", align, human, np.ones(4, bool), NOTHING, VECTORS, delta)


NAMES = [f"w{number}" for number in range(12)]
captions = st.lists(st.lists(st.sampled_from(NAMES), max_size=6).map(" ".join), min_size=1, max_size=6)


@settings(deadline=None, max_examples=40)
@given(
    captions=captions,
    in_model=st.sets(st.sampled_from(NAMES)),
    specials=st.frozensets(st.sampled_from(NAMES), max_size=3),
    with_vector=st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
    delta=st.floats(1e-9, 2),
    seed=st.integers(0, 5),
)
def test_every_word_is_the_captioners_and_twice_is_once(captions, in_model, specials, with_vector, delta, seed):
    random = np.random.default_rng(seed)
    vectors = make(**{word: list(random.normal(size=3)) for word in with_vector})
    human = tokenize(captions)
    aligned, report = align(human, flags(human, *in_model), specials, vectors, delta)
    assert {aligned.words[number] for number in aligned.ids} <= in_model | specials | {UNKNOWN}
    np.testing.assert_array_equal(aligned.lengths, human.lengths)
    assert aligned.ids.dtype == human.ids.dtype
    changed = int((aligned.ids != human.ids).sum())
    assert changed == report.replaced_contextual + report.replaced_unknown == sum(pair.tokens for pair in report.pairs)
    twice, second = align(aligned, flags(aligned, *in_model), specials, vectors, delta)
    np.testing.assert_array_equal(twice.ids, aligned.ids)
    assert second.pairs == ()


def test_what_a_caption_names_is_not_replaced_by_what_names_something_else():
    """A lady is closest to a man, but becomes a woman, as a girl does who is far off; without a woman they stay."""
    vectors = make(lady=[1, 0], man=[1, 0.05], woman=[1, 0.4], girl=[0, 1], seat=[1, 0.01], chair=[1, 0.3])
    human = tokenize(["a lady a girl a seat", "a man a woman a chair"])
    names = named_by_words(human.words, load_lexicon("gender"))
    for words, expected in (("a man woman chair", "a woman a woman a chair"), ("a man chair", "a lady a girl a chair")):
        aligned, report = align(human, flags(human, *words.split()), NOTHING, vectors, 0.4, names)
        assert aligned.texts()[0] == expected
        assert all(UNKNOWN != pair.replacement != "man" for pair in report.pairs)
    aligned, _ = align(human, flags(human, "a", "man", "chair"), NOTHING, vectors, 0.4)
    assert aligned.texts()[0] == "a man a <unk> a man", "without what words name"
