"""An audit: the numbers of the metrics alone, every step reported, nothing computed twice."""

import json
import re

import numpy as np
import pytest

from captionbias.alignment.vectors import train_vectors
from captionbias.analysis.audit import audit
from captionbias.captions import check_captions
from captionbias.io.formats import json_text
from captionbias.metrics import dbac
from captionbias.metrics.sway.questions import QUESTIONS
from captionbias.report import views
from captionbias.synthetic import plant
from captionbias.text import tokenize
from tests.refusals import refuses

IMAGES = 400
CHOSEN = {"trials": 2, "bootstrap": 60}


@pytest.fixture(scope="module")
def people():
    return {name: of for name, of in vars(plant(IMAGES, captions=2)).items() if name != "predictions"}


@pytest.fixture(scope="module")
def captioners():
    return {
        "faithful": plant(IMAGES, captions=2).predictions,
        "biased": plant(IMAGES, captions=2, a_to_t=0.9).predictions,
    }


@pytest.fixture(scope="module")
def found(captioners, people, tmp_path_factory):
    return audit(captioners, **people, cache=tmp_path_factory.mktemp("trials"), **CHOSEN)


def test_scores_of_an_earlier_audit_are_taken_over_and_scores_alone_come_without_the_rest(found, captioners, people):
    options = {**people, "cache": False, **CHOSEN}
    first = audit(captioners, **options, metrics=["sway"], scores_only=True)
    assert (first.words, first.quality) == ({}, {})
    both = audit(captioners, **options, metrics=["sway", "lic"], earlier=first)
    assert both.comparisons["sway"] is first.comparisons["sway"]
    for metric in ("sway", "lic"):
        for name in captioners:
            assert both.measurement(metric, name).flat() == found.measurement(metric, name).flat()


def test_of_one_human_caption_an_image_sway_asks_what_takes_no_other_and_says_what_it_does_not(people):
    single = people | {"references": [texts[:1] for texts in people["references"]], "tasks": None}
    said = {"x": [texts[-1] for texts in people["references"]]}
    found = audit(said, **single, metrics=["sway", "lic"], cache=False, **CHOSEN)
    assert list(found.comparisons) == ["sway", "lic"]
    asked = {question.key: question.takes for question in QUESTIONS if question.key in found.comparisons["sway"].scores}
    assert asked == {"sway_wrong_gap": "", "sway_length_gap": "others"}, "words take more images"
    assert any("T to A and A to T are not asked: images have one human caption" in note for note in found.notes("x"))


def test_the_words_that_give_the_planted_attribute_away_come_first(found):
    words = found.words["biased"]["by_word"]
    assert {row["word"] for row in words["female"][:3]} & {"handbag", "teddy", "bear", "cake"}
    assert {row["word"] for row in words["male"][:3]} & {"tie", "skateboard", "surfboard"}
    captions = found.words["biased"]["captions"]
    assert {caption["attribute"] for caption in captions} == {"female", "male"}
    assert all(len(caption["words"]) == len(caption["values"]["female"]) for caption in captions)
    said = [tuple(caption["words"]) for caption in captions]
    assert len(set(said)) == len(said)


def test_each_has_the_scores_of_the_metric_alone_and_every_step_is_told(captioners, people):
    """`biased` says all that people say, `faithful` lacks one word and is aligned to."""
    slowly = {**people, "references": [[f"{text} slowly" for text in texts] for texts in people["references"]]}
    rich = [f"{text} {' '.join(texts)}" for text, texts in zip(captioners["biased"], slowly["references"], strict=True)]
    two, told = {"faithful": captioners["faithful"], "biased": rich}, []
    found = audit(two, **slowly, metrics=["dbac"], cache=False, watch=lambda *step: told.append(step), **CHOSEN)
    for captioner, predictions in two.items():
        alone = dbac.measure(predictions=predictions, **slowly, preset="fast", cache=False, **CHOSEN)
        measured = found.measurement("dbac", captioner)
        assert (measured.signature, measured.estimates) == (alone.signature, alone.estimates)
    assert found.missing == ()
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert (shares[0], told[-1]) == (0.0, ("done", 1.0))
    assert any(step.startswith("DBAC of biased, small model ") for step, _ in told)
    assert [step for step, _ in told if "small model" not in step] == [
        *("DBAC of faithful", "DBAC of biased"),
        *("quality of faithful", "quality of biased", "done"),
    ]


def test_without_human_captions_the_captioner_alone_is_measured_and_of_scenes_sway(people):
    alone = audit(
        {"biased": plant(IMAGES, a_to_t=0.9).predictions}, attributes=people["attributes"], cache=False, **CHOSEN
    )
    assert "omega_m_a_to_t" in alone.measurement("dbac", "biased").flat()
    assert "lic_m" in alone.measurement("lic", "biased").flat()
    assert alone.quality == {}
    planted = vars(plant(400, t_to_a=0.9, scenes=True))
    captioners = {"biased": planted.pop("predictions")}
    found = audit(captioners, **planted, cache=False, **CHOSEN)
    assert list(found.comparisons) == ["sway"]
    assert found.measurement("sway", "biased").estimates["sway_t_to_a"].low > 20
    named = audit(captioners, **planted, metrics=["sway", "lic"], cache=False, **CHOSEN)
    assert list(named.comparisons) == ["sway", "lic"]


