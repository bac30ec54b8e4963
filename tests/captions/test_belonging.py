"""What does not belong together is refused, for every metric, and what does belong together never is."""

import pytest

from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.errors import InputError
from captionbias.metrics import catalogue, find_metric
from captionbias.synthetic import plant

PLANTED = vars(plant(400, t_to_a=0.2))


def one_off(column):
    return [*column[1:], column[0]]


def swapped(labels):
    return [{"female": "male", "male": "female"}[label] for label in labels]


SAID, LABELS = PLANTED["predictions"], PLANTED["attributes"]
WRONG = [
    ({"predictions": one_off(SAID)}, "predictions: what they say is in the human captions of the same image in "),
    ({"tasks": one_off(PLANTED["tasks"])}, "tasks: what captions name is among those of the same image in "),
    ({"references": [[one] for one in SAID]}, "predictions: nearly every one is also among the references of its "),
    ({"attributes": swapped(LABELS)}, "attributes: human captions name another value in 100 of 100 images; "),
    ({"attributes": one_off(LABELS)}, "attributes: human captions name another value in "),
]


@pytest.mark.parametrize("metric", [name for name, entry in catalogue.METRICS.items() if not entry.of_images])
@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_every_metric_refuses_what_does_not_belong_together(metric, wrong, message):
    found = find_metric(metric)
    with pytest.raises(InputError) as raised:
        found.measure(**PLANTED | wrong, **found.accepted({"preset": "fast", "trials": 1, "bootstrap": 0}))
    assert str(raised.value).startswith(message)
    assert "trust_rows=True" in str(raised.value)
    assert len(str(raised.value)) <= 300


@pytest.mark.parametrize("scene", [None, [row // 2 for row in range(400)]])
def test_without_people_the_captioner_tells_swapped_labels_and_one_that_names_one_value_always_does_not(scene):
    columns = {**PLANTED, "references": None, "scene": scene, "tasks": None}
    with pytest.raises(InputError, match="attributes: predictions name another value"):
        find_metric("sway").measure(**columns | {"attributes": swapped(PLANTED["attributes"])}, bootstrap=0)
    always = {"predictions": ["a man"] * 400, "attributes": ["male", *["female"] * 3] * 100}
    assert find_metric("sway").measure(**columns | always, bootstrap=0).facts["wrong_female"] == 100


@pytest.mark.parametrize(("wrong", "message"), [WRONG[0], WRONG[-1]])
def test_rows_that_are_trusted_are_measured_with_a_note(wrong, message):
    with pytest.warns(CaptionBiasWarning, match=f"^{message}"):
        measured = find_metric("sway").measure(**PLANTED | wrong, trust_rows=True, bootstrap=0)
    assert any(note.startswith(message) for note in measured.notes)


@pytest.mark.parametrize("images", [2, 20, 400])
@pytest.mark.parametrize("text", ["a woman with a dog", "someone", "a dog"])
def test_a_captioner_that_always_says_the_same_is_no_stranger(images, text):
    part = {name: column[:images] for name, column in PLANTED.items()}
    labels = ["female", "male"] * (images // 2)
    captions = check_captions(**{**part, "predictions": [text] * images, "attributes": labels})
    assert (len(captions), captions.notes) == (images, ())


@pytest.mark.parametrize("seed", range(5))
def test_a_poor_captioner_and_few_images_are_no_strangers(seed):
    """A third of the captions are right, the others are of the next image."""
    columns = vars(plant(300, seed=seed))
    said = one_off(columns["predictions"])
    said[::3] = columns["predictions"][::3]
    assert check_captions(**{**columns, "predictions": said}).notes == ()
    few = {name: column[:15] for name, column in columns.items()}
    assert len(check_captions(**{**few, "predictions": one_off(few["predictions"])})) == 15


def test_labels_that_captions_hardly_name_are_not_contradicted():
    """Skin is named in few captions, often of something else."""
    said = ["a black dog", "someone", "someone", "a white dog", "someone"] * 60
    measured = find_metric("gender_error").measure(
        predictions=[f"{text} here" for text in said],
        references=[[text, "a dog"] for text in said],
        attributes=["light", "dark"] * 150,
        attribute_lexicon={"light": ["white"], "dark": ["black"]},
    )
    assert not any("another value" in note for note in measured.notes)
