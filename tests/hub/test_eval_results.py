"""Results that the Hub's readers find: entries, a card's model index, and the benchmark that names the same tasks."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
import yaml
from huggingface_hub import EvalResultEntry, ModelCard, RepoCard, parse_eval_result_entries
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.hub.eval_results import (
    TASK_NAME,
    Source,
    benchmark,
    check_repo,
    check_revision,
    checked_date,
    checked_source,
    dated_as_before,
    entries_of,
    index_result,
    put_result,
)
from captionbias.metrics.catalogue import TASKS

SIGNATURE = "metric:lic|trials:2|v:0.1.0"
RESULTS = {"lic": {"lic": 1, "lic_ci_low": -1.0, "lic_ci_high": 3.0, "lic_d": 45.0, "signature": SIGNATURE}}
SOURCE = checked_source("https://example.org/run", None, "someone")
NONE = Source()
COMMIT = "0123456789abcdef" * 2 + "01234567"
BODY = "\n# Card\n\n---\nmodel-index:\n---\n"
ONE, TWO = (index_result({"lic": {"lic": value, "signature": SIGNATURE}}, "a/b", None, NONE) for value in (1.5, -2.5))


# Entries


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
    result = {"dpa": {"dpa_a_to_t": -0.0, "signature": "s"}}
    (entry,) = yaml.safe_load(entries_of(result, "a/b", None, "2026-01-31", NONE))
    dataset = {"id": "a/b", "task_id": "dpa_a_to_t"}
    assert entry == {"dataset": dataset, "value": 0.0, "date": "2026-01-31", "notes": "s"}
    assert str(entry["value"]) == "0.0"


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "{[", "'\"", "\x85\u2028\ud800", "é 😀", "x" * 500])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(results, "a/b", None, "2026-01-31", NONE)))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()
    (metric,) = index_result(results, "a/b", None, NONE)["metrics"]
    assert metric["args"] == {"signature": entry.notes}


def test_the_date_stays_while_nothing_else_changes():
    old = entries_of(RESULTS, "a/b", None, "2026-01-31", SOURCE)
    new = entries_of(RESULTS, "a/b", None, "2026-02-28", SOURCE)
    assert dated_as_before(new, old) == old
    other = entries_of(RESULTS, "a/c", None, "2026-02-28", SOURCE)
    assert dated_as_before(other, old) == other
    for broken in ("", "x", "[", "- 3\n", "{}"):
        assert dated_as_before(new, broken) == new


# The model index


def results_of(card):
    return [result for model in RepoCard(card).data["model-index"] for result in model["results"]]


@pytest.mark.parametrize(
    "front",
    [
        "z: &x 'é \"'  # why\n\nlicense: mit\nlanguage:\n    - en\ny: *x\n",
        "# to do\n",
        "about: |+\n  some\n\n\n",
        "  license: mit\n  tags: [a]\n",
        "{license: mit}\n",
        "? license\n: mit\nlanguage:\n",
        "model-index:\nlicense: mit\n",
        "model-index: [] # none yet\nlicense: mit\n",
        "model-index:\n- name: x\n  results:\n",
        "model-index:\n- name: x\n  url: y\n  results:\n  - a: 1\n- name: y\n  results:\n  - {task: {name: b}, b: 1}\n",
        'model-index: [{"name": "x", "results": [{"a": 1}]}]\nlicense: mit\n',
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_result_is_put_into_front_matter_once_and_all_content_stays(front, newline):
    card = f"---\n{front}---\n{BODY}".replace("\n", newline)
    once = put_result(card, ONE, "nic")
    assert put_result(once, ONE, "nic") == once
    assert once.endswith(BODY.replace("\n", newline))
    assert set(re.findall(r"\r\n|\r|\n", once)) == {newline}
    again = put_result(once, TWO, "nic")
    assert results_of(again).count(TWO) == 1
    assert put_result(again, ONE, "nic") == once
    before, after = (vars(RepoCard(text).data) for text in (card, once))
    others = [result for entry in before.pop("model-index", None) or [] for result in entry["results"] or []]
    index = after.pop("model-index")
    assert after == before
    assert [result for entry in index for result in entry["results"] if result != ONE] == others


@pytest.mark.parametrize("card", ["", "# Card", "# Card\r\n", "---\nno end", "text\n---\na: 1\n---\n"])
def test_a_card_without_front_matter_gets_one_before_its_text(card):
    done = put_result(card, ONE, "nic")
    assert done.endswith(card)
    assert RepoCard(done).data.to_dict() == {"model-index": [{"name": "nic", "results": [ONE]}]}
    assert put_result(done, ONE, "nic") == done


def test_the_hubs_library_reads_the_result():
    card = ModelCard(put_result("---\nlicense: mit\n---\n# Card\n", ONE, "nic"))
    (result,) = card.data.eval_results
    assert (result.task_name, result.dataset_type) == (TASK_NAME, "a/b")
    assert (result.metric_type, result.metric_value) == ("lic", 1.5)
    assert (card.data.model_name, card.data.license) == ("nic", "mit")


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("a: [1", "is not a YAML mapping"),
        ("- a", "is not a YAML mapping"),
        ("1: a", "is not a YAML mapping"),
        *((f"model-index: {index}", "must be a list of models with results") for index in ("x", "3", "{a: 1}", "[x]")),
        ("model-index: [{name: x, results: 3}]", "must be a list of models with results"),
        ("model-index: [{name: x, results: [y]}]", "must be a list of models with results"),
    ],
)
def test_front_matter_that_cannot_take_a_result_is_refused(front, message):
    with pytest.raises(ValueError, match=message):
        put_result(f"---\n{front}\n---\n", ONE, "nic")


@pytest.mark.parametrize(
    "name", ["a: b\nlicense: evil", "- [", "'\"", "#", "---\nx", "\x00\u2028\ud800", "é 😀", "true"]
)
def test_a_models_name_is_only_a_name(name):
    shown = name.replace("\n", " ").replace("\x00\u2028\ud800", "\ufffd \ufffd")
    done = put_result("---\nlicense: mit\n---\n", ONE, name)
    assert RepoCard(done).data.to_dict() == {"license": "mit", "model-index": [{"name": shown, "results": [ONE]}]}


LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
TREE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


@settings(deadline=None, max_examples=25)
@given(
    keys=st.dictionaries(st.text(max_size=8), TREE, max_size=4),
    results=st.none() | st.lists(st.dictionaries(st.sampled_from(["metrics", "source"]), TREE, min_size=1), max_size=3),
    flow=st.sampled_from([None, False, True]),
)
def test_any_front_matter_keeps_the_content_of_others(keys, results, flow):
    assume("model-index" not in keys)
    pairs = keys | ({} if results is None else {"model-index": [{"name": "x", "results": results}]})
    front = yaml.safe_dump(pairs, sort_keys=False, allow_unicode=True, default_flow_style=flow)
    before = yaml.safe_load(front)  # PyYAML does not read all it writes
    assume(before == pairs)
    done = put_result(f"---\n{front}---\ntext", ONE, "nic")
    assert done.endswith("\n---\ntext")
    before["model-index"] = [{"name": "nic" if results is None else "x", "results": [*(results or []), ONE]}]
    assert vars(RepoCard(done).data) == before
    assert put_result(done, ONE, "nic") == done


# A benchmark


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


# Options


@pytest.mark.parametrize("repo", ["", "name", "a/b/c", "a/", "a b/c", "a/b\n- x", "../x", "a/b.git", "https://x/a/b"])
def test_what_is_not_a_repository_on_the_hub_is_refused(repo):
    with pytest.raises(ValueError, match=r"dataset is .*: write OWNER/NAME"):
        check_repo("dataset", repo)


@pytest.mark.parametrize("revision", ["", "main", "0123", COMMIT + "\n", COMMIT.upper(), COMMIT + "0"])
def test_what_is_not_a_commit_is_refused(revision):
    check_revision(COMMIT)
    with pytest.raises(ValueError, match="dataset_revision"):
        check_revision(revision)


def test_an_iso_date_stays_as_it_is_and_without_one_it_is_today_in_utc():
    for date in ("2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00+01:00"):
        assert checked_date(date) == date
    before, date, after = datetime.now(timezone.utc), checked_date(None), datetime.now(timezone.utc)
    assert date in (before.date().isoformat(), after.date().isoformat())


@pytest.mark.parametrize("date", ["", "today", "2026-02-30", "31.01.2026", "20260131", "2026-01-31Z", "2026-01-31\n"])
def test_what_is_not_a_date_is_refused(date):
    with pytest.raises(ValueError, match="date is"):
        checked_date(date)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *(((url, None, None), "source_url is '") for url in ("", "example.org", "javascript:x", "ftp://x", "https://")),
        *(((url, None, None), "source_url is '") for url in ("https://x y", "https://x\ny")),
        ((None, "name", None), "source_url is missing"),
        ((None, None, "user"), "source_url is missing"),
        (("https://example.org", None, "a b"), "source_user is"),
    ],
)
def test_what_is_not_a_source_is_refused(source, message):
    assert checked_source(None, None, None) == NONE
    with pytest.raises(ValueError, match=message):
        checked_source(*source)