def test_a_score_that_no_trial_has_is_missing_with_its_reason_and_a_dash():
    """The captioner names nothing and people name a dog in every caption: A to T has nothing to match."""
    labels, people = ["female", "male"] * 60, [["a woman with a dog", "a lady and a dog"]] * 120
    said = {"predictions": ["a woman standing"] * 120, "references": people, "attributes": labels}
    captions = {"x": check_captions(**said, trust_rows=True)}
    found = audit(captions, trials=2, bootstrap=50, cache=False, metrics=["dbac"])
    undefined = (f"DBAC A to T, {form}, of x: it is defined in no trial" for form in ("matched", "net"))
    assert set(found.missing) == set(undefined)
    rows = {row[1]: texts[2:] for row, texts in zip(views.scores(found).rows, views.scores(found).texts(), strict=True)}
    assert rows["DBAC A to T, matched"] == ["-"] * 4
    assert rows["DBAC T to A, matched"][0] != "-"
    content = json.loads(json_text(found.as_dict()))
    assert "dbac_a_to_t_matched" not in content["comparisons"]["dbac"]["results"]["x"]


def test_the_mask_is_in_captions_and_not_among_the_words_that_give_the_attribute_away(captioners, people):
    """Only captions of men name the attribute, so its mask tells most."""
    pairs = zip(captioners["faithful"], people["attributes"], strict=True)
    said = [f"{text} man man" if label == "male" else text for text, label in pairs]
    found = audit({"x": said}, attributes=people["attributes"], metrics=["lic"], cache=False, **CHOSEN).words["x"]
    assert any("<gender>" in caption["words"] for caption in found["captions"])
    assert "<gender>" not in {row["word"] for rows in found["by_word"].values() for row in rows}


def test_the_settings_are_those_requested_and_go_into_a_file(captioners, people):
    given = {**people, "metrics": ["dbac"], "trials": np.int64(2), "bootstrap": np.int64(20)}
    vectors = train_vectors(tokenize(captioners["biased"]))
    settings = audit({"biased": captioners["biased"]}, **given, vectors=vectors, cache=False).settings
    assert json.loads(json_text(settings)) == settings
    assert re.fullmatch("KeyedVectors-[0-9a-f]{8}", settings["vectors"])
    assert (settings["trials"], settings["preset"]) == (2, "fast")


def test_what_the_watch_raises_ends_the_audit(captioners, people):
    def stop(step, done):
        if done > 0.2:
            raise KeyError(step)

    with pytest.raises(KeyError):
        audit(captioners, **people, cache=False, watch=stop, **CHOSEN)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(({"metrics": wrong}, "metrics must list one or more of sway, dbac, lic") for wrong in ("lic", ["cider"], [])),
        ({"preset": "slow"}, "preset 'slow' is unknown; choose one of fast, papers"),
        ({"captioners": {"x": ["a man"] * IMAGES, "y": ["a man"]}}, "y: predictions has length 1"),
        ({"seed": -1}, "seed must be a whole number of 0 or more, not -1"),
        ({"trials": 0}, "trials must be a whole number of 1 or more, not 0"),
        ({"bootstrap": 1.5}, "bootstrap must be a whole number of 0 or more, not 1.5"),
        ({"quality_images": 0}, "quality_images must be a whole number of 1 or more, not 0"),
        ({"attributes": ["female"] * IMAGES}, "attributes has only one value"),
        ({"attributes": ["a, b", "c, d"] * 200, "attribute_lexicon": [{"a": ["a"]}, {"b": ["b"]}]}, "two lexicons are"),
    ],
)
def test_bad_arguments_are_refused_by_name(wrong, message, captioners, people):
    refuses(message, audit, **{"captioners": captioners, **people, "cache": False, **CHOSEN, **wrong}, watch=no_work)


def no_work(step, done):
    raise AssertionError(f"refused after the work began: {step}")


def test_a_gap_of_four_values_that_nobody_doubts_has_enough_replicates_for_a_verdict():
    values = ("Asian", "Black", "Latino", "White") * 150
    said = [f"a {value.lower()} person with dog {image}" for image, value in enumerate(values)]
    swayed = [text.replace("asian", "white") if image % 3 else text for image, text in enumerate(said)]
    people = {"references": [[f"{text} here", f"{text} today"] for text in said], "attributes": values}
    words = {value: [value.lower()] for value in values}
    found = audit({"vlm": swayed, "other": said}, **people, metrics=["sway"], attribute_lexicon=words, scores_only=True)
    assert found.verdicts["vlm", "sway_wrong_gap"] == "more than people"
    assert found.verdicts["other", "sway_wrong_gap"] in ("like people", "cannot tell")
