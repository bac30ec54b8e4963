"""The consistency study: every captioner with every encoder, as measured one by one, and how far encoders agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from captionbias.metrics import dbac, lic
from captionbias.studies.consistency import consistency
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # a few images suffice here

DIALS = {"faithful": {}, "biased": {"a_to_t": 0.8}, "blind": {"naming": 0.4}}
CHOSEN = {"trials": 2, "bootstrap": 0}
ENCODERS = ["bow", "linear"]


@pytest.fixture(scope="module")
def captioners():
    return {name: vars(plant(200, captions=2, **dials)) for name, dials in DIALS.items()}


@pytest.fixture(scope="module")
def study(captioners):
    return consistency(captioners, ENCODERS, **CHOSEN)


def test_every_cell_is_the_metric_s_own_score(study, captioners):
    assert study.captioners == list(DIALS)
    for row, name in enumerate(DIALS):
        for column, encoder in enumerate(ENCODERS):
            assert study.scores["lic"][row, column] == lic(**captioners[name], **CHOSEN, encoder=encoder)["lic"]
            both = dbac(**captioners[name], **CHOSEN, encoder=encoder)
            for score in ("dbac_a_to_t", "dbac_a_to_t_matched", "dbac_t_to_a", "dbac_t_to_a_matched"):
                assert study.scores[score][row, column] == both[score]


def test_the_summary_is_that_of_the_papers(study):
    for name, found in study.consistency().items():
        values = study.scores[name]
        each = values.std(axis=1, ddof=1) / abs(values.mean(axis=1))
        assert list(found["coefficient_of_variation"].values()) == pytest.approx(each.tolist())
        assert found["mean_coefficient_of_variation"] == pytest.approx(each.mean())
        assert found["conflict_score"] == pytest.approx(((values[:, 0] > 0) != (values[:, 1] > 0)).mean())
        assert found["ranking_consistency"] == pytest.approx(pearsonr(values[:, 0], values[:, 1]).statistic)


def test_a_captioner_without_a_score_from_every_encoder_is_left_out_of_the_summary(study):
    values = study.scores["lic"].copy()
    values[0, 1] = np.nan
    partly = type(study)(study.captioners, study.encoders, {"lic": values}, {})
    found = partly.consistency()["lic"]
    assert found["captioners"] == 2
    assert math.isnan(found["coefficient_of_variation"]["faithful"])
    assert math.isnan(found["ranking_consistency"]), "of two captioners it would always be 1 or -1"


@pytest.mark.parametrize(
    ("encoders", "options", "message"),
    [
        (["bow"], {}, "two encoders"),
        (["bow", "gru"], {}, "encoder 'gru' is unknown"),
        (["bow", "linear"], {"metrics": ["cider"]}, "metric 'cider' is unknown"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_trained(encoders, options, message, captioners):
    def watch(step, done):
        raise AssertionError("measured")

    with pytest.raises(ValueError, match=message):
        consistency(captioners, encoders, watch=watch, **CHOSEN, **options)
