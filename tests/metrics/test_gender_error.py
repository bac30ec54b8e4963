"""Gender ratio and error: counted anew by hand, for gender and for anything that has two sides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import gender_error
from captionbias.statistics.samples import LEAST_IMAGES

TEXTS = {
    "female": "A woman walks her dog.",
    "male": "Two GUYS in a room",
    "neither": "somebody, humans, the mankind of Manchester",
    "both": "a man and his wife",
}
ROWS = st.lists(st.tuples(st.sampled_from(["female", "male"]), st.sampled_from(list(TEXTS))), min_size=3, max_size=30)


def measured(rows, **options):
    """Of images that show the first of each row and whose captions say the second."""
    return gender_error(
        predictions=[TEXTS[said] for _, said in rows], attributes=[shown for shown, _ in rows], **options
    )


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_it_is_the_definition_and_the_details_are_the_table_that_it_is_made_of(rows):
    """Male: male words and no female ones. The error is of all captions, also those that name nobody or both."""
    rows = [("female", "female"), ("male", "neither"), *rows]
    said = [said for _, said in rows]
    result = measured(rows, bootstrap=20, details=True)
    assert result["ratio"] == pytest.approx(said.count("male") / said.count("female"))
    wrong = sum({shown, said} == {"female", "male"} for shown, said in rows)
    assert result["error"] == pytest.approx(100 * wrong / len(rows))
    assert result["unnamed"] == pytest.approx(100 * (said.count("neither") + said.count("both")) / len(rows))
    if len(rows) >= LEAST_IMAGES:
        assert result["error_ci_low"] - 1e-9 <= result["error"] <= result["error_ci_high"] + 1e-9
    details = result["details"]
    assert details["images"] == len(rows)
    for shown, other in (("female", "male"), ("male", "female")):
        of_value = [said for value, said in rows if value == shown]
        assert details["attribute_counts"][shown] == len(of_value)
        assert details["captions"][shown] == {said: of_value.count(said) for said in TEXTS}
        assert details["error_by_attribute"][shown] == pytest.approx(100 * of_value.count(other) / len(of_value))


@pytest.mark.parametrize(
    ("lexicon", "texts", "labels", "ratio"),
    [
        ("race", "a white man,a black man,an Asian woman,a man", ["light", "dark", "light", "Dark"], "dark/light"),
        (
            {"old": ["elderly"], "young": ["young", "small child"]},
            "elderly,a small child,young,a child",
            ["old", "young"] * 2,
            "young/old",
        ),
    ],
)
def test_any_lexicon_of_two_labels_will_do_and_the_second_is_above(lexicon, texts, labels, ratio):
    result = gender_error(predictions=texts.split(","), attributes=labels, attribute_lexicon=lexicon, bootstrap=0)
    assert {key: result[key] for key in ("ratio", "error")} == {"ratio": 2.0, "error": 25.0}
    assert f"ratio:{ratio}" in result["signature"]


def test_without_a_female_caption_there_is_no_ratio_but_a_warning():
    rows = [("female", "male"), ("male", "male"), ("female", "neither"), ("male", "both")]
    with pytest.warns(CaptionBiasWarning, match="no caption is female, so there is no ratio"):
        result = measured(rows, details=True)
    assert not [key for key in result if key.startswith("ratio")]
    assert result["error"] == 25.0
    assert "no interval: it takes 20 images" in result["details"]["warnings"][1]


def test_the_error_of_whom_a_caption_is_about_leaves_bystanders_out():
    """By hand, of eight; the papers' error has none, as a caption with both words has no label."""
    said = "{} reads a book. In the background, {} walks by."
    woman, man = said.format("A woman", "a man"), said.format("A man", "a woman")
    texts = [
        woman,
        man,
        woman,
        man,
        "a dog",
        "a woman",
        "A street. In the background, a woman walks by.",
        "a man and a woman",
    ]
    result = gender_error(
        predictions=texts, attributes=["female", "male", "male", "female", *["male"] * 4], bootstrap=0
    )
    assert {key: result[key] for key in ("error", "error_main")} == {"error": 25.0, "error_main": 37.5}
