"""Attributions: of the attackers that gave the score, in both directions; what gives a class away is on top."""

from typing import Any

import numpy as np
import pytest

from captionbias.explain.attributions import Attributions, explain
from captionbias.metrics import Measurement, dbac, lic
from captionbias.synthetic import plant
from captionbias.text import tokenize
from tests.refusals import refuses

QUICK = {"preset": "fast", "bootstrap": 0, "cache": False}
PLANTED = vars(plant(240, captions=2, a_to_t=0.9, t_to_a=0.9))


@pytest.fixture(scope="module")
def planted() -> Measurement:
    return dbac.measure(**PLANTED, **QUICK, alignment="constant", trials=2, keep_attackers=2)


def people(n: int = 400) -> tuple[list[str], list[str]]:
    """ "indoors" occurs only with women, "surfs" only with men, and neither always."""
    random = np.random.default_rng(5)
    captions = []
    for row in range(n):
        sign = ("indoors", "surfs")[row % 2] if random.random() < 0.6 else "waits"
        filler = " ".join(random.choice(["by", "the", "road", "with", "dog", "red"], size=random.integers(1, 5)))
        captions.append(f"{('a woman', 'a man')[row % 2]} {sign} {filler}")
    return captions, ["female", "male"] * (n // 2)


def of_people(trials: int = 1, **options: Any) -> Attributions:
    captions, labels = people()
    usual = {"trials": trials, "keep_attackers": trials, "bootstrap": 0}
    return explain(lic.measure(predictions=captions, attributes=labels, **usual, **options))


@pytest.mark.parametrize("metric", [lic, dbac])
def test_of_several_captions_of_an_image_each_attackers_own_is_explained(metric):
    captions, labels = people()
    several = [[text, f"{text} again"] for text in captions]
    more = {"directions": ["a_to_t"], "task_lexicon": {"dog": ["dog"]}} if metric is dbac else {}
    measured = metric.measure(predictions=several, attributes=labels, trials=6, keep_attackers=6, **QUICK, **more)
    found = explain(measured, "a_to_t")
    (plan,) = measured.artefacts.plans.values()
    said = [trial.examples.tokens.texts() for trial in plan.trials["m"][0]]
    assert found.tokens.texts() == [said[trial][row] for trial, row in zip(found.trials, found.rows, strict=True)]
    assert said[0] == said[4] != said[5]


def test_the_attackers_of_lic_explain_the_score_that_they_gave():
    """Kept, they are as many as were requested, and their answers are those that LIC is made of."""
    measured = lic.measure(**PLANTED, **QUICK, trials=3, keep_attackers=3, details=True)
    assert measured.flat() == lic(**PLANTED, **QUICK, trials=3, details=True)
    found = explain(measured)
    for number, row in enumerate(measured.details["trials"]["m"]):
        of_trial = np.flatnonzero(found.trials == number)
        truth = found.scores[of_trial, found.truth[of_trial]]
        right = found.scores[of_trial].argmax(axis=1) == found.truth[of_trial]
        assert 100 * (truth * right).mean() == pytest.approx(row["lic"], abs=1e-3)
    one = explain(lic.measure(**PLANTED, **QUICK, trials=3, keep_attackers=1))
    np.testing.assert_array_equal(one.values, found.values[: len(one.values)])
    assert one.signature != found.signature


@pytest.mark.parametrize("of_humans", [False, True])
def test_the_attackers_of_dbac_explain_the_quality_of_their_answers(of_humans):
    planted = PLANTED | ({"tasks": None} if of_humans else {})
    chosen = {"alignment": "constant", "pairing": "every-caption", "trials": 1, "keep_attackers": 1}
    measured = dbac.measure(**planted, **QUICK, **chosen)
    found = explain(measured, "t_to_a")
    truth = np.where(found.truth, found.scores, 1 - found.scores).prod(axis=1)
    assert truth.mean() == pytest.approx(measured.facts["mean_quality_m_t_to_a"], abs=1e-4)
    assert explain(measured).signature != found.signature


def test_the_attackers_of_dbac_explain_what_tells_the_attribute_and_a_planted_task_whose_own_word_is_masked(planted):
    found = explain(planted)
    assert found.classes == ("female", "male")
    assert {"handbag", "teddy", "bear", "cake"} & {row["word"] for row in found.by_word(least=3)["female"][:3]}
    tasks = explain(planted, "t_to_a", classes=["handbag", "tie"])
    assert {row["word"] for row in tasks.by_word(least=3)["handbag"][:3]} & {"woman", "lady", "girl"}
    assert not {"handbag", "tie"} & {tasks.tokens.words[word] for word in tasks.tokens.ids}
    assert tasks.values.shape == (len(tasks.tokens.ids), 2)
    unknown = r"classes\[1\] 'wine' is not a task that an image shows; .* cake, "
    refuses(unknown, explain, planted, "t_to_a", classes=["tie", "wine"])
    bare = dbac.measure(**PLANTED, **QUICK, alignment="constant", trials=2)
    refuses("keep_attackers=1 or more", explain, bare, "t_to_a")


def test_tasks_are_those_of_the_trial_that_scored_the_image_and_rows_are_those_of_the_input():
    """Which human captions name the tasks is drawn anew in each, and an image with a single one takes no part."""
    planted = vars(plant(240, captions=2)) | {"tasks": None}
    planted["references"] = [texts[: 1 if row < 20 else 2] for row, texts in enumerate(planted["references"])]
    chosen = {"alignment": "constant", "directions": ["t_to_a"], "trials": 2, "keep_attackers": 2}
    measured = dbac.measure(**planted, **QUICK, **chosen)
    found = explain(measured, "t_to_a")
    for number, attacker in enumerate(measured.artefacts.plans["t_to_a"].fitted):
        targets = attacker.trial.examples.targets[attacker.trial.test]
        np.testing.assert_array_equal(found.truth[found.trials == number], targets)
    assert found.rows.min() >= 20
    for text, row in zip(found.tokens.texts(), found.rows, strict=True):
        assert text.split()[:3] == planted["predictions"][row].split()[:3]


@pytest.mark.parametrize("encoder", ["bow", "linear", pytest.param("lstm-lic", marks=pytest.mark.slow)])
def test_the_word_that_gives_the_attribute_away_is_on_top(encoder):
    found = of_people(encoder=encoder)
    by_word, by_class = found.by_word(least=3), found.by_class()
    assert [by_word[name][0]["word"] for name in found.classes] == ["indoors", "surfs"]
    assert by_word["female"][-1]["word"] == "surfs"
    assert by_word["female"][0]["mean"] > 1.5 * by_word["female"][1]["mean"]
    assert by_class["female"]["sum"] > 0
    assert by_class["male"]["score"] > 0.5
    np.testing.assert_allclose(found.scores.sum(axis=1), 1)


def test_words_that_name_the_attribute_are_masked_and_only_captions_held_back_are_explained():
    captions, labels = people()
    found = of_people(preset="fast", trials=3)
    assert not {"woman", "man"} & {found.tokens.words[word] for word in found.tokens.ids}
    assert len(found.tokens) == len(found.rows) == len(found.truth) == len(found.trials) == 3 * 80
    assert found.values.shape == (len(found.tokens.ids), 2)
    assert [found.classes[number] for number in found.truth] == [labels[row] for row in found.rows]
    for text, row in zip(found.tokens.texts(), found.rows, strict=True):
        assert text.split()[2:] == captions[row].split()[2:]
    assert [len(set(found.rows[found.trials == trial])) for trial in range(3)] == [80] * 3
    assert len({found.rows[found.trials == trial].tobytes() for trial in range(3)}) == 3


TOKENS = tokenize(["x y", "x", "y z", "x y"])
WHERE = {"rows": np.array([10, 11, 12, 10]), "trials": np.array([0, 0, 0, 1]), "signature": ""}
TOWARD_A = np.array([3.0, 4.0, -2.0, -1.0, 0.5, 1.0, 2.0])
# Two trials. Captions 0 and 3 are right for "a", 2 is wrong, 1 is right for "b".
CLASSES = Attributions(
    tokens=TOKENS,
    values=np.stack((TOWARD_A, -TOWARD_A), axis=1),
    scores=np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]),
    truth=np.array([0, 1, 0, 0]),
    classes=("a", "b"),
    **WHERE,
)
# Captions of two tasks, of one and of none; the second trial scores the first caption again.
TASKS = Attributions(
    tokens=TOKENS,
    values=np.array([[3, 1], [4, 1], [-2, 5], [9, 9], [9, 9], [1, 0], [2, -3]], float),
    scores=np.array([[0.9, 0.6], [0.2, 0.8], [0.7, 0.7], [0.4, 0.2]]),
    truth=np.array([[1, 1], [0, 1], [0, 0], [1, 1]], bool),
    classes=("dog", "cake"),
    **WHERE,
)


