"""DPA and label leakage find a bias of labels that was planted, where it was planted, and take errors for no bias."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers import engine
from captionbias.bench.label_attacks import match_error_rate
from tests.whole import dpa, label_leakage

DIRECTIONS = ("a_to_t", "t_to_a")
LEAN = np.array([0.7, 0.65, 0.35, 0.3])  # share of women among the images of each task
TRIALS = {"trials": 3, "bootstrap": 200}


@cache
def planted(a_to_t=0.0, t_to_a=0.0, errors=0.0, seed=0, images=2000):
    """Labels of images of one task each. A share `a_to_t` of the predicted tasks is one that leans to the person, a
    share `t_to_a` of the predicted persons the one that the task leans to, a share `errors` of both is drawn at random.
    """
    random = np.random.default_rng(seed)
    woman, task = np.arange(images) % 2 == 0, np.zeros(images, int)
    for value, weights in ((True, LEAN), (False, 1 - LEAN)):
        task[woman == value] = random.choice(4, size=(woman == value).sum(), p=weights / weights.sum())
    leaning = np.where(woman, random.integers(0, 2, images), random.integers(2, 4, images))
    named = np.where(random.random(images) < a_to_t, leaning, task)
    named = np.where(random.random(images) < errors, random.integers(0, 4, images), named)
    named_woman = np.where(random.random(images) < t_to_a, LEAN[task] > 0.5, woman)
    named_woman = np.where(random.random(images) < errors, random.random(images) < 0.5, named_woman)
    return {
        "attributes": np.column_stack((woman, ~woman)),
        "tasks": np.eye(4, dtype=bool)[task],
        "predicted_attributes": np.column_stack((named_woman, ~named_woman)),
        "predicted_tasks": np.eye(4, dtype=bool)[named],
    }


@cache
def measured(metric, encoder="linear", equalize=True, **dials):
    labels = {name: flags for name, flags in planted(**dials).items() if name in metric.options()}
    return metric(**labels, encoder=encoder, equalize=equalize, **TRIALS)


def interval(result, score):
    return result[f"{score}_ci_low"], result[f"{score}_ci_high"]


@pytest.mark.parametrize(
    ("metric", "dial", "score"),
    [(dpa, "a_to_t", "dpa_a_to_t"), (dpa, "t_to_a", "dpa_t_to_a"), (label_leakage, "a_to_t", "label_leakage")],
)
def test_a_score_rises_with_what_is_predicted_and_is_0_where_predictions_are_right(metric, dial, score):
    results = [measured(metric, **{dial: strength}) for strength in (0.0, 0.3, 0.6)]
    scores = [result[score] for result in results]
    assert sum(interval(results[0], score)) == 0
    assert scores == sorted(set(scores))
    assert interval(results[1], score)[0] > 0
    if metric is dpa:
        [other] = {"dpa_a_to_t", "dpa_t_to_a"} - {score}
        assert results[2][other] == 0, "those labels are the truth"


@pytest.mark.parametrize("name", DIRECTIONS)
def test_errors_without_a_reason_are_no_bias_to_dpa_once_the_labels_are_as_wrong_too(name):
    """Nothing but errors makes predictions harder or easier to read; unequalised, each seed takes that for a bias."""
    fair, unfair = (
        [measured(dpa, equalize=equalize, errors=0.5, seed=seed) for seed in range(8)] for equalize in (True, False)
    )
    intervals = [interval(result, f"dpa_{name}") for result in fair]
    assert sum(low <= 0 <= high for low, high in intervals) >= 7
    scores = [result[f"dpa_{name}"] for result in fair]
    assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(8)
    assert max(result[f"dpa_{name}"] for result in unfair) < 0


@pytest.mark.slow
def test_a_dense_network_finds_what_the_linear_attacker_finds(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(engine, "cores", lambda: 1)  # workers take longer to start than these trainings
    linear, dense = (measured(dpa, encoder, a_to_t=0.5, t_to_a=0.5, images=600) for encoder in ("linear", "dense"))
    for name in DIRECTIONS:
        assert interval(dense, f"dpa_{name}")[0] > 0
        assert dense[f"dpa_{name}"] == pytest.approx(linear[f"dpa_{name}"], rel=0.35)


def test_tasks_that_say_nothing_leak_as_chance_however_rare_an_attribute_is():
    """A quarter women: the images that are read are balanced."""
    random = np.random.default_rng(0)
    attributes = np.where(np.arange(2000) % 4 == 0, "f", "m")
    tasks, predicted = random.random((2, 2000, 4)) < 0.5
    result = label_leakage(attributes=attributes, tasks=tasks, predicted_tasks=predicted, **TRIALS)
    assert result["label_leakage_m"] == pytest.approx(50, abs=6)
    assert result["label_leakage_d"] == pytest.approx(50, abs=6)


def test_dpa_is_made_of_cross_entropies_and_these_are_of_the_shares_of_each_attribute():
    """4,000 images: an attacker that is told the attribute can know no more than these shares, each task on its own."""
    labels = planted(images=4000)
    woman, tasks = labels["attributes"][:, 0], labels["tasks"]
    shares = np.where(woman[:, None], tasks[woman].mean(axis=0), tasks[~woman].mean(axis=0))
    entropy = -np.log(np.where(tasks, shares, 1 - shares)).sum(axis=1).mean()
    result = dpa(**labels, trials=3, bootstrap=0)
    assert 1 / result["predictability_m_a_to_t"] == pytest.approx(entropy, rel=0.03)
    for name in DIRECTIONS:
        model, data = result[f"predictability_m_{name}"], result[f"predictability_d_{name}"]
        assert result[f"dpa_{name}"] == pytest.approx((model - data) / (model + data))


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 999))
def test_each_label_is_missed_and_invented_exactly_as_often_as_by_the_model(rows, width, seed):
    random = np.random.default_rng(seed)
    truth, predicted = random.random((rows, width)) < 0.4, random.random((rows, width)) < random.random()
    found = match_error_rate(truth, predicted, seed)
    assert found.dtype == bool
    for label in range(width):
        for members in (truth[:, label], ~truth[:, label]):
            assert found[members, label].sum() == predicted[members, label].sum()
