"""Sources of a bias in words, and weights that take it out of the training images."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import dbac
from captionbias.studies.resampling import in_words, predicted_effect, resampling_weights, write_weights
from captionbias.synthetic import LEAN, TASKS, plant

FAST = {"preset": "fast", "trials": 3, "alignment": "constant", "cache": False, "details": True}


@pytest.fixture(scope="module")
def strong():
    planted = plant(3000, captions=2, seed=0, a_to_t=0.6, t_to_a=0.6)
    return dbac(**vars(planted), **FAST, bootstrap=20)


# In words.

ROW = {"direction": "a_to_t", "attribute": "woman", "task": "knife", "named_m": 0.2, "named_h": 0.1}


def test_words_say_what_is_named_for_what():
    assert in_words(ROW) == "woman -> knife (A to T): in 20.0% of captions, in 10.0% of human ones (2.0 times as often)"
    assert in_words(ROW | {"task": None}).startswith("woman -> no task (A to T): ")
    assert in_words(ROW | {"direction": "t_to_a", "attribute": None}).startswith("knife -> nobody named (T to A): ")
    assert in_words(ROW | {"named_h": 0.0}).endswith("in 0.0% of human ones")
    assert in_words(ROW | {"named_m": None}) == "woman -> knife (A to T): in 10.0% of human captions"
    assert in_words(ROW | {"named_h": None}) == "woman -> knife (A to T): in 20.0% of captions"


def test_words_say_which_score_a_part_is_of():
    parts = {"amplification": -0.016, "amplification_matched": 0.026}
    of_all = in_words(ROW | parts | {"amplification_net": 0.011})
    assert of_all.endswith("; adds +0.011 net, +0.026 matched, -0.016 as published")
    with_intervals = parts | {"amplification_matched_ci_low": 0.02, "amplification_matched_ci_high": 0.03}
    assert in_words(ROW | with_intervals).endswith("; adds +0.026 [+0.020, +0.030] matched, -0.016 as published")
    assert in_words(ROW | {"amplification": -0.016}).endswith("; adds -0.016 as published")
    assert in_words(ROW | parts | {"amplification_matched": None}).endswith("; adds -0.016 as published")


# Weights.

ADDS = {"attribute": "f", "task": "a", "amplification": 0.1, "amplification_ci_low": 0.05}


def test_a_planted_association_vanishes_from_a_weighted_resample(strong):
    """Drawn by the weights, women are half of every task's images; as they are, a quarter to three quarters."""
    planted = plant(3000, captions=2, seed=0)
    rows = [row for rows in strong["details"]["sources"].values() for row in rows]
    weights = resampling_weights(planted.attributes, planted.tasks, rows, top=100, unclear=True)
    drawn = np.random.default_rng(0).choice(3000, 60_000, p=weights / weights.sum())
    women, task = np.array(planted.attributes) == "female", np.array([tasks[0] for tasks in planted.tasks])
    assert weights.mean() == pytest.approx(1)
    for name, share in zip(TASKS, LEAN, strict=True):
        assert women[task == name].mean() == pytest.approx(share, abs=0.08)
        if share != 0.5:
            assert women[drawn][task[drawn] == name].mean() == pytest.approx(0.5, abs=0.02)
    changed = {row["task"] for row in rows if row["amplification_net"] > 0 and row["attribute"] and row["task"]}
    for row in predicted_effect(planted.attributes, planted.tasks, weights):
        assert row["task"] not in changed or row["after"] == pytest.approx(1, abs=1e-5)


def test_tasks_that_occur_together_become_independent_and_stay_as_frequent():
    random = np.random.default_rng(0)
    women = random.random(2000) < 0.4
    knife = random.random(2000) < np.where(women, 0.5, 0.2)
    fork = random.random(2000) < np.where(knife, 0.7, 0.2)
    dog = random.random(2000) < np.where(women, 0.2, 0.3)
    attributes = np.where(women, "woman", "man").tolist()
    tasks = [
        [n for n, f in (("knife", k), ("fork", f), ("dog", d)) if f] for k, f, d in zip(knife, fork, dog, strict=True)
    ]
    rows = [ADDS | {"attribute": "woman", "task": task} for task in ("knife", "fork")]
    weights = resampling_weights(attributes, tasks, rows)
    assert np.average(women, weights=weights) == pytest.approx(women.mean())
    for flags in (knife, fork):
        assert np.average(flags, weights=weights) == pytest.approx(flags.mean(), abs=1e-6)
        assert np.average(flags[women], weights=weights[women]) == pytest.approx(flags.mean(), abs=1e-5)
    effect = {(row["attribute"], row["task"]): row for row in predicted_effect(attributes, tasks, weights)}
    assert effect["woman", "knife"]["before"] == pytest.approx(women[knife].mean() / women.mean())
    assert effect["woman", "knife"]["images"] == (women & knife).sum()
    assert abs(effect["woman", "dog"]["after"] - 1) > 0.05, "no row asked for it"


