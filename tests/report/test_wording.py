"""Scores in plain words: what an interval says, how sure it is, and the numbers that it rests on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from captionbias.metrics import Measurement, catalogue
from captionbias.metrics.measurement import Estimate
from captionbias.report.wording import interval, sentence, verdict, verdicts
from tests.report.conftest import audited, measured

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

A_TO_T, T_TO_A, LIC = "dbac_a_to_t_matched", "dbac_t_to_a_matched", "lic"
WORDED = [score for score in catalogue.SCORES.values() if score.more]


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
        (LIC, -2.0, 0.0, "no clear change"),
        (LIC, 0.001, 0.003, "amplifies"),
        (A_TO_T, 0.008, 0.010, "no clear change"),  # faithful captioners read up to 0.01
        (A_TO_T, -0.010, -0.008, "no clear change"),
        (A_TO_T, 0.010, 0.012, "amplifies"),
    ],
)
def test_a_verdict_needs_an_interval_without_0_and_a_matched_dbac_a_size(key, low, high, words):
    assert verdict(measured(key, low, high), key) == words


def test_without_an_interval_there_is_no_verdict_and_nothing_is_sure():
    whole = measured(LIC, 5.04, 5.04)
    point = replace(whole, samples={LIC: replace(whole.samples[LIC], replicates=whole.samples[LIC].replicates[:0])})
    assert verdict(point, LIC) == verdict(Measurement("lic", {}, {}, ""), LIC) == "-"
    said = "nic: no interval, so no conclusion is possible (LIC x 100: 5.0)."
    assert sentence("nic", point, LIC, math.nan) == said


@pytest.mark.parametrize("score", WORDED, ids=lambda score: score.key)
@pytest.mark.parametrize(
    ("low", "high", "opening"),
    [
        (0.1, 0.3, "nic makes its data's bias worse: it {more}. We are sure of that ("),
        (-0.3, -0.1, "nic softens its data's bias: it {less}. We are sure of that ("),
        (-0.1, 0.3, "nic: no clear change. The interval does not show whether it {more}, or less ("),
    ],
)
def test_each_score_says_what_it_measures_of_which_attribute_and_tasks(score, low, high, opening):
    said = sentence("nic", measured(score.key, low, high), score.key, 0.001, "race", "dishes")
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
def test_a_score_as_small_as_a_faithful_captioner_s_is_too_small_to_tell(low, high):
    said = sentence("nic", measured(T_TO_A, low, high), T_TO_A, 0.001)
    small = "The score is too small to tell from what a faithful captioner reads, 0.01 (DBAC"
    assert said.startswith(f"nic: no clear change. {small}")


def test_t_to_a_below_zero_with_tasks_that_people_named_asks_for_the_tasks_of_the_images(planted):
    said = sentence("nic", measured(T_TO_A, -0.3, -0.1, "metric:dbac|tasks:named|v:0.1.0"), T_TO_A, 0.001, "gender")
    assert said.startswith("nic: cannot tell whether it lets the objects")
    assert "give the tasks of the images" in said
    given = measured(T_TO_A, -0.3, -0.1, "metric:dbac|tasks:given|v:0.1.0")
    assert sentence("nic", given, T_TO_A, 0.001).startswith("nic softens")
    assert verdict(given, T_TO_A) == "mitigates"


def test_the_numbers_have_the_digits_of_their_score():
    assert sentence("nic", measured(LIC, 1.04, 5.16), LIC, 0.004).endswith("(LIC x 100: 3.1 [1.0, 5.2]).")
    said = sentence("nic", measured(A_TO_T, -0.00004, 0.2), A_TO_T, 0.004)
    assert said.endswith("(DBAC A to T, matched: 0.100 [0.000, 0.200]).")


def test_every_captioner_has_a_sentence_for_each_worded_score_of_each_metric(every_metric):
    found = verdicts(every_metric)
    wanted = [(name, score) for name in every_metric.captioners for score in WORDED]
    assert len(found) == len(wanted)
    for said, (captioner, score) in zip(found, wanted, strict=True):
        assert said.captioner == captioner
        assert f"({score.label}: " in said.text
        assert said.verdict == verdict(every_metric.measurement(score.metric, captioner), score.key)


@pytest.mark.parametrize(
    ("lexicon", "called"),
    [
        (None, "objects"),
        ("coco_objects_published", "objects"),
        ("coco_names", "objects"),
        ("emotion", "tasks"),
        ("/home/me/coco_objects.json", "tasks"),
        ({"name": "custom", "groups": {"cook": ["cooking"]}}, "tasks"),
    ],
)
def test_tasks_are_called_objects_where_they_are(lexicon, called, two):
    found = replace(two, settings={**two.settings, "task_lexicon": lexicon})
    (said,) = (one.text for one in verdicts(found) if one.captioner == "sat" and "(DBAC A to T" in one.text)
    assert f"shape which {called} it names" in said


def test_a_custom_attribute_is_called_the_attribute_and_without_people_there_is_no_verdict(planted, alone):
    words = {"female": ["woman", "lady", "girl"], "male": ["man", "guy", "boy"]}
    (said,) = verdicts(audited(planted["sat"], metrics=["lic"], attribute_lexicon=words))
    assert "gives the person's attribute away" in said.text
    assert verdicts(alone) == []
