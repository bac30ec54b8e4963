"""What attackers read from labels: sets as words, and labels made as wrong as a model's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.metrics.label_attacks import as_tokens, as_wrong_as


@st.composite
def two_tables(draw):
    rows, width = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    return random.random((rows, width)) < 0.4, random.random((rows, width)) < random.random()


# --- labels as wrong as a model's ---


@settings(deadline=None)
@given(two_tables(), st.integers(0, 99))
def test_each_label_is_missed_and_invented_exactly_as_often_as_by_the_model(tables, seed):
    truth, predicted = tables
    found = as_wrong_as(truth, predicted, seed)
    assert found.dtype == bool
    for label in range(truth.shape[1]):
        for members in (truth[:, label], ~truth[:, label]):
            assert found[members, label].sum() == predicted[members, label].sum()


@settings(deadline=None)
@given(two_tables(), st.integers(0, 99))
def test_right_predictions_leave_the_truth_as_it_is_and_wrong_ones_turn_it_round(tables, seed):
    truth, _ = tables
    assert np.array_equal(as_wrong_as(truth, truth, seed), truth)
    assert np.array_equal(as_wrong_as(truth, ~truth, seed), ~truth)


def test_what_was_given_is_left_as_it_was_and_the_seed_draws():
    random = np.random.default_rng(0)
    truth, predicted = random.random((2, 100, 2)) < 0.5
    before = truth.copy(), predicted.copy()
    drawn = {as_wrong_as(truth, predicted, seed).tobytes() for seed in (0, 1, 2, 0, 1)}
    assert len(drawn) == 3
    assert np.array_equal(truth, before[0])
    assert np.array_equal(predicted, before[1])


def test_errors_have_nothing_to_do_with_anything_else():
    """The model misses the label for men and invents it for women; the same errors fall on both alike."""
    random = np.random.default_rng(0)
    woman, truth = random.random(400) < 0.5, random.random((400, 1)) < 0.5
    predicted = np.where(random.random(400) < 0.6, woman, truth[:, 0])[:, None]

    def gaps(labels):
        """What women have of the label beyond men, among images that show it and among those that do not."""
        return [
            labels[members & woman].mean() - labels[members & ~woman].mean() for members in (truth[:, 0], ~truth[:, 0])
        ]

    assert min(gaps(predicted)) > 0.4
    drawn = np.array([gaps(as_wrong_as(truth, predicted, seed)) for seed in range(200)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(200)
    assert (np.abs(drawn.mean(axis=0)) < 4 * error).all()
    assert (error < 0.01).all()


def test_the_errors_of_two_labels_have_nothing_to_do_with_each_other():
    truth = np.ones((400, 2), bool)
    predicted = np.repeat(np.random.default_rng(0).random((400, 1)) < 0.5, 2, axis=1)
    both = [as_wrong_as(truth, predicted, seed).all(axis=1).mean() for seed in range(100)]
    assert predicted.all(axis=1).mean() == pytest.approx(0.5, abs=0.1)
    assert np.mean(both) == pytest.approx(predicted[:, 0].mean() ** 2, abs=0.01)


# --- labels as captions ---


@settings(deadline=None)
@given(two_tables())
def test_each_image_s_labels_are_its_words(tables):
    flags, _ = tables
    tokens = as_tokens(flags)
    assert tokens.texts() == [" ".join(map(str, np.flatnonzero(row))) for row in flags]
    assert len(tokens.words) == flags.shape[1], "also those that no image has"
