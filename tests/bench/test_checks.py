"""Labels must be values of the attribute lexicon, and captions must name some; else nothing is measured."""

import re

import numpy as np
import pytest

from captionbias.analysis.audit import audit
from captionbias.captions import check_captions
from captionbias.metrics import ba_mals, dbac, gender_error, lic, sway
from captionbias.synthetic import plant
from tests.refusals import refuses

QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
BOTH = ["gender", "race"]
RACE = {"female": "Light", "male": "Dark"}
every = pytest.mark.parametrize("metric", [sway, gender_error, dbac], ids=lambda metric: metric.name)


def given(names=None, images=60, **changes):
    """Planted captions, with other labels by `names`."""
    planted = vars(plant(images, captions=2))
    labels = [(names or {}).get(label, label) for label in planted["attributes"]]
    return planted | {"attributes": labels} | changes


def measured(metric, captions, **options):
    chosen = {name: value for name, value in (captions | QUICK | options).items() if name in metric.options()}
    return metric.measure(**chosen)


OF_RACE = (
    "attributes: 'Dark', 'Light' are not labels of attribute_lexicon 'gender' ('female', 'male') but of 'race': give "
    "attribute_lexicon='race', "
)
NOBODY = "attribute_lexicon 'gender': none of its words occurs in any caption; "
OWN = "give the words that these captions use"


def spoken(text):
    return given(predictions=[text] * 60, references=[[f"und {text}"]] * 60)


@every
@pytest.mark.parametrize(
    ("captions", "message"),
    [
        (given(RACE), OF_RACE),
        (given({"female": "she/her", "male": "x"}), ".*as in labels={'she/her': 'female', 'x': 'male'} where they are"),
        (given({"female": "0", "male": "1"}), ".*as in labels={'0': '...', '1': '...'} where they are read"),
        (
            given({"female": "Non-binary", "male": "False"}),
            ".*as in labels={'False': '...', 'Non-binary': '...'} where",
        ),
        (
            given(attributes=[*["non-binary"] * 4, *["Female", "Man"] * 28]),
            "attributes: 'non-binary' is not a label of attribute_lexicon 'gender' ('female', 'male'), and 4 of 60 "
            "images have it: leave these out, with keep=['Female', 'Man'] where they are read, ",
        ),
        (spoken("eine frau mit einem hund"), f"{NOBODY}give language='de', or {OWN}"),
        (spoken("kobieta z psem na ulicy, na zdjęciu"), f"{NOBODY}give their language, or {OWN}"),
        (spoken("a person with a dog by the sea"), f"{NOBODY}{OWN}"),
    ],
    ids=[
        "of race",
        "pronouns",
        "numbers",
        "not to be guessed",
        "several beside",
        "German",
        "another language",
        "nobody",
    ],
)
def test_labels_that_are_no_values_and_captions_that_name_none_are_refused(metric, captions, message):
    pattern = re.escape(message).removeprefix(r"\.\*")
    refuses(pattern if message.startswith(".*") else f"^{pattern}", measured, metric, captions)


def test_attackers_may_be_allowed_what_is_not_masked_and_say_so_in_a_note():
    refuses(
        "'race', labels of 'gender', or measure them as they are, with allow_unmasked=True$", measured, lic, given(RACE)
    )
    refuses("'race', or labels of 'gender'$", measured, sway, given(RACE))
    unsaid = {"female": ["unsaid"], "male": ["unheard"]}
    for metric in (lic, dbac):
        other = measured(metric, given(RACE), allow_unmasked=True)
        assert any("are not labels of attribute_lexicon 'gender'" in note for note in other.notes)
        options = {"attribute_lexicon": unsaid, "allow_unmasked": True}
        silent = measured(metric, given(), **options, directions=["a_to_t"])
        assert any("none of its words occurs in any caption" in note for note in silent.notes)
    refuses("none of its words", measured, dbac, given(), **options)


def test_a_captioner_of_another_language_is_refused_and_one_that_names_nobody_is_not():
    german = given(predictions=["eine frau steht mit dem hund", "der mann isst kuchen"] * 30)
    message = "^predictions: 0.0% of them name a value of attribute_lexicon 'gender', and 100% of their"
    refuses(message, measured, lic, german)
    assert measured(lic, given(predictions=["a person with a dog", "a person with a cake"] * 30))


@every
@pytest.mark.parametrize(("female", "male"), [("F", "m"), ("Women", "boys"), ("Predominantly Feminine", "masc")])
def test_unmistakable_labels_are_read_as_values(metric, female, male):
    read, plain = measured(metric, given({"female": female, "male": male})), measured(metric, given())
    assert read.estimates == plain.estimates
    listed = f"attributes: '{female}' is read as 'female', '{male}' is read as 'male'"
    assert [note for note in read.notes if "is read as" in note] == [listed]


