"""Held-out pairing: which human caption a trial draws of each image, what the others say, and who takes part."""

import json
import warnings

import numpy as np
import pytest

from captionbias.attackers.base import stratified_split
from captionbias.bench.reading import draw_captions
from captionbias.captions import CaptionBiasWarning
from captionbias.synthetic import TASKS, plant
from tests.whole import dbac, whole

few_images = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
IMAGES = 120


@pytest.fixture(scope="module")
def planted():
    """Three human captions an image, and no tasks."""
    return {**vars(plant(images=IMAGES, captions=3)), "tasks": None}


def with_one_reference(planted, images):
    """Of all images but so many, the first, the other human captions are lost."""
    return {**planted, "references": [row if i < images else row[:1] for i, row in enumerate(planted["references"])]}


def named_by_any(texts):
    return {task for task in TASKS for text in texts if f"a {task}" in text}


# What is drawn.


@pytest.mark.parametrize("captions", [2, 5])
def test_every_caption_of_an_image_is_as_likely_as_the_others(captions):
    """Over images, and for one image over seeds: within four standard errors."""
    image = np.repeat(np.arange(5000), captions)
    of_images = draw_captions(image, 5000, seed=3) % captions
    of_seeds = np.array([draw_captions(image[: 10 * captions], 10, seed)[7] % captions for seed in range(2000)])
    for places in (of_images, of_seeds):
        shares = np.bincount(places, minlength=captions) / len(places)
        assert abs(shares - 1 / captions).max() < 4 * np.sqrt(1 / captions * (1 - 1 / captions) / len(places))


def test_copies_of_a_picture_draw_the_caption_of_the_picture_alone():
    pictures = np.array([0, 1, 2, 1, 0])
    images = draw_captions(np.repeat(np.arange(5), 4), 5, 7, pictures) % 4
    assert images.tolist() == (draw_captions(np.repeat(np.arange(3), 4), 3, 7) % 4)[pictures].tolist()


# Images with a single human caption.


@few_images
def test_images_with_a_single_caption_and_no_tasks_take_no_part_in_t_to_a(planted):
    """The others are measured as though they were all."""
    captions = with_one_reference(planted, images=80)
    with pytest.warns(CaptionBiasWarning, match="t_to_a: 40 of 120 images have a single human caption and no tasks"):
        found = dbac.measure(**captions, **FAST, details=True)
    assert len(found.artefacts.plans["a_to_t"].trials["m"][0][0].examples.tokens) == IMAGES
    assert len(found.artefacts.plans["t_to_a"].trials["m"][0][0].examples.tokens) == 80
    result = whole(found)
    assert (result["test_captions_m_a_to_t"], result["test_captions_m_t_to_a"]) == (24, 16)
    with pytest.warns(CaptionBiasWarning, match="only 40 images"):
        alone = dbac(**{name: values and values[:80] for name, values in captions.items()}, **FAST)
    parts = [key for key in alone if key.endswith(("t_to_a", "t_to_a_matched", "t_to_a_net", "t_to_a_std"))]
    assert len(parts) > 15
    assert {part: result[part] for part in parts} == pytest.approx({part: alone[part] for part in parts}, rel=1e-9)


@few_images
def test_no_trial_is_without_test_captions_where_few_images_take_part(planted):
    """A split of all images would have none of these ten in its test part."""
    few = with_one_reference(planted, images=10)
    seed = next(s for s in range(1000) if not (stratified_split(np.arange(IMAGES) % 2, 0.2, s)[1] < 10).any())
    result = dbac(**few, **FAST | {"seed": seed}, details=True)
    assert result["test_captions_m_t_to_a"] == 2
    json.dumps(result, allow_nan=False)


@few_images
def test_where_no_image_says_its_tasks_t_to_a_says_what_to_give(planted):
    for images, known in ((0, 0), (9, 9)):
        captions = with_one_reference(planted, images)
        with pytest.raises(ValueError, match=rf"^tasks is missing: .* only {known} of .* give tasks, more ref"):
            dbac(**captions, **FAST)
        assert "dbac_a_to_t_net" in dbac(**captions, **FAST, directions=["a_to_t"])


# Every caption a row of its own, as published.


@few_images
def test_as_published_every_caption_is_a_row_of_its_own_and_says_what_the_image_shows(planted):
    message = "t_to_a: the tasks are those that the scored human captions name themselves"
    with pytest.warns(CaptionBiasWarning, match=message):
        found = dbac.measure(**planted, **FAST, pairing="every-caption", details=True)
    assert found.details["drawn"] is None
    plan = found.artefacts.plans["t_to_a"]
    targets = plan.trials["m"][0][0].examples.targets
    assert len(plan.trials["h"][0][0].examples.tokens) == 3 * IMAGES
    assert np.array_equal(plan.trials["h"][0][0].examples.targets, np.repeat(targets, 3, axis=0))
    for row, flags in zip(planted["references"], targets, strict=True):
        assert {plan.classes[task] for task in np.flatnonzero(flags)} == named_by_any(row)


def test_tasks_copied_from_the_references_are_noticed():
    planted = plant(400, captions=3)
    named = [sorted(named_by_any(texts)) for texts in planted.references]
    options = {"preset": "fast", "trials": 1, "bootstrap": 0, "directions": ["t_to_a"], "alignment": "constant"}
    with pytest.warns(CaptionBiasWarning, match="the tasks given are those that the human captions name"):
        dbac(**vars(planted) | {"tasks": named}, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "t_to_a: the tasks given")
        dbac(**vars(planted), **options)
