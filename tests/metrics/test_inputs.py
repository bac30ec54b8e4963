"""Labels that are not those of the chosen words are measured, and noted."""

from __future__ import annotations

import pytest

from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # small sets are weak

QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
ANOTHER = "if they are of another attribute, its words are neither masked nor found; give its words"


def noted(metric, labels, lexicon):
    given = vars(plant(len(labels), captions=2))
    texts = [
        f"{word} {text}" for word, text in zip(["black", "white"] * len(labels), given["predictions"], strict=False)
    ]
    given |= {"attributes": labels, "predictions": texts}
    given = {name: value for name, value in given.items() if name in metric.options()}
    measured = metric.measure(**given, attribute_lexicon=lexicon, **QUICK)
    return [note for note in measured.notes if "of attribute_lexicon" in note]


@pytest.mark.parametrize("metric", [dbac, lic])
def test_labels_of_another_attribute_are_noted(metric):
    (note,) = noted(metric, ["dark", "light"] * 40, "gender")
    known = "'dark', 'light' are not labels of attribute_lexicon 'gender' ('female', 'male')"
    assert note.startswith(f"attributes: {known}: {ANOTHER}")
    assert noted(metric, ["dark", "light"] * 40, "race") == []


def test_case_does_not_matter_and_a_label_without_words_is_named():
    assert noted(lic, ["Female", "MALE"] * 40, "gender") == []
    (note,) = noted(lic, ["female", "male", "x"] * 30, {"extends": "gender"})
    assert note.startswith(
        "attributes: 'x' is not a label of attribute_lexicon 'custom' ('female', 'male'): no words for "
    )


def test_of_many_labels_a_few_are_listed():
    (note,) = noted(lic, list("abcdefg") * 12, "emotion")
    assert "'a', 'b', 'c', 'd', 'e', ... are not labels of attribute_lexicon 'emotion' ('amusement', " in note


def test_labels_of_a_crossing_are_those_of_its_lexicons_in_their_order():
    labels = ["female, dark", "male, light", "female, Light", "male, dark"] * 20
    assert noted(lic, labels, ["gender", "race"]) == []
    (note,) = noted(lic, labels, ["race", "gender"])
    assert ANOTHER in note
