"""Results read back from files as the metric returned them, refused by file and entry, and written for the Hub."""

from __future__ import annotations

import math

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from captionbias.hub.results import (
    SCORES,
    check_results,
    entries_of,
    entry_fields,
    read_results,
)
from captionbias.io.formats import write_json
from captionbias.metrics import catalogue

DETAILS = {"images": 9, "attribute_counts": {}}
RESULT = {"lic": 1.5, "lic_ci_low": -1.0, "signature": "metric:lic|v:0", "details": DETAILS}
BAD = [
    ("lic", math.nan),
    ("lic", None),
    ("lic", "1.2"),
    ("lic_ci_low", -math.inf),
    ("signature", ""),
    ("details", None),
]
COMMIT = "0123456789abcdef" * 2 + "01234567"
FILES = ["{", "[]", '{"metric": "lic"}', '{"metrics": {"lic": 3}}', '{"metric": "bleu", "scores": {}, "details": {}}']


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
    with pytest.raises(ValueError, match=r"all\.json: lic"):
        read_results([apart[0], whole])


def test_every_judged_score_has_a_place():
    assert {score.metric for score in SCORES} == set(catalogue.METRICS)
    assert {key for key, score in catalogue.SCORES.items() if score.judged} <= {
        one.key for one in catalogue.TASKS.values()
    }
    assert len({score.label for score in SCORES}) == len(SCORES)


@pytest.mark.parametrize(("entry", "value"), BAD)
def test_a_result_that_no_card_can_show_is_refused_by_name(entry, value):
    with pytest.raises(ValueError, match=rf"results\['lic'\]: {entry}"):
        check_results({"lic": {**RESULT, entry: value}})


@pytest.mark.parametrize("content", FILES)
def test_a_file_without_results_is_refused_by_name(content, tmp_path):
    (tmp_path / "given.json").write_text(content)
    with pytest.raises(ValueError, match=r"given\.json"):
        read_results([tmp_path / "given.json"])


def test_an_entry_has_everything_that_the_hub_knows():
    results = {"lic": {"lic": 1, "lic_ci_low": -1.0, "lic_ci_high": 3.0, "lic_d": 45.0, "signature": "metric:lic|v:0"}}
    fields = entry_fields("a/b", COMMIT, "2026-01-31", "https://example.org/run", None, "someone")
    text = entries_of(results, fields)
    assert parse_eval_result_entries(yaml.safe_load(text)) == [
        EvalResultEntry(
            dataset_id="a/b",
            task_id="lic",
            value=1.0,
            dataset_revision=COMMIT,
            date="2026-01-31",
            source_url="https://example.org/run",
            source_name="captionbias",
            source_user="someone",
            notes="95% interval [-1.0, 3.0]; cannot tell; metric:lic|v:0",
        )
    ]
    assert "date: '2026-01-31'" in text


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "\x85\u2028\ud800", "é 😀" * 200])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(results, entry_fields("a/b", date="2026-01-31"))))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        *(({"dataset": repo}, "dataset") for repo in ("", "name", "a/b/c", "a/b.git")),
        *(({"revision": commit}, "dataset_revision") for commit in ("", "main", COMMIT.upper(), COMMIT + "0")),
        *(({"date": date}, "date") for date in ("today", "2026-02-30")),
        *(({"url": url}, "source_url") for url in ("", "javascript:x")),
        ({"name": "name"}, "source_url"),
        ({"user": "user"}, "source_url"),
    ],
)
def test_an_option_that_the_hub_would_not_take_is_refused(wrong, named):
    with pytest.raises(ValueError, match=named):
        entry_fields(**{"dataset": "a/b", **wrong})
