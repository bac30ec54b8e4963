"""Labels that are not those of the chosen words are measured, and noted."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.metrics import ba_mals, dbac, gender_error, lic, sway
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

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


def test_labels_made_from_the_references_are_noticed_and_independent_ones_are_not():
    """People name a wrong value in 15 captions of 100, annotators label what the images show."""
    planted = plant(400, captions=3)
    other = {"woman": "man", "man": "woman", "lady": "guy", "guy": "lady", "girl": "boy", "boy": "girl"}
    random = np.random.default_rng(0)

    def wrong(text):
        return " ".join(other.get(word, word) for word in text.split()) if random.random() < 0.15 else text

    references = [[wrong(text) for text in texts] for texts in planted.references]
    lexicon = load_lexicon("gender").groups
    said = [
        {label: sum(any(w in words for w in text.split()) for text in texts) for label, words in lexicon.items()}
        for texts in references
    ]
    rows = [row for row, votes in enumerate(said) if votes["female"] != votes["male"]]
    made = [max(said[row], key=said[row].get) for row in rows]
    for metric in (gender_error, sway, ba_mals):
        for labels, expected in ((made, True), ([planted.attributes[row] for row in rows], False)):
            measured = metric.measure(
                predictions=[wrong(planted.predictions[row]) for row in rows],
                references=[references[row] for row in rows],
                attributes=labels,
                bootstrap=0,
            )
            assert any("as though it was made from them" in said for said in measured.notes) is expected
