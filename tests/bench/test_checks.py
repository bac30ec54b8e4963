"""Labels must be values of the attribute lexicon, and captions must name some; else nothing is measured."""

import re

import numpy as np
import pytest

from captionbias import metrics
from captionbias.metrics import ba_mals, catalogue, dbac, gender_error, lic, sway
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

EVERY = [getattr(metrics, name) for name in catalogue.of_captions()]
MASKING = [lic, dbac]
QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
BOTH = ["gender", "race"]
RACE = {"female": "Light", "male": "Dark"}


def given(names=None, images=60, **changes):
    """Planted captions, with other labels by `names`."""
    planted = vars(plant(images, captions=2))
    labels = [(names or {}).get(label, label) for label in planted["attributes"]]
    return planted | {"attributes": labels} | changes


def measured(metric, captions, **options):
    chosen = {name: value for name, value in (captions | QUICK | options).items() if name in metric.options()}
    return metric.measure(**chosen)


def fault(metric, captions, **options):
    with pytest.raises(ValueError, match=r".") as raised:
        measured(metric, captions, **options)
    return str(raised.value)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_labels_that_are_no_values_are_refused(metric):
    allow = ", labels of 'gender', or measure them as they are, with allow_unmasked=True"
    or_labels = allow if metric in MASKING else ", or labels of 'gender'"
    assert fault(metric, given(RACE)) == (
        "attributes: 'Dark', 'Light' are not labels of attribute_lexicon 'gender' ('female', 'male') but of 'race': "
        f"give attribute_lexicon='race'{or_labels}"
    )
    numbers = fault(metric, given({"female": "0", "male": "1"}))
    assert "say which is which, as in labels={'0': 'female', '1': 'male'} where they are read" in numbers


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_a_label_beside_the_values_is_refused_with_its_images(metric):
    captions = given({"female": "Female", "male": "Man"})
    captions["attributes"][:2] = ["unsure"] * 2
    assert fault(metric, captions).startswith(
        "attributes: 'unsure' is not a label of attribute_lexicon 'gender' ('female', 'male'), and 2 of 60 images have "
        "it: leave these out, with keep=['Female', 'Man'] where they are read, "
    )


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_captions_without_a_word_of_the_attribute_are_refused(metric):
    none = "attribute_lexicon 'gender': none of its words occurs in any caption; "
    own = "give the words that these captions use"
    for model, language in (
        ("eine frau mit einem hund", "give language='de', "),
        ("kobieta z psem na ulicy, na zdjęciu", "give their language, "),
        ("a person with a dog by the sea", ""),
    ):
        captions = given(predictions=[model] * 60, references=[[f"und {model}"]] * 60)
        assert re.match(f"{none}{language}(or )?{own}", fault(metric, captions))


@pytest.mark.parametrize("metric", MASKING)
def test_a_captioner_of_another_language_is_refused_and_one_that_names_nobody_is_not(metric):
    message = fault(metric, given(predictions=["eine frau steht mit dem hund", "der mann isst kuchen"] * 30))
    assert re.match("predictions: 0.0% of them name a value of attribute_lexicon 'gender', and 100% of their", message)
    assert measured(metric, given(predictions=["a person with a dog", "a person with a cake"] * 30))


@pytest.mark.parametrize("metric", MASKING)
def test_who_means_it_measures_what_is_not_masked_with_a_note(metric):
    other = measured(metric, given(RACE), allow_unmasked=True)
    assert any("are not labels of attribute_lexicon 'gender'" in note for note in other.notes)
    unsaid = {"female": ["unsaid"], "male": ["unheard"]}
    silent = measured(metric, given(), attribute_lexicon=unsaid, directions=["a_to_t"], allow_unmasked=True)
    assert any("none of its words occurs in any caption" in note for note in silent.notes)
    if metric is dbac:
        assert "none of its words" in fault(dbac, given(), attribute_lexicon=unsaid, allow_unmasked=True)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ({"female": "F", "male": "m"}, "'F' is read as 'female', 'm' is read as 'male'"),
        ({"female": "Women", "male": "boys"}, "'Women' is read as 'female', 'boys' is read as 'male'"),
    ],
)
def test_unmistakable_labels_are_read_as_values(metric, names, listed):
    read, plain = measured(metric, given(names)), measured(metric, given())
    assert read.estimates == plain.estimates
    assert [note for note in read.notes if "is read as" in note] == [f"attributes: {listed}"]


def test_case_alone_is_no_other_label():
    measurement = measured(lic, given({"female": "Female", "male": "MALE"}), details=True)
    assert not [note for note in measurement.notes if "read as" in note]
    assert set(measurement.details["attribute_counts"]) == {"Female", "MALE"}
    mixed = given()
    mixed["attributes"] = [
        "Male" if label == "male" and row < 30 else label for row, label in enumerate(mixed["attributes"])
    ]
    assert set(measured(lic, mixed, details=True).details["attribute_counts"]) == {"female", "male"}


def test_of_a_crossing_each_attribute_is_held_to_its_own_words():
    captions = given(
        references=None,
        predictions=[f"a {colour} {one}" for colour in ("black", "white") for one in ["man", "woman"] * 15],
    )
    captions["attributes"] = [f"{label}, {'Dark' if row < 30 else 'Light'}" for row, label in enumerate("MF" * 30)]
    assert "'F, Dark' is read as 'female, dark'" in " ".join(measured(lic, captions, attribute_lexicon=BOTH).notes)
    assert fault(lic, {**captions, "predictions": ["a man"] * 60}, attribute_lexicon=BOTH).startswith(
        "attribute_lexicon 'race': none of its words occurs"
    )
    captions["attributes"][0] = "M, Unsure"
    message = fault(lic, captions, attribute_lexicon=BOTH)
    assert "1 of 60 images have it: leave these out, with keep=['F, Dark', 'F, Light', " in message
    assert "of 2 crossed attributes, and attribute_lexicon 'gender'" in fault(lic, captions)


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
            assert any("as though made from them" in said for said in measured.notes) is expected
