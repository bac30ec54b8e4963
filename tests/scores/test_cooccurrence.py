"""Bias amplification from counts: no rounding makes a sign of nothing; definitions are in the metrics' own tests."""

import numpy as np
import pytest

from captionbias.scores.cooccurrence import association, mals


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
