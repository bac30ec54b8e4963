"""Captioners on the same images: rows that belong together, what is left out and noted, and what is refused."""

import pytest

from captionbias.captions import CaptionBiasWarning, check_captioners, check_captions, on_the_same_images
from tests.refusals import refuses

LABELS = {"7": "female", "9": "male", "12": "female", "x": "female", "0": "male"}


def captions(name, ids, **changed):
    """Captions that say whose they are and of which image."""
    people = {
        "references": [[f"people of {image}"] for image in ids],
        "attributes": [LABELS[image] for image in ids],
        "tasks": [[f"task {image}"] for image in ids],
    }
    return check_captions(predictions=[f"{name} of {image}" for image in ids], image_ids=ids, **{**people, **changed})


def test_images_that_not_all_captioners_have_are_left_out_and_counted_for_each():
    read = {
        "nic": captions("nic", ["7", "9", "12", "x"]),
        "sat": captions("sat", ["9", "x"]),
        "fc": captions("fc", ["x", "9", "7"], tasks=[["task x"], ["task 9"], ["another"]]),  # of an image left out
    }
    with pytest.warns(CaptionBiasWarning) as noted:
        found = on_the_same_images(read)
    assert found["fc"].image_ids == ("9", "x")
    assert found["fc"].predictions == ("fc of 9", "fc of x")
    assert [str(one.message).partition(" are ")[0] for one in noted] == ["2 of 4 images of nic", "1 of 3 images of fc"]
    assert {one.filename for one in noted} == {__file__}


def test_captioners_without_a_common_image_and_no_captioner_are_refused():
    read = {"nic": captions("nic", ["7", "9"]), "sat": captions("sat", ["12", "0"])}
    refuses("predictions: nic, sat have no image in common", on_the_same_images, read)
    refuses("read is empty: give at least one captioner's captions", on_the_same_images, {})
    refuses("predictions is empty: give at least one captioner's", check_captioners, {}, attributes=["female", "male"])


DIFFER, ALONE = "of nic and sat differ on the same images: give one file", "are given for sat alone: give one file"


@pytest.mark.parametrize(
    ("argument", "sat", "nic", "told"),
    [
        ("attributes", ["male", "female"], ["female", "male"], DIFFER),
        ("references", [["people of 7"], ["others of 9"]], [["people of 7"], ["people of 9"]], DIFFER),
        ("tasks", [[], ["task 9"]], [["task 7"], ["task 9"]], DIFFER),
        ("tasks", [["dog"], []], None, ALONE),
        ("weights", [1, 2], None, ALONE),
    ],
)
def test_different_things_known_of_an_image_are_refused_by_name(argument, sat, nic, told):
    read = {name: captions(name, ["7", "9"], **{argument: of}) for name, of in (("nic", nic), ("sat", sat))}
    refuses(f"{argument} {told} of them for all", on_the_same_images, read)


def test_lists_are_checked_once_and_the_captioner_of_a_bad_caption_is_named():
    people = {"references": [["he"], ["she"]], "attributes": ["m", "f"]}
    found = check_captioners({"nic": ["a man", "a girl"], "sat": ["a guy", "a dog"]}, **people)
    assert found["sat"] == check_captions(predictions=["a guy", "a dog"], **people)
    assert found["nic"].words().human_image is found["sat"].words().human_image
    refuses(r"^sat: predictions\[1\] is of type int", check_captioners, {"nic": ["a", "b"], "sat": ["a", 3]}, **people)
    people["references"][1] = "she"
    refuses(r"^references\[1\] is of type str", check_captioners, {"nic": ["a man", "a girl"]}, **people)


def test_of_lists_the_images_that_every_captioner_has_a_caption_of():
    people = {"references": [["he"], ["she"], ["a boy"], ["a lady"]], "attributes": ["m", "f", "m", "f"]}
    said = {"nic": ["a man", "a girl", "a kid", "a dog"], "sat": ["a guy", "", "a son", None], "fc": [*"bcde"]}
    refuses(
        "^sat: predictions: 2 of 4 images have no caption .* which leaves 'm' alone", check_captioners, said, **people
    )
    said["sat"][1] = "a mum"
    with pytest.warns(CaptionBiasWarning, match="1 of 4 images of nic are left out"):
        checked = check_captioners(said, **people)
    assert [list(captions.predictions) for captions in checked.values()] == [texts[:3] for texts in said.values()]
    assert checked["sat"].notes[0].startswith("1 of 4 images have no caption (f 1 of 2, m 0 of 2)")
    assert {captions.attributes for captions in checked.values()} == {("m", "f", "m")}
