"""The task in the real lmms-eval, which is heavy and often not installed, and what it calls without it."""

from __future__ import annotations

import math
import re
from operator import attrgetter
from pathlib import Path

import pandas as pd
import pytest
import yaml

from captionbias import metrics
from captionbias.integrations.lmms_eval import utils
from captionbias.synthetic import draw, plant

pytestmark = pytest.mark.filterwarnings("ignore")  # few images; lmms-eval's own
IMAGES = 40


@pytest.fixture
def planted():
    return plant(IMAGES, captions=2, a_to_t=0.8)


@pytest.fixture
def folder(planted, tmp_path, monkeypatch):
    """A working folder as the task wants it, with drawings named as COCO's files are."""
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "val2014").mkdir()
    for number, picture in enumerate(draw(planted, size=32)[0]):
        image.fromarray(picture).save(tmp_path / "val2014" / f"COCO_val2014_{number:012d}.png")
    rows = {"references": planted.references, "gender": planted.attributes, "tasks": planted.tasks}
    pd.DataFrame({"image_id": range(IMAGES), **rows}).to_parquet(tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(planted, score):
    fast = {} if utils.SCORES[score] == "sway" else {"preset": "fast"}
    return metrics.find_metric(utils.SCORES[score])(**vars(planted), **fast)[score]


def test_rows_score_as_their_columns(planted):
    rows = pd.DataFrame({"references": planted.references, "gender": planted.attributes, "tasks": planted.tasks})
    images = list(map(utils.image, rows.to_dict("records"), [[caption] for caption in planted.predictions]))
    for score in ("sway_t_to_a", "sway_a_to_t_ci_high", "sway_wrong_gap", "lic"):
        assert getattr(utils, score)([image[score] for image in images]) == expected(planted, score)


def test_what_cannot_be_measured_is_nan_and_a_warning_not_a_lost_run():
    row = utils.image({"image_id": 1, "references": ["a man"], "gender": "unknown"}, ["a man"])
    with pytest.warns(UserWarning, match="no lic: attributes"):
        assert math.isnan(utils.lic([row["lic"]]))


def test_what_few_images_leave_undefined_is_nan_and_a_warning(planted):
    rows = pd.DataFrame({"references": planted.references, "gender": planted.attributes}).to_dict("records")
    images = list(map(utils.image, rows, [[caption] for caption in planted.predictions]))
    with pytest.warns(UserWarning, match="no sway_words: these images and captions leave it undefined"):
        assert math.isnan(utils.sway_words([image["sway_words"] for image in images]))


def test_the_task_lists_every_score_and_no_way_is_better_for_a_gap():
    listed = yaml.safe_load(re.sub("!function ", "", Path(utils.__file__).with_name("captionbias.yaml").read_text()))
    better = {entry["metric"]: entry["higher_is_better"] for entry in listed["metric_list"]}
    assert better.keys() == utils.SCORES.keys()
    assert all(entry["aggregation"] == f"utils.{entry['metric']}" for entry in listed["metric_list"])
    assert {name for name, way in better.items() if way is None} == {name for name in better if "_gap" in name}


def test_pictures_are_found_by_id_and_missed_by_name(folder):
    (picture,) = utils.pictures({"image_id": 3}, {"images": "val2014"})
    assert (picture.mode, picture.size) == ("RGB", (32, 32))
    with pytest.raises(ValueError, match="image_id 99 has no file in 'val2014'"):
        utils.pictures({"image_id": 99}, {"images": "val2014"})


def test_an_evaluation_of_lmms_eval(folder, planted):
    pytest.importorskip("lmms_eval", reason="lmms-eval is not installed: CONTRIBUTING.md says how")
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    class Planted(lmms):
        """Says what was planted for the picture that it is shown."""

        def generate_until(self, requests):
            shown = [
                to_visual(self.task_dict[task][split][row]) for *_, to_visual, row, task, split in map(args, requests)
            ]
            assert {picture.size for (picture,) in shown} == {(32, 32)}
            return [planted.predictions[row] for *_, row, _, _ in map(args, requests)]

        loglikelihood = generate_until_multi_round = None

    args = attrgetter("args")
    tasks = TaskManager(include_path=str(Path(utils.__file__).parent))
    found = simple_evaluate(Planted(), tasks=["captionbias"], task_manager=tasks)["results"]["captionbias"]
    assert {score: found[f"{score},none"] for score in utils.SCORES} == {
        score: expected(planted, score) for score in utils.SCORES
    }
