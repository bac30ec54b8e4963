"""Results read back from files: as the metric returned them, or refused by file and entry."""

from __future__ import annotations

import json
import math

import pytest

from captionbias import __version__
from captionbias.hub.scores import METRICS, SCORES, check_results, read_results, scores_in
from captionbias.io.formats import write_json
from captionbias.metrics import catalogue, gender_error, lic
from captionbias.metrics.catalogue import TASKS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few


@pytest.fixture(scope="module")
def results():
    captions = vars(plant(images=60, captions=2, a_to_t=0.5))
    return {
        "lic": lic(**captions, preset="fast", trials=2, bootstrap=20, details=True),
        "gender_error": gender_error(**captions, bootstrap=20, details=True),
    }


def write(path, name, result):
    """As `captionbias measure NAME --output` writes it."""
    scores = {key: value for key, value in result.items() if key != "details"}
    write_json({"metric": name, "version": __version__, "scores": scores, "details": result["details"]}, path)
    return path


def test_files_of_one_metric_and_of_all_are_read_alike(results, tmp_path):
    apart = [write(tmp_path / f"{name}.json", name, result) for name, result in results.items()]
    metrics = {name: {"scores": result, "details": result["details"]} for name, result in results.items()}
    write_json({"version": __version__, "metrics": metrics}, tmp_path / "all.json")
    assert read_results(apart) == read_results([tmp_path / "all.json"]) == json.loads(json.dumps(results))
    with pytest.raises(ValueError, match=r"all\.json: lic is also in another file"):
        read_results([apart[0], tmp_path / "all.json"])


def test_every_metric_and_every_judged_score_of_a_report_has_a_place():
    assert set(METRICS) == set(catalogue.METRICS)
    judged = {score.key for score in catalogue.SCORES.values() if score.judged}
    assert judged <= {score.key for score in TASKS.values()}
    assert len({score.label for score in SCORES}) == len({score.key for score in SCORES}) == len(SCORES)
    assert len(TASKS) == sum(score.task is not None for score in SCORES)


def test_a_published_dbac_never_comes_without_the_matched_one():
    assert [score.key for score in scores_in({"dbac": {"dbac_a_to_t": 0.1}})] == ["dbac_a_to_t_matched", "dbac_a_to_t"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"lic": value}, r"lic is .*not a finite number") for value in (math.nan, None, "1.2")),
        ({"lic_ci_low": -math.inf}, "lic_ci_low is -inf, not a finite number"),
        ({"signature": ""}, "signature is missing"),
        ({"details": None}, "details are missing"),
        ({"details": {"images": 9}}, "details are missing"),
    ],
)
def test_a_result_that_no_card_can_show_is_refused_by_name(changes, message, results):
    with pytest.raises(ValueError, match=rf"results\['lic'\]: {message}"):
        check_results({**results, "lic": results["lic"] | changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "given.json holds no scores .*JSONDecodeError"),
        ("[]", "given.json holds no scores"),
        ('{"metric": "lic"}', "given.json holds no scores .*'scores'"),
        ('{"metrics": {"lic": 3}}', "given.json holds no scores"),
        ('{"metric": "bleu", "scores": {}, "details": {}}', "given.json: bleu: 'bleu' is not a metric with a card"),
    ],
)
def test_a_file_without_results_is_refused_by_name(content, message, tmp_path):
    path = tmp_path / "given.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_results([path])
