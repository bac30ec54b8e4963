"""A typed list of words is the lexicon it says, and the preview marks what metrics mask and nothing else."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.app.words import custom_lexicon, mark_masked, preview
from captionbias.captions import check_captions
from captionbias.text import Lexicon, find_mentions, load_lexicon, mask_mentions, tokenize

GENDER = load_lexicon("gender")
# A mask that the tokenizer keeps whole; letters whose lower case or composed form is longer or shorter.
GROUPS = {"a": ("hot dog", "dog", "café", "i̇stanbul girl"), "b": ("각", "dog tag , dog", "女", "man's")}
CUSTOM = Lexicon("custom", "qmaskq", GROUPS, masked_only=("hot",))
PIECES = [
    *("hot", "Hot", "DOG", "dog", "tag", ",", "Cafe\u0301", "café", "İSTANBUL", "i̇stanbul", "Girl"),
    *("\u1100\u1161\u11a8", "각", "女", "man's", "man", "'", "s", "\u212b", "e\u0323\u0301"),
    *("\U0001f469\u200d\U0001f9b0", "ß", "ﬁ", "<b>", "x", "."),
    *(" ", " ", "  ", "\t", "\n", "\u00a0", "\u3000"),
]
CAPTIONS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@settings(deadline=None, max_examples=300)
@given(caption=st.one_of(CAPTIONS, ANY_TEXT, st.tuples(ANY_TEXT, CAPTIONS).map("".join)))
def test_spans_join_to_the_caption_and_mark_what_metrics_mask(caption):
    spans = mark_masked(caption, CUSTOM)
    assert "".join(text for text, _ in spans) == caption
    tokens = tokenize([caption])
    mentions = find_mentions(tokens, CUSTOM)
    labels = [label for _, label in spans if label is not None]
    assert labels == [(*CUSTOM.labels, CUSTOM.mask)[label] for label in mentions.labels]
    masked = "".join(CUSTOM.mask if label else text for text, label in spans)
    assert tokenize([masked]).texts() == mask_mentions(tokens, (mentions, CUSTOM.mask)).texts()


def test_the_preview_has_the_first_images_with_both_sides_or_the_one_there_is():
    people = {"attributes": ["male", "female"] * 3, "references": [["he", "a guy"], *[["x"]] * 5]}
    both = preview(check_captions(predictions=["a man"] * 6, image_ids=range(7, 13), **people), GENDER)
    captioner = [("captioner: ", None), ("a ", None), ("man", "male"), ("\n", None)]
    human = [("human: ", None), ("a ", None), ("guy", "male"), ("\n", None)]
    assert both[:10] == [("7 (male)\n", None), *captioner, *human, ("\n", None)]
    images = [text for text, _ in both if text.endswith(")\n")]
    assert images == ["7 (male)\n", "8 (female)\n", "9 (male)\n", "10 (female)\n"]
    assert preview(check_captions(**people), GENDER)[:6] == [("row 0 (male)\n", None), *human, ("\n", None)]
    alone = preview(check_captions(predictions=["a man"] * 6, attributes=people["attributes"]), GENDER)
    assert alone[:6] == [("row 0 (male)\n", None), *captioner, ("\n", None)]


def lexicon(text: str) -> Lexicon:
    return custom_lexicon(text, "mine")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (
            "female: woman, Lady ,  young   girl\nmale: man",
            {"female": ("woman", "lady", "young girl"), "male": ("man",)},
        ),
        ("\n a : x,,y, \r\n\r\na: z\n", {"a": ("x", "y", "z")}),
        ("time: 10:30, noon", {"time": ("10:30", "noon")}),
        ("<b>: <script>alert(1)</script>", {"<b>": ("<script>alert(1)</script>",)}),
    ],
)
def test_lines_give_the_words_of_each_value(text, groups):
    assert lexicon(text).groups == groups


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: x\n\nfemale woman", "line 3 has no colon: write one line for each value, such as 'female: woman, lady"),
        ("a: x\n: y", "line 2 has no value before the colon: write one line"),
        ("a: x\nb: ,", "lexicon 'custom', label 'b': no word names it"),
        ("a: x\nb: y\nb: X", "lexicon 'custom': 'x' is listed under 'a' and 'b'; keep one"),
        (" \n\t", "the list has no words"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message):
    with pytest.raises(ValueError, match=r".") as raised:
        lexicon(text)
    assert str(raised.value).startswith(message)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_lexicon_or_a_value_error(text):
    with suppress(ValueError):
        assert any(lexicon(text).groups.values())
