"""Scores over choices: each is what `dbac` gives with these choices, and nothing is trained twice."""

import json

import pytest

from captionbias.alignment import vectors
from captionbias.analysis.sensitivity import Move, Sensitivity, Specification, sensitivity
from captionbias.captions import check_captions
from captionbias.io.formats import json_text
from captionbias.metrics import dbac
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant

IMAGES = 200
QUICK = {"trials": 2, "bootstrap": 100}
FIXED = {
    "tokenizer": "words",
    "task_lexicon": "coco_objects",
    "alignment": "contextual",
    "delta": 0.4,
    "quality": "confidence",
    "seed": 0,
}
NET, MATCHED = "dbac_a_to_t_net", "dbac_a_to_t_matched"


@pytest.fixture(scope="module")
def captions():
    """A biased captioner, whose people use words that it does not know."""
    given = vars(plant(IMAGES, captions=2, a_to_t=0.8, seed=1))
    adverbs = ("slowly", "gladly")
    references = [[f"{text} {adverbs[row % 2]}" for text in texts] for row, texts in enumerate(given["references"])]
    return check_captions(predictions=given["predictions"], references=references, attributes=given["attributes"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def found(captions, folder):
    return sensitivity({"biased": captions}, **QUICK, cache=folder)


def test_choices_are_varied_one_at_a_time_around_the_preset(found):
    base = FIXED | {"delta": "0.4", "vectors": "captions", "encoder": "bow", "seed": "0"}
    assert found.base == base
    assert [one.label for one in found.specifications] == [
        *("base", "tokenizer whitespace", "task words coco_names", "alignment constant", "delta 0.3", "delta 0.5"),
        *("quality accuracy", "quality inverse_cross_entropy", "seed 2", "seed 4"),
    ]


def test_every_specification_is_what_dbac_measures_with_these_choices(found, captions, folder):
    """Word vectors and trials that are used again change nothing."""
    for one in found.specifications:
        chosen = found.base | ({one.choice: one.value} if one.choice else {})
        chosen |= {"seed": int(chosen["seed"]), "delta": float(chosen["delta"])}
        if chosen["alignment"] == "constant":
            del chosen["vectors"]
        alone = dbac.measure(captions, preset="fast", **chosen, **QUICK, cache=folder)
        assert one.signature == alone.signature
        assert one.estimates == {score: alone.estimates[score] for score in found.scores}
    assert len({one.signature for one in found.specifications}) == len(found.specifications)
    assert len({one.estimates[NET] for one in found.specifications}) > 5


def test_the_planted_bias_has_its_verdict_and_only_judged_scores_have_one(found):
    assert found.scores == [f"dbac_{d}_{form}" for form in ("net", "matched") for d in ("a_to_t", "t_to_a")]
    base = found.specifications[0]
    assert base.verdicts == {NET: "more than people", "dbac_t_to_a_net": base.verdicts["dbac_t_to_a_net"]}
    assert base.estimates[NET].low > 0


def test_word_vectors_are_trained_once_for_each_tokenizer(captions, monkeypatch, folder):
    calls = []
    train = vectors.train_vectors
    monkeypatch.setattr(vectors, "train_vectors", lambda *given: calls.append(given) or train(*given))
    sensitivity({"biased": captions}, **QUICK, cache=folder)
    assert len(calls) == 2


def test_constant_alignment_has_no_delta_and_without_intervals_there_are_no_verdicts(captions, folder):
    chosen = FIXED | {"alignment": ["constant", "contextual"], "delta": [0.4, 0.3]}
    given = {"trials": 1, "bootstrap": 0, "directions": ["a_to_t"], "cache": folder}
    found = sensitivity({"biased": captions}, **chosen, **given)
    assert [one.label for one in found.specifications] == ["base", "alignment contextual"]
    assert not {"delta", "vectors"} & found.base.keys()
    assert {one.verdict_changes for one in found.moves} == {None}


def specified(value, choice, tried, verdict="more than people"):
    estimates = {} if value is None else {NET: Estimate(value, value - 0.01, value + 0.01)}
    return Specification("nic", choice, tried, estimates, {NET: verdict} if estimates else {}, "")


def test_a_move_is_the_largest_difference_that_a_choice_makes_alone():
    found = Sensitivity(
        ["nic"],
        [NET],
        {
            "alignment": ["contextual", "constant"],
            "delta": ["0.4", "0.3", "0.5"],
            "seed": ["0", "5"],
            "encoder": ["bow"],
        },
        [
            specified(0.10, "", ""),
            specified(0.02, "alignment", "constant"),
            specified(0.14, "delta", "0.3"),
            specified(None, "delta", "0.5"),
            specified(0.11, "seed", "5", "cannot tell"),
        ],
    )
    assert found.moves == [
        Move("nic", "alignment", NET, pytest.approx(0.08), "constant", "contextual", False),
        Move("nic", "delta", NET, pytest.approx(0.04), "0.4", "0.3", False),
        Move("nic", "seed", NET, pytest.approx(0.01), "0", "5", True),
    ]


def test_everything_goes_into_a_file(found):
    written = json.loads(json_text(found.as_dict()))
    assert written["choices"]["quality"] == ["confidence", "accuracy", "inverse_cross_entropy"]
    for one, row in zip(found.specifications, written["specifications"], strict=True):
        value, low, high = one.estimates[NET][:3]
        scores = {"value": value, "low": low, "high": high, "verdict": one.verdicts[NET]}
        assert (row["choice"], row["value"], row["scores"][NET]) == (one.choice, one.value, scores)
        assert row["scores"][MATCHED]["verdict"] is None
    assert [row["change"] for row in written["moves"]] == [one.change for one in found.moves]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokenizer": ["words", "letters"]}, "tokenizer 'letters' is unknown; choose one of words, whitespace"),
        ({"alignment": "none"}, "alignment 'none' is unknown"),
        ({"quality": ["accuracy", "speed"]}, "quality 'speed' is unknown"),
        ({"delta": [0.4, 3]}, "delta is 3: give a cosine distance above 0"),
        ({"delta": "near"}, "delta is 'near'"),
        ({"seed": [0, -1]}, "seed must be a whole number of 0 or more, not -1"),
        ({"encoder": ["bow", "gru"]}, "encoder 'gru' is unknown"),
        ({"task_lexicon": ["coco_names", "no.json"]}, "lexicon 'no.json' is neither"),
        ({"preset": "slow"}, "preset 'slow' is unknown"),
        ({"trials": 0}, "trials must be a whole number of 1 or more"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_anything_is_measured(given, message, captions):
    def watch(step, done):
        raise AssertionError("measured")

    with pytest.raises(ValueError, match=message):
        sensitivity({"biased": captions}, **given, watch=watch)


def test_an_error_names_the_captioner_and_the_choice(captions, folder):
    chosen = FIXED | {"task_lexicon": ["coco_objects", {"zebu": ["zebu"]}]}
    with pytest.raises(ValueError, match=r"biased, task words custom-\w+: task_lexicon 'custom': none of its words"):
        sensitivity({"biased": captions}, **chosen, **QUICK, cache=folder)


def test_without_people_there_is_nothing_to_compare_with(captions):
    given = plant(IMAGES, captions=1)
    with pytest.raises(ValueError, match="nic: net and matched DBAC compare a captioner with people"):
        sensitivity({"nic": given.predictions}, attributes=given.attributes, tasks=given.tasks)
