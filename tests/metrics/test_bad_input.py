"""Every entry refuses bad captions, and LIC and DBAC refuse bad options: what, where, and the way out.

`tests/captions/test_check.py` has all that is refused of captions.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from captionbias import metrics
from captionbias.analysis.audit import audit
from captionbias.analysis.compare import compare
from captionbias.metrics import dbac, lic
from captionbias.metrics.catalogue import METRICS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

FAST = {"preset": "fast", "trials": 1, "bootstrap": 5, "alignment": "constant"}
IMAGES = 60


@pytest.fixture(params=[lic, dbac], ids=["lic", "dbac"])
def metric(request):
    return request.param


@pytest.fixture
def planted():
    return vars(plant(images=IMAGES, captions=2))


def fault(metric, captions, **options):
    with pytest.raises(ValueError, match=r".") as raised:
        metric(**captions, **{**FAST, **options})
    return str(raised.value)


def says(message, *parts):
    """The message has every part, in this order, and is of a length that is read."""
    place = 0
    for part in parts:
        assert part in message[place:], message
        place = message.index(part, place) + len(part)
    assert len(message) < 600
    return True


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_refuses_bad_captions(name, planted):
    planted["predictions"][17] = " "
    with pytest.raises(ValueError, match=r"^predictions\[17\] is empty: drop the image or add a caption"):
        getattr(metrics, name)(**planted)


@pytest.mark.parametrize("several", [audit, compare])
def test_of_several_captioners_the_bad_one_is_named(several, planted):
    bad = [*planted["predictions"][:17], None, *planted["predictions"][18:]]
    captioners = {"nic": planted.pop("predictions"), "sat": bad}
    with pytest.raises(ValueError, match=r"^sat: predictions\[17\] is missing"):
        several(captioners, **planted)


def test_a_label_needs_ten_images_to_split(metric, planted):
    labels = ["rare"] * 10 + ["female"] * (IMAGES - 10)
    assert metric(**{**planted, "attributes": labels}, **FAST)
    message = fault(metric, {**planted, "attributes": ["female", *labels[1:]]})
    assert says(message, "attributes: 'rare' has 9 images", "at least 10", "Add images, or leave that value out")


OPTIONS = [
    ("preset", "lic-1922", "preset 'lic-1922' is unknown; choose one of", "fast"),
    ("preset", ["fast"], "preset ['fast'] is unknown; choose one of", "fast"),
    ("encoder", "bert", "encoder 'bert' is unknown; choose one of", "bow, linear, lstm"),
    ("tokenizer", "bpe", "tokenizer 'bpe' is unknown; choose one of", "words, whitespace"),
    ("alignment", "no", "alignment 'no' is unknown; choose", "constant or contextual"),
    ("delta", 0, "delta is 0: give a cosine distance", "above 0 and at most 2"),
    ("delta", 2.1, "delta is 2.1: give a cosine distance", "above 0 and at most 2"),
    ("delta", math.nan, "delta is nan: give a cosine distance", "above 0 and at most 2"),
    ("delta", "0.4", "delta is '0.4': give a cosine distance", "above 0 and at most 2"),
    ("attribute_lexicon", "shoes", "lexicon 'shoes' is neither a built-in one", "nor a JSON file that exists"),
    ("attribute_lexicon", {"female": [], "male": []}, "lexicon 'custom' has no words", "map each label to the words"),
    ("attribute_lexicon", {"female": "woman"}, "lexicon 'custom', label 'female'", "give a list of words"),
    ("attribute_lexicon", {"a": ["one"], "b": ["one"]}, "'one' stands under 'a' and 'b'", "keep one"),
    ("trials", 0, "trials must be a whole number of 1 or more", "not 0"),
    ("seed", None, "seed must be a whole number of 0 or more", "not None"),
    ("bootstrap", 2.5, "bootstrap must be a whole number of 0 or more", "not 2.5"),
]


@pytest.mark.parametrize(("option", "value", "what", "way_out"), OPTIONS)
def test_a_bad_option(option, value, what, way_out, metric, planted):
    assert says(fault(metric, planted, **{option: value}), what, way_out)


@pytest.mark.parametrize(
    ("option", "value", "what", "way_out"),
    [
        ("quality", "perplexity", "quality 'perplexity' is unknown; choose one of", "confidence, accuracy"),
        ("directions", "a_to_t", "directions must list one or both of a_to_t, t_to_a", "not 'a_to_t'"),
        ("directions", [], "directions must list one or both of a_to_t, t_to_a", "not []"),
        ("directions", ["a_to_t", "a_to_a"], "directions must list one or both of a_to_t, t_to_a", "a_to_a"),
        ("directions", 5, "directions must list one or both of a_to_t, t_to_a", "not 5"),
        ("task_lexicon", "shoes", "lexicon 'shoes' is neither a built-in one", "nor a JSON file that exists"),
        ("task_lexicon", {"shoe": ["unworn"]}, "task_lexicon", "none of its words occurs in any caption; give the"),
        ("attribute_lexicon", {"x": ["unsaid"]}, "attribute_lexicon", "none of its words occurs in any caption; give"),
    ],
)
def test_a_bad_option_of_dbac(option, value, what, way_out, planted):
    assert says(fault(dbac, planted, **{option: value}), what, way_out)


def test_a_long_lexicon_that_fits_no_caption_is_not_printed_whole(planted):
    lexicon = {f"task {number}": [f"unsaid{number}"] for number in range(500)}
    assert len(fault(dbac, planted, task_lexicon=lexicon)) < 300


def test_tasks_that_no_lexicon_knows(planted):
    strange = {**planted, "tasks": [["unicorn"], *[["griffin"]] * (IMAGES - 1)]}
    assert says(fault(dbac, strange), "tasks: none of its names (griffin, unicorn", "give a task_lexicon with these")
    assert says(fault(dbac, {**planted, "tasks": [[]] * IMAGES}), "tasks has no task in any image", "leave tasks out")


def test_human_captions_that_name_no_task(planted):
    silent = {**planted, "references": [["a woman"], ["a man"]] * (IMAGES // 2), "tasks": None}
    assert says(fault(dbac, silent), "references: no human caption names a task", "give tasks")
    assert dbac(**silent, **FAST, directions=["a_to_t"])


def test_an_attribute_lexicon_is_needed_for_what_captions_name_only(planted):
    """A to T asks for the label of the image, and masks words that may well be none."""
    assert dbac(**planted, **FAST, attribute_lexicon={"x": ["unsaid"]}, directions=["a_to_t"])


@pytest.mark.parametrize(
    ("vectors", "what", "way_out"),
    [
        ("no-such-vectors.txt", "there is no file no-such-vectors.txt", "vectors='captions'"),
        ({"dog": [1.0]}, "vectors cannot be a dict", "pass model.wv"),
    ],
)
def test_bad_vectors(vectors, what, way_out, metric, planted):
    other_words = {**planted, "predictions": ["a man swims", "a woman swims"] * (IMAGES // 2)}
    if metric is dbac:
        other_words["predictions"] = ["a man swims with a dog", "a woman swims with a cake"] * (IMAGES // 2)
    assert says(fault(metric, other_words, alignment="contextual", vectors=vectors), what, way_out)


# Odd captions that are not bad.


def finite(result):
    return all(math.isfinite(value) for key, value in result.items() if key != "signature")


@pytest.mark.parametrize(
    "texts",
    [
        ["رجل يركب دراجة", "אישה עם כלב", "a man with a dog"],
        ["👩‍🦰🛹", "👨‍🎤 🎸🎸", "a man with a 🐕 dog"],
        ["वह एक कुत्ते के साथ है", "女の人と犬", "a man with a dog"],
        ["...", "?", "\u200f!"],
        ["<gender> <unk> <object>", "<mask>", "a man with a dog"],
        ["A MAN WITH A DOG", "a\tman\nwith a dog", "a man\u00a0with a dog"],
    ],
    ids=["right-to-left", "emoji", "scripts", "punctuation", "mask tokens", "blanks"],
)
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_any_text_is_scored(texts, side, metric, planted):
    odd = [texts[row % len(texts)] for row in range(IMAGES)]
    column = odd if side == "predictions" else [[text] for text in odd]
    assert finite(metric(**{**planted, side: column}, **FAST))


def test_a_caption_of_ten_thousand_characters_is_still_scored(metric, planted):
    planted["predictions"][17] = "man " * 2500
    assert finite(metric(**planted, **FAST))


@pytest.mark.parametrize("name", ["trials", "seed", "bootstrap"])
def test_whole_numbers_of_numpy_are_whole_numbers(name, metric, planted):
    result = metric(**planted, **{**FAST, name: np.int64(3)}, details=True)
    assert result == metric(**planted, **{**FAST, name: 3}, details=True)
    json.dumps(result)
