"""Results read back from files as the metric returned them, refused by file and entry, and written for the Hub."""

import json
import math

import evaluate
import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from captionbias.bench.measurement import Result
from captionbias.hub.results import checked, entries_of, read_results
from captionbias.io.formats import write_json
from captionbias.metrics import sway
from captionbias.synthetic import plant
from tests.refusals import refuses

DETAILS = {"images": 9, "attribute_counts": {}, "settings": {"preset": "lic-2022"}}
RESULT = {"lic": 1.5, "lic_ci_low": -1.0, "signature": "metric:lic|v:0", "details": DETAILS}
BAD = [("lic", math.nan), ("lic", None), ("lic", "1.2"), ("lic_ci_low", -math.inf), ("signature", "")]


def write(path, metrics):
    """As `captionbias measure all --output` writes them."""
    apart = {
        name: {"scores": {key: one[key] for key in one.keys() - {"details"}}, "details": one["details"]}
        for name, one in metrics.items()
    }
    write_json({"metrics": apart} if len(apart) > 1 else {"metric": next(iter(apart)), **apart.popitem()[1]}, path)
    return path


def test_files_of_one_metric_and_of_all_are_read_alike(tmp_path):
    results = {"lic": RESULT, "dpa": {**RESULT, "signature": "metric:dpa|v:0"}}
    apart = [write(tmp_path / f"{name}.json", {name: result}) for name, result in results.items()]
    whole = write(tmp_path / "all.json", results)
    assert read_results(apart) == read_results([whole]) == results
    refuses(r"all\.json: lic", read_results, [apart[0], whole])


def test_results_that_were_saved_in_python_are_read_as_well(tmp_path):
    """By a result itself, with what is undefined, or by `evaluate`, with remarks of its own and of a user."""
    result = Result({"sway_worst": math.nan, "sway_t_to_a": 1.5, "signature": "metric:sway|v:0"})
    result.save(tmp_path / "result.json")
    json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    evaluate.save(tmp_path / "evaluate.json", **result, experiment="run 42")
    for name in ("result", "evaluate"):
        [(metric, read)] = checked(read_results([tmp_path / f"{name}.json"])).items()
        assert (metric, read.estimates.keys()) == ("sway", {"sway_t_to_a"})
    refuses("ends? in .json", result.save, tmp_path / "result.txt")


def test_of_a_training_the_best_checkpoint_s_scores_are_read(tmp_path):
    def row(step, **scores):
        return {"step": step, "epoch": 1.0} | {f"eval_{key}": score for key, score in scores.items()}

    first = row(2, sway_worst=0.2, sway_wrong_gap=1.0, sway_wrong_gap_ci_low=0.5, sway_wrong_gap_more_than_people=0.0)
    log = [row(2, loss=3.0), first, row(4, sway_worst=math.nan, sway_wrong_gap=9.0, lic=3.0)]
    for best, gap in ((2, 1.0), (None, 9.0)):
        read = checked(read_results([write_state(tmp_path, log, best)]))
        assert read["sway"].estimates["sway_wrong_gap"].value == gap
        assert read.keys() == ({"sway"} if best else {"sway", "lic"})
    refuses("trainer_state.json holds no scores", read_results, [write_state(tmp_path, log[:1])])


def write_state(folder, log, best=None):
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"best_global_step": best, "log_history": log}))
    return path


def test_what_no_card_can_show_is_refused_by_name(tmp_path):
    for entry, value in BAD:
        refuses(rf"results\['lic'\]: .*{entry}", checked, {"lic": {**RESULT, entry: value}})
    for content in ("{", "[]", '{"metric": "lic"}', '{"metrics": {"lic": 3}}'):
        (tmp_path / "given.json").write_text(content)
        refuses(r"given\.json", read_results, [tmp_path / "given.json"])


def test_an_entry_has_everything_that_the_hub_knows():
    results = {"lic": {**RESULT, "lic": 1, "lic_ci_high": 3.0, "lic_d": 45.0}}
    assert parse_eval_result_entries(yaml.safe_load(entries_of(checked(results), "a/b"))) == [
        EvalResultEntry(
            dataset_id="a/b", task_id="lic", value=1.0, notes="95% interval [-1.0, 3.0]; cannot tell; metric:lic|v:0"
        )
    ]


def test_what_leaderboards_sort_by_says_of_how_many_images_and_of_which_questions_it_is():
    planted = plant(100, captions=2)
    labels_alone = sway(predictions=planted.predictions, attributes=planted.attributes)
    entries = parse_eval_result_entries(yaml.safe_load(entries_of(checked({"sway": labels_alone}), "a/b")))
    (worst,) = [entry for entry in entries if entry.task_id == "sway_worst"]
    assert worst.value == labels_alone["sway_worst"]
    assert worst.notes.startswith("100 images; the worst of wrong,unnamed,missing; metric:sway|")


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "\x85\u2028\ud800", "é 😀" * 200])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words, "details": DETAILS}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(checked(results), "a/b")))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()
