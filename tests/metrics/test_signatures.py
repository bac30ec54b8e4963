"""Equal signatures, equal scores: of tables in another order, files and lists, and of every option."""

import json
import random

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
    {"join_references": True},
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
def measured(request):
    """A metric's signature, and its scores without it."""
    metric = find_metric(request.param)

    def found(captions, **options):
        scores = metric(captions, **{**metric.accepted(QUICK), **options})
        return scores.pop("signature"), scores

    found.options = metric.options()
    return found


def check(results):
    """Each signature has one reading."""
    by_signature = {}
    for signature, scores in results:
        first = by_signature.setdefault(signature, scores)
        differing = {
            key: (first[key], scores[key]) for key in first.keys() & scores.keys() if first[key] != scores[key]
        }
        assert not differing, signature
    return by_signature


def test_every_option_changes_the_signature_if_it_changes_a_score(measured, columns):
    assert {*measured.options} <= {*COLUMNS, *LEFT_OUT, *(name for other in OTHERS for name in other)}
    captions = read_captions(columns, **usual(predictions="predictions"))
    others = [other for other in OTHERS if other.keys() <= measured.options]
    check([measured(captions), *(measured(captions, **other) for other in others)])


def test_what_is_known_of_images_changes_the_signature_if_it_changes_a_score(measured, columns):
    changed = {
        "references": [texts[::-1][:2] for texts in columns["references"]],
        "attributes": ["female", "male"] * (IMAGES // 2),
        "tasks": [shown[:1] if row % 2 else [] for row, shown in enumerate(columns["tasks"])],
        "weights": [1.0 + row % 3 for row in range(IMAGES)],
    }
    tables = [columns, {name: of for name, of in columns.items() if name != "tasks"}]
    tables += [{**columns, name: of} for name, of in changed.items()]
    results = []
    for table in tables:
        weighed = {"weight_column": "weights"} if "weights" in table else {}
        results.append(measured(read_captions(table, **usual(predictions="predictions"), **weighed)))
    assert len(check(results)) > 1


def usual(predictions):
    return {"id_column": "image_id", "prediction_column": predictions, "attribute_column": "attributes"}


def test_tables_in_any_order_files_and_lists_of_one_signature_have_the_same_scores(measured, columns, tmp_path):
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
    results = [
        measured(read_captions(columns, **usual("predictions"))),
        measured(read_captions(shuffled, **usual("predictions"))),
        measured(read_captions(**paths, **usual("caption"))),
        measured(None, **lists),
        measured(None, **{name: of for name, of in shuffled.items() if name != "image_id"}),
    ]
    by_signature = check(results)
    assert any(sum(signature == one for signature, _ in results) > 1 for one in by_signature), "nothing was compared"
