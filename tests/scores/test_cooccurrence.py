"""Bias amplification from counts: no rounding makes a sign of nothing, and each replicate is computed on its own.

The metrics' own tests compare them with their definitions.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from captionbias.scores.cooccurrence import association, change, mals, mean_of_defined, shares

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_at_chance_the_sign_is_0_however_many_images_there_are():
    """3 of 9 women among 3,000,000."""
    third = np.array([[1_000_000.0]])
    assert association(third, 3 * third, 3 * third, 9 * third).tolist() == [[0.0]]


@pytest.mark.parametrize("values", [2, 3, 5, 6, 7, 49])
def test_a_task_that_leans_to_nobody_counts_0_whatever_the_number_of_values(values):
    """1 / 49 is no sum of halves: a share must not be above it by rounding."""
    predicted = np.ones((values, 1))
    predicted[0] = 9
    assert not mals(np.full((values, 1), 3.0), predicted).any()


def test_a_task_that_does_not_occur_on_either_side_is_undefined_whatever_its_lean():
    """The first task never in the data, the second never predicted, the third leans to nobody, the fourth to one."""
    training = np.array([[0.0, 3.0, 2.0, 3.0], [0.0, 1.0, 2.0, 1.0]])
    predicted = np.array([[4.0, 0.0, 4.0, 1.0], [1.0, 0.0, 1.0, 1.0]])
    expected = [[np.nan, np.nan, 0, 1 / 2 - 3 / 4], [np.nan, np.nan, 0, 0]]
    assert np.array_equal(mals(training, predicted), expected, equal_nan=True)


def test_a_change_is_that_of_a_conditional_probability_and_undefined_without_what_is_given():
    """From A to T by rows: of 4 images of the first value 3 are said to have the task, and 1 of 2 has it."""
    predicted, together = np.array([[3.0, 0.0], [2.0, 2.0]]), np.array([[1.0, 2.0], [0.0, 0.0]])
    found = change(predicted, np.array([[4.0], [5.0]]), together, np.array([[2.0], [0.0]]))
    assert np.array_equal(found, [[3 / 4 - 1 / 2, 0 - 1], [np.nan, np.nan]], equal_nan=True)
    unsaid = change(predicted, np.array([[4.0], [0.0]]), together, np.array([[2.0], [3.0]]))
    assert np.array_equal(np.isnan(unsaid), [[False, False], [True, True]])


@settings(deadline=None)
@given(SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, 9))))
def test_each_replicate_is_computed_on_its_own(stack):
    def tables(counts):
        values, tasks = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
        signs = association(counts, values, tasks, counts.sum(axis=(0, 1), keepdims=True) + 5)
        changes = change(counts[::-1], values + 1, counts, values)
        return signs, changes, mals(counts, counts[::-1]), shares(counts)

    whole = tables(stack)
    for number in range(stack.shape[-1]):
        for table, alone in zip(whole, tables(stack[..., number]), strict=True):
            assert np.array_equal(table[..., number], alone, equal_nan=True)
            mean = pytest.approx(float(mean_of_defined(alone)), nan_ok=True)
            assert mean_of_defined(table)[number] == mean
