"""DPA finds a bias of labels that was planted, in the direction where it was planted, and takes errors for no bias."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from captionbias.attackers import convex, placement
from captionbias.metrics.dpa import dpa

DIRECTIONS = ("a_to_t", "t_to_a")
IMAGES, LEAN = 2000, np.array([0.7, 0.65, 0.35, 0.3])  # share of women among the images of each task
TRIALS = {"trials": 3, "bootstrap": 200}


@cache
def planted(a_to_t=0.0, t_to_a=0.0, errors=0.0, seed=0, images=IMAGES):
    """Labels of images of one task each. A share `a_to_t` of the predicted tasks is one that leans to the person, a
    share `t_to_a` of the predicted persons the one that the task leans to, a share `errors` of both is drawn at random.
    """
    random = np.random.default_rng(seed)
    woman, task = np.arange(images) % 2 == 0, np.zeros(images, int)
    for value, weights in ((True, LEAN), (False, 1 - LEAN)):
        task[woman == value] = random.choice(4, size=(woman == value).sum(), p=weights / weights.sum())
    leaning = np.where(woman, random.integers(0, 2, images), random.integers(2, 4, images))
    told = np.where(random.random(images) < a_to_t, leaning, task)
    told = np.where(random.random(images) < errors, random.integers(0, 4, images), told)
    told_woman = np.where(random.random(images) < t_to_a, LEAN[task] > 0.5, woman)
    told_woman = np.where(random.random(images) < errors, random.random(images) < 0.5, told_woman)
    return {
        "attributes": np.column_stack((woman, ~woman)),
        "tasks": np.eye(4, dtype=bool)[task],
        "predicted_attributes": np.column_stack((told_woman, ~told_woman)),
        "predicted_tasks": np.eye(4, dtype=bool)[told],
    }


@cache
def measured(encoder="linear", equalize=True, quality="inverse_cross_entropy", **dials):
    return dpa(**planted(**dials), encoder=encoder, equalize=equalize, quality=quality, **TRIALS)


def interval(result, name):
    return result[f"dpa_{name}_ci_low"], result[f"dpa_{name}_ci_high"]


# --- what it finds ---


@pytest.mark.parametrize(("dial", "other"), [DIRECTIONS, DIRECTIONS[::-1]])
def test_a_planted_amplification_is_found_in_its_direction_alone(dial, other):
    result = measured(**{dial: 0.4})
    assert interval(result, dial)[0] > 0
    assert result[f"dpa_{dial}"] > 0.02
    assert result[f"dpa_{other}"] == 0, "those labels are the truth"


@pytest.mark.parametrize("quality", ["inverse_cross_entropy", "confidence"])
@pytest.mark.parametrize("dial", DIRECTIONS)
def test_it_rises_with_the_dial(dial, quality):
    scores = [measured(quality=quality, **{dial: strength})[f"dpa_{dial}"] for strength in (0.0, 0.3, 0.6)]
    assert scores[0] == 0
    assert scores == sorted(set(scores))


@pytest.mark.parametrize("name", DIRECTIONS)
def test_errors_without_a_reason_are_no_bias_once_the_labels_are_as_wrong_too(name):
    """Nothing but errors makes predictions harder or easier to read; unequalised, each seed takes that for a bias.

    Of eight seeds, seven or more intervals hold 0, and the scores vary around it.
    """
    fair, unfair = (
        [measured(equalize=equalize, errors=0.5, seed=seed) for seed in range(8)] for equalize in (True, False)
    )
    intervals = [interval(result, name) for result in fair]
    assert sum(low <= 0 <= high for low, high in intervals) >= 7
    scores, biased = ([result[f"dpa_{name}"] for result in results] for results in (fair, unfair))
    assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(8)
    assert max(biased) < 0
    assert np.mean(biased) < -5 * np.std(biased, ddof=1) / np.sqrt(8)


def test_amplification_is_found_among_errors():
    result, unfair = (measured(equalize=equalize, a_to_t=0.5, errors=0.3, seed=1) for equalize in (True, False))
    assert interval(result, "a_to_t")[0] > 0
    assert result["dpa_a_to_t"] > unfair["dpa_a_to_t"]


def test_a_dense_network_finds_what_the_linear_attacker_finds(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(placement, "cores", lambda: 1)  # workers take longer to start than these trainings
    linear, dense = (measured(encoder, a_to_t=0.5, t_to_a=0.5, images=1000) for encoder in ("linear", "dense"))
    for name in DIRECTIONS:
        assert interval(dense, name)[0] > 0
        assert dense[f"dpa_{name}"] == pytest.approx(linear[f"dpa_{name}"], rel=0.35)


# --- what it is made of ---


def test_it_is_the_normalised_difference_of_both_predictabilities():
    result = dpa(**planted(a_to_t=0.4, images=200), trials=1, bootstrap=0)
    for name in DIRECTIONS:
        model, data = result[f"predictability_m_{name}"], result[f"predictability_d_{name}"]
        assert result[f"dpa_{name}"] == pytest.approx((model - data) / (model + data))
    ends = {f"{score}_{name}" for score in ("dpa", "predictability_m", "predictability_d") for name in DIRECTIONS}
    assert set(result) == {*ends, "signature"}


def test_cross_entropy_is_that_of_the_shares_of_each_attribute():
    """4,000 images: an attacker that is told the attribute can know no more than these shares, each task on its own."""
    given_labels = planted(images=4000)
    woman, tasks = given_labels["attributes"][:, 0], given_labels["tasks"]
    shares = np.where(woman[:, None], tasks[woman].mean(axis=0), tasks[~woman].mean(axis=0))
    entropy = -np.log(np.where(tasks, shares, 1 - shares)).sum(axis=1).mean()
    result = dpa(**given_labels, trials=3, bootstrap=0)
    assert 1 / result["predictability_m_a_to_t"] == pytest.approx(entropy, rel=0.03)


def test_a_direction_alone_is_the_same_as_beside_the_other():
    given_labels = planted(a_to_t=0.3, t_to_a=0.3, images=200)
    both = dpa(**given_labels, **TRIALS)
    for name, left_out in zip(DIRECTIONS, ("predicted_attributes", "predicted_tasks"), strict=True):
        alone = dpa(**{key: rows for key, rows in given_labels.items() if key != left_out}, **TRIALS)
        assert alone == {key: value for key, value in both.items() if name in key or key == "signature"}


def test_without_equalisation_the_data_s_side_does_not_know_of_the_model():
    first, other = (measured(equalize=False, a_to_t=dial) for dial in (0.3, 0.6))
    assert first["predictability_d_a_to_t"] == other["predictability_d_a_to_t"]
    assert first["predictability_m_a_to_t"] != other["predictability_m_a_to_t"]


def test_every_number_is_finite_and_has_its_intervals():
    result = measured(a_to_t=0.3, t_to_a=0.3)
    assert all(math.isfinite(value) for key, value in result.items() if key != "signature")
    for name in DIRECTIONS:
        for score in ("dpa", "predictability_m", "predictability_d"):
            for end in ("std", "trial_ci_low", "trial_ci_high", "ci_low", "ci_high"):
                assert f"{score}_{name}_{end}" in result


def test_details_and_signature_say_what_was_measured():
    result = dpa(**planted(images=100), trials=1, bootstrap=0, details=True, quality="accuracy", equalize=False)
    assert result["details"] == {"images": 100, "attribute_counts": {"0": 50, "1": 50}, "warnings": []}
    assert result["signature"].startswith("metric:dpa|attacker:linear|quality:accuracy|equalized:False|labels:given|")


# --- trials ---


def test_a_second_run_trains_nothing_and_says_the_same(tmp_path, monkeypatch):
    given_labels = planted(a_to_t=0.3, images=200)
    first = dpa(**given_labels, **TRIALS, cache=tmp_path)

    def trained(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(convex, "_fit", trained)
    assert dpa(**given_labels, **TRIALS, cache=tmp_path) == first
    with pytest.raises(AssertionError, match="trained again"):
        dpa(**given_labels, **TRIALS, cache=False)
    with pytest.raises(AssertionError, match="trained again"):
        dpa(**given_labels, **TRIALS, cache=tmp_path, seed=1)


def test_the_same_seed_gives_the_same_and_more_trials_begin_with_the_same_ones():
    given_labels = planted(a_to_t=0.3, images=200)
    first, again, other = (dpa(**given_labels, **TRIALS, cache=False, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first["dpa_a_to_t"] != other["dpa_a_to_t"]
    one, two, both = (
        dpa(**given_labels, trials=trials, seed=seed, bootstrap=0)["predictability_m_a_to_t"]
        for trials, seed in ((1, 5), (1, 6), (2, 5))
    )
    assert both == pytest.approx((one + two) / 2)


# --- bad input; what all metrics of labels refuse is with `labelled` ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": "perplexity"}, r"^quality 'perplexity' is unknown; choose one of .*accuracy"),
        ({"trials": 0}, r"^trials must be a whole number of 1 or more, not 0"),
        ({"encoder": "gru"}, r"^encoder 'gru' is unknown; choose one of bow, linear"),
        ({"precision": "bf16"}, r"^precision 'bf16': encoder 'linear' has no choice of precision"),
        (
            {"attributes": ["x"] * 9 + ["y"] * 51, "predicted_attributes": None},
            r"^attributes: 9 images have x; .*10\.",
        ),
        ({"predicted_tasks": np.zeros((60, 4))}, r"^a_to_t: nothing is predicted for any image"),
        ({"predicted_attributes": np.zeros((60, 2))}, r"^t_to_a: nothing is predicted for any image"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        dpa(**planted(images=60) | {"trials": 1} | options)
