"""Every entry refuses bad captions and bad options: what, where, and the way out.

`tests/captions/test_check.py` has all that is refused of captions; lexicons, tokenizers, attackers, alignment and
vectors have theirs in their own tests.
"""

import math
import re

import numpy as np
import pytest

from captionbias import metrics
from captionbias.analysis.audit import audit
from captionbias.analysis.compare import compare
from captionbias.bench.catalogue import METRICS
from captionbias.synthetic import plant
from tests.whole import dbac, lic

FAST = {"preset": "fast", "trials": 1, "bootstrap": 20, "alignment": "constant"}
IMAGES = 60
OF_LABELS = ("ba_mals", "directional_ba", "multi_directional_ba", "dpa", "label_leakage")


@pytest.fixture(params=[lic, dbac], ids=["lic", "dbac"])
def metric(request):
    return request.param


@pytest.fixture
def planted():
    return vars(plant(images=IMAGES, captions=2))


def fault(metric, captions, **options):
    fast = {option: value for option, value in FAST.items() if option in metric.options()}
    with pytest.raises(ValueError, match=r".") as raised:
        metric(**captions, **fast | options)
    assert len(str(raised.value)) < 600
    return str(raised.value)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_refuses_bad_captions(name, planted):
    planted["predictions"][17] = 3
    with pytest.raises(ValueError, match=r"^predictions\[17\] is of type int: a caption is a string"):
        getattr(metrics, name)(**planted)


@pytest.mark.parametrize("several", [audit, compare])
def test_of_several_captioners_the_bad_one_is_named(several, planted):
    bad = [*planted["predictions"][:17], 3, *planted["predictions"][18:]]
    captioners = {"nic": planted.pop("predictions"), "sat": bad}
    with pytest.raises(ValueError, match=r"^sat: predictions\[17\] is of type int"):
        several(captioners, **planted)


def test_a_label_needs_ten_images_to_split(metric, planted):
    labels = ["male"] * 10 + ["female"] * (IMAGES - 10)
    assert metric(**{**planted, "attributes": labels}, **FAST)
    message = fault(metric, {**planted, "attributes": ["female", *labels[1:]]})
    assert message.startswith(
        "attributes: 'male' has 9 images, and an attacker needs at least 10 a value; add images, le"
    )


OPTIONS = [
    ("preset", ["fast"], "preset ['fast'] is unknown; choose one of "),
    ("encoder", "gru", "encoder 'gru' is unknown; choose one of bow, linear"),
    ("quality", "perplexity", "quality 'perplexity' is unknown; choose one of confidence, accuracy"),
    ("tokenizer", "bpe", "tokenizer 'bpe' is unknown; choose one of words, whitespace"),
    ("alignment", "no", "alignment 'no' is unknown; choose one of constant, contextual"),
    ("delta", 0, "delta is 0: give a cosine distance above 0 and at most 2"),
    ("attribute_lexicon", "shoes", "lexicon 'shoes' is neither a built-in one"),
    ("task_lexicon", {"shoe": []}, "lexicon 'custom' has no words"),
    ("trials", 0, "trials must be a whole number of 1 or more, not 0"),
    ("unseen_only", 1, "unseen_only must be True or False, not 1"),
    ("details", "no", "details must be True or False, not 'no'"),
    ("distributed", 1, "distributed must be True or False, not 1"),
    ("seed", None, "seed must be a whole number of 0 or more, not None"),
    ("bootstrap", 2.5, "bootstrap must be a whole number of 0 or more, not 2.5"),
    ("bootstrap", 2, "bootstrap must be 20 or more, or 0 for no intervals, not 2"),
    *(("vocabulary", wrong, "vocabulary must be a list of words, or a JSON file") for wrong in ([], [1, 2], {"a": 0})),
    ("vocabulary", "nowhere.json", "vocabulary 'nowhere.json' cannot be read: "),
]


@pytest.mark.parametrize(
    ("name", "option", "value", "message"),
    [(name, *row) for name in METRICS for row in OPTIONS if row[0] in getattr(metrics, name).options()],
)
def test_every_metric_refuses_bad_options(name, option, value, message, planted):
    assert fault(getattr(metrics, name), planted, **{option: value}).startswith(message)


