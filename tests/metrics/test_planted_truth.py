"""LIC and DBAC find a bias that was planted, where it was planted, and nothing where there is none.

A person in the captioner's place reads 0, and a bias of other words than those for attribute and tasks is no net bias.
"""

from functools import cache

import numpy as np
import pytest

from captionbias.synthetic import plant, plant_verbs
from tests.whole import dbac, lic

SETTINGS = (-0.6, 0.0, 0.6)
DIRECTIONS = ("a_to_t", "t_to_a")
PUBLISHED, MATCHED, NET = ([f"dbac_{name}{form}" for name in DIRECTIONS] for form in ("", "_matched", "_net"))
FAST = {"preset": "fast", "bootstrap": 200}
CONSTANT = FAST | {"alignment": "constant"}
# One draw in twenty lies outside its interval for no reason. With seed 2 the faithful captions lie inside all of them;
# the tests of several seeds are what says that this is the rule.
SEED, SEEDS, IMAGES = 2, range(12), 2000


@cache
def of_dbac(seed, images, **dials):
    return dbac(**vars(plant(images, captions=2, seed=seed, **dials)), **CONSTANT)


@cache
def of_lic(seed, images, **dials):
    return lic(**vars(plant(images, captions=2, seed=seed, **dials)), **FAST)


def measured(score, seed=SEED, images=IMAGES, **dials):
    return (of_dbac if score.startswith("dbac") else of_lic)(seed, images, **dials)


def interval(result, score):
    return result[f"{score}_ci_low"], result[f"{score}_ci_high"]


def holds_zero(result, score):
    low, high = interval(result, score)
    return low <= 0 <= high


def along_the_dial(dial, score):
    return [measured(score, **{dial: setting} if setting else {})[score] for setting in SETTINGS]


@pytest.mark.slow
@pytest.mark.parametrize("score", [*PUBLISHED, *MATCHED, *NET, "lic", "leakage", "confidence"])
def test_faithful_captions_have_no_bias(score):
    """Of twelve seeds, ten or more intervals hold 0; the scores vary around 0, by as much as the intervals say."""
    results = [measured(score, seed, images=3000) for seed in SEEDS]
    assert sum(holds_zero(result, score) for result in results) >= 10
    scores, (low, high) = [result[score] for result in results], np.mean([interval(r, score) for r in results], axis=0)
    assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(len(SEEDS))
    assert 0.5 < (high - low) / (2 * 1.96) / np.std(scores, ddof=1) < 2.5  # twelve seeds tell a spread to a fifth


@pytest.mark.parametrize("score", [*PUBLISHED, *MATCHED, *NET, "lic"])
def test_a_score_rises_with_its_dial_from_below_0_through_it(score):
    """What is named for an attribute, and who is named for a task."""
    dial = "t_to_a" if "t_to_a" in score else "a_to_t"
    scores = along_the_dial(dial, score)
    assert scores == sorted(set(scores))
    assert holds_zero(measured(score), score)
    assert interval(measured(score, **{dial: 0.6}), score)[0] > 0.01
    if score != "dbac_a_to_t":  # which also moves with how often tasks are named
        assert interval(measured(score, **{dial: -0.6}), score)[1] < -0.01


@pytest.mark.parametrize(("dial", "other"), [("a_to_t", "t_to_a"), ("t_to_a", "a_to_t")])
def test_a_dial_leaves_the_other_direction_where_it_was(dial, other):
    """To the last digit: the words that the dial changes are masked in that direction."""
    scores = [f"dbac_{other}{form}" for form in ("", "_matched", "_blind", "_net")]
    for score in [*scores, *(["lic"] if dial == "t_to_a" else [])]:
        assert len(set(along_the_dial(dial, score))) == 1
        assert holds_zero(measured(score, **{dial: 0.6}), score)
    # To blind attackers they are faithful captions, weighed a little otherwise.
    blind = f"dbac_{dial}_blind"
    assert measured(blind, **{dial: 0.6})[blind] == pytest.approx(measured(blind)[blind], abs=0.002)


@pytest.mark.parametrize("captions", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_matched_dbac_and_net_do_not_mind_how_often_tasks_are_named(captions):
    """Tasks are given with one reference; with five, the four others say them. Of five seeds, four or more hold 0; the
    published score is far from it with every seed."""
    results = []
    for seed in range(5):
        planted = vars(plant(images=1000, captions=captions, seed=seed, naming=0.5))
        results.append(dbac(**planted | ({} if captions == 1 else {"tasks": None}), **CONSTANT))
    assert min(interval(result, "dbac_a_to_t")[0] for result in results) > 0.2
    for score in (*MATCHED, *NET):
        assert sum(holds_zero(result, score) for result in results) >= 4
        assert abs(np.mean([result[score] for result in results])) < 0.02


@pytest.mark.parametrize("captions", [1, 2])
def test_a_bias_of_verbs_is_matched_and_not_net(captions):
    """All captions name the tasks that the images show, equally often of women and men; verbs give them away."""
    result = dbac(**vars(plant_verbs(model=0.9, seed=1, captions=captions)), **FAST)
    for form in ("_matched", "_blind"):
        assert interval(result, f"dbac_a_to_t{form}")[0] > 0.1
    assert holds_zero(result, "dbac_a_to_t_net")
    for score in ("a_to_t_net", "t_to_a_matched", "t_to_a_blind", "t_to_a_net"):
        assert abs(result[f"dbac_{score}"]) < 0.02


def one_of_four_people(seed, images=1500):
    """People describe images, each half of what they show; the first is taken for the captioner."""
    random = np.random.default_rng(seed)
    doing = {"dog": "barking with a dog", "cake": "baking with a cake", "tie": "formal with a tie"}
    leans = dict(zip(doing, (0.5, 0.7, 0.3), strict=True))
    attributes = ["female" if image % 2 else "male" for image in range(images)]

    def said(attribute, shown):
        person = {"female": "a woman", "male": "a man"}[attribute] if random.random() < 0.8 else "someone"
        return " ".join([person, *(doing[task] for task in shown if random.random() < 0.5), "outside"])

    rows = []
    for attribute in attributes:
        shown = [task for task, lean in leans.items() if (random.random() < lean) == (attribute == "female")]
        rows.append([said(attribute, shown) for _ in range(4)])
    return {"predictions": [row[0] for row in rows], "references": [row[1:] for row in rows], "attributes": attributes}


def test_a_person_in_the_captioner_s_place_is_not_biased():
    """Where people's captions say themselves what the images show, no captioner's can: a person reads -0.15 or so.

    Of five people, four or more intervals hold 0 by held-out pairing.
    """
    results = [dbac(**one_of_four_people(seed), **CONSTANT) for seed in range(5)]
    for score in (*MATCHED, *NET):
        assert sum(holds_zero(result, score) for result in results) >= 4
        assert abs(np.mean([result[score] for result in results])) < 0.02
    published = dbac(**one_of_four_people(0), **CONSTANT, pairing="every-caption")
    assert interval(published, "dbac_t_to_a_matched")[1] < -0.05
