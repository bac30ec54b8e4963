"""Scores in plain words: what an interval says, how sure it is, and the numbers that it rests on."""

from __future__ import annotations

import math

import pytest

from captionbias.metrics import catalogue
from captionbias.metrics.verdicts import verdict
from captionbias.report.wording import interval, statement, verdicts
from captionbias.statistics.samples import Estimate
from tests.report.conftest import audited, measured

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

A_TO_T, T_TO_A, LIC = "dbac_a_to_t_net", "dbac_t_to_a_net", "lic"
WORDED = [
    score for metric in catalogue.of_captions() for score in catalogue.scores_of(metric) if score.judged and score.claim
]


def beside(score, ends=None):
    """The scores that the sentence about a score says more of, or that decide its verdict."""
    if score.key.endswith("_net"):
        return {score.key.replace("_net", form): (-0.1, 0.1) for form in ("", "_matched", "_blind")}
    return dict.fromkeys((*score.above, *score.below), ends)


@pytest.mark.parametrize(
    ("estimate", "digits", "text"),
    [
        (Estimate(1.25, -1.25, 3.75), 2, "1.25 [-1.25, 3.75]"),
        (Estimate(1.26), 1, "1.3"),
        (Estimate(-0.0004, -0.0001, 0.0), 3, "0.000 [0.000, 0.000]"),
        (None, 1, "-"),
    ],
)
def test_a_score_is_written_with_its_interval_and_never_as_minus_zero(estimate, digits, text):
    assert interval(estimate, digits) == text


@pytest.mark.parametrize(
    ("key", "low", "high", "words"),
    [
        (LIC, 0.1, 2.0, "amplifies"),
        (LIC, -2.0, -0.1, "mitigates"),
        (LIC, -0.1, 2.0, "unclear"),
        (LIC, 0.0, 2.0, "unclear"),
        (LIC, 0.001, 0.003, "amplifies"),
        (A_TO_T, 0.008, 0.010, "unclear"),  # a person reads up to 0.01
        (A_TO_T, -0.010, -0.008, "unclear"),
        (A_TO_T, 0.010, 0.012, "amplifies"),
    ],
)
def test_a_verdict_needs_an_interval_without_0_and_a_net_dbac_a_size(key, low, high, words):
    assert verdict(measured(key, low, high).estimates, key) == words


@pytest.mark.parametrize("score", WORDED, ids=lambda score: score.key)
@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 0.3, "amplifies"), (-0.3, -0.1, "mitigates"), (-0.1, 0.3, "unclear")]
)
def test_each_score_says_what_it_measures_of_which_attribute_and_tasks(score, low, high, said):
    estimates = measured(score.key, low, high, **beside(score, (low, high)))
    found = statement("nic", estimates, score.key, 0.001, "race", "dishes")
    words = {"captioner": "nic", "attribute": "race", "value": "race", "tasks": "dishes"}
    if score.sentence and said != "unclear":
        claim = score.sentence.format(**words, more=f"{'more' if low > 0 else 'less'} often")
    else:
        claim = score.claim.format(**words)
        assert found.text.startswith("nic: no clear sign" if said == "unclear" else f"nic {said}: ")
    assert claim in found.text
    assert f"{low:.{score.digits}f} to {high:.{score.digits}f}" in found.text
    assert (found.captioner, found.score, found.verdict) == ("nic", score.key, said)


@pytest.mark.parametrize(("low", "high"), [(0.001, 0.003), (-0.003, -0.001), (0.001, 0.018)])
def test_a_score_as_small_as_a_person_s_is_no_clear_sign(low, high):
    said = statement("nic", measured(T_TO_A, low, high, **beside(catalogue.SCORES[T_TO_A])), T_TO_A, 0.001)
    assert said.text.startswith("nic: no clear sign that the attribute named reveals the objects")
    assert "One more person's captions can read as much as 0.01 by chance." in said.why


def test_the_verdict_is_of_the_excess_over_a_person_where_there_is_one():
    found = measured("ba_mals", 0.1, 0.3, ba_mals_excess=(-0.3, -0.1))
    assert (verdict(found.estimates, "ba_mals"), verdict(found.estimates, "ba_mals_excess")) == ("-", "mitigates")


def test_a_custom_attribute_is_called_the_attribute_and_without_people_there_is_no_verdict(planted, alone):
    words = {"female": ["woman", "lady", "girl"], "male": ["man", "guy", "boy"]}
    (said,) = verdicts(audited(planted["sat"], metrics=["lic"], attribute_lexicon=words))
    assert "wording alone gives the attribute away" in said.text
    assert [one.text for one in verdicts(alone)] == [
        f"{name}: no verdict, as there are no human captions to compare with." for name in alone.captioners
    ]


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        ((0.5, 1.5), (2.0, 6.0), "amplifies"),
        ((-0.5, 1.5), (2.0, 6.0), "unclear"),
        ((-6.0, -2.0), (-1.5, -0.5), "mitigates"),
    ],
)
def test_sway_has_a_verdict_if_every_value_is_swayed_the_same_way(least, most, said):
    middle = (least[0] + most[1]) / 2
    found = measured("sway_t_to_a", middle - 0.1, middle + 0.1, sway_t_to_a_least=least, sway_t_to_a_most=most)
    assert verdict(found.estimates, "sway_t_to_a") == said
    if said == "unclear":
        why = statement("nic", found, "sway_t_to_a", 0.001).why
        assert "Not every value is swayed" in why
        assert "5.6 would have been seen" in why  # 2.8 standard errors of the cell that shows least


@pytest.mark.parametrize(
    ("low", "least", "said", "why"),
    [
        ((1.0, 3.0), (0.5, 0.5), "amplifies", "on one side"),
        ((-1.0, 3.0), (0.5, 0.5), "unclear", "anything from 1.0 to 5.0"),
        ((1.0, 3.0), (-0.5, -0.5), "unclear", "anything from 2.0 to 5.0"),
    ],
)
def test_a_range_has_a_verdict_if_both_ends_and_every_task_left_out_agree(low, least, said, why):
    others = {"sway_a_to_t_low": low, "sway_a_to_t_high": (4.0, 6.0), "sway_a_to_t_most": (6.0, 6.0)}
    found = measured("sway_a_to_t", 2.0, 5.0, **others, sway_a_to_t_least=least)
    assert verdict(found.estimates, "sway_a_to_t") == said
    assert why in statement("nic", found, "sway_a_to_t", math.nan).why
