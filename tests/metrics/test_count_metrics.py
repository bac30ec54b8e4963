"""What the three metrics of counts have in common: their tables, their bounds, their intervals and their warnings."""

import json

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from captionbias.bench.catalogue import SCORES
from captionbias.captions import CaptionBiasWarning
from captionbias.hashes import seeded
from captionbias.metrics import ba_mals, directional_ba, multi_directional_ba
from captionbias.statistics.groups import GROUPS, random_groups
from tests.metrics.by_definition import label_tables

each = pytest.mark.parametrize(
    "metric", [ba_mals, directional_ba, multi_directional_ba], ids=lambda metric: metric.name
)


@each
@settings(deadline=None, max_examples=15)
@given(label_tables())
def test_shares_of_the_table_sum_to_the_score_the_largest_first(metric, table):
    try:
        result = metric(**table, bootstrap=20, details=True)
    except ValueError:
        if metric is ba_mals:
            reject()  # of few images, no task may occur with a value
        raise
    details = result["details"]
    json.dumps(result, allow_nan=False)
    assert details["images"] == len(table["tasks"])
    assert list(details["attribute_counts"].values()) == table["attributes"].sum(axis=0).tolist()
    pairs = (
        {"": details["pairs"]} if metric is ba_mals else {f"_{name}": rows for name, rows in details["pairs"].items()}
    )
    for ending, rows in pairs.items():
        score = f"{metric.name}{ending}"
        shares = [row["share"] for row in rows]
        defined = [share for share in shares if share is not None]
        assert shares == defined + [None] * (len(shares) - len(defined)), "what is undefined is last"
        sizes = [round(abs(share), 12) for share in defined]
        assert sizes == sorted(sizes, reverse=True)
        total = sum(map(abs, defined) if metric is multi_directional_ba else defined)
        assert total == pytest.approx(result[score], abs=1e-12)
        low, high = SCORES[score].scale[:2]
        # Of few images, a replicate may have drawn none of a task.
        assert low <= result.get(f"{score}_ci_low", low) <= result.get(f"{score}_ci_high", high) <= high


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba])
def test_captions_that_name_nothing_are_warned_of(metric):
    sides = {"references": [["a woman with a dog"], ["a man with a cake"]] * 5, "attributes": ["female", "male"] * 5}
    with pytest.warns(CaptionBiasWarning, match="no task is predicted for any image"):
        result = metric(predictions=["a scene"] * 10, **sides, bootstrap=0, details=True)
    assert any("no attribute value is predicted" in warning for warning in result["details"]["warnings"])


@settings(deadline=None)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=200), st.integers(0, 9))
def test_groups_follow_pictures_whatever_their_order(pictures, seed):
    keys = seeded(np.array(pictures, np.uint64), 0)
    groups, back = random_groups(keys, seed), random_groups(keys[::-1], seed)
    assert groups.tolist() == back[::-1].tolist()
    assert len(set(zip(pictures, groups.tolist(), strict=True))) == len(set(pictures))


def test_of_many_pictures_groups_are_about_as_large():
    sizes = np.bincount(random_groups(seeded(np.arange(409_600, dtype=np.uint64), 0), 1))
    assert len(sizes) == GROUPS
    assert sizes.var() == pytest.approx(100, rel=0.15)  # of chance alone