def test_only_the_first_rows_that_clearly_add_and_name_both_are_taken():
    attributes, tasks = ["f"] * 4 + ["m"] * 4, [["a", "b"], ["a", "b"], ["a"], [], ["a", "b"], [], [], []]
    rows = [
        ADDS | {"task": "b", "amplification": -0.5},
        ADDS | {"attribute": None, "task": "b"},
        ADDS | {"task": None},
        ADDS | {"task": "b", "amplification_ci_low": -0.01},
        {"attribute": "f", "task": "b", "amplification": 0.1},
        ADDS,
        ADDS | {"task": "b"},
    ]
    one, unclear = (resampling_weights(attributes, tasks, rows, top=1, unclear=flag) for flag in (False, True))
    assert np.array_equal(one, resampling_weights(attributes, tasks, [ADDS]))
    assert np.array_equal(one, resampling_weights(attributes, tasks, [ADDS | {"attribute": "the lexicon's name"}]))
    assert np.array_equal(unclear, resampling_weights(attributes, tasks, [ADDS | {"task": "b"}]))
    assert not np.allclose(one, unclear)


def test_a_row_adds_its_net_part_the_matched_one_where_there_is_none_and_then_the_published_one():
    attributes, tasks = ["f"] * 4 + ["m"] * 4, [["a", "b"], ["a"], ["a"], [], ["a"], ["b"], ["b"], []]
    rows = [
        {"attribute": "f", "task": "b", "amplification": 0.3, "amplification_matched": 0.1, "amplification_net": -0.1},
        {"attribute": "f", "task": "a", "amplification": -0.3, "amplification_matched": -0.1, "amplification_net": 0.1},
        {"attribute": "f", "task": "b", "amplification": -0.3, "amplification_matched": 0.1, "amplification_net": None},
        {"attribute": "f", "task": "b", "amplification": 0.3, "amplification_matched": -0.1},
    ]
    a, b = ([ADDS | {"task": task}] for task in "ab")
    one, two = (resampling_weights(attributes, tasks, rows, top=top, unclear=True) for top in (1, 2))
    assert np.array_equal(one, resampling_weights(attributes, tasks, a))
    assert np.array_equal(two, resampling_weights(attributes, tasks, a + b))
    assert not np.allclose(one, two)
    with pytest.raises(ValueError, match="unclear=True takes pairs whose interval holds 0"):
        resampling_weights(attributes, tasks, rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": []}, "rows: no pair of an attribute value and a task clearly adds"),
        ({"rows": [ADDS | {"amplification_matched": -0.1}], "unclear": True}, "rows: no pair .* and references$"),
        ({"rows": [ADDS | {"task": "z"}]}, "rows name task 'z', which no image has"),
        ({"tasks": [["a"], ["a"], ["b"], []]}, "no image of attribute 'f' is without task 'a'"),
        ({"tasks": [["a"], [], ["b"], []]}, "no image of attribute 'm' is with task 'a'"),
        ({"tasks": [["a"], []]}, "attributes has length 4 and tasks has length 2"),
        ({"attributes": ["f"] * 4}, "attributes has one value, 'f'"),
        ({"attributes": [["f"], ["f", "m"], ["m"], ["m"]]}, r"attributes\[1\] must be one label"),
        ({"top": 0}, "top must be a whole number of 1 or more, not 0"),
    ],
)
def test_what_cannot_be_weighted_is_said(arguments, message):
    given = {"attributes": ["f", "f", "m", "m"], "tasks": [["a"], [], ["a"], []], "rows": [ADDS]} | arguments
    with pytest.raises(ValueError, match=message):
        resampling_weights(**given)


def test_tasks_that_no_weights_separate_are_said():
    """Women with a have b and men with a lack it: both cannot be as frequent with either, whatever the weights."""
    attributes = ["f"] * 10 + ["m"] * 10
    tasks = [["a", "b"]] * 9 + [[]] + [["a"]] * 4 + [["b"]] + [["a"]] * 5
    rows = [ADDS, ADDS | {"task": "b"}]
    with pytest.raises(ValueError, match=r"no weights make a, b all independent of the attribute.*top"):
        resampling_weights(attributes, tasks, rows)


def test_weights_that_rest_on_a_few_images_warn():
    attributes = ["f"] * 500 + ["m"] * 500
    tasks = [["a"]] * 499 + [[]] + [["a"]] + [[]] * 499
    with pytest.warns(CaptionBiasWarning, match="the 1,000 images count as 8"):
        resampling_weights(attributes, tasks, [ADDS])


# The file.


def test_csv_and_parquet_hold_the_same(tmp_path):
    import pyarrow.parquet as pq

    ids, weights = ["a,b", "ü", "3"], np.array([0.1 + 0.2, 1.0, 0.0])
    write_weights(tmp_path / "w.csv", ids, weights)
    write_weights(str(tmp_path / "w.parquet"), ids, weights)
    with (tmp_path / "w.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["image_id"] for row in rows] == ids
    assert [float(row["weight"]) for row in rows] == weights.tolist()
    assert pq.read_table(tmp_path / "w.parquet").to_pydict() == {"image_id": ids, "weight": weights.tolist()}
    assert sorted(os.listdir(tmp_path)) == ["w.csv", "w.parquet"]


@pytest.mark.parametrize(
    ("name", "ids", "weights", "message"),
    [
        ("w.txt", ["a"], [1.0], "does not end in .csv or .parquet"),
        ("w.csv", ["a", "b", "a"], [1.0, 1.0, 1.0], r"image_ids\[2\] repeats a: give each image one row"),
        ("w.csv", ["a", "b"], [1.0], "must all be of the same length|same length"),
        ("none/w.csv", ["a"], [1.0], "cannot be written"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, ids, weights, message):
    with pytest.raises(ValueError, match=message):
        write_weights(tmp_path / name, ids, weights)
    assert not os.listdir(tmp_path)