SILENT = {"references": [["a woman"], ["a man"]] * (IMAGES // 2), "tasks": None}
UNKNOWN = {"attributes": ["female"] * 17 + ["both"] * (IMAGES - 17)}
UNSAID = {"female": ["unsaid"], "male": ["unheard"]}
LABELS = {"attributes": ["f", "m"] * 30, "tasks": [["dog"], [], ["cat"], ["dog"]] * 15}
PREDICTED = LABELS | {"predicted_tasks": LABELS["tasks"], "predicted_attributes": LABELS["attributes"]}
FLAGS = np.eye(3)[[0, 1] * 30]
TRAINED = {"training_attributes": LABELS["attributes"], "training_tasks": LABELS["tasks"]}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(("dbac", {"directions": wrong}, "directions must list one or both") for wrong in ("a_to_t", [], ["a"], 5)),
        ("dbac", {"pairing": "pairs"}, "pairing 'pairs' is unknown"),
        ("dbac", {"task_lexicon": UNSAID}, "task_lexicon 'custom': none"),
        ("dbac", {"attribute_lexicon": UNSAID}, "attribute_lexicon 'custom': none of its words"),
        ("dbac", {"tasks": [["unicorn"], ["griffin"]] * (IMAGES // 2)}, "tasks: none of its names"),
        ("dbac", SILENT, "references: no human caption names a task"),
        ("sway", {"predictions": None}, "predictions is missing"),
        ("sway", {"scene": [0] * IMAGES}, "scene: images of a scene are compared with each other, without human"),
        ("sway", {"scene": range(IMAGES), "references": None}, "scene: no scene has images of two values"),
        ("sway", {"scene": [0, None] * (IMAGES // 2), "references": None}, r"scene\[1\] is None: name the scene"),
        ("sway", {"references": [["a woman"]] * IMAGES, "tasks": None}, "references: no image has two human captions"),
        ("sway", UNKNOWN, "attributes: 'both' is not a label of .*, and 43 of 60 images have it"),
        ("sway", {"attribute_lexicon": ["gender", "race"]}, "attribute_lexicon 'race': none of its words occurs"),
        ("sway", {"attribute_lexicon": {"female": ["lass"], "male": ["lad"]}}, "attribute_lexicon 'custom.*: none of"),
        ("sway", {"task_lexicon": UNSAID, "tasks": None}, "task_lexicon 'custom.*: none of its words occurs"),
        ("sway", {"lean": "mine"}, "lean 'mine' is unknown"),
        ("sway", {"lean": "shipped", "task_lexicon": {"dog": ["dog"]}}, "lean 'shipped': there is a table of"),
        ("sway", {"draws": 0}, "draws must be a whole number"),
        ("gender_error", {"predictions": None}, "predictions is missing"),
        ("gender_error", UNKNOWN, "attributes: 'both' is not a label of .*, and 43 of 60 images have it"),
        ("gender_error", {"attribute_lexicon": {"a": ["a"]}}, "attribute_lexicon 'custom' has 1 labels"),
        (
            "gender_error",
            {"attribute_lexicon": {"a": ["a"], "b": ["b"], "c": ["c"]}},
            "attribute_lexicon 'custom' has 3",
        ),
        ("ba_mals", {"references": None}, "references is missing"),
        ("ba_mals", {"predictions": None}, "predictions is missing"),
        ("ba_mals", {"words": True, "most_frequent": 0}, "most_frequent must be a whole number"),
        ("ba_mals", {"words": True, "at_least": -1}, "at_least must be a whole number"),
        ("ba_mals", SILENT, "tasks: none occurs with an attribute value"),
        ("dpa", {"predictions": None}, "predictions is missing"),
        ("dpa", {"references": None, "tasks": None}, "tasks is missing"),
        ("dpa", {"attributes": None}, "attributes is missing"),
        ("dpa", UNKNOWN, "attributes: 'both' is not a label of .*, and 43 of 60 images have it"),
        ("dpa", {"tasks": [["unicorn"], ["griffin"]] * (IMAGES // 2)}, "tasks: none of its names"),
        ("dpa", {"predicted_tasks": LABELS["tasks"]}, "predicted_tasks: labels are found in captions"),
        (
            "label_leakage",
            {"predictions": ["a man", "a girl"] * (IMAGES // 2), "trust_rows": True},
            "predicted_tasks: nothing is predicted",
        ),
        ("directional_ba", TRAINED, "training_attributes: labels are found in captions"),
        ("directional_ba", {"references": None, "tasks": None}, "tasks is missing"),
        *(
            (name, SILENT, "references: no human caption names")
            for name in ("directional_ba", "multi_directional_ba", "dpa")
        ),
    ],
)
def test_captions_that_cannot_be_measured(name, change, message, planted):
    given = {key: value for key, value in (planted | change).items() if key in getattr(metrics, name).options()}
    assert re.match(message, fault(getattr(metrics, name), given))


@pytest.mark.parametrize("name", OF_LABELS)
def test_every_metric_of_labels_refuses_bad_labels(name):
    def of(**columns):
        given = {key: value for key, value in columns.items() if key in getattr(metrics, name).options()}
        return fault(getattr(metrics, name), given)

    assert of().startswith("attributes is missing")
    assert of(**PREDICTED | {"predicted_tasks": [["dog"]] * 17 + [["gnu"]] * 43}).startswith("predicted_tasks[17]")
    assert re.match("predicted_tasks.* missing", of(**LABELS))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("directional_ba", {"tasks": None}, "tasks is missing"),
        ("directional_ba", {"tasks": LABELS["tasks"] * 2}, "attributes has length 60 and tasks has length 120"),
        ("directional_ba", {"predicted_tasks": LABELS["tasks"][1:]}, "attributes has length 60 and predicted_tasks"),
        ("directional_ba", {"predicted_tasks": FLAGS}, "predicted_tasks is an array without names"),
        ("directional_ba", {"training_tasks": LABELS["tasks"]}, "training_attributes and training_tasks belong"),
        ("directional_ba", TRAINED | {"training_tasks": LABELS["tasks"][1:]}, "training_attributes has length 60 and"),
        ("directional_ba", TRAINED | {"training_tasks": FLAGS}, "training_tasks has 3 labels"),
        ("ba_mals", {"words": True}, "references is missing"),
        ("ba_mals", {"weights": [1.0, 2.0]}, "weights has length 2"),
        ("ba_mals", {"weights": [1.0, 0.0] * 30}, r"weights\[1\] is 0.0: a weight is a number above 0"),
        ("dpa", {"predicted_tasks": [[]] * 60}, "a_to_t: nothing is predicted for any image"),
        ("dpa", {"predicted_attributes": [[]] * 60}, "t_to_a: nothing is predicted for any image"),
        ("dpa", {"precision": "bf16"}, "precision 'bf16': encoder 'linear' has no choice"),
        ("label_leakage", {"precision": "fp32"}, "precision 'fp32': encoder 'linear' has no choice"),
        ("label_leakage", {"attributes": ["f"] * 60}, "attributes has the same value in all rows"),
        ("label_leakage", {"predicted_tasks": [[]] * 60}, "predicted_tasks: nothing is predicted"),
    ],
)
def test_labels_that_cannot_be_measured(name, change, message):
    given = {key: value for key, value in (PREDICTED | change).items() if key in getattr(metrics, name).options()}
    assert re.match(message, fault(getattr(metrics, name), given))


def test_vectors_that_do_not_exist_are_refused_even_if_no_word_needs_them():
    captions = ["a woman with a cake", "a man with a dog"] * 40
    with pytest.raises(ValueError, match="vectors: there is no file nope"):
        dbac(
            predictions=captions,
            references=[[f"{text} here", f"{text} there"] for text in captions],
            attributes=["female", "male"] * 40,
            preset="fast",
            trials=1,
            vectors="nope.txt",
        )


# --- odd captions that are not bad ---


@pytest.mark.parametrize("side", ["predictions", "references"])
def test_any_text_is_scored(side, metric, planted):
    texts = [
        "رجل يركب دراجة",
        "אישה עם כלב",
        "👩‍🦰🛹",
        "女の人と犬",
        "...",
        "\u200f!",
        "<gender> <unk>",
        "a\tMAN\nwith\u00a0a 🐕 dog",
    ]
    texts += ["man " * 2500, "a woman with a dog"]
    odd = [texts[row % len(texts)] for row in range(IMAGES)]
    result = metric(**{**planted, side: odd if side == "predictions" else [[text] for text in odd]}, **FAST)
    assert all(math.isfinite(value) for key, value in result.items() if key != "signature")
