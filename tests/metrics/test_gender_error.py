"""Gender ratio and error: counted anew by hand, for gender and for anything that has two sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import pair_counts
from captionbias.metrics import pair_counts as counts
from captionbias.metrics.gender_error import gender_error
from captionbias.synthetic import plant

TEXTS = {
    "female": "A woman walks her dog.",
    "male": "Two GUYS in a room",
    "neither": "somebody, humans, the mankind of Manchester",
    "both": "a man and his wife",
}
TOLD = st.lists(st.tuples(st.sampled_from(["female", "male"]), st.sampled_from(list(TEXTS))), min_size=3, max_size=30)


def measured(rows, **options):
    return gender_error(
        predictions=[TEXTS[said] for _, said in rows], attributes=[shown for shown, _ in rows], **options
    )


def both_sides(rows):
    return [("female", "female"), ("male", "neither"), *rows]


@settings(deadline=None, max_examples=60)
@given(TOLD)
def test_it_is_the_definition(rows):
    """Male: male words and no female ones. The error is of all captions, also those that name nobody or both."""
    rows = both_sides(rows)
    said = [said for _, said in rows]
    result = measured(rows, bootstrap=0)
    assert result["ratio"] == pytest.approx(said.count("male") / said.count("female"))
    wrong = sum({shown, said} == {"female", "male"} for shown, said in rows)
    assert result["error"] == pytest.approx(100 * wrong / len(rows))


@settings(deadline=None, max_examples=30)
@given(TOLD)
def test_the_details_are_the_table_that_it_is_made_of(rows):
    rows = both_sides(rows)
    result = measured(rows, bootstrap=20, details=True)
    details = result["details"]
    assert details["images"] == len(rows)
    for shown in ("female", "male"):
        own = [said for value, said in rows if value == shown]
        assert details["attribute_counts"][shown] == len(own)
        assert details["captions"][shown] == {said: own.count(said) for said in TEXTS}
        other = "male" if shown == "female" else "female"
        assert details["error_by_attribute"][shown] == pytest.approx(100 * own.count(other) / len(own))
    assert all(math.isfinite(value) for value in result.values() if isinstance(value, float))
    assert result["error_ci_low"] - 1e-9 <= result["error"] <= result["error_ci_high"] + 1e-9


def test_the_order_of_images_changes_nothing():
    rows = [(shown, said) for shown in ("female", "male") for said in TEXTS] * 3
    assert measured(rows[::-1], bootstrap=0) == measured(rows, bootstrap=0)


def test_labels_may_be_written_in_any_case():
    rows = [(shown, said) for shown in ("female", "male") for said in TEXTS]
    assert measured([(shown.upper(), said) for shown, said in rows]) == measured(rows)


@pytest.mark.parametrize(
    ("lexicon", "texts", "labels", "ratio"),
    [
        (
            "race",
            ["a white man", "a black man", "an Asian woman", "a man"],
            ["light", "dark", "light", "dark"],
            "dark/light",
        ),
        (
            {"old": ["elderly"], "young": ["young", "small child"]},
            ["elderly", "a small child", "young", "a child"],
            ["old", "young"] * 2,
            "young/old",
        ),
    ],
)
def test_any_lexicon_of_two_labels_will_do_and_the_second_is_above(lexicon, texts, labels, ratio):
    result = gender_error(predictions=texts, attributes=labels, attribute_lexicon=lexicon, bootstrap=0)
    assert result["ratio"] == 2.0
    assert result["error"] == 25.0
    assert f"ratio:{ratio}" in result["signature"]


def test_a_lexicon_of_another_number_of_labels_is_refused():
    for labels in (["a"], ["a", "b", "c"]):
        lexicon = {label: [label] for label in labels}
        message = (
            rf"^attribute_lexicon 'custom' has {len(labels)} labels \({', '.join(labels)}\).*give a lexicon of two"
        )
        with pytest.raises(ValueError, match=message):
            gender_error(predictions=["a", "b"], attributes=["a", "b"], attribute_lexicon=lexicon)
    with pytest.raises(ValueError, match=r"^attribute_lexicon 'coco_objects' has 80 labels"):
        gender_error(predictions=["a", "b"], attributes=["a", "b"], attribute_lexicon="coco_objects")


def test_without_a_female_caption_there_is_no_ratio_but_a_warning():
    rows = [("female", "male"), ("male", "male"), ("female", "neither"), ("male", "both")]
    with pytest.warns(CaptionBiasWarning, match="no caption is female, so there is no ratio"):
        result = measured(rows, details=True)
    assert not [key for key in result if key.startswith("ratio")]
    assert result["error"] == 25.0
    assert result["details"]["warnings"] == ["predictions: no caption is female, so there is no ratio"]


def test_without_a_male_caption_the_ratio_is_0():
    result = measured([("female", "female"), ("male", "neither")])
    assert (result["ratio"], result["error"]) == (0.0, 0.0)


@pytest.fixture(scope="module")
def planted():
    planted = plant(images=1000, captions=1, t_to_a=0.3)
    return {"predictions": planted.predictions, "attributes": planted.attributes}


def test_blocks_of_images_change_nothing(planted, monkeypatch):
    whole = gender_error(**planted, bootstrap=20, details=True)
    monkeypatch.setattr(pair_counts, "ROWS_AT_ONCE", 7)
    assert gender_error(**planted, bootstrap=20, details=True) == whole


def test_the_interval_of_the_error_is_that_of_a_share(planted):
    result = gender_error(**planted, bootstrap=2000)
    share = result["error"] / 100
    half = 100 * 1.96 * np.sqrt(share * (1 - share) / 1000)
    assert result["error_ci_high"] - result["error_ci_low"] == pytest.approx(2 * half, rel=0.1)


def test_intervals_of_groups_are_about_those_of_single_images(planted, monkeypatch):
    single = gender_error(**planted)
    monkeypatch.setattr(counts.random_groups, "__defaults__", (250,))
    grouped = gender_error(**planted)
    assert grouped["ratio_ci_high"] != single["ratio_ci_high"]
    for name in ("ratio", "error"):
        assert grouped[name] == single[name]
        wide, narrow = (result[f"{name}_ci_high"] - result[f"{name}_ci_low"] for result in (grouped, single))
        assert wide / narrow == pytest.approx(1, abs=0.25)


def test_the_seed_draws_the_interval_and_bootstrap_0_none(planted):
    first, again, other = (gender_error(**planted, seed=seed, bootstrap=50) for seed in (0, 0, 1))
    assert first == again
    assert first["error_ci_low"] != other["error_ci_low"]
    assert set(gender_error(**planted, bootstrap=0)) == {"ratio", "error", "signature"}


# --- bad input ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": None}, r"^predictions and references are both missing"),
        ({"predictions": None, "references": [["a man"]] * 4}, r"^predictions is missing: give the captioner's"),
        ({"attributes": None}, r"^attributes is missing: give one label"),
        ({"attributes": ["female", "male"]}, r"^predictions has length 4 and attributes has length 2"),
        ({"attributes": ["female", "male", "both", "male"]}, r"^attributes\[2\] is 'both', .* \(female, male\): leave"),
        ({"predictions": ["a", "b", "", "c"]}, r"^predictions\[2\] is empty"),
        ({"attribute_lexicon": "shoes"}, r"lexicon 'shoes' is neither"),
        ({"tokenizer": "bpe"}, r"^tokenizer 'bpe' is unknown; choose one of words, whitespace"),
        ({"seed": -1}, r"^seed must be a whole number of 0 or more"),
        ({"bootstrap": 2.5}, r"^bootstrap must be a whole number of 0 or more"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(change, message):
    good = {"predictions": ["a man", "a woman", "a girl", "a boy"], "attributes": ["female", "male"] * 2}
    with pytest.raises(ValueError, match=message):
        gender_error(**good | change)
