"""The bootstrap of an array of quantities is that of each of them."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.statistics.samples import bootstrap_samples


@pytest.mark.parametrize("trials", [1, 3])
def test_an_array_of_quantities_has_the_samples_of_each(trials):
    says = np.random.default_rng(0).random((2, 4, trials, 30))
    says[1, 2, -1] = np.nan

    def shares(multiplicity, _):
        return {"all": says @ multiplicity}

    whole = bootstrap_samples(shares, 30, trials, 40, seed=0)["all"]
    for place in np.ndindex(2, 4):

        def alone(*drawn, place=place):
            return {"one": shares(*drawn)["all"][place]}

        own = bootstrap_samples(alone, 30, trials, 40, seed=0)["one"]
        for name in ("values", "per_trial", "replicates"):
            assert np.array_equal(getattr(whole[place], name), getattr(own, name), equal_nan=True)
        assert whole[place].estimate() == own.estimate()
