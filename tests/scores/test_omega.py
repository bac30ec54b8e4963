"""Omega where it is not defined; its definition is in `tests/metrics/test_dbac_by_hand.py`."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.scores.omega import MATCHED, Side, Table
from captionbias.scores.omega import Tested as Answered


def test_nothing_in_common_is_undefined_not_zero():
    side = Side(image=np.arange(4), named=np.zeros(4, np.int64))
    table = Table.of(side, np.array([0, 1, 0, 1]), [Answered(np.arange(4), {"": np.full(4, 0.5)})], 2)
    (omega,) = table.omegas(np.ones((4, 1)), np.array([[0.0], [1.0]]), np.array([False, False]))
    assert np.isnan(omega.value(MATCHED)[0])
    assert omega.facts()["effective_sample_matched"][0] == 0
    assert omega.value()[0] == pytest.approx(1.0)


def test_a_replicate_without_test_captions_is_undefined():
    side = Side(image=np.arange(4), named=np.array([0, 0, 1, 1]))
    multiplicity = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 0.0]])
    tested = Answered(np.array([0, 3]), {"": np.full(2, 0.5)})
    table = Table.of(side, np.array([0, 1, 0, 1]), [tested], 2)
    with np.errstate(all="raise"):
        (omega,) = table.omegas(multiplicity, np.full((2, 2), 0.5), np.array([True, True]))
        values = {"published": omega.value(), "matched": omega.value(MATCHED)} | omega.facts()
    for part in ("published", "matched", "mean_quality", "mean_weight", "coverage"):
        assert np.isnan(values[part]).tolist() == [False, True], part
