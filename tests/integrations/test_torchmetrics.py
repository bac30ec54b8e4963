"""The class in the real torchmetrics: batches, collections, checkpoints, and two processes that `accelerate` starts."""

from __future__ import annotations

import json
import pickle

import pytest
from torchmetrics import MetricCollection

from captionbias import metrics
from captionbias.captions.names import MEASURED
from captionbias.integrations.torchmetrics import CaptionBias
from captionbias.synthetic import plant
from tests.launch import launched

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images

FAST = {"preset": "fast", "trials": 2, "bootstrap": 0}
PROCESS = """
import json, sys
from torch import distributed
from captionbias.integrations.torchmetrics import CaptionBias
from captionbias.synthetic import plant

distributed.init_process_group("gloo")
rank = distributed.get_rank()
rows = vars(plant(80, captions=1, a_to_t=0.8))
rows["predictions"][0] = "a café by the sea"
bias = CaptionBias("lic", preset="fast", trials=2, bootstrap=0)
columns = [rows[name] for name in ("predictions", "references", "attributes", "tasks")]
for start in range(0, 50, 10) if rank == 0 else [50]:
    bias.update(*(column[start : start + (10 if rank == 0 else 30)] for column in columns))
found = {name: value.item() for name, value in bias.compute().items()}
json.dump([len(bias.rows), found], open(f"{sys.argv[1]}/{rank}.json", "w"))
distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def rows():
    planted = vars(plant(80, captions=1, a_to_t=0.8))
    planted["predictions"][0] = "a café by the sea"
    return planted


def numbers(result):
    return {name: pytest.approx(value) for name, value in result.items() if isinstance(value, (int, float))}


def updated(metric, rows, batch=30):
    for start in range(0, len(rows["attributes"]), batch):
        part = {name: column[start : start + batch] for name, column in rows.items()}
        metric.update(*(part.get(name) for name in MEASURED))
    return metric


def test_batches_score_as_all_captions_at_once_and_a_reset_forgets_them(rows):
    metric = updated(CaptionBias("lic", **FAST), rows)
    assert (repr(metric), metric.signature) == ("CaptionBias('lic', preset='fast', trials=2, bootstrap=0)", "")
    found = metric.compute()
    assert found == numbers(metrics.lic(**rows, **FAST))
    assert all(value.ndim == 0 for value in found.values())
    metric.reset()
    metric.update(attributes=["male", "female"], preds=["a woman", "a woman"])
    with pytest.raises(ValueError, match="attributes"):
        metric.compute()


def test_scenes_travel_with_their_images_without_human_captions():
    scenes = vars(plant(80, scenes=True))
    found = updated(CaptionBias("sway", bootstrap=0), scenes).compute()
    assert found == numbers(metrics.sway(**scenes, bootstrap=0))
    assert found["sway_scenes"] == 40


def test_weights_and_several_captions_of_an_image_travel_with_it(rows):
    samples = [[text, "a woman with a cake"] for text in rows["predictions"]]
    rows = {**rows, "predictions": samples, "weights": [1.5, 2] * (len(samples) // 2)}
    metric = updated(CaptionBias("directional_ba", bootstrap=0), rows)
    expected = metrics.directional_ba(**rows, bootstrap=0)
    assert (metric.compute(), metric.signature) == (numbers(expected), expected["signature"])
    assert "weights:" in metric.signature
    assert "samples:mean" in metric.signature


def test_one_side_and_a_collection(rows):
    both = MetricCollection({"error": CaptionBias("gender_error", bootstrap=0), "lic": CaptionBias("lic", **FAST)})
    both.update(rows["predictions"], attributes=rows["attributes"])
    alone = {"predictions": rows["predictions"], "attributes": rows["attributes"]}
    expected = metrics.gender_error(**alone, bootstrap=0) | metrics.lic(**alone, **FAST)
    assert both.compute() == numbers(expected)


@pytest.mark.filterwarnings("ignore:.*was called before the ``update``")  # it cannot know that the state was loaded
def test_kept_captions_travel_in_checkpoints_and_copies(rows):
    metric = updated(CaptionBias("gender_error", bootstrap=0), rows)
    metric.persistent(True)
    other = CaptionBias("gender_error", bootstrap=0)
    other.persistent(True)
    other.load_state_dict(metric.state_dict())
    for one in (other, pickle.loads(pickle.dumps(metric)), metric.clone()):
        assert one.compute() == numbers(metrics.gender_error(**rows, bootstrap=0))


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="bleu"):
        CaptionBias("bleu")
    with pytest.raises(ValueError, match="trails"):
        CaptionBias("lic", trails=3)
    with pytest.raises(ValueError, match="1 predictions, 2 attributes"):
        CaptionBias("lic").update(["a man"], attributes=["male", "female"])
    metric = CaptionBias("lic", **FAST)
    metric.update([], attributes=[])
    with pytest.warns(UserWarning, match="before"), pytest.raises(ValueError, match="are both missing"):
        CaptionBias("lic").compute()
    with pytest.raises(ValueError, match="are both missing"):
        metric.compute()


def test_two_processes_score_the_captions_of_both(rows, tmp_path):
    """Uneven shares in different numbers of batches; both have the result."""
    script = tmp_path / "evaluated.py"
    script.write_text(PROCESS)
    status, printed = launched([script, tmp_path], tmp_path)
    assert status == 0, printed
    expected = metrics.lic(**rows, **FAST)
    for rank, batches in ((0, 5), (1, 1)):
        kept, found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert found == numbers(expected), rank
        assert kept == batches, "what others have is given back after"
