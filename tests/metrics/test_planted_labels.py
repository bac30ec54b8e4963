"""The metrics on labels find a planted bias of tasks and attributes, tell its direction, and see none in the verbs.

Directional BA of captions is read against a faithful captioner's: naming fewer tasks than people do still lowers it.
"""

from __future__ import annotations

from functools import cache

import pytest

from captionbias.metrics import ba_mals, directional_ba, dpa, label_leakage
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # so few words repeat

ATTACK = {"trials": 8, "bootstrap": 200}
COUNT = {"bootstrap": 200}
DIALS = (-0.6, 0.0, 0.6)


@cache
def measured(metric, **dials):
    planted = vars(plant(images=3000, captions=2, seed=1, **dials))
    return metric(**planted, **(ATTACK if metric in (dpa, label_leakage) else COUNT))


def along(metric, dial, score):
    return [measured(metric, **{dial: setting} if setting else {})[score] for setting in DIALS]


@pytest.mark.parametrize(
    ("metric", "dial", "score"),
    [
        (directional_ba, "a_to_t", "directional_ba_a_to_t"),
        (directional_ba, "t_to_a", "directional_ba_t_to_a"),
        (ba_mals, "a_to_t", "ba_mals"),
        (ba_mals, "t_to_a", "ba_mals"),
    ],
)
def test_counts_rise_with_the_dial(metric, dial, score):
    mitigating, faithful, amplifying = along(metric, dial, score)
    assert mitigating < faithful < amplifying
    assert measured(metric, **{dial: 0.6})[f"{score}_ci_low"] > measured(metric)[f"{score}_ci_high"]


@pytest.mark.parametrize(("dial", "other"), [("a_to_t", "t_to_a"), ("t_to_a", "a_to_t")])
def test_the_other_direction_stays(dial, other):
    for metric, name in ((directional_ba, "directional_ba"), (dpa, "dpa")):
        faithful, biased = measured(metric), measured(metric, **{dial: 0.6})
        low, high = faithful[f"{name}_{other}_ci_low"], faithful[f"{name}_{other}_ci_high"]
        assert low < biased[f"{name}_{other}"] < high


def test_naming_fewer_tasks_leaves_dpa_on_zero_where_directional_ba_falls():
    fewer = measured(dpa, naming=0.5)
    assert fewer["dpa_a_to_t_ci_low"] < 0 < fewer["dpa_a_to_t_ci_high"]
    assert measured(directional_ba, naming=0.5)["directional_ba_a_to_t_ci_high"] < 0
