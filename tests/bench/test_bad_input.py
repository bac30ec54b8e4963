"""What some metrics alone refuse; what all do is in `tests/metrics/test_conformance.py`."""

import math
import re

import numpy as np
import pytest

from captionbias import metrics
from captionbias.synthetic import plant
from tests.whole import dbac, lic

FAST = {"preset": "fast", "trials": 1, "bootstrap": 20, "alignment": "constant"}
IMAGES = 60
both = pytest.mark.parametrize("metric", [lic, dbac], ids=lambda metric: metric.name)


@pytest.fixture
def planted():
    return vars(plant(images=IMAGES, captions=2))


def fault(name, given):
    metric = getattr(metrics, name)
    with pytest.raises(ValueError, match=r".") as raised:
        metric(**{key: value for key, value in (FAST | given).items() if key in metric.options()})
    return str(raised.value)


@both
def test_a_label_needs_ten_images_to_split(metric, planted):
    labels = ["male"] * 10 + ["female"] * (IMAGES - 10)
    assert metric(**{**planted, "attributes": labels}, **FAST)
    assert fault(metric.name, planted | {"attributes": ["female", *labels[1:]]}).startswith(
        "attributes: 'male' has 9 images, and an attacker needs at least 10 a value; add images, le"
    )


SILENT = {"references": [["a woman"], ["a man"]] * (IMAGES // 2), "tasks": None}
UNKNOWN = {"attributes": ["female"] * 17 + ["both"] * (IMAGES - 17)}
UNSAID = {"female": ["unsaid"], "male": ["unheard"]}
NO_TASK = {"tasks": [["unicorn"], ["griffin"]] * (IMAGES // 2)}
PREDICTED = {"attributes": ["f", "m"] * 30, "tasks": [["dog"], [], ["cat"], ["dog"]] * 15}
PREDICTED |= {"predicted_tasks": PREDICTED["tasks"], "predicted_attributes": PREDICTED["attributes"]}
FLAGS = np.eye(3)[[0, 1] * 30]
TRAINED = {"training_attributes": PREDICTED["attributes"], "training_tasks": PREDICTED["tasks"]}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(("dbac", {"directions": wrong}, "directions must list one or both") for wrong in ("a_to_t", [], ["a"], 5)),
        ("dbac", {"pairing": "pairs"}, "pairing 'pairs' is unknown"),
        ("dbac", {"task_lexicon": UNSAID}, "task_lexicon 'custom': none"),
        ("dbac", {"attribute_lexicon": UNSAID}, "attribute_lexicon 'custom': none of its words"),
        ("dbac", NO_TASK, "tasks: none of its names"),
        ("dbac", SILENT, "references: no human caption names a task"),
        ("dbac", {"alignment": "contextual", "vectors": "nope.txt"}, "vectors: there is no file nope"),
        ("sway", {"predictions": None}, "predictions is missing"),
        ("sway", {"scene": [0] * IMAGES}, "scene: images of a scene are compared with each other, without human"),
        ("sway", {"scene": range(IMAGES), "references": None}, "scene: no scene has images of two values"),
        ("sway", {"scene": [0, None] * (IMAGES // 2), "references": None}, r"scene\[1\] is None: name the scene"),
        ("sway", {"attribute_lexicon": {"female": ["lass"], "male": ["lad"]}}, "attribute_lexicon 'custom.*: none of"),
        ("sway", {"task_lexicon": UNSAID, "tasks": None}, "task_lexicon 'custom.*: none of its words occurs"),
        ("sway", {"lean": "mine"}, "lean 'mine' is unknown"),
        ("sway", {"lean": "shipped", "task_lexicon": {"dog": ["dog"]}}, "lean 'shipped': there is a table for"),
        ("sway", {"draws": 0}, "draws must be a whole number"),
        *(
            ("gender_error", {"attribute_lexicon": {word: [word] for word in words}}, "attribute_lexicon 'custom' has")
            for words in ("a", "abc")
        ),
        ("ba_mals", {"references": None}, "references is missing"),
        ("ba_mals", {"words": True, "most_frequent": 0}, "most_frequent must be a whole number"),
        ("ba_mals", {"words": True, "at_least": -1}, "at_least must be a whole number"),
        ("ba_mals", SILENT, "tasks: none occurs with an attribute value"),
        ("dpa", {"references": None, "tasks": None}, "tasks is missing"),
        ("dpa", {"attributes": None}, "attributes is missing"),
        ("dpa", UNKNOWN, "attributes: 'both' is not a label of .*, and 43 of 60 images have it"),
        ("dpa", NO_TASK, "tasks: none of its names"),
        ("dpa", {"predicted_tasks": PREDICTED["tasks"]}, "predicted_tasks: labels are found in captions"),
        ("label_leakage", {"predictions": ["a man", "a girl"] * 30, "trust_rows": True}, "predicted_tasks: nothing is"),
        ("directional_ba", TRAINED, "training_attributes: labels are found in captions"),
        *((name, SILENT, "references: no human caption names") for name in ("directional_ba", "dpa")),
    ],
)
def test_captions_that_cannot_be_measured(name, change, message, planted):
    assert re.match(message, fault(name, planted | change))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("directional_ba", {"tasks": None}, "tasks is missing"),
        ("directional_ba", {"tasks": PREDICTED["tasks"] * 2}, "attributes has length 60 and tasks has length 120"),
        ("directional_ba", {"predicted_tasks": PREDICTED["tasks"][1:]}, "attributes has length 60 and predicted_tasks"),
        ("directional_ba", {"predicted_tasks": FLAGS}, "predicted_tasks is an array without names"),
        ("directional_ba", {"training_tasks": TRAINED["training_tasks"]}, "training_attributes and training_tasks bel"),
        (
            "directional_ba",
            TRAINED | {"training_tasks": TRAINED["training_tasks"][1:]},
            "training_attributes has length 60 and",
        ),
        ("directional_ba", TRAINED | {"training_tasks": FLAGS}, "training_tasks has 3 labels"),
        ("ba_mals", {"words": True}, "references is missing"),
        ("dpa", {"predicted_tasks": [[]] * 60}, "a_to_t: nothing is predicted for any image"),
        ("dpa", {"predicted_attributes": [[]] * 60}, "t_to_a: nothing is predicted for any image"),
        ("dpa", {"precision": "bf16"}, "precision 'bf16': encoder 'linear' has no choice"),
        ("label_leakage", {"attributes": ["f"] * 60}, "attributes has the same value in all rows"),
        ("label_leakage", {"predicted_tasks": [[]] * 60}, "predicted_tasks: nothing is predicted"),
    ],
)
def test_labels_that_cannot_be_measured(name, change, message):
    assert re.match(message, fault(name, PREDICTED | change))


TEXTS = ["رجل يركب دراجة", "אישה עם כלב", "👩‍🦰🛹", "女の人と犬", "...", "\u200f!", "<gender> <unk>"]
TEXTS += ["a\tMAN\nwith\u00a0a 🐕 dog", "man " * 2500, "a woman with a dog"]


@both
def test_any_text_is_scored(metric, planted):
    odd = [TEXTS[row % len(TEXTS)] for row in range(IMAGES)]
    for changed in ({"predictions": odd}, {"references": [[text] for text in odd]}):
        result = metric(**planted | changed, **FAST)
        assert all(math.isfinite(value) for key, value in result.items() if key not in ("signature", "dbac_worst"))


def test_too_little_memory_is_said_with_what_helps(planted):
    said = fault("sway", planted | {"tokenizer": lambda _: np.zeros(10**15)})
    assert said.endswith("need more memory than is free: measure a random part of them, or give draws=1 to sway")
