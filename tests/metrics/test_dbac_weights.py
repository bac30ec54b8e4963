"""Images that count for several, and captioners that were asked several times."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.attackers.registry import find_attacker
from captionbias.bench.attacked import Bench
from captionbias.bench.attacks import answers_to
from captionbias.bench.pairing import PAIRINGS, drawn_captions
from captionbias.bench.protocol import preset_settings
from captionbias.captions import check_captions
from captionbias.captions.texts import in_one_order
from captionbias.metrics import dbac
from captionbias.metrics.dbac import PRESETS
from captionbias.metrics.dbac_direction import ask
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # small sets are weak

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
IMAGES = 120


@pytest.fixture(scope="module")
def planted():
    """One caption in six names nothing."""
    captions = vars(plant(images=IMAGES, captions=3, a_to_t=0.4, t_to_a=0.4))
    texts = [text if row % 6 else "someone poses" for row, text in enumerate(captions["predictions"])]
    return {**captions, "predictions": texts}


def answered(given, **options):
    _, settings = preset_settings(PRESETS, "fast", trials=2, alignment="constant", **options)
    bench = Bench.of(check_captions(**given), settings, seed=0, allow_unmasked=False)
    asked = ask(bench, settings, ("a_to_t", "t_to_a"))
    plans = [plan for one in asked for plan in one.plans.values()]
    answers = answers_to(plans, find_attacker("bow", None, None, False), cache=False, progress=False)
    return [one.answered(answers, settings.quality) for one in asked]


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_an_image_of_weight_3_counts_as_the_image_three_times(pairing, planted):
    """Attackers learn from each image once, whatever its weight: the answers are the same."""
    weights = np.random.default_rng(0).integers(1, 4, size=(IMAGES, 1)).astype(float)
    several, once = (answered(given, pairing=pairing) for given in (planted | {"weights": weights[:, 0]}, planted))
    for weighted, repeated in zip(several, once, strict=True):
        expected, unweighed = repeated.quantities(weights), repeated.quantities(repeated.every_image)
        for key, values in weighted.quantities(weighted.every_image).items():
            assert values == pytest.approx(expected[key])
            assert (values != unweighed[key]).all(), "weights matter here"


def test_a_round_of_trials_draws_one_sample_of_each_image(planted):
    samples = [[text, f"{text} quokka"][: 1 + (row > 0)] for row, text in enumerate(planted["predictions"])]
    samples = in_one_order(samples, once=False)
    image = np.repeat(np.arange(IMAGES), list(map(len, samples)))
    for direction in answered(planted | {"predictions": samples}):
        for trial, compared in zip(direction.plans[""].trials["m"][0], direction.compared, strict=True):
            place = drawn_captions(image, IMAGES, 0) - np.searchsorted(image, np.arange(IMAGES))
            drawn = [texts[number].endswith("quokka") for texts, number in zip(samples, place, strict=True)]
            assert 0 < sum(drawn) < IMAGES
            assert [text.endswith("quokka") for text in trial.examples.tokens.texts()] == drawn
            assert compared.image["m"].tolist() == list(range(IMAGES))


def test_where_every_caption_counts_an_images_samples_share_one(planted):
    """However often it was asked about an image, the captioner names everything as often."""
    often = [[text] * (1 + row % 4) for row, text in enumerate(planted["predictions"])]
    options = FAST | {"pairing": "every-caption"}
    found, expected = (dbac(**planted | {"predictions": one}, **options) for one in (often, planted["predictions"]))
    for direction in ("a_to_t", "t_to_a"):
        assert found[f"dbac_{direction}_prior"] == pytest.approx(expected[f"dbac_{direction}_prior"])
        assert found[f"test_captions_m_{direction}"] == pytest.approx(expected[f"test_captions_m_{direction}"])
