"""Results read back from files: as the metric returned them, or refused by file and entry."""

from __future__ import annotations

import copy
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


def test_every_metric_and_every_judged_score_of_a_report_has_a_place():
    assert set(METRICS) == set(catalogue.METRICS)
    judged = {score.key for score in catalogue.SCORES.values() if score.judged}
    assert judged <= {score.key for score in TASKS.values()}


def test_scores_have_ids_and_labels_of_their_own():
    assert len({score.label for score in SCORES}) == len({score.key for score in SCORES}) == len(SCORES)
    assert len(TASKS) == sum(score.task is not None for score in SCORES)


def test_a_published_dbac_never_comes_without_the_matched_one():
    assert [score.key for score in scores_in({"dbac": {"dbac_a_to_t": 0.1}})] == ["dbac_a_to_t_matched", "dbac_a_to_t"]


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        *(("lic", value) for value in (math.nan, -math.inf, None, "1.2", True, [1.2])),
        ("lic_d", 10**400),
        ("lic_ci_low", "x"),
    ],
)
def test_what_is_not_a_finite_number_is_refused_by_file_and_entry(value, entry, results, tmp_path):
    path = write(tmp_path / "lic.json", "lic", results["lic"])
    content = json.loads(path.read_text())
    content["scores"][entry] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"lic\.json: lic: {entry} is .*not a finite number"):
        read_results([path])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda result: result.pop("signature"), "signature is None"),
        (lambda result: result.update(signature=""), "signature is ''"),
        (lambda result: result.pop("details"), "details are missing"),
        (lambda result: result["details"].pop("attribute_counts"), "details are missing"),
        (lambda result: result["details"].pop("images"), "images is None"),
        (lambda result: result["details"]["attribute_counts"].update(images="9"), "images is '9'"),
        (lambda result: result.pop("lic_ci_high"), "lic is there without the rest"),
        (lambda result: result.pop("lic"), "lic_ci_low is there without the rest"),
    ],
)
def test_a_result_with_something_missing_is_refused_by_name(spoil, message, results):
    spoiled = copy.deepcopy(results)
    spoil(spoiled["lic"])
    with pytest.raises(ValueError, match=rf"results\['lic'\].*{message}"):
        check_results(spoiled)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        (b"\xff", "is not JSON"),
        ("[]", "holds no metric"),
        ('{"scores": {}}', "holds no metric"),
        ('{"metric": "lic"}', "lic has no scores"),
        ('{"metric": "bleu", "scores": {}}', "'bleu' is not a metric"),
        ('{"metrics": {"lic": 3}}', r"metrics\.lic has no scores"),
    ],
)
def test_a_file_without_results_is_refused_by_name(content, message, tmp_path):
    path = tmp_path / "given.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=rf"given\.json.*{message}"):
        read_results([path])


def test_a_missing_file_and_one_metric_in_two_files_are_refused_by_name(results, tmp_path):
    files = [write(tmp_path / name, "lic", results["lic"]) for name in ("one.json", "two.json")]
    with pytest.raises(ValueError, match=r"two\.json: lic: lic is also in .*one\.json"):
        read_results(files)
    with pytest.raises(ValueError, match=r"none\.json cannot be read \(No such file"):
        read_results([tmp_path / "none.json"])
