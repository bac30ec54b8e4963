"""Captions that are longer than people's: they are noted, and human captions joined to their length make a person 0."""

import pytest

from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant

QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
each = pytest.mark.parametrize("metric", [lic, dbac])


def people_as_captioner(images, captions, seed=0):
    """Three joined human captions of each image in the captioner's place, and the others as references."""
    planted = vars(plant(images, captions=3 + captions, seed=seed))
    return {
        "predictions": [" ".join(texts[:3]) for texts in planted["references"]],
        "references": [texts[3:] for texts in planted["references"]],
        "attributes": planted["attributes"],
    }


def length_notes(metric, **captions):
    return [text for text in metric.measure(**captions, **QUICK).notes if "words on average" in text]


@each
def test_lengths_that_differ_by_half_are_noted_either_way(metric):
    given = vars(plant(60, captions=2)) | {"predictions": ["a man or a girl"] * 60}

    def noted(words):
        return length_notes(
            metric, **given | {"references": [[" ".join(["a"] * (words - 2) + ["man", "cake"])] * 2] * 60}
        )

    assert noted(4) == noted(7) == []
    (longer,) = noted(3)
    assert longer.startswith("predictions have 5.0 words on average and references 3.0, and longer captions give more")
    assert longer.endswith("; join_references=True joins human captions to that length")
    (shorter,) = noted(8)
    assert shorter.startswith("predictions have 5.0 words on average and references 8.0")
    assert shorter.endswith("; give human captions as short")


@each
@pytest.mark.parametrize("absent", ["predictions", "references"])
def test_without_a_side_there_is_no_note_and_nothing_to_join(metric, absent):
    given = people_as_captioner(60, 3) | {absent: None}
    if metric is dbac:
        given["directions"] = ["a_to_t"]
    assert length_notes(metric, **given) == []
    with pytest.raises(
        ValueError, match=r"join_references: .* one of these is missing; give predictions and references"
    ):
        metric(**given, **QUICK, join_references=True)


@each
def test_joined_references_are_those_that_a_user_would_join(metric):
    given = people_as_captioner(60, 6)
    captions = check_captions(**given)
    assert captions.references_to_join == 3
    found = metric.measure(captions, **QUICK, join_references=True)
    by_hand = metric(captions.join_references(3), **QUICK)
    assert "|join:3|" in found.signature
    assert not [text for text in found.notes if "words on average" in text or "left out" in text]
    for key, value in found.flat().items():
        assert key == "signature" or value == by_hand[key]


@each
def test_images_with_too_few_references_are_left_out(metric):
    given = people_as_captioner(60, 6)
    given["references"] = [texts[: 6 if row % 6 else 2] for row, texts in enumerate(given["references"])]
    with pytest.warns(
        CaptionBiasWarning, match="join_references: 10 of 60 images have fewer than 3 human captions and"
    ):
        found = metric(**given, **QUICK, join_references=True, details=True)
    assert found["details"]["images"] == 50


def test_captions_left_over_say_what_an_image_shows():
    """Of five captions three are joined into the one that is scored; the tasks are those of the other two."""
    given = people_as_captioner(120, 5)
    cake = [[*texts[:3], "a cake", "a thing"] for texts in given["references"]]
    found = dbac(**given | {"references": cake}, **QUICK, directions=["t_to_a"], join_references=True, details=True)
    assert found["details"]["task_counts"]["cake"] == 120
    with pytest.raises(ValueError, match="only 0 of 120 images have a human caption besides the one that is scored"):
        dbac(**given | {"references": [texts[:3] for texts in cake]}, **QUICK, join_references=True)


def test_three_people_in_one_caption_read_0_beside_as_many_and_not_beside_one():
    given = people_as_captioner(2000, 5, seed=1)
    options = QUICK | {"trials": 4, "bootstrap": 200}
    alone, joined = (lic(**given, **options, join_references=join) for join in (False, True))
    assert alone["lic_ci_low"] > 0
    assert joined["lic_ci_low"] <= 0 <= joined["lic_ci_high"]
    found = dbac(**given, **options, join_references=True)
    for direction in ("a_to_t", "t_to_a"):
        for form in ("", "_matched", "_net"):
            assert found[f"dbac_{direction}{form}_ci_low"] <= 0 <= found[f"dbac_{direction}{form}_ci_high"]
