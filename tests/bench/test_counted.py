"""Metrics that count: weights are repeated images, and several captions of an image are images of less weight."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.metrics import ba_mals, directional_ba, gender_error, multi_directional_ba, quality_gaps, resolution
from captionbias.synthetic import plant
from tests.metrics.by_definition import label_tables, scores

METRICS = [quality_gaps, resolution, gender_error, ba_mals, directional_ba, multi_directional_ba]
each = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
IMAGES = 20


def columns(seed=0, images=IMAGES, **dials):
    """With human captions enough, of words enough, for copies of a picture to be told by."""
    return vars(plant(images, captions=8, seed=seed, **dials))


def repeated(rows_by_name, times):
    return {
        name: [value for value, count in zip(rows, times, strict=True) for _ in range(count)]
        for name, rows in rows_by_name.items()
    }


@each
@settings(deadline=None, max_examples=8)
@given(st.lists(st.integers(1, 4), min_size=IMAGES - 3, max_size=IMAGES - 3), st.integers(0, 99), st.data())
def test_whole_weights_are_repeated_images_to_the_last_digit(metric, weights, seed, data):
    """Values, intervals, one more person and tables; without weights details count images."""
    weights = [4, 1, 2, *weights]  # some images are repeated
    given, options = columns(seed, a_to_t=0.3, t_to_a=0.2), {"bootstrap": 40, "seed": seed % 3, "details": True}
    if metric is ba_mals and data.draw(st.booleans()):
        options |= {"words": True, "at_least": data.draw(st.integers(0, 4))}
    weighted, copied = metric(**given, weights=weights, **options), metric(**repeated(given, weights), **options)
    assert scores(weighted) == scores(copied)
    assert "weights:" in weighted["signature"]
    for table in ("pairs", "captions"):
        assert weighted["details"].get(table) == copied["details"].get(table)


@pytest.mark.parametrize("metric", METRICS[3:], ids=lambda metric: metric.name)
@settings(deadline=None, max_examples=30)
@given(label_tables(), st.data())
def test_whole_weights_of_labels_are_repeated_images(metric, table, data):
    images = len(table["tasks"])
    times = data.draw(st.lists(st.integers(1, 3), min_size=images, max_size=images))
    outcomes = []
    for labels, weights in ((table, times), ({name: rows.repeat(times, axis=0) for name, rows in table.items()}, None)):
        try:
            outcomes.append(scores(metric(**labels, weights=weights, bootstrap=0)))
        except ValueError as error:  # of few images, no task may occur with a value
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@each
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 99))
def test_two_captions_of_an_image_are_two_images_of_half_its_weight(metric, seed):
    given, other = columns(seed), columns(seed, a_to_t=0.9, t_to_a=0.5)["predictions"]
    samples = list(map(list, zip(given["predictions"], other, strict=True)))
    alone = repeated(given, [2] * IMAGES) | {"predictions": [text for pair in samples for text in pair]}
    sampled = metric(**given | {"predictions": samples}, bootstrap=40)
    assert scores(sampled) == scores(metric(**alone, bootstrap=40))
