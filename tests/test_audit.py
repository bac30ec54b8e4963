"""An audit: the numbers of the metrics alone, planted truth on top, every step told, nothing asked for twice."""

from __future__ import annotations

import json

import pytest

from captionbias.audit import audit
from captionbias.comparison import compare
from captionbias.metrics import dbac, lic
from captionbias.planted import plant
from captionbias.quality import caption_quality
from captionbias.report.files import json_text

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

IMAGES = 400
CHOSEN = {"trials": 2, "bootstrap": 60}


@pytest.fixture(scope="module")
def people():
    given = vars(plant(IMAGES, captions=2))
    return {name: given[name] for name in ("references", "attributes", "tasks")}


@pytest.fixture(scope="module")
def captioners():
    return {
        "faithful": plant(IMAGES, captions=2).predictions,
        "biased": plant(IMAGES, captions=2, a_to_t=0.9).predictions,
    }


@pytest.fixture(scope="module")
def found(captioners, people, tmp_path_factory):
    return audit(captioners, **people, cache=tmp_path_factory.mktemp("trials"), **CHOSEN)


def test_one_captioner_has_the_scores_that_the_metrics_give(captioners, people):
    alone = audit({"biased": captioners["biased"]}, **people, cache=False, **CHOSEN)
    given = {"predictions": captioners["biased"], **people, "preset": "fast", "cache": False, **CHOSEN}
    assert alone.result("dbac", "biased") == dbac(**given, details=True)
    assert alone.result("lic", "biased") == lic(**given, details=True)
    assert alone.comparisons["dbac"].differences == []
    assert alone.signatures == {"dbac": dbac(**given)["signature"], "lic": lic(**given)["signature"]}


def test_lic_is_compared_as_compare_does(found, captioners, people):
    expected = compare(captioners, **people, metric="lic", preset="fast", cache=False, **CHOSEN)
    assert found.comparisons["lic"].differences == expected.differences


def test_the_planted_bias_is_found_between_captioners(found):
    matched = {name: found.result("dbac", name)["dbac_a_to_t_matched"] for name in found.captioners}
    assert matched["biased"] > 0.05 > abs(matched["faithful"])
    (one,) = (one for one in found.comparisons["dbac"].differences if one.score == "dbac_a_to_t_matched")
    assert one.ci_high < 0


def test_the_words_that_give_the_planted_attribute_away_come_first(found):
    words = found.words["biased"]["by_word"]
    assert {row["word"] for row in words["female"][:3]} & {"handbag", "teddy", "bear", "cake"}
    assert {row["word"] for row in words["male"][:3]} & {"tie", "skateboard", "surfboard"}
    captions = found.words["biased"]["captions"]
    assert {caption["attribute"] for caption in captions} == {"female", "male"}
    assert all(len(caption["words"]) == len(caption["values"]["female"]) for caption in captions)
    said = [tuple(caption["words"]) for caption in captions]
    assert len(set(said)) == len(said)


def test_quality_is_of_the_images_drawn(captioners, people):
    one = {"faithful": captioners["faithful"]}
    found = audit(one, **people, metrics=["lic"], quality_images=50, cache=False, **CHOSEN)
    expected = caption_quality(predictions=captioners["faithful"], references=people["references"], images=50, seed=0)
    assert found.quality == {"faithful": expected}


def test_captioners_are_aligned_with_the_same_vectors_and_it_is_said_what_that_keeps(captioners, people):
    slowly = {**people, "references": [[f"{text} slowly" for text in texts] for texts in people["references"]]}
    found = audit(captioners, **slowly, metrics=["dbac"], cache=False, **CHOSEN)
    assert "align:contextual,captions of faithful, biased,0.4|" in found.signatures["dbac"]
    for kept in found.alignments.values():
        assert 0 < kept["constant"] <= kept["contextual"] < 1
        assert kept["captions"] == 500
    one = {"biased": captioners["biased"]}
    alone = audit(one, **slowly, metrics=["dbac"], cache=False, **CHOSEN)
    assert alone.result("dbac", "biased") == dbac(
        predictions=one["biased"], **slowly, preset="fast", cache=False, details=True, **CHOSEN
    )


def test_without_human_captions_what_the_captioner_tells_is_measured(captioners, people):
    found = audit({"biased": captioners["biased"]}, attributes=people["attributes"], cache=False, **CHOSEN)
    assert "omega_m_a_to_t" in found.result("dbac", "biased")
    assert "lic_m" in found.result("lic", "biased")
    assert found.quality == {}


def test_steps_are_told_in_order_from_nothing_to_all(captioners, people, tmp_path):
    told = []
    audit(captioners, **people, cache=tmp_path, watch=lambda step, done: told.append((step, done)), **CHOSEN)
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert (shares[0], told[-1]) == (0.0, ("done", 1.0))
    assert any(step.startswith("DBAC of biased: attacker ") for step, _ in told)
    assert {"word vectors", "words of faithful", "quality of biased"} <= {step for step, _ in told}


def test_what_the_watch_raises_ends_the_audit(captioners, people):
    class Stopped(Exception):
        pass

    def stop(step, done):
        if done > 0.2:
            raise Stopped

    with pytest.raises(Stopped):
        audit(captioners, **people, cache=False, watch=stop, **CHOSEN)


def test_everything_goes_into_a_json_file(found):
    content = json.loads(json_text(found.as_dict()))
    assert content["images"] == IMAGES
    assert content["comparisons"]["dbac"]["results"]["biased"]["details"]["sources"]["a_to_t"]
    assert content["settings"]["preset"] == "fast"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"captioners": {}}, "captioners is empty"),
        ({"metrics": "lic"}, "metrics must list one or both of dbac, lic"),
        ({"metrics": ["dpa"]}, "metrics must list"),
        ({"preset": "slow"}, "preset 'slow' is unknown; choose one of fast, papers"),
        ({"attributes": ["female"] * IMAGES}, "attributes has only one value"),
    ],
)
def test_bad_arguments_are_refused_by_name(wrong, message, captioners, people):
    with pytest.raises(ValueError, match=message):
        audit(**{"captioners": captioners, **people, "cache": False, **CHOSEN, **wrong})