@every
@pytest.mark.parametrize("unknown", [["n/a"] * 9, ["Can't tell", "non-binary", "Unknown"]])
def test_images_that_nobody_labelled_or_few_otherwise_are_left_out_and_noted(metric, unknown):
    captions, known = given(), slice(len(unknown), None)
    left = measured(metric, captions | {"attributes": [*unknown, *captions["attributes"][known]]})
    assert left.estimates == measured(metric, {name: column[known] for name, column in captions.items()}).estimates
    assert any(note.startswith(f"attributes: {len(unknown)} of 60 images are left out (") for note in left.notes)
    if metric is sway:
        audited = audit(
            {"nic": captions.pop("predictions")},
            **captions | {"attributes": [*unknown, *captions["attributes"][known]]},
            metrics=["sway"],
            scores_only=True,
        )
        assert (audited.images, sum(audited.attribute_counts.values())) == (60 - len(unknown),) * 2


def test_case_alone_is_no_other_label():
    measurement = measured(lic, given({"female": "Female", "male": "MALE"}), details=True)
    assert not [note for note in measurement.notes if "read as" in note]
    assert set(measurement.details["attribute_counts"]) == {"Female", "MALE"}
    mixed = given()
    mixed["attributes"][:30] = map(str.capitalize, mixed["attributes"][:30])
    assert len(measured(lic, mixed, details=True).details["attribute_counts"]) == 2


def test_of_a_crossing_each_attribute_is_held_to_its_own_words():
    captions = given(
        references=None,
        predictions=[f"a {colour} {one}" for colour in ("black", "white") for one in ["man", "woman"] * 15],
    )
    captions["attributes"] = [f"{label}, {'Dark' if row < 30 else 'Light'}" for row, label in enumerate("MF" * 30)]
    assert "'F, Dark' is read as 'female, dark'" in " ".join(measured(lic, captions, attribute_lexicon=BOTH).notes)
    silent = {**captions, "predictions": ["a man"] * 60}
    refuses("^attribute_lexicon 'race': none of its words occurs", measured, lic, silent, attribute_lexicon=BOTH)
    captions["attributes"][0] = "M, Unsure"
    told = "attributes: 1 of 60 images are left out ('M, Unsure' 1): no label of 'gender+race'"
    assert told in measured(lic, captions, attribute_lexicon=BOTH).notes
    refuses("of 2 crossed attributes, and attribute_lexicon 'gender'", measured, lic, captions)


def test_labels_made_from_the_references_are_noticed_and_independent_ones_are_not():
    """People name a wrong value in 15 captions of 100, annotators label what the images show."""
    planted, random = plant(400, captions=3), np.random.default_rng(0)
    other = {"woman": "man", "lady": "guy", "girl": "boy"}
    other |= {male: female for female, male in other.items()}

    def wrong(text):
        return " ".join(other.get(word, word) for word in text.split()) if random.random() < 0.15 else text

    references = [[wrong(text) for text in texts] for texts in planted.references]
    words = [" ".join(texts).split() for texts in references]
    votes = [sum(list(other).index(word) < 3 or -1 for word in of if word in other) for of in words]
    rows = [row for row, vote in enumerate(votes) if vote]
    given = {
        "predictions": [wrong(planted.predictions[row]) for row in rows],
        "references": [references[row] for row in rows],
    }
    made, independent = (
        ["female" if votes[row] > 0 else "male" for row in rows],
        [planted.attributes[row] for row in rows],
    )
    for metric in (gender_error, sway, ba_mals):
        for labels, expected in ((made, True), (independent, False)):
            notes = metric.measure(**given, attributes=labels, bootstrap=0).notes
            assert any("as if it were made from them" in said for said in notes) is expected


def test_captions_that_are_longer_or_shorter_than_people_s_by_half_are_noted():
    """Attackers read more from more words."""

    def noted(words):
        people = " ".join(["a"] * (words - 2) + ["man", "cake"])
        captions = given(predictions=["a man or a girl"] * 60, references=[[people] * 2] * 60)
        return [text for text in measured(lic, captions).notes if "words on average" in text]

    assert noted(4) == noted(7) == []
    (longer,), (shorter,) = noted(3), noted(8)
    assert longer.startswith("predictions have 5.0 words on average and references 3.0, and longer captions give more")
    assert longer.endswith("; give human captions as long")
    assert shorter.startswith("predictions have 5.0 words on average and references 8.0")
    assert shorter.endswith("; give human captions as short")


def test_a_few_pictures_alike_and_single_captions_are_no_copies_and_a_table_repeated_is():
    said = "a man {} of many men", "a guy with a dog and a cat"
    texts = [[f"{text.format(number)} {k}" for k in range(4) for text in said] for number in range(40)]
    labels = ["female", "male"] * 20
    assert check_captions(references=[*texts[:-1], texts[0]], attributes=labels).copies is None
    assert check_captions(references=[["a man", "a guy"]] * 40, attributes=labels).copies is None
    assert check_captions(references=texts[:20] * 2, attributes=labels).copies.max() == 19
