"""No metric forgets what an image counts, nor that an image may have several captions."""

from functools import cache

import pytest

from captionbias import metrics
from captionbias.bench.catalogue import METRICS, scores_of
from captionbias.images.drawings import draw
from captionbias.synthetic import plant

every = pytest.mark.parametrize("name", METRICS)
IMAGES = 120
DIALS = {"a_to_t": 0.5, "t_to_a": 0.4}, {"a_to_t": 0.9, "seed": 3}
QUICK = {"preset": "fast", "trials": 2, "epochs": 1, "bootstrap": 20, "cache": False}


def measured(name, **changed):
    planted = plant(IMAGES, captions=2, **DIALS[0])
    pictures = dict(zip(("images", "masks"), draw(planted), strict=True)) if METRICS[name].of_images else {}
    metric = getattr(metrics, name)
    return metric.measure(**vars(planted) | pictures | changed, **metric.accepted(QUICK))


usual = cache(measured)


def moved(name, changed):
    """The keys of scores that a change moved; those that are 0 before and after could not tell."""
    before, after = ({key: one.value for key, one in side.estimates.items()} for side in (usual(name), changed))
    return {key for key in before if after.get(key) != pytest.approx(before[key], abs=1e-9) or not before[key]}


@every
def test_weights_count_for_the_captioner_and_for_people_and_equal_ones_are_as_none(name):
    weighted = measured(name, weights=[1 + row % 7 for row in range(IMAGES)])
    assert "|weights:" in weighted.signature
    assert moved(name, weighted) == usual(name).estimates.keys()
    equal = measured(name, weights=[1.0] * IMAGES)
    assert equal.estimates == usual(name).estimates
    assert equal.signature != usual(name).signature


@every
def test_every_caption_of_an_image_counts_and_several_that_are_alike_count_as_one(name):
    """A note says once how many they are; each image has another number of them, so that rows are not images."""
    said, other = (plant(IMAGES, captions=2, **dials).predictions for dials in DIALS)
    several = measured(name, predictions=list(map(list, zip(said, other, strict=True))))
    assert "|samples:mean" in several.signature
    headlines = {score.key for score in scores_of(name) if score.headline}
    assert headlines & usual(name).estimates.keys() <= moved(name, several)
    equal = measured(name, predictions=[[text] * (1 + row % 3) for row, text in enumerate(said)])
    assert equal.estimates == usual(name).estimates
    assert equal.facts == usual(name).facts
    note = "predictions: each image has 1 to 3 captions, which together count as one"
    assert [text for text in equal.notes if "together count" in text] == [note]
