"""The words that the preview marks are those that metrics mask, and nothing else in a caption changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.app.preview import mark_masked, preview
from captionbias.captions import check_captions
from captionbias.text import TOKENIZERS, find_mentions, load_lexicon, mask_mentions, tokenize

GENDER = load_lexicon("gender")
OBJECTS = load_lexicon("coco_objects")
# A mask that every tokenizer keeps whole; letters whose lower case or composed form is longer or shorter.
OWN = load_lexicon(
    {
        "groups": {"a": ["hot dog", "dog", "café", "i̇stanbul girl"], "b": ["각", "dog tag , dog", "女", "man's"]},
        "masked_only": ["hot"],
        "mask": "qmaskq",
    }
)
PIECES = [
    *[
        "hot",
        "Hot",
        "DOG",
        "dog",
        "tag",
        ",",
        "Cafe\u0301",
        "café",
        "İSTANBUL",
        "i̇stanbul",
        "Girl",
        "\u1100\u1161\u11a8",
    ],
    *[
        "각",
        "女",
        "man's",
        "man",
        "'",
        "s",
        "\u212b",
        "e\u0323\u0301",
        "\U0001f469\u200d\U0001f9b0",
        "ß",
        "ﬁ",
        "<b>",
        "x",
        ".",
    ],
]
CAPTIONS = st.lists(st.sampled_from([*PIECES, " ", " ", "  ", "\t", "\n", "\u00a0", "\u3000"]), max_size=20).map(
    "".join
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(max_examples=300)
@given(captions=st.lists(st.one_of(CAPTIONS, ANY_TEXT, st.tuples(ANY_TEXT, CAPTIONS).map("".join)), max_size=4))
def test_spans_join_to_the_caption_and_mark_what_metrics_mask(captions, tokenizer):
    marked = mark_masked(captions, OWN, tokenizer=tokenizer)
    assert ["".join(text for text, _ in spans) for spans in marked] == captions
    tokens = tokenize(captions, tokenizer)
    mentions = find_mentions(tokens, OWN, tokenizer)
    labels = [label for spans in marked for _, label in spans if label is not None]
    assert labels == [(*OWN.labels, OWN.mask)[label] for label in mentions.labels]
    masked = ["".join(OWN.mask if label else text for text, label in spans) for spans in marked]
    assert tokenize(masked, tokenizer).texts() == mask_mentions(tokens, mentions, OWN.mask).texts()


@pytest.mark.parametrize(
    ("caption", "lexicon", "spans"),
    [
        ("A Woman's dog.", GENDER, [("A ", None), ("Woman", "female"), ("'s dog.", None)]),
        ("Two WOMEN", GENDER, [("Two ", None), ("WOMEN", "female")]),
        ("hot\n dogs and a dog", OBJECTS, [("hot\n dogs", "hot dog"), (" and a ", None), ("dog", "dog")]),
        ("a dog", GENDER, [("a dog", None)]),
        ("man", GENDER, [("man", "male")]),
        ("İİ man İ", GENDER, [("İİ ", None), ("man", "male"), (" İ", None)]),
        ("e\u0301e\u0301 man", GENDER, [("e\u0301e\u0301 ", None), ("man", "male")]),
        ("a hot CAFE\u0301", OWN, [("a ", None), ("hot", "qmaskq"), (" ", None), ("CAFE\u0301", "a")]),
        ("<b>man</b>", GENDER, [("<b>", None), ("man", "male"), ("</b>", None)]),
    ],
)
def test_case_punctuation_plurals_and_accents_stay_as_they_were(caption, lexicon, spans):
    assert mark_masked([caption], lexicon) == [spans]


def test_a_full_stop_hides_a_word_from_the_whitespace_tokenizer_alone():
    assert mark_masked(["a man."], GENDER, tokenizer="whitespace") == [[("a man.", None)]]


def test_the_preview_has_the_first_images_with_both_sides():
    captions = check_captions(
        predictions=["a man", "a dog", "a cat"],
        references=[["he", "a guy"], ["x"] * 20, ["y"]],
        attributes=["male", "female", "male"],
        tasks=[["dog"], [], ["cat"]],
        image_ids=[7, 9, 11],
    )
    first, second = preview(captions, GENDER, rows=2)
    assert (first.image, first.attribute, first.tasks) == ("7", "male", ("dog",))
    assert first.model == [("a ", None), ("man", "male")]
    assert first.human == ([("he", "male")], [("a ", None), ("guy", "male")])
    assert second.model == [("a dog", None)]
    assert second.human == ([("x", None)],) * 10
    assert len(preview(captions, OBJECTS)) == 3


def test_a_side_that_is_absent_is_absent_in_the_preview():
    labels = ["m", "f"]
    alone = preview(check_captions(predictions=["a man", "a dog"], attributes=labels), OBJECTS)
    assert [(row.image, row.human, row.model) for row in alone] == [
        ("row 0", (), [("a man", None)]),
        ("row 1", (), [("a ", None), ("dog", "dog")]),
    ]
    human = preview(check_captions(references=[["a man"], ["a dog"]], attributes=labels), GENDER)
    assert [row.model for row in human] == [None, None]
    assert human[0].human == ([("a ", None), ("man", "male")],)
