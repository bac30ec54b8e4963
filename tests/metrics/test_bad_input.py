"""Every entry refuses bad captions and bad options: what, where, and the way out.

`tests/captions/test_check.py` has all that is refused of captions; lexicons, tokenizers, attackers, alignment and
vectors have theirs in their own tests.
"""

from __future__ import annotations

import math

import pytest

from captionbias import metrics
from captionbias.analysis.audit import audit
from captionbias.analysis.compare import compare
from captionbias.metrics import dbac, lic
from captionbias.metrics.catalogue import METRICS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

FAST = {"preset": "fast", "trials": 1, "bootstrap": 20, "alignment": "constant"}
IMAGES = 60


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
    assert message.startswith("attributes: 'rare' has 9 images; an attacker needs at least 10 a value. Add images, le")


OPTIONS = [
    ("preset", ["fast"], "preset ['fast'] is unknown; choose one of "),
    ("encoder", "gru", "encoder 'gru' is unknown; choose one of bow, linear"),
    ("quality", "perplexity", "quality 'perplexity' is unknown; choose one of confidence, accuracy"),
    ("tokenizer", "bpe", "tokenizer 'bpe' is unknown; choose one of words, whitespace"),
    ("alignment", "no", "alignment 'no' is unknown; choose constant or contextual"),
    ("delta", 0, "delta is 0: give a cosine distance above 0 and at most 2"),
    ("attribute_lexicon", "shoes", "lexicon 'shoes' is neither a built-in one"),
    ("task_lexicon", {"shoe": []}, "lexicon 'custom' has no words"),
    ("trials", 0, "trials must be a whole number of 1 or more, not 0"),
    ("seed", None, "seed must be a whole number of 0 or more, not None"),
    ("bootstrap", 2.5, "bootstrap must be a whole number of 0 or more, not 2.5"),
]


@pytest.mark.parametrize(
    ("name", "option", "value", "message"),
    [(name, *row) for name in METRICS for row in OPTIONS if row[0] in getattr(metrics, name).options()],
)
def test_every_metric_refuses_bad_options(name, option, value, message, planted):
    assert fault(getattr(metrics, name), planted, **{option: value}).startswith(message)


DIRECTIONS = "directions must list one or both of a_to_t, t_to_a"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("directions", "a_to_t", f"{DIRECTIONS}, not 'a_to_t'"),
        ("directions", [], f"{DIRECTIONS}, not []"),
        ("directions", ["a_to_t", "a_to_a"], DIRECTIONS),
        ("directions", 5, f"{DIRECTIONS}, not 5"),
        (
            "task_lexicon",
            {f"task {number}": [f"unsaid{number}"] for number in range(500)},
            "task_lexicon 'custom': none",
        ),
        ("attribute_lexicon", {"x": ["unsaid"]}, "attribute_lexicon 'custom': none of its words occurs in any caption"),
        ("tasks", [["unicorn"], *[["griffin"]] * (IMAGES - 1)], "tasks: none of its names"),
    ],
)
def test_a_bad_option_of_dbac(option, value, message, planted):
    assert fault(dbac, {**planted, option: value}).startswith(message)


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
