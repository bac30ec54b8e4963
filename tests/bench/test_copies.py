"""Copies of a picture, as a table with a row a person has them, are one picture: they are no evidence of anything."""

import pytest

from captionbias.bench.catalogue import SCORES, of_captions
from captionbias.bench.verdicts import CANNOT_TELL
from captionbias.captions import check_captions
from captionbias.metrics import find_metric
from captionbias.synthetic import plant

QUICK = {"preset": "fast", "trials": 3, "cache": False, "bootstrap": 200}


@pytest.fixture(scope="module")
def copied():
    """A faithful captioner, four rows a picture."""
    planted = vars(plant(200, captions=5))
    rows = {name: [value for value in values for _ in range(4)] for name, values in planted.items()}
    return check_captions(**rows, image_ids=[f"{number:04d}" for number in range(800)])


@pytest.mark.parametrize("metric", of_captions())
def test_copies_give_the_intervals_of_the_pictures_and_no_verdict(metric, copied):
    measure, quick = find_metric(metric).measure, find_metric(metric).accepted(QUICK)
    measured = measure(copied, **quick)
    assert any("800 images have the human captions of 200 pictures" in said for said in measured.notes)
    judged = [key for key in measured.estimates if SCORES[key].judged]
    assert {measured.estimates[key].verdict for key in judged} <= {CANNOT_TELL, None}
    once = measure(**vars(plant(200, captions=5)), **quick)
    for key in judged:
        width, own = (one.estimates[key].high - one.estimates[key].low for one in (once, measured))
        assert own >= 0.55 * width, key  # four times as many pictures would halve it


def test_a_few_pictures_alike_and_single_captions_are_no_copies():
    said = "a man {} of many men", "a guy with a dog and a cat"
    texts = [[f"{text.format(number)} {k}" for k in range(4) for text in said] for number in range(40)]
    labels = ["female", "male"] * 20
    assert check_captions(references=[*texts[:-1], texts[0]], attributes=labels).copies is None
    assert check_captions(references=[["a man", "a guy"]] * 40, attributes=labels).copies is None
    assert check_captions(references=texts[:20] * 2, attributes=labels).copies.max() == 19
