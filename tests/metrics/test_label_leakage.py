"""Leakage of labels: what predicted tasks give away of the attribute beyond what the images' own tasks do."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from captionbias.attackers import convex, placement
from captionbias.metrics.label_leakage import label_leakage

IMAGES, LEAN = 2000, np.array([0.7, 0.65, 0.35, 0.3])  # share of women among the images of each task
TRIALS = {"trials": 3, "bootstrap": 200}


@cache
def planted(a_to_t=0.0, errors=0.0, seed=0, images=IMAGES):
    """Labels of images of one task each. A share `a_to_t` of the predicted tasks is one that leans to the person, a
    share `errors` is drawn at random.
    """
    random = np.random.default_rng(seed)
    woman, task = np.arange(images) % 2 == 0, np.zeros(images, int)
    for value, weights in ((True, LEAN), (False, 1 - LEAN)):
        task[woman == value] = random.choice(4, size=(woman == value).sum(), p=weights / weights.sum())
    leaning = np.where(woman, random.integers(0, 2, images), random.integers(2, 4, images))
    told = np.where(random.random(images) < a_to_t, leaning, task)
    told = np.where(random.random(images) < errors, random.integers(0, 4, images), told)
    eye = np.eye(4, dtype=bool)
    return {"attributes": np.column_stack((woman, ~woman)), "tasks": eye[task], "predicted_tasks": eye[told]}


@cache
def measured(encoder="linear", equalize=True, **dials):
    return label_leakage(**planted(**dials), encoder=encoder, equalize=equalize, **TRIALS)


def interval(result, name="label_leakage"):
    return result[f"{name}_ci_low"], result[f"{name}_ci_high"]


def test_predictions_equal_to_the_labels_leak_as_much():
    result = measured()
    assert result["label_leakage"] == 0
    assert interval(result) == (0, 0)
    assert result["label_leakage_m"] == result["label_leakage_d"] > 60


def test_it_rises_with_what_is_predicted_for_an_attribute():
    scores = [measured(a_to_t=strength)["label_leakage"] for strength in (0.0, 0.3, 0.6, 1.0)]
    assert scores == sorted(set(scores))
    assert interval(measured(a_to_t=0.3))[0] > 0
    assert measured(a_to_t=1.0)["label_leakage_m"] == 100, "women have two tasks, men the others"


@pytest.mark.parametrize("seed", [1, 2])
def test_errors_without_a_reason_are_no_bias_once_the_labels_are_as_wrong_too(seed):
    fair, unfair = (measured(equalize=equalize, errors=0.5, seed=seed) for equalize in (True, False))
    low, high = interval(fair)
    assert low <= 0 <= high
    assert interval(unfair)[1] < 0
    assert unfair["label_leakage_m"] == fair["label_leakage_m"]


def test_a_dense_network_finds_what_the_linear_attacker_finds(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(placement, "cores", lambda: 1)  # workers take longer to start than these trainings
    linear, dense = (measured(encoder, a_to_t=0.5, images=1000) for encoder in ("linear", "dense"))
    assert interval(dense)[0] > 0
    assert dense["label_leakage"] == pytest.approx(linear["label_leakage"], abs=3)


def test_it_is_the_difference_of_both_sides_in_percent():
    result = measured(a_to_t=0.3, errors=0.2)
    assert result["label_leakage"] == pytest.approx(result["label_leakage_m"] - result["label_leakage_d"])
    for side in ("", "_m", "_d"):
        low, high = interval(result, f"label_leakage{side}")
        assert -100 <= low <= result[f"label_leakage{side}"] <= high <= 100
    assert all(math.isfinite(value) for key, value in result.items() if key != "signature")


def test_tasks_that_say_nothing_are_chance_however_rare_an_attribute_is():
    """A quarter women: the images that are read are balanced."""
    random = np.random.default_rng(0)
    attributes = np.where(np.arange(2000) % 4 == 0, "f", "m")
    tasks, told = random.random((2, 2000, 4)) < 0.5
    result = label_leakage(attributes=attributes, tasks=tasks, predicted_tasks=told, **TRIALS)
    assert result["label_leakage_m"] == pytest.approx(50, abs=6)
    assert result["label_leakage_d"] == pytest.approx(50, abs=6)


def test_an_attribute_of_three_values_and_sets_of_values_are_classes():
    attributes = [["f"], ["m"], ["f", "m"]] * 40
    tasks = [["a"], ["b"], ["c"]] * 40
    same = [["a"], ["a"], ["a"]] * 40
    result = label_leakage(attributes=attributes, tasks=tasks, predicted_tasks=same, equalize=False, trials=2)
    assert result["label_leakage_d"] == 100
    assert result["label_leakage_m"] == pytest.approx(100 / 3)


def test_details_and_signature_say_what_was_measured():
    result = label_leakage(**planted(images=100), trials=1, bootstrap=0, details=True)
    assert result["details"] == {"images": 100, "attribute_counts": {"0": 50, "1": 50}, "warnings": []}
    assert result["signature"].startswith("metric:label_leakage|attacker:linear|equalized:True|labels:given|trials:1|")
    assert set(result) == {"label_leakage", "label_leakage_m", "label_leakage_d", "signature", "details"}


def test_a_second_run_trains_nothing_and_says_the_same(monkeypatch):
    """In the usual folder, without being asked."""
    given_labels = planted(a_to_t=0.3, images=200)
    first = label_leakage(**given_labels, **TRIALS)

    def trained(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(convex, "_fit", trained)
    assert label_leakage(**given_labels, **TRIALS) == first
    with pytest.raises(AssertionError, match="trained again"):
        label_leakage(**given_labels, **TRIALS, cache=False)


def test_the_seed_draws_splits_errors_and_interval():
    given_labels = planted(errors=0.3, images=200)
    first, again, other = (label_leakage(**given_labels, **TRIALS, cache=False, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert interval(first) != interval(other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": ["f"] * 60}, r"^attributes has the same value in all rows: .* two or more to tell apart"),
        ({"attributes": ["x"] * 9 + ["y"] * 51}, r"^attributes: 9 images have x; an attacker needs at least 10\."),
        ({"predicted_tasks": np.zeros((60, 4))}, r"^predicted_tasks has no label in any image"),
        ({"trials": 0}, r"^trials must be a whole number of 1 or more, not 0"),
        ({"encoder": "gru"}, r"^encoder 'gru' is unknown; choose one of bow, linear"),
        ({"precision": "fp32"}, r"^precision 'fp32': encoder 'linear' has no choice of precision"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        label_leakage(**planted(images=60) | {"trials": 1} | options)


def test_captions_that_name_no_task_are_refused():
    captions = {"predictions": ["a man", "a woman"] * 20, "attributes": ["male", "female"] * 20}
    with pytest.raises(ValueError, match=r"^predictions: no task is predicted for any image; give the words"):
        label_leakage(**captions, tasks=[["dog"]] * 40, trials=1)
