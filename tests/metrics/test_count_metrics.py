"""What the three metrics of counts have in common: their tables, their bounds, their intervals and their warnings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, reject, settings

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import ba_mals, directional_ba, multi_directional_ba
from captionbias.metrics.catalogue import bounds
from captionbias.synthetic import plant
from tests.metrics.by_definition import label_tables

each = pytest.mark.parametrize(
    "metric", [ba_mals, directional_ba, multi_directional_ba], ids=lambda metric: metric.name
)


def measured(metric, table, **options):
    try:
        return metric(**table, **options)
    except ValueError:
        if metric is ba_mals:
            reject()  # of few images, no task may occur with a value
        raise


@each
@settings(deadline=None, max_examples=40)
@given(label_tables())
def test_predictions_equal_to_the_labels_amplify_nothing(metric, table):
    same = {f"predicted_{name}": table[name] for name in ("attributes", "tasks")}
    result = measured(metric, table | same, bootstrap=20)
    assert {value for key, value in result.items() if key.startswith(metric.name)} == {0}


@each
@settings(deadline=None, max_examples=40)
@given(label_tables())
def test_shares_of_the_table_sum_to_the_score_the_largest_first(metric, table):
    result = measured(metric, table, bootstrap=20, details=True)
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
        low, high = bounds(score)
        # Of few images, a replicate may have drawn none of a task.
        assert low <= result.get(f"{score}_ci_low", low) <= result.get(f"{score}_ci_high", high) <= high


@each
def test_the_seed_draws_the_interval_and_nothing_else(metric):
    planted = vars(plant(images=300, captions=1, a_to_t=0.3, t_to_a=0.3))
    first, again, other = (metric(**planted, bootstrap=50, seed=seed) for seed in (1, 1, 2))
    assert first == again
    different = {key for key in first if first[key] != other[key]}
    assert "signature" in different
    assert different - {"signature"} == {key for key in first if "_ci_" in key or key.endswith("_detectable")}


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba])
def test_captions_that_name_nothing_are_warned_of(metric):
    sides = {"references": [["a woman with a dog"], ["a man with a cake"]] * 5, "attributes": ["female", "male"] * 5}
    with pytest.warns(CaptionBiasWarning, match="no task is predicted for any image"):
        result = metric(predictions=["a scene"] * 10, **sides, bootstrap=0, details=True)
    assert any("no attribute value is predicted" in warning for warning in result["details"]["warnings"])
