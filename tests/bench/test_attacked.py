"""What attackers read, in words of the captioner's vocabulary, and how their answers count."""

import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.base import Trial, TrialScores, balanced_split
from captionbias.bench.attacked import Bench
from captionbias.bench.attacks import AttackScores
from captionbias.bench.reading import captions_of_a_person
from captionbias.captions import check_captions
from captionbias.metrics.lic import LIC_2022
from captionbias.scores.captions import confidence
from captionbias.synthetic import plant
from tests.refusals import refuses
from tests.whole import dbac, lic

FAST = {"preset": "fast", "trials": 2, "bootstrap": 40, "cache": False}


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=120, captions=2, a_to_t=0.5, t_to_a=0.3))


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=4, max_size=12), st.integers(0, 999))
def test_an_answer_about_an_image_of_weight_w_counts_as_w_answers(weights, seed):
    random = np.random.default_rng(seed)
    images, times = len(weights), np.array(weights)
    repeated = np.repeat(np.arange(images), times)
    once, copied = [], []
    answers = {}
    for trial in range(2):
        said, tested = np.log(random.random(images)), np.flatnonzero(random.random(images) < 0.7)
        tested = tested if len(tested) else np.array([0])
        rows = np.flatnonzero(np.isin(repeated, tested))
        for trials, test, image in ((once, tested, tested), (copied, rows, repeated[rows])):
            trials.append(Trial(None, tested, test, trial))
            answers[trials[-1]] = TrialScores(said[image], said[image] > -1)
    quality = {"confidence": confidence}
    weighted = AttackScores.of([once], answers, quality, np.arange(images), times.astype(float))
    counted = AttackScores.of([copied], answers, quality, repeated)
    assert weighted.scored().tolist() == counted.scored().tolist()
    drawn = random.integers(0, 3, (weighted.counts.shape[1], 20)).astype(float)
    np.testing.assert_allclose(weighted.means("confidence", drawn), counted.means("confidence", drawn), rtol=1e-12)


def test_lic_weighs_answers_by_their_images():
    """A clue that is wrong in one caption of five: the attacker goes by it, so its mistakes are known one by one."""
    labels, random = ["female", "male"] * 200, np.random.default_rng(1)
    wrong, weights = random.random(400) < 0.2, random.random(400) + 1
    clues = [(label == "female") != flip for label, flip in zip(labels, wrong, strict=True)]
    people = {"female": "a woman", "male": "a man"}
    texts = [f"{people[label]} {'in' if clue else 'out'}doors" for label, clue in zip(labels, clues, strict=True)]
    result = lic(predictions=texts, attributes=labels, weights=weights, **FAST)
    tests = [balanced_split(np.array([0, 1] * 200), 0.2, 0, part=trial)[1] for trial in (0, 1)]
    right = [100 * np.average(~wrong[test], weights=weights[test]) for test in tests]
    assert result["leakage_m"] == pytest.approx(np.mean(right))
    assert result["lic_m"] < min(result["leakage_m"], result["confidence_m"])
    assert result["test_captions_m"] == pytest.approx(np.mean([weights[test].sum() for test in tests]), abs=5e-4)


def test_each_round_of_trials_draws_one_caption_of_each_image(planted):
    several = [[f"{text} first{row}", f"{text} second{row}"] for row, text in enumerate(planted["predictions"])]
    rounds = FAST | {"trials": 6}  # five trials of one, and one of the next
    measured = lic.measure(**planted | {"predictions": several, "references": None}, **rounds, keep_attackers=2)
    drawn = []
    for trial in measured.artefacts.plans["lic"].trials["m"][0]:
        tokens = trial.examples.tokens
        assert len(tokens) == 120
        words = {tokens.words[number] for number in tokens.ids}
        assert all((f"first{row}" in words) != (f"second{row}" in words) for row in range(120))
        drawn.append({word for word in words if word.startswith("first")})
    assert drawn[:5] == [drawn[0]] * 5
    assert drawn[0] != drawn[5]
    assert all(30 < len(first) < 90 for first in drawn)


