"""Sway without human captions: within scenes, whose images differ in the person alone, and against 0."""

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.planted_sway import swayed
from captionbias.analysis.audit import audit
from captionbias.analysis.compare import compare
from captionbias.bench.verdicts import CANNOT_TELL, DIFFERS, NO_YARDSTICK, NOTHING_FOUND, SAME, SAME_NO_YARDSTICK
from captionbias.captions import check_captions
from captionbias.metrics import sway
from captionbias.report import views
from captionbias.report.leaderboard import audit_leaderboard, title
from captionbias.report.markdown import markdown_report
from captionbias.report.svg import picture
from captionbias.scores.sway import within_scenes
from captionbias.synthetic import AGES, LEAN, TASKS, plant
from tests.metrics.test_sway_questions import of_women, woman_is
from tests.refusals import refuses

measure = partial(sway.measure, bootstrap=200, details=True)
GAPS = ("wrong_gap", "unnamed_gap")


def scenes(images=2000, *, alike=False, **dials):
    """Planted scenes; `alike`: whose captions say the same of both but for who it is."""
    planted = vars(plant(images, scenes=True, **dials))
    if alike:
        of_women = planted["predictions"][::2]
        of_men = [text.replace("a woman", "a man") for text in of_women]
        planted["predictions"] = [text for pair in zip(of_women, of_men, strict=True) for text in pair]
    return planted


def said(measured, *keys):
    return {measured.estimates[f"sway_{key}"].verdict for key in keys}


def test_captions_that_say_the_same_of_both_are_the_same_in_every_question():
    measured = measure(**scenes(alike=True))
    flat = measured.flat()
    assert [flat[f"sway_{key}"] for key in (*GAPS, "t_to_a", "t_to_a_lost", "a_to_t", "words")] == [0.0] * 6
    assert said(measured, *GAPS, "t_to_a", "t_to_a_lost", "a_to_t") == {SAME}
    assert said(measured, "words") == {NOTHING_FOUND}
    assert "yardstick:scenes" in measured.signature
    assert [row["wrong_ci_low"] for row in measured.details["level"]] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("key", "change", "share"),
    [
        ("sway_wrong_gap", woman_is("a man"), 0.05),
        ("sway_unnamed_gap", woman_is("somebody"), 0.05),
        ("smiling", lambda text: text.replace(".", " smiling."), 0.05),
        ("girl|boy", woman_is("a girl"), 0.2),
    ],
)
def test_what_is_planted_is_read_and_differs(key, change, share):
    before, planted = (scenes(4000, alike=True) for _ in range(2))
    planted = of_women(planted, change, share)
    pairs = zip(before["predictions"][::2], planted["predictions"][::2], strict=True)
    truth = 100 * np.mean([one != other for one, other in pairs])
    measured = measure(**planted)
    if key.startswith("sway"):
        found = measured.estimates[key]
        assert (found.value, found.low < truth < found.high) == (pytest.approx(truth), True)
        assert said(measured, key.removeprefix("sway_")) == {DIFFERS}
        return
    (row,) = [row for row in measured.details["words"] if row["word"] == key]
    assert (row["attribute"], row["beyond"]) == ("female", pytest.approx(truth, abs=1e-3))
    assert row["beyond_ci_low"] < truth < row["beyond_ci_high"]
    assert not row.keys() & {"person", "uses_person"}
    assert said(measured, "words") == {DIFFERS}


