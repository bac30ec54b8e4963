"""What an audit says in plain words: the verdict of the tables, how sure it is, and the numbers it stands on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from captionbias.analysis.audit import audit
from captionbias.report.terminal import verdict
from captionbias.report.wording import MEANINGS, sentence, verdicts

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

A_TO_T, T_TO_A, LIC = "dbac_a_to_t_matched", "dbac_t_to_a_matched", "lic"


def bounds(key, low, high, **more):
    return {key: (low + high) / 2, f"{key}_ci_low": low, f"{key}_ci_high": high, **more}


@pytest.mark.parametrize("key", MEANINGS)
def test_above_zero_it_makes_the_bias_worse_and_below_it_softens_it(key):
    said = sentence("nic", bounds(key, 0.1, 0.3), key, 0.001, "gender")
    assert said.startswith("nic makes its data's bias worse: it ")
    assert "more than people do. We are sure of that" in said
    assert "gender" in said
    said = sentence("nic", bounds(key, -0.3, -0.1), key, 0.001, "gender")
    assert said.startswith("nic softens its data's bias: it ")
    assert "less than people do. We are sure of that" in said


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (A_TO_T, "lets the person's race shape which objects it names"),
        (T_TO_A, "lets the objects in an image shape which race it names"),
        (LIC, "gives the person's race away by its other words"),
    ],
)
def test_each_score_says_what_it_measures_of_which_attribute(key, words):
    for low, high in ((0.1, 0.3), (-0.3, -0.1), (-0.1, 0.3)):
        assert words in sentence("nic", bounds(key, low, high), key, 0.001, "race")


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.001, "We are sure of that"),
        (0.0099, "We are sure of that"),
        (0.01, "We are fairly sure of that"),
        (0.049, "We are fairly sure of that"),
        (math.nan, "We are fairly sure of that"),
        (0.05, "That is a hint, not sure"),
    ],
)
def test_a_p_value_says_how_sure_a_verdict_is(p, words):
    for low, high in ((1.0, 3.0), (-3.0, -1.0)):
        assert f"people do. {words} (LIC" in sentence("nic", bounds(LIC, low, high), LIC, p)


@pytest.mark.parametrize(
    ("key", "low", "high"), [(LIC, -1.0, 3.0), (A_TO_T, -0.1, 0.3), (T_TO_A, -0.1, 0.3), (A_TO_T, -0.001, 0.003)]
)
def test_an_unclear_score_takes_no_side(key, low, high):
    said = sentence("nic", bounds(key, low, high), key, 0.001)
    assert said.startswith("nic: no clear change. Whether it ")
    assert "or less, cannot be told" in said
    assert "sure of that" not in said


@pytest.mark.parametrize(("low", "high"), [(0.001, 0.003), (-0.003, -0.001), (0.001, 0.018)])
@pytest.mark.parametrize("key", [A_TO_T, T_TO_A])
def test_a_score_as_small_as_a_faithful_captioner_s_is_said_to_be_too_small(key, low, high):
    said = sentence("nic", bounds(key, low, high), key, 0.001)
    assert said.startswith(
        "nic: no clear change. The score is too small to tell from what a faithful captioner reads, "
    )
    assert "reads, 0.01 (DBAC" in said
    assert "sure of that" not in said


def test_a_small_lic_is_as_good_as_a_large_one():
    assert sentence("nic", bounds(LIC, 0.001, 0.003), LIC, 0.001).startswith("nic makes its data's bias worse")


def test_below_zero_with_tasks_that_people_named_it_asks_for_the_tasks_of_the_images():
    named = bounds(T_TO_A, -0.3, -0.1, signature="metric:dbac|tasks:named|v:0.1.0")
    said = sentence("nic", named, T_TO_A, 0.001, "gender")
    assert said.startswith("nic: cannot tell whether it lets the objects")
    assert "give the tasks of the images" in said
    assert "softens" not in said
    assert sentence("nic", {**named, "signature": "metric:dbac|tasks:given|v:0.1.0"}, T_TO_A, 0.001).startswith(
        "nic softens"
    )


def test_without_an_interval_nothing_is_sure():
    assert sentence("nic", {LIC: 5.04}, LIC, math.nan) == (
        "nic: no interval, so nothing can be said for sure (LIC x 100: 5.0)."
    )


def test_the_numbers_stand_behind_with_the_digits_of_their_score():
    said = sentence("nic", bounds(LIC, 1.04, 5.16), LIC, 0.004)
    assert said.endswith("(LIC x 100: 3.1 [1.0, 5.2]).")
    said = sentence("nic", bounds(A_TO_T, -0.00004, 0.2), A_TO_T, 0.004)
    assert said.endswith("(DBAC A to T, matched: 0.100 [0.000, 0.200]).")


def test_every_captioner_has_a_sentence_for_each_judged_score_with_the_tables_verdict(two):
    found = verdicts(two)
    assert [said.captioner for said in found] == ["nic"] * 3 + ["sat"] * 3
    openings = {
        "amplifies": "{} makes its data's bias worse",
        "mitigates": "{} softens its data's bias",
        "no clear change": "{}: no clear change",
    }
    said = iter(found)
    for captioner in two.captioners:
        for metric, keys in {"dbac": (A_TO_T, T_TO_A), "lic": (LIC,)}.items():
            for key in keys:
                expected, one = verdict(two.result(metric, captioner), key), next(said)
                assert one.verdict == expected
                assert one.text.startswith(openings[expected].format(captioner))
    assert all("gender" in one.text or "too small to tell" in one.text for one in found)


@pytest.mark.parametrize(
    ("lexicon", "called"),
    [
        (None, "objects"),
        ("coco_objects", "objects"),
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


def test_without_people_there_is_no_verdict(alone):
    assert verdicts(alone) == []


def test_words_of_one_s_own_are_called_the_attribute(planted):
    given = planted["sat"]
    found = audit(
        {"sat": given.predictions},
        given.references,
        given.attributes,
        metrics=["lic"],
        attribute_lexicon={"female": ["woman", "lady", "girl"], "male": ["man", "guy", "boy"]},
        trials=2,
        bootstrap=60,
        quality_images=10,
        cache=False,
    )
    (said,) = verdicts(found)
    assert "gives the person's attribute away" in said.text
