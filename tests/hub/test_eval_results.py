"""Entries that the Hub's own parser reads back, and the benchmark that names the same tasks."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from captionbias.hub.eval_results import (
    benchmark,
    check_dataset,
    checked_date,
    checked_source,
    dated_as_before,
    entries_of,
    index_result,
)
from captionbias.hub.scores import TASKS

SIGNATURE = "metric:lic|trials:2|v:0.1.0"
RESULTS = {"lic": {"lic": 1, "lic_ci_low": -1.0, "lic_ci_high": 3.0, "lic_d": 45.0, "signature": SIGNATURE}}
SOURCE = checked_source("https://example.org/run", None, "someone")
COMMIT = "0123456789abcdef" * 2 + "01234567"


def test_an_entry_has_everything_that_the_hub_knows():
    text = entries_of(RESULTS, "a/b", COMMIT, "2026-01-31", SOURCE)
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
            notes=f"95% interval [-1.0, 3.0]; {SIGNATURE}",
        )
    ]
    assert "date: '2026-01-31'" in text


def test_without_a_source_or_an_interval_there_is_none():
    (entry,) = yaml.safe_load(
        entries_of({"dpa": {"dpa_a_to_t": -0.0, "signature": "s"}}, "a/b", None, "2026-01-31", None)
    )
    assert entry == {
        "dataset": {"id": "a/b", "task_id": "dpa_a_to_t"},
        "value": 0.0,
        "date": "2026-01-31",
        "notes": "s",
    }
    assert str(entry["value"]) == "0.0"


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "{[", "'\"", "\x85\u2028\ud800", "é 😀", "x" * 500])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(results, "a/b", None, "2026-01-31", None)))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()
    (metric,) = index_result(results, "a/b", None, None)["metrics"]
    assert metric["args"] == {"signature": entry.notes}


def test_the_date_stays_while_nothing_else_changes():
    old = entries_of(RESULTS, "a/b", None, "2026-01-31", SOURCE)
    new = entries_of(RESULTS, "a/b", None, "2026-02-28", SOURCE)
    assert dated_as_before(new, old) == old
    other = entries_of(RESULTS, "a/c", None, "2026-02-28", SOURCE)
    assert dated_as_before(other, old) == other
    for broken in ("", "x", "[", "- 3\n", "{}"):
        assert dated_as_before(new, broken) == new


def test_a_benchmark_has_the_tasks_that_entries_name():
    content = yaml.safe_load(benchmark("Captions | people", "Bias: of\ncaptions #1"))
    assert [task["id"] for task in content["tasks"]] == list(TASKS)
    assert (content["name"], content["description"]) == ("Captions | people", "Bias: of captions #1")
    assert {"dbac_a_to_t_matched", "dbac_t_to_a", "lic"} <= set(TASKS)
    assert all(re.fullmatch("[a-z_]+", task) for task in TASKS)
    chosen = yaml.safe_load(benchmark("n", "d", ["dpa", "lic"]))["tasks"]
    assert [task["id"] for task in chosen] == ["lic", "leakage", "confidence", "dpa_a_to_t", "dpa_t_to_a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "d"), "name is empty"),
        (("n", " "), "description is empty"),
        (("n", "d", []), "metrics is empty"),
        (("n", "d", ["lic", "bleu"]), r"metrics\[1\] is 'bleu'"),
    ],
)
def test_a_benchmark_without_a_name_or_a_metric_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        benchmark(*arguments)


@pytest.mark.parametrize(
    "dataset", ["", "name", "a/b/c", "a/", "a b/c", "a/b\n- x", "../x", "a/b.git", "https://x/a/b"]
)
def test_what_is_no_dataset_on_the_hub_is_refused(dataset):
    with pytest.raises(ValueError, match="OWNER/NAME"):
        check_dataset(dataset, None)


@pytest.mark.parametrize("revision", ["", "main", "0123", COMMIT + "\n", COMMIT.upper(), COMMIT + "0"])
def test_what_is_no_commit_is_refused(revision):
    check_dataset("a/b", COMMIT)
    with pytest.raises(ValueError, match="dataset_revision"):
        check_dataset("a/b", revision)


@pytest.mark.parametrize(
    "date", ["2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00+01:00"]
)
def test_an_iso_date_stays_as_it_is(date):
    assert checked_date(date) == date


@pytest.mark.parametrize("date", ["", "today", "2026-02-30", "31.01.2026", "20260131", "2026-01-31Z", "2026-01-31\n"])
def test_what_is_no_date_is_refused(date):
    with pytest.raises(ValueError, match="date is"):
        checked_date(date)


def test_without_a_date_it_is_today_in_utc():
    before, date, after = datetime.now(timezone.utc), checked_date(None), datetime.now(timezone.utc)
    assert date in (before.date().isoformat(), after.date().isoformat())


@pytest.mark.parametrize(
    "url", ["", "example.org", "javascript:x", "ftp://x", "https://", "https://x y", "https://x\ny"]
)
def test_a_source_is_a_link(url):
    with pytest.raises(ValueError, match="source_url is"):
        checked_source(url, None, None)


def test_a_source_without_a_link_or_with_an_odd_user_is_refused():
    assert checked_source(None, None, None) is None
    with pytest.raises(ValueError, match="source_url is missing"):
        checked_source(None, "name", None)
    with pytest.raises(ValueError, match="source_url is missing"):
        checked_source(None, None, "user")
    with pytest.raises(ValueError, match="source_user is"):
        checked_source("https://example.org", None, "a b")
