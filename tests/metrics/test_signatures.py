"""Equal signatures, equal scores: of tables in another order, files and lists, and of every option."""

import json
import random
from collections import defaultdict

import numpy as np
import pytest
from gensim.models import KeyedVectors

from captionbias.bench.catalogue import of_captions
from captionbias.captions import read_captions
from captionbias.captions.names import COLUMNS
from captionbias.metrics import find_metric
from captionbias.synthetic import plant

IMAGES = 120
QUICK = {"preset": "fast", "trials": 2, "draws": 2, "bootstrap": 20, "cache": False}
LEFT_OUT = {
    *("details", "progress", "cache", "distributed", "keep_attackers"),  # how it runs, what is shown or kept
    *("model", "precision"),  # of neural attackers alone
    *("images", "image_encoder"),
    *("predicted_attributes", "predicted_tasks", "training_attributes", "training_tasks"),  # in place of captions
    *("language", "trust_rows"),
}


def vectors(seed):
    made = KeyedVectors(3)
    words = ["sits", "stands", "walks", "waits", "street", "room", "park", "a", "in", "on"]
    made.add_vectors(words, np.random.default_rng(seed).normal(size=(len(words), 3)))
    return made


FEMALE, MALE = ["woman", "women", "lady", "girl", "she"], ["man", "men", "guy", "boy", "he"]
# Each with others that it needs; a metric is measured with those whose options it has.
OTHERS = [
    {"seed": 1},
    {"trials": 3},
    {"trials": None, "seeds": [0, 2]},
    {"draws": 3},
    {"bootstrap": 30},
    {"tokenizer": "whitespace"},
    {"lean": "own"},
    {"preset": "papers", "encoder": "bow"},
    {"encoder": "linear"},
    *({"quality": quality} for quality in ("accuracy", "confidence", "inverse_cross_entropy")),
    {"bayes": False},
    {"pairing": "every-caption"},
    {"controls": False},
    {"equalize": False},
    {"directions": ["a_to_t"]},
    *({"alignment": "contextual", "vectors": vectors(seed), "delta": delta} for seed in (0, 1) for delta in (0.4, 1.9)),
    {"alignment": "constant"},
    {"vocabulary": ["a", "in", "on", "street"]},
    {"allow_unmasked": True},
    {"unseen_only": True},
    *({"words": True, "at_least": least, "most_frequent": most} for least in (5, 20) for most in (8, 1000)),
    {"at_least": 3},
    *(
        {"attribute_lexicon": words}
        for words in (
            {"female": FEMALE, "male": MALE},
            {"male": MALE, "female": FEMALE},  # the first is told of
            {"groups": {"female": FEMALE, "male": MALE}, "mask": "<x>"},
            {"groups": {"female": FEMALE, "male": MALE}, "masked_only": ["street"]},
            {"groups": {"female": FEMALE, "male": MALE}, "roles": {"street|room": ["street", "room"]}},
            {"extends": "gender", "groups": {"female": ["street"]}},
        )
    ),
    {"task_lexicon": "coco_names"},
    {"task_lexicon": {"extends": "coco_objects", "groups": {"cup": ["street"]}}},
]


@pytest.fixture(scope="module")
def columns():
    """A biased captioner whose words are its own in part, and people."""
    planted = vars(plant(IMAGES, a_to_t=0.3, t_to_a=0.3, captions=3))
    said = [text.replace("in a", "at the") if row % 3 else text for row, text in enumerate(planted["predictions"])]
    return {**planted, "predictions": said, "image_id": [f"{row:03d}" for row in range(IMAGES)]}


@pytest.fixture(params=of_captions())
def metric(request):
    return find_metric(request.param)


def check(metric, cases):
    """Each signature has one reading. It is known before anything is measured, so one that is alone needs none."""
    by_signature = defaultdict(list)
    for captions, options in cases:
        arguments = {**metric.accepted(QUICK), **options}
        by_signature[metric.signature(captions, **arguments)].append((captions, arguments))
    for signature, alike in by_signature.items():
        results = [metric(captions, **arguments) for captions, arguments in alike] if len(alike) > 1 else []
        for scores in results:
            assert scores["signature"] == signature
            both = scores.keys() & results[0].keys()
            assert {key: scores[key] for key in both} == {key: results[0][key] for key in both}
    return by_signature


def test_every_option_changes_the_signature_if_it_changes_a_score(metric, columns):
    assert metric.options() <= {*COLUMNS, *LEFT_OUT, *(name for other in OTHERS for name in other)}
    captions = read_captions(columns, **usual(predictions="predictions"))
    others = [other for other in OTHERS if other.keys() <= metric.options()]
    check(metric, [(captions, {}), *((captions, other) for other in others)])


def test_what_is_known_of_images_changes_the_signature_if_it_changes_a_score(metric, columns):
    changed = {
        "references": [texts[::-1][:2] for texts in columns["references"]],
        "attributes": ["female", "male"] * (IMAGES // 2),
        "tasks": [shown[:1] if row % 2 else [] for row, shown in enumerate(columns["tasks"])],
        "weights": [1.0 + row % 3 for row in range(IMAGES)],
    }
    tables = [columns, {name: of for name, of in columns.items() if name != "tasks"}]
    tables += [{**columns, name: of} for name, of in changed.items()]
    cases = []
    for table in tables:
        weighed = {"weight_column": "weights"} if "weights" in table else {}
        cases.append((read_captions(table, **usual(predictions="predictions"), **weighed), {}))
    assert len(check(metric, cases)) > 1


def usual(predictions):
    return {"id_column": "image_id", "prediction_column": predictions, "attribute_column": "attributes"}


def test_tables_in_any_order_files_and_lists_of_one_signature_have_the_same_scores(metric, columns, tmp_path):
    order, people_order = (random.Random(seed).sample(range(IMAGES), IMAGES) for seed in (0, 1))
    predictions = [{"image_id": columns["image_id"][row], "caption": columns["predictions"][row]} for row in order]
    people = [{name: columns[name][row] for name in columns if name != "predictions"} for row in people_order]
    for row in people:
        row["references"] = random.Random(0).sample(row["references"], 3)
    paths = {"predictions": tmp_path / "captioner.json", "references": tmp_path / "people.json"}
    for path, records in zip(paths.values(), (predictions, people), strict=True):
        path.write_text(json.dumps(records))
    lists = {name: of for name, of in columns.items() if name != "image_id"}
    shuffled = {name: [of[row] for row in order] for name, of in columns.items()}
    cases = [
        (read_captions(columns, **usual("predictions")), {}),
        (read_captions(shuffled, **usual("predictions")), {}),
        (read_captions(**paths, **usual("caption")), {}),
        (None, lists),
        (None, {name: of for name, of in shuffled.items() if name != "image_id"}),
    ]
    assert max(map(len, check(metric, cases).values())) > 1, "nothing was compared"
