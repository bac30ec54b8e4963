"""What is told of data before they are measured: what is missing, and what is left out."""

from dataclasses import replace

import pytest

from captionbias.app.data import CAPTIONER, Columns, Data, as_said, with_columns
from captionbias.app.measuring import Look, PageSettings, look, measure, read
from captionbias.captions.tables import table_from_memory
from captionbias.synthetic import plant

READ = {"id_column": "id", "prediction_column": ["caption"], "attribute_column": "sex"}


def data_of(content, name="x.csv"):
    """One captioner's file with everything."""
    return as_said([table_from_memory(content, name)], {name: CAPTIONER})


def test_what_is_missing_is_told():
    assert look(Data(), "gender") == Look()
    data = data_of({"id": [1], "caption": ["a man"]})
    data = replace(data, columns=Columns("id", ("caption",)))
    assert look(data, "gender").not_ready.startswith("none of these files has labels")
    for metrics, seed, missing in (((), 0, "choose at least one metric"), (("lic",), None, "seed is empty")):
        with pytest.raises(ValueError, match=missing):
            next(measure(data, PageSettings(metrics=metrics, seed=seed), lambda step, done: None))


def test_labels_too_few_are_left_out_or_told_of_if_they_are_kept():
    labels = ["female", "male", "male"] * 30
    labels[:6] = ["unsure"] * 6
    data = data_of({"id": range(90), "caption": ["a woman", "a man", "a guy"] * 30, "sex": labels})
    data = with_columns(data, READ)
    found = look(data, "gender")
    assert found.labels == {"female": 28, "male": 56}
    assert "left out by their label: 'unsure' (6 images, too few to split)" in found.notes[0]
    found = look(with_columns(data, READ | {"keep": ["female", "male", "unsure"]}), "gender")
    assert "labels with too few images to split: 'unsure' (6). An attacker needs 10" in found.not_ready
    assert any("'unsure' is not a label of attribute" in note for note in found.notes)


@pytest.mark.parametrize(
    ("labels", "attribute", "message"),
    [
        ("caption", "gender", "there are 90 labels: leave some out"),
        ("sex", "race", "'female', 'male' are not labels of attribute_lexicon 'race' ('light', 'dark')"),
    ],
)
def test_words_that_do_not_fit_the_column_are_told(labels, attribute, message):
    content = {"id": range(90), "caption": [f"a man {n}" for n in range(90)], "sex": ["female", "male"] * 45}
    found = look(with_columns(data_of(content), READ | {"attribute_column": labels}), attribute)
    assert message in "; ".join([found.not_ready, *found.notes])


def test_captions_of_another_language_are_read_by_its_words():
    planted = plant(60, captions=2, language="de")
    content = {"id": range(60), "caption": planted.predictions, "references": planted.references}
    said = READ | {"reference_column": "references", "language": "de"}
    data = with_columns(data_of({**content, "sex": planted.attributes}), said)
    assert (look(data, "gender").not_ready, look(data, "race").not_ready[:31]) == (
        "",
        "language 'de' has no words of '",
    )
    *_, found = measure(data, PageSettings(metrics=("lic",), trials=2), lambda step, done: None)
    assert "tok:de" in found.audit.signatures["lic"]


def test_scenes_are_compared_within_once_their_column_is_chosen():
    planted = plant(200, scenes=True)
    content = {"id": range(200), "caption": planted.predictions, "sex": planted.attributes, "set": planted.scene}
    data = with_columns(data_of(content), READ | {"scene_column": "set"})
    *_, found = measure(data, PageSettings(trials=2), lambda step, done: None)
    assert "yardstick:scenes" in found.audit.signatures["sway"]
    assert "--scene-column set" in found.command
    assert {"more than people", "like people"}.isdisjoint(found.audit.verdicts.values())


def test_what_was_looked_at_is_not_read_again_as_long_as_the_data_are_there():
    data = with_columns(data_of({"id": range(40), "caption": ["a man"] * 40, "sex": ["female", "male"] * 20}), READ)
    assert look(data, "gender").images == 40
    kept = read(data)
    assert read(data) is kept
    others = [replace(data) for _ in range(2)]
    for other in others:
        read(other)
    assert read(data) is not kept, "only the latest are kept"
