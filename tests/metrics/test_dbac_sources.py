"""Which pairs of an attribute value and a task carry a score: the parts are its parts, and planted pairs come first."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from captionbias.metrics import dbac
from captionbias.metrics import dbac_sources as module
from captionbias.synthetic import LEAN, TASKS, plant

FAST = {"preset": "fast", "trials": 3, "alignment": "constant", "cache": False, "details": True}
FORMS = ("", "_matched", "_net")
SUMS = ("omega_m", "omega_h", "omega_m_matched", "omega_h_matched", *(f"amplification{form}" for form in FORMS))


@pytest.fixture(autouse=True)
def intervals_of_a_few_images(monkeypatch):
    monkeypatch.setattr("captionbias.statistics.samples.LEAST_IMAGES", 1)


few_images = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


def whole(result, quantity, direction):
    """The entry of a result that the parts of a quantity sum to."""
    form = next(form for form in reversed(FORMS) if quantity.endswith(form))
    return result[f"{quantity.removesuffix(form).replace('amplification', 'dbac')}_{direction}{form}"]


def test_the_pairs_with_the_largest_net_parts_have_the_intervals(monkeypatch):
    """Where tasks are seldom named, the largest matched and published parts are others."""
    monkeypatch.setattr(module, "MOST_INTERVALS", 5)
    rows = measured(0, 1500, bootstrap=20, naming=0.5, a_to_t=0.5)["details"]["sources"]["a_to_t"]
    published, matched, net = (sorted(rows, key=lambda row: -abs(row[f"amplification{form}"]))[:5] for form in FORMS)
    ends = [f"amplification{form}_ci_{end}" for form in FORMS for end in ("low", "high")]
    assert [row for row in rows if any(end in row for end in ends)] == net
    assert net not in (matched, published)
    assert all(end in row for row in net for end in ends)


# Measured from captions.


def lean(row):
    """1 for a pair that the planted bias adds to, -1 for one that it takes from, 0 for one that it leaves alone."""
    if row["attribute"] is None or row["task"] is None:
        return 0
    women = np.sign(LEAN[TASKS.index(row["task"])] - 0.5)
    return women if row["attribute"] == "female" else -women


@cache
def measured(seed, images=3000, bootstrap=0, **dials):
    return dbac(**vars(plant(images, captions=2, seed=seed, **dials)), **FAST, bootstrap=bootstrap)


@pytest.fixture(scope="module")
def strong():
    return measured(0, bootstrap=200, a_to_t=0.6, t_to_a=0.6)


@few_images
@pytest.mark.parametrize("options", [{}, {"quality": "accuracy", "bayes": False}])
@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_parts_sum_to_the_whole(direction, options):
    """Captions that name several people and tasks or none, about images that show several tasks or none."""
    planted = vars(plant(images=300, captions=2, a_to_t=0.4, t_to_a=0.4))
    planted["predictions"] = [
        f"{text} and a man" if i % 7 == 0 else text for i, text in enumerate(planted["predictions"])
    ]
    planted["references"] = [[f"{texts[0]} and a dog", *texts[1:]] for texts in planted["references"]]
    planted["tasks"] = [[*tasks, "dog"] if i % 3 else [] for i, tasks in enumerate(planted["tasks"])]
    result = dbac(**planted, **FAST | {"bootstrap": 0} | options, directions=[direction])
    rows = result["details"]["sources"][direction]
    assert {row["attribute"] for row in rows} >= {"female", "male"}
    assert None in {row["task"] for row in rows}
    for quantity in SUMS:
        assert abs(sum(row[quantity] for row in rows) - whole(result, quantity, direction)) < 1e-12


@few_images
def test_details_go_into_a_file_and_say_why_a_table_is_empty():
    planted = vars(plant(images=200, captions=1))
    result = dbac(**planted, **FAST | {"bootstrap": 0}, quality="inverse_cross_entropy")
    assert result["details"]["sources"] == {"a_to_t": [], "t_to_a": []}
    assert sum("no table of sources" in note for note in result["details"]["warnings"]) == 2
    assert json.loads(json.dumps(result["details"]))["sources"]["a_to_t"] == []


@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_planted_pairs_come_first(direction):
    """Of the five largest, 0.8 are planted and have the sign they were planted with; by chance 0.25 to 0.33 would."""
    for form in FORMS:
        right = []
        for seed in range(3):
            rows = measured(seed, **{direction: 0.3})["details"]["sources"][direction]
            first = sorted(rows, key=lambda row: -abs(row[f"amplification{form}"]))[:5]
            right += [lean(row) * row[f"amplification{form}"] > 0 for row in first]
        assert np.mean(right) >= 0.8


def test_intervals_of_planted_pairs_do_not_hold_0(strong):
    for rows in strong["details"]["sources"].values():
        for row in rows:
            for part in (f"amplification{form}" for form in FORMS):
                assert row[f"{part}_ci_low"] <= row[part] <= row[f"{part}_ci_high"]
        for row in rows[:4]:
            assert lean(row) * row["amplification_net"] > 0
            assert row["amplification_net_ci_low"] > 0 or row["amplification_net_ci_high"] < 0


def test_intervals_of_a_faithful_captioner_hold_0():
    rows = [row for d in measured(1, bootstrap=200)["details"]["sources"].values() for row in d]
    for form in FORMS:
        low, high = (np.array([row[f"amplification{form}_ci_{end}"] for row in rows]) for end in ("low", "high"))
        assert np.mean((low <= 0) & (high >= 0)) >= 0.8
        assert (low < high).all()