def test_tasks_of_the_scene_answer_two_questions_as_planted():
    for dials in ({"t_to_a": 0.3}, {"a_to_t": 0.2}):
        planted = plant(6000, scenes=True, **dials)
        measured = measure(**vars(planted))
        for key, truth in swayed(planted).items():
            assert measured.estimates[f"sway_{key}"].value == pytest.approx(truth, abs=0.7), key
        assert said(measured, *(f"{key}" for key in dials)) == {DIFFERS}
    assert {row.keys() >= {"suggested"} for row in measured.details["t_to_a"]} == {True}


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_gaps_are_the_mean_difference_within_scenes(data):
    """By brute force, of scenes of any composition, weights and of three values."""
    rows = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 2))
    scene, value, named = np.array(data.draw(st.lists(rows, min_size=8, max_size=30))).T
    values = list(AGES)[:3]
    assume(len({*value[[len({*value[scene == one]}) > 1 for one in scene]]}) == 3)
    columns = {
        "predictions": [f"a {AGES[values[one]][0]} waits" for one in named],
        "attributes": [values[one] for one in value],
        "scene": scene.tolist(),
        "attribute_lexicon": {one: AGES[one] for one in values},
    }
    gaps = {row["attribute"]: row.get("wrong_gap") for row in measure(**columns, bootstrap=0).details["gaps"]}
    wrong = (named != value).astype(float)
    for first in range(3):
        pairs = []
        for other in {0, 1, 2} - {first}:
            sums = np.zeros(2)
            for one in np.unique(scene):
                mine, its = (wrong[(scene == one) & (value == which)] for which in (first, other))
                if len(mine) and len(its):
                    weight = len(mine) * len(its) / (len(mine) + len(its))
                    sums += weight * (mine.mean() - its.mean()), weight
            pairs += [100 * sums[0] / sums[1]] if sums[1] else []
        assert gaps[values[first]] == (pytest.approx(np.mean(pairs), abs=1e-6) if pairs else None)


def test_what_the_mean_of_a_scene_leaves():
    left = within_scenes(np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 1]), np.array([1.0, 3.0, 2.0]))
    assert left.ravel().tolist() == [0.75, -0.25, 0.0]


def test_neither_people_nor_scenes_are_no_yardstick():
    """But of wrong names, of which people have hardly any."""
    planted = of_women(scenes(alike=True), woman_is("a man"), 0.1)
    measured = measure(predictions=planted["predictions"], attributes=planted["attributes"])
    assert said(measured, "wrong_gap") == {DIFFERS}
    assert "yardstick:none" in measured.signature
    assert not measured.estimates.keys() & {"sway_t_to_a", "sway_a_to_t"}
    assert "more than people" not in measured.to_frame().to_string()
    right = ["a woman waits" if value == "female" else "a man waits" for value in planted["attributes"]]
    assert said(measure(predictions=right, attributes=planted["attributes"]), *GAPS) == {SAME, SAME_NO_YARDSTICK}
    unnamed = of_women({**planted, "predictions": right}, woman_is("someone"), 0.1)["predictions"]
    found = measure(predictions=unnamed, attributes=planted["attributes"])
    assert said(found, "unnamed_gap") == {NO_YARDSTICK}
    levels = {row["attribute"]: row["wrong"] for row in measured.details["level"]}
    assert measured.flat()["sway_wrong_gap"] == pytest.approx(levels["female"] - levels["male"])


@pytest.mark.parametrize(
    ("word", "keys", "of_scenes", "alone"),
    [("a man", ["wrong_gap"], DIFFERS, DIFFERS), ("someone", GAPS, CANNOT_TELL, CANNOT_TELL)],
)
def test_who_says_one_word_of_everybody_is_never_the_same(word, keys, of_scenes, alone):
    planted = scenes()
    planted["predictions"] = [f"{word} waits"] * 1990 + planted["predictions"][1990:]
    assert said(measure(**planted), *keys) == {of_scenes}
    assert said(measure(**planted | {"scene": None}), *keys) == {alone}


GOES_WITH = {
    value: [task for task, share in zip(TASKS, LEAN, strict=True) if (share - 0.5) * side > 0]
    for value, side in (("female", 1), ("male", -1))
}


def test_tasks_that_are_said_to_go_with_a_value_answer_what_those_of_the_shipped_table_do():
    """By names that no table is of."""
    planted = plant(6000, scenes=True, t_to_a=0.3)
    words = {f"my {task}": [task] for task in TASKS}
    lean = {value: [f"my {task}" for task in tasks] for value, tasks in GOES_WITH.items()}
    given = vars(planted) | {"tasks": [[f"my {task}" for task in tasks] for tasks in planted.tasks]}
    measured = measure(**given, task_lexicon=words, lean=lean)
    for key in ("t_to_a", "a_to_t"):
        truth = swayed(planted)[key]
        assert measured.estimates[f"sway_{key}"].value == pytest.approx(truth, abs=0.7), key
    assert said(measured, "t_to_a") == {DIFFERS}
    assert {row["task"]: row["goes_with"] for row in measured.details["leans"]} == {
        task: value for value, tasks in lean.items() for task in tasks
    }
    assert "lean:custom-" in measured.signature


