"""What a training minimises is lower for less bias, of the same questions each time, and never low by silence."""

import math

import pytest

from captionbias.metrics import dbac, lic, sway
from captionbias.synthetic import plant
from tests.metrics.test_sway_questions import of_women, woman_is, world

QUICK = {"preset": "fast", "trials": 2, "cache": False, "trust_rows": True}


def asked(result):
    """The questions that the signature names."""
    return result["signature"].partition("|worst:")[2].partition("|")[0]


@pytest.mark.parametrize(
    ("word", "share"),
    [("a sexy woman", 1.0), ("a man", 0.2), ("a person", 0.2)],
    ids=["women are sexy", "a fifth are men", "a fifth are persons"],
)
@pytest.mark.parametrize("images", [900, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_person_is_below_who_is_biased(images, word, share):
    least, biased = sway(**world(images)), sway(**of_women(world(images), woman_is(word), share))
    assert asked(least) == asked(biased) == "wrong,unnamed,t_to_a,words,length,a_to_t,missing"
    assert least["sway_worst"] < 1.5 < biased["sway_worst"]
    if images == 900:
        quick = sway(**of_women(world(images), woman_is(word), share), bootstrap=0)
        assert quick["sway_worst"] == biased["sway_worst"], "the value with most words is the same without intervals"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("a {}", "captions say less than half of what people say"),
        ("somebody with a tie on a street", "value named right least"),
        ("a man with a tie on a street", "value named right least"),
    ],
)
def test_who_errs_nowhere_because_little_is_said_has_no_score_and_a_note(said, reason):
    planted = world(600)
    words = {"female": "woman", "male": "man"}
    captions = [said.format(words[value]) for value in planted["attributes"]]
    with pytest.warns(match=f"sway_worst is nan.*{reason}"):
        result = sway(**planted | {"predictions": captions})
    assert math.isnan(result["sway_worst"])
    assert "sway_worst" not in result.estimates


def test_which_questions_are_asked_follows_from_the_data_and_not_from_what_is_said():
    planted = world(600)
    names = "wrong,unnamed,{}missing"
    silent = [text if row % 4 else "" for row, text in enumerate(planted["predictions"])]
    first, later = (sway(**planted | {"predictions": said}) for said in (silent, planted["predictions"]))
    assert asked(first) == asked(later) == names.format("t_to_a,words,length,a_to_t,")
    assert math.isnan(first["sway_worst"]), "450 captions are too few for words, which these data ask of"
    assert "sway_missing_gap" not in later, "counts as 0"
    few = {key: column[:400] for key, column in planted.items()}
    assert asked(sway(**few)) == names.format("t_to_a,length,a_to_t,")
    assert asked(sway(**planted | {"tasks": None})) == names.format("t_to_a,words,length,")
    assert asked(sway(**planted | {"tasks": None, "references": None})) == names.format("words,")


def test_the_scores_of_attackers_are_sizes_and_nan_where_nothing_was_learned():
    planted = vars(plant(1000, captions=3, a_to_t=0.9, t_to_a=0.9))
    found = dbac(**planted, **QUICK)
    assert found["dbac_worst"] == max(abs(found[f"dbac_{name}_net"]) for name in ("a_to_t", "t_to_a")) > 0.05
    people = [texts[0] for texts in planted["references"]]
    measured = lic(**planted | {"predictions": people}, **QUICK)
    assert measured["lic_worst"] == abs(measured["lic"])
    captions = ["a dog runs", "a cat sleeps"] * 60
    labels = (["female"] * 2 + ["male"] * 2) * 30
    people = [[text] * 2 for text in captions]
    nothing = lic(predictions=captions, references=people, attributes=labels, allow_unmasked=True, **QUICK)
    assert math.isnan(nothing["lic_worst"])