@pytest.mark.parametrize("metric", [lic, dbac])
def test_each_round_of_the_fast_preset_tests_every_image_once(metric):
    """Two men to a woman, of whom LIC's attackers learn from as many."""
    labels = ["female", "male", "male"] * 40
    captions = {
        "predictions": [f"a man, a dog {row}" for row in range(120)],
        "references": [["a dog", "the dog"]] * 120,
    }
    measured = metric.measure(**captions, attributes=labels, **FAST | {"trials": 10}, allow_unmasked=True)
    for plan in measured.artefacts.plans.values():
        trials = plan.trials["m"][0]
        for start in (0, 5):
            tested = np.concatenate([trial.test for trial in trials[start : start + 5]])
            assert sorted(tested) == [*range(120)]
        assert {*trials[0].test} != {*trials[5].test}
        for trial in trials:
            assert not {*trial.train} & {*trial.test}
            learnt = np.bincount(trial.examples.targets[trial.train]).tolist() if metric is lic else [len(trial.train)]
            assert learnt == ([32, 32] if metric is lic else [96])


def test_pictures_without_the_wing_that_reads_them_are_an_error_with_the_way_out(planted, monkeypatch):
    monkeypatch.setattr(sys.modules["captionbias.metrics.lic"], "PICTURE_READERS", [])
    message = r"images: nothing here reads pictures; pip install '\.\[images\]'"
    refuses(message, lic, **planted, **FAST, images=["a.png"] * 120)


def test_one_more_person_is_as_though_read_anew(planted):
    """Images with a single human caption are left out; what an attacker learns depends on the order of words."""
    captions = check_captions(
        **planted | {"references": [row[: 1 + (number % 5 > 0)] for number, row in enumerate(planted["references"])]}
    )
    bench = Bench.of(captions, LIC_2022, 7, allow_unmasked=False)
    person = bench.with_person(LIC_2022, 2)
    anew = Bench.of(captions_of_a_person(captions, 7 + 2), LIC_2022, 7, allow_unmasked=False)
    assert len(anew.classes) == 96
    for name in ("values", "seeds"):
        assert getattr(person, name) == getattr(anew, name)
    assert person.words.tokens.words == anew.words.tokens.words

    def arrays(bench):
        words, named = bench.words, (bench.named["attribute"], *bench.mentions["attribute"])
        return bench.classes, words.model_image, words.human_image, words.tokens.ids, words.tokens.offsets, *named

    for found, expected in zip(arrays(person), arrays(anew), strict=True):
        assert np.array_equal(found, expected)


IMAGES = 40
CAPTIONS = {
    "predictions": ["a woman holds a cake", "a man holds a dog"] * (IMAGES // 2),
    "references": [["a woman quietly holds a cake", "here a woman holds a cake"], ["a man holds a dog"] * 2]
    * (IMAGES // 2),
    "attributes": ["female", "male"] * (IMAGES // 2),
}
CONSTANT = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False, "alignment": "constant", "details": True}
OWN = ["a", "holds", "cake", "dog", "quietly"]


def replaced(result):
    """The human words that became `<unk>`, and how many: of the captions that the attribute is guessed from."""
    details = result["details"]
    return details.get("a_to_t", details)["alignment"]["replaced_unknown"]


@pytest.mark.parametrize("metric", [lic, dbac])
def test_human_captions_keep_the_words_of_the_vocabulary_and_no_others(metric, tmp_path):
    """'quietly' and 'here' are said of half of the images, and by no model caption."""
    of_predictions = metric(**CAPTIONS, **CONSTANT)
    own = metric(**CAPTIONS, **CONSTANT, vocabulary=OWN)
    none = metric(**CAPTIONS, **CONSTANT, vocabulary=["a", "cake", "dog"])
    assert replaced(of_predictions) == 2 * IMAGES // 2
    assert replaced(own) == IMAGES // 2, "'here'"
    assert replaced(none) == 2 * IMAGES // 2 + 2 * IMAGES, "'holds', in every caption, though the captioner says it"
    assert re.search(r"\|align:constant(,names-kept)?,to-[0-9a-f]{8}\|", own["signature"])
    (tmp_path / "words.json").write_text(json.dumps(OWN))
    for words in (tmp_path / "words.json", OWN[::-1]):
        assert metric(**CAPTIONS, **CONSTANT, vocabulary=words) == own
