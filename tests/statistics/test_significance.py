"""P-values agree with intervals, and corrections with the books."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control

from captionbias.statistics.intervals import bootstrap_interval
from captionbias.statistics.significance import benjamini_hochberg, holm, p_value

UNBOUNDED = (-np.inf, np.inf)


estimates = st.floats(-3, 3)
replicate_arrays = arrays(
    np.float64, st.integers(40, 400), elements=st.floats(-2, 2, width=32) | st.integers(-2, 2).map(float)
)


@settings(deadline=None, max_examples=60)
@given(estimate=estimates, replicates=replicate_arrays)
def test_p_is_below_5_percent_exactly_when_the_interval_excludes_0(estimate, replicates):
    low, high = bootstrap_interval(estimate, replicates, UNBOUNDED)
    assume(not any(0 < abs(end) < 1e-9 for end in (low, high)))  # decided by rounding
    assert (p_value(estimate, replicates) < 0.05) == (low > 0 or high < 0)


@given(arrays(np.float64, st.integers(0, 12), elements=st.floats(0, 1)))
def test_holm_rejects_what_the_step_down_procedure_does(p_values):
    """Holm's own words: while the smallest that is left is at most alpha over how many are left, reject it."""
    by_r = [0.05, 0.08, 0.09, 0.09, 0.09]  # p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx(by_r)
    corrected = holm(p_values)
    for alpha in (0.01, 0.05, 0.2):
        rejected = np.zeros(len(p_values), bool)
        for left, number in zip(range(len(p_values), 0, -1), np.argsort(p_values, kind="stable"), strict=True):
            if p_values[number] * left > alpha:
                break
            rejected[number] = True
        assert np.array_equal(corrected <= alpha, rejected)
    assert (corrected >= p_values).all()
    assert (corrected <= 1).all()


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(0, 8)), elements=st.floats(0, 1)))
def test_benjamini_and_hochberg_s_shares_are_scipy_s_to_the_last_bit(p_values):
    expected = false_discovery_control(p_values, axis=None).reshape(p_values.shape) if p_values.size else p_values
    assert np.array_equal(benjamini_hochberg(p_values), expected)