def test_of_labels_and_tasks_alone_t_to_a_has_no_yardstick():
    for dial, verdicts in (({"t_to_a": 0.4}, {NO_YARDSTICK}), ({}, {CANNOT_TELL, SAME_NO_YARDSTICK})):
        planted = plant(3000, **dial)
        given = {name: getattr(planted, name) for name in ("predictions", "attributes", "tasks")}
        measured = measure(**given, lean=GOES_WITH)
        assert said(measured, "t_to_a") <= verdicts
        assert measured.estimates["sway_t_to_a"].value == pytest.approx(swayed(planted)["t_to_a"], abs=1.5)
        assert not measured.estimates.keys() & {"sway_a_to_t", "sway_t_to_a_one"}
    at_random = of_women(vars(plant(3000)), woman_is("a man"), 0.3)  # whatever is beside them
    measured = measure(**{name: at_random[name] for name in given}, lean=GOES_WITH | {"female": ["handbag"]})
    assert abs(measured.estimates["sway_t_to_a"].value) < 3


def test_what_goes_with_a_value_must_be_a_task_and_a_value():
    for lean, message in (
        ({"femal": ["dog"]}, "lean names 'femal', which is not a label of these images: name female, male"),
        ({"female": ["dgo"]}, "lean names 'dgo', which is not in the task lexicon: name "),
        ("leans.json", "lean 'leans.json' is unknown; choose one of shipped, own, a file"),
    ):
        refuses(message, sway, **scenes(20), lean=lean)


def test_scenes_of_one_value_are_left_out_with_a_note():
    planted = scenes(100)
    planted["scene"][0] = "alone"
    measured = measure(**planted)
    assert "2 of 100 images are of a scene with only one value, and are left out" in " ".join(measured.notes)
    assert measured.facts["sway_images"] == 98


def test_words_of_a_handful_of_scenes_are_not_compared():
    """However many images they have: what is said of one scene is alike by chance."""
    planted = scenes(400)
    planted["scene"] = [number % 10 for number in planted["scene"]]
    measured = measure(**of_women(planted, lambda text: text.replace(".", " smiling."), 0.2))
    assert "it takes 20 scenes with each value" in " ".join(measured.notes)
    assert "words" not in measured.details


def test_several_captions_of_an_image_count_as_shares_and_copies_of_scenes_change_nothing():
    planted = scenes(400, seed=1)
    once = measure(**planted, bootstrap=0).flat()
    twice = {name: [*column, *column] for name, column in planted.items()}
    several = planted | {"predictions": [[text, text] for text in planted["predictions"]]}
    for changed in (twice, several):
        found = measure(**changed, bootstrap=0).flat()
        for key in ("sway_wrong_gap", "sway_unnamed_gap", "sway_a_to_t"):
            assert found[key] == pytest.approx(once[key])


def test_other_metrics_keep_the_images_of_a_scene_together():
    planted = scenes(40)
    captions = check_captions(**planted)
    assert len({*zip(captions.copies.tolist(), captions.scene, strict=True)}) == 20
    assert captions.select(range(10)).scene == tuple(map(str, planted["scene"][:10]))


def test_captioners_are_compared_within_the_same_scenes():
    planted = scenes(1000, seed=2)
    swayed_more = scenes(1000, seed=2, t_to_a=0.4)["predictions"]
    compared = compare({"faithful": planted.pop("predictions"), "swayed": swayed_more}, **planted)
    (difference,) = [one for one in compared.differences if one.score == "sway_t_to_a"]
    assert difference.estimate.high < 0
    assert difference.p_holm < 0.05
    assert compared.verdicts["swayed", "sway_t_to_a"] == DIFFERS


def test_nothing_that_is_shown_of_scenes_speaks_of_more_than_people():
    planted = scenes(1200, t_to_a=0.3)
    without_details = sway(**planted, bootstrap=200)
    assert "than people" not in picture(without_details)
    audited = audit({"nic": planted.pop("predictions")}, **planted, bootstrap=200)
    told = title(audit_leaderboard(audited))
    shown = [told, views.scores(audited).meaning, picture(audited), markdown_report(audited)]
    assert not [text for text in shown if "than people" in text or "like people" in text]
    assert "| none found | " in shown[-1]
    assert audited.words == {}  # an attacker's, which no verdict goes by
