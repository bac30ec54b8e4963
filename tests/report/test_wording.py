"""Scores in plain words: what an interval says, how sure it is, and the numbers that it rests on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from captionbias.metrics import catalogue
from captionbias.metrics.measurement import Estimate
from captionbias.metrics.verdicts import verdict
from captionbias.report.wording import interval, sentence, verdicts
from tests.report.conftest import audited, measured

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

A_TO_T, T_TO_A, LIC = "dbac_a_to_t_net", "dbac_t_to_a_net", "lic"
WORDED = [
    score for metric in catalogue.OF_CAPTIONS for score in catalogue.scores_of(metric) if score.judged and score.more
]


def beside(key):
    """The scores that the sentence about a net DBAC says more of."""
    return {key.replace("_net", form): (-0.1, 0.1) for form in ("", "_matched", "_blind")} if "_net" in key else {}


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
        (LIC, -0.1, 2.0, "no clear change"),
        (LIC, 0.0, 2.0, "no clear change"),
        (LIC, 0.001, 0.003, "amplifies"),
        (A_TO_T, 0.008, 0.010, "no clear change"),  # a person reads up to 0.01
        (A_TO_T, -0.010, -0.008, "no clear change"),
        (A_TO_T, 0.010, 0.012, "amplifies"),
    ],
)
def test_a_verdict_needs_an_interval_without_0_and_a_net_dbac_a_size(key, low, high, words):
    assert verdict(measured(key, low, high).estimates, key) == words


def test_without_an_interval_there_is_no_verdict_and_nothing_is_sure():
    whole = measured(LIC, 5.04, 5.04)
    point = replace(whole, samples={LIC: replace(whole.samples[LIC], replicates=whole.samples[LIC].replicates[:0])})
    assert verdict(point.estimates, LIC) == verdict({}, LIC) == "-"
    said = "nic: no interval, so no conclusion is possible (LIC x 100: 5.0)."
    assert sentence("nic", point, LIC, math.nan) == said


@pytest.mark.parametrize("score", WORDED, ids=lambda score: score.key)
@pytest.mark.parametrize(
    ("low", "high", "opening"),
    [
        (0.1, 0.3, "nic makes its data's bias worse: it {more}. We are sure of that ("),
        (-0.3, -0.1, "nic softens its data's bias: it {less}. We are sure of that ("),
        (-0.1, 0.3, "nic: no clear change. We cannot tell whether it {more}, or less ("),
    ],
)
def test_each_score_says_what_it_measures_of_which_attribute_and_tasks(score, low, high, opening):
    said = sentence("nic", measured(score.key, low, high, **beside(score.key)), score.key, 0.001, "race", "dishes")
    words = {"more": score.more, "less": score.less}
    assert said.startswith(opening.format(**words).format(attribute="race", tasks="dishes") + score.label)


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.0099, "We are sure of that"),
        (0.01, "We are fairly sure of that"),
        (0.049, "We are fairly sure of that"),
        (math.nan, "We are fairly sure of that"),
        (0.05, "That is a hint, not sure"),
    ],
)
def test_a_p_value_says_how_sure_a_verdict_is(p, words):
    for low, high in ((1.0, 3.0), (-3.0, -1.0)):
        assert f"people do. {words} (LIC" in sentence("nic", measured(LIC, low, high), LIC, p)


@pytest.mark.parametrize(("low", "high"), [(0.001, 0.003), (-0.003, -0.001), (0.001, 0.018)])
def test_a_score_as_small_as_a_person_s_is_too_small_to_tell(low, high):
    said = sentence("nic", measured(T_TO_A, low, high, **beside(T_TO_A)), T_TO_A, 0.001)
    small = "The score is too small to tell from what a person reads, 0.01 (DBAC"
    assert said.startswith(f"nic: no clear change. {small}")


def test_a_net_dbac_without_a_side_says_that_what_matched_has_is_not_of_the_words_named():
    others = {"dbac_t_to_a_matched": (0.1, 0.3), "dbac_t_to_a_blind": (0.2, 0.4), "dbac_t_to_a": (-0.6, -0.4)}
    said = sentence("nic", measured(T_TO_A, -0.2, 0.1, **others), T_TO_A, 0.4, "gender")
    assert said.startswith("nic: no clear change. We cannot tell whether it lets the objects in an image ")
    assert said.endswith(
        "With the words for objects hidden, its captions reveal the objects more than people's do (matched 0.200 "
        "[0.100, 0.300]). Hiding the words for gender as well changes little: other words explain it (blind 0.300 "
        "[0.200, 0.400]). As published: -0.500 [-0.600, -0.400], which also depends on how often captions name "
        "anything."
    )
    other_side = sentence("nic", measured(T_TO_A, 0.1, 0.3, **others | {"dbac_t_to_a_blind": (-0.2, 0.0)}), T_TO_A, 0.0)
    assert other_side.startswith("nic makes its data's bias worse: ")
    assert "With the words for attribute hidden as well: -0.100 [-0.200, 0.000] (blind). As" in other_side


def test_the_verdict_is_of_the_excess_over_a_person_where_there_is_one():
    found = measured("ba_mals", 0.1, 0.3, ba_mals_excess=(-0.3, -0.1))
    assert (verdict(found.estimates, "ba_mals"), verdict(found.estimates, "ba_mals_excess")) == ("-", "mitigates")


def test_every_captioner_has_a_sentence_for_each_worded_score_of_each_metric(every_metric):
    found = verdicts(every_metric)
    wanted = [
        (name, score)
        for name in every_metric.captioners
        for score in WORDED
        if not catalogue.superseded(score.key, every_metric.measurement(score.metric, name).estimates)
    ]
    assert len(found) == len(wanted)
    for said, (captioner, score) in zip(found, wanted, strict=True):
        assert said.captioner == captioner
        assert f"({score.label}: " in said.text
        assert said.verdict == verdict(every_metric.measurement(score.metric, captioner).estimates, score.key)


@pytest.mark.parametrize(
    ("lexicon", "called"),
    [
        (None, "objects"),
        ("coco_objects_published", "objects"),
        ("emotion", "tasks"),
        ("/home/me/coco_objects.json", "tasks"),
        ({"name": "custom", "groups": {"cook": ["cooking"]}}, "tasks"),
    ],
)
def test_tasks_are_called_objects_where_they_are(lexicon, called, two):
    found = replace(two, settings={**two.settings, "task_lexicon": lexicon})
    (said,) = (one.text for one in verdicts(found) if one.captioner == "sat" and "(DBAC A to T" in one.text)
    assert f"shape which {called} it names" in said


def test_crossed_attributes_are_named(two):
    found = replace(two, settings={**two.settings, "attribute_lexicon": ["gender", "race"]})
    (said,) = (one.text for one in verdicts(found) if one.captioner == "sat" and "(DBAC A to T" in one.text)
    assert "lets the person's gender and race shape which objects" in said


def test_a_custom_attribute_is_called_the_attribute_and_without_people_there_is_no_verdict(planted, alone):
    words = {"female": ["woman", "lady", "girl"], "male": ["man", "guy", "boy"]}
    (said,) = verdicts(audited(planted["sat"], metrics=["lic"], attribute_lexicon=words))
    assert "gives the person's attribute away" in said.text
    assert verdicts(alone) == []
