"""Both metrics find a bias that was planted, where it was planted, and nothing where there is none.

3,000 images with two human captions each: with five, the human side's attacker learns from five times the model's
captions and is a little better, which reads as -0.002 (A to T) and -0.004 (T to A).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # so few words repeat

SETTINGS = (-0.6, -0.3, 0.0, 0.3, 0.6)
PUBLISHED, MATCHED = ("dbac_a_to_t", "dbac_t_to_a"), ("dbac_a_to_t_matched", "dbac_t_to_a_matched")
FAST = {"preset": "fast", "trials": 3, "bootstrap": 200}
# One draw in twenty lies outside its interval for no reason. With seed 1 the faithful captions lie inside all of them;
# the tests of ten seeds are what says that this is the rule.
SEED, SEEDS = 1, range(10)


@cache
def measured(seed=SEED, **dials):
    planted = vars(plant(images=3000, captions=2, seed=seed, **dials))
    return dbac(**planted, **FAST, alignment="constant") | lic(**planted, **FAST)


@cache
def measured_naming(naming, seed):
    planted = vars(plant(images=3000, captions=2, seed=seed, naming=naming))
    return dbac(**planted, **FAST, alignment="constant")


def interval(result, score):
    return result[f"{score}_ci_low"], result[f"{score}_ci_high"]


def holds_zero(result, score):
    low, high = interval(result, score)
    return low <= 0 <= high


def along_the_dial(dial, score):
    return [measured(**{dial: setting} if setting else {})[score] for setting in SETTINGS]


@pytest.mark.parametrize("score", [*PUBLISHED, *MATCHED, "lic", "leakage", "confidence"])
def test_faithful_captions_have_no_bias(score):
    """Of ten seeds, eight or more intervals hold 0; the scores vary around 0, by as much as the intervals say."""
    results = [measured(seed) for seed in SEEDS]
    assert sum(holds_zero(result, score) for result in results) >= 8
    scores, (low, high) = [result[score] for result in results], np.mean([interval(r, score) for r in results], axis=0)
    assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(10)
    assert 0.5 < (high - low) / (2 * 1.96) / np.std(scores, ddof=1) < 2


@pytest.mark.parametrize("score", ["dbac_a_to_t", "dbac_a_to_t_matched", "lic"])
def test_a_to_t_and_lic_rise_with_what_is_named_for_an_attribute(score):
    scores = along_the_dial("a_to_t", score)
    assert scores == sorted(set(scores))
    assert interval(measured(a_to_t=0.3), score)[0] > 0
    assert interval(measured(a_to_t=0.6), score)[0] > 0


@pytest.mark.parametrize("score", ["dbac_t_to_a", "dbac_t_to_a_matched"])
def test_t_to_a_rises_with_who_is_named_for_a_task(score):
    scores = along_the_dial("t_to_a", score)
    assert scores == sorted(set(scores))
    assert interval(measured(t_to_a=0.3), score)[0] > 0
    assert interval(measured(t_to_a=-0.6), score)[1] < 0


@pytest.mark.parametrize("score", ["dbac_a_to_t_matched", "lic"])
def test_mitigation_is_seen_where_it_was_planted(score):
    assert interval(measured(a_to_t=-0.6), score)[1] < 0


@pytest.mark.parametrize(("dial", "other"), [("a_to_t", "t_to_a"), ("t_to_a", "a_to_t")])
def test_a_dial_leaves_the_other_direction_where_it_was(dial, other):
    """To the last digit: the words that the dial changes are masked in that direction."""
    scores = [f"dbac_{other}", f"dbac_{other}_matched", *(["lic"] if dial == "t_to_a" else [])]
    for score in scores:
        assert len(set(along_the_dial(dial, score))) == 1
        assert holds_zero(measured(**{dial: 0.6}), score)


@pytest.mark.parametrize(("naming", "published"), [(0.8, 0.15), (0.5, 0.4)])
def test_matched_dbac_does_not_mind_how_often_tasks_are_named(naming, published):
    """Of ten seeds, eight or more intervals hold 0; the published score is far from it with every seed.

    At half the naming, matched A to T is -0.006 on average: the attacker of the model's captions learns from half as
    many tasks.
    """
    results = [measured_naming(naming, seed) for seed in SEEDS]
    assert min(interval(result, "dbac_a_to_t")[0] for result in results) > published / 2
    assert min(result["dbac_a_to_t"] for result in results) > published
    for score in MATCHED:
        assert sum(holds_zero(result, score) for result in results) >= 8
        assert abs(np.mean([result[score] for result in results])) < 0.01


def test_matched_dbac_finds_amplification_by_a_captioner_that_names_little():
    result = measured(naming=0.5, a_to_t=0.4)
    assert interval(result, "dbac_a_to_t_matched")[0] > 0.02
    assert holds_zero(result, "dbac_t_to_a_matched")
    assert result["dbac_a_to_t"] - measured(naming=0.5)["dbac_a_to_t"] < 0.03, "the published score hardly moves"
