"""Gaps in quality: scores are those of the field's own code, a person reads 0, a planted gap is seen."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider

from captionbias.metrics import quality_gaps as quality_gaps_metric
from captionbias.scores import quality
from captionbias.synthetic import AGES, TASKS, plant
from tests.refusals import refuses
from tests.whole import Whole

quality_gaps = Whole("quality_gaps")
MODULE = sys.modules["captionbias.metrics.quality_gaps"]


def columns(images=90, values=2, **options):
    """Each picture of its own, so that none are copies."""
    planted = vars(plant(images, captions=3, values=values, **options))
    own = [[f"{text[:-1]} of number {row}" for text in texts] for row, texts in enumerate(planted["references"])]
    return planted | {"references": own}


def test_scores_of_each_value_are_those_of_the_fields_own_code_and_gaps_their_differences():
    given = columns(a_to_t=0.4, t_to_a=0.3)
    result = quality_gaps(**given, bootstrap=0)
    texts = [text.lower().replace(".", "") for text in given["predictions"]]
    said, people = {row: [text] for row, text in enumerate(texts)}, dict(enumerate(given["references"]))
    people = {row: [text.lower() for text in of] for row, of in people.items()}
    _, of_each = Cider().compute_score(people, said)
    for value in ("female", "male"):
        rows = [row for row, label in enumerate(given["attributes"]) if label == value]
        of_value, references = ({row: side[row] for row in rows} for side in (said, people))
        four, _ = Bleu(4).compute_score(references, of_value, verbose=0)
        named = [{task for task in TASKS if task in texts[row]} for row in rows]
        shown = [{task for task in TASKS if task in " ".join((*people[row], *given["tasks"][row]))} for row in rows]
        right = sum(len(own & there) for own, there in zip(named, shown, strict=True))
        expected = {
            "cider": 100 * of_each[rows].mean(),
            "bleu_4": 100 * four[3],
            "recall": 100 * right / sum(map(len, shown)),
            "chair": 100 - 100 * right / sum(map(len, named)),
            "words": np.mean([len(texts[row].split()) for row in rows]),
        }
        assert {key: result[f"{key}_{value}"] for key in expected} == pytest.approx(expected, abs=1e-2)
    for key in expected:
        assert result[f"{key}_gap"] == pytest.approx(result[f"{key}_female"] - result[f"{key}_male"])


def test_a_person_reads_0():
    read = []
    for seed in range(12):
        person, *others = zip(*(given := columns(seed=seed))["references"], strict=True)
        given |= {"predictions": person, "references": list(zip(*others, strict=True))}
        read.append(quality_gaps(**given, bootstrap=0))
    for score in (one.key for one in quality_gaps_metric.entry.scores if one.key in read[0]):
        excess = np.array([one[f"{score}_excess"] for one in read])
        assert abs(excess.mean()) <= 2.6 * excess.std() / np.sqrt(len(read)), score


@pytest.fixture
def objects_alone(monkeypatch):
    """Of many images, without scores that take long."""
    monkeypatch.setattr(MODULE, "cider", lambda captions, _: np.zeros(len(captions)))
    monkeypatch.setattr(MODULE, "bleu_counts", lambda captions, _: np.ones((len(captions), 10)))


@pytest.mark.parametrize(("value", "sign"), [("female", -1), ("male", 1)])
def test_objects_left_out_of_one_value_s_captions_in_5_of_100_are_seen(objects_alone, value, sign):
    given = vars(plant(10_000, captions=3))
    given["predictions"] = list(given["predictions"])
    for row in [row for row, label in enumerate(given["attributes"]) if label == value][::20]:
        given["predictions"][row] = "A person is seen by the road."
    found = quality_gaps_metric.measure(**given, bootstrap=100).estimates
    assert found["recall_gap_excess"].verdict == "more than people"
    assert found["recall_gap_excess"].value * sign > 2
    others = {key: one.verdict for key, one in found.items() if one.verdict and key != "recall_gap_excess"}
    assert {*others.values()} == {"like people"}, others


def test_of_more_values_it_is_the_largest_gap_to_the_mean_of_the_others_and_objects_given_are_shown_too():
    given = columns(values=4)
    rows = zip(given["predictions"], given["attributes"], strict=True)
    given["predictions"] = [f"{text} and a frisbee" if label == "child" else text for text, label in rows]
    ages = quality_gaps_metric.measure(**given, attribute_lexicon=AGES, bootstrap=0)
    for key in ("words", "chair"):
        of_each = np.array([ages.facts[f"{key}_{label}"] for label in AGES])
        gaps = of_each - (of_each.sum() - of_each) / 3
        assert ages.estimates[f"{key}_gap"].value == pytest.approx(gaps[0])
        assert np.abs(gaps).argmax() == 0
    told = quality_gaps(**columns() | {"tasks": [[*TASKS]] * 90}, bootstrap=0)
    assert told["chair_female"] == told["chair_male"] == 0


def test_meteor_is_there_where_wordnet_is(monkeypatch):
    assert "meteor_gap" not in quality_gaps(**columns(), bootstrap=0) or quality.wordnet()
    known = SimpleNamespace(synsets=lambda word: [], get_version=lambda: "3.1")
    for module in (MODULE, quality):
        monkeypatch.setattr(module, "wordnet", lambda: known)
    result = quality_gaps(**columns(), bootstrap=0)
    assert 0 < result["meteor_female"] < 100
    assert result["meteor_gap"] == pytest.approx(result["meteor_female"] - result["meteor_male"])
    assert ",wordnet 3.1|" in result["signature"]


def test_what_has_no_gap_is_refused(monkeypatch):
    given = columns()
    refuses("^references is missing: quality is how close", quality_gaps_metric, **given | {"references": None})
    monkeypatch.setattr(quality, "find_spec", lambda name: None if name == "nltk" else importlib.util.find_spec(name))
    refuses(r"^quality needs nltk: pip install '\.\[quality\]'", quality_gaps_metric, **given)