def test_by_class_averages_over_the_captions_of_a_trial_and_then_over_trials():
    # Trial 0: captions 0 and 2 with sums 7 and -0.5; trial 1: caption 3 with sum 3.
    assert CLASSES.by_class() == {
        "a": {"captions": 1.5, "score": pytest.approx((0.65 + 0.7) / 2), "sum": pytest.approx((3.25 + 3) / 2)},
        "b": {"captions": 0.5, "score": 0.8, "sum": 2.0},
    }
    # A caption counts for each task of its image and for no other.
    table = TASKS.by_class()
    assert table["dog"] == {"captions": 1, "score": pytest.approx((0.9 + 0.4) / 2), "sum": pytest.approx((7 + 3) / 2)}
    assert table["cake"]["captions"] == 1.5
    assert table["cake"]["sum"] == pytest.approx(((2 + 5) / 2 - 3) / 2)


def test_by_word_averages_wherever_the_word_occurs():
    table = CLASSES.by_word(least=1)
    assert [row["word"] for row in table["a"]] == ["y", "x", "z"]
    assert table["a"][0] == {"word": "y", "mean": pytest.approx((4 - 1 + 2) / 3), "count": 3}
    assert [row["word"] for row in table["b"]] == ["z", "x", "y"]
    assert [row["word"] for row in CLASSES.by_word(least=2)["a"]] == ["y", "x"]
    refuses("least must be a whole number of 1 or more, not 0", CLASSES.by_word, least=0)


def test_one_caption_is_shown_with_the_means_over_its_trials():
    assert CLASSES.of(10) == {
        "words": ["x", "y"],
        "values": {"a": [2.0, 3.0], "b": [-2.0, -3.0]},
        "scores": {"a": pytest.approx(0.8), "b": pytest.approx(0.2)},
        "trials": 2,
        "attribute": "a",
    }
    assert [TASKS.of(row)["tasks"] for row in (10, 11, 12)] == [["dog", "cake"], ["cake"], []]
    assert TASKS.of(11)["values"] == {"dog": [-2.0], "cake": [5.0]}
    assert "attribute" not in TASKS.of(10)
    refuses(r"captions\[9\] is in no trial's test split", CLASSES.of, 9)


def test_networks_are_explained_with_captum(monkeypatch):
    monkeypatch.setattr("captionbias.explain.contributions.find_spec", lambda name: None)
    refuses(r"pip install '\.\[explain\]'", of_people, encoder="lstm-lic")
