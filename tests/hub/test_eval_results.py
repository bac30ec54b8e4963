"""Results that the Hub's readers find: entries, and a card's model index."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
import yaml
from huggingface_hub import EvalResultEntry, RepoCard, parse_eval_result_entries
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.hub.eval_results import (
    check_repo,
    check_revision,
    checked_date,
    checked_source,
    dated_as_before,
    entries_of,
    index_result,
    put_result,
)

SIGNATURE = "metric:lic|trials:2|v:0.1.0"
RESULTS = {"lic": {"lic": 1, "lic_ci_low": -1.0, "lic_ci_high": 3.0, "lic_d": 45.0, "signature": SIGNATURE}}
SOURCE = checked_source("https://example.org/run", None, "someone")
COMMIT = "0123456789abcdef" * 2 + "01234567"
BODY = "\n# Card\n\n---\nmodel-index:\n---\n"
ONE, TWO = (index_result({"lic": {"lic": value, "signature": SIGNATURE}}, "a/b", None, {}) for value in (1.5, -2.5))


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
            notes=f"95% interval [-1.0, 3.0]; unclear; {SIGNATURE}",
        )
    ]
    assert "date: '2026-01-31'" in text


def test_without_a_source_or_an_interval_there_is_none():
    result = {"dpa": {"dpa_a_to_t": -0.0, "signature": "s"}}
    (entry,) = yaml.safe_load(entries_of(result, "a/b", None, "2026-01-31", {}))
    dataset = {"id": "a/b", "task_id": "dpa_a_to_t"}
    assert entry == {"dataset": dataset, "value": 0.0, "date": "2026-01-31", "notes": "s"}
    assert str(entry["value"]) == "0.0"


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "\x85\u2028\ud800", "é 😀" * 200])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(results, "a/b", None, "2026-01-31", {})))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()
    (metric,) = index_result(results, "a/b", None, {})["metrics"]
    assert metric["args"] == {"signature": entry.notes}


def test_the_date_stays_while_nothing_else_changes():
    old = entries_of(RESULTS, "a/b", None, "2026-01-31", SOURCE)
    new = entries_of(RESULTS, "a/b", None, "2026-02-28", SOURCE)
    assert dated_as_before(new, old) == old
    other = entries_of(RESULTS, "a/c", None, "2026-02-28", SOURCE)
    assert dated_as_before(other, old) == other


# The model index


def results_of(card):
    return [result for model in RepoCard(card).data["model-index"] for result in model["results"]]


@pytest.mark.parametrize(
    "front",
    [
        "z: &x 'é \"'  # why\n\nlicense: mit\nlanguage:\n    - en\ny: *x\n",
        "# to do\n",
        "about: |+\n  some\n\n\n",
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


@pytest.mark.parametrize("card", ["", "# Card\r\n", "text\n---\na: 1\n---\n"])
def test_a_card_without_front_matter_gets_one_before_its_text(card):
    done = put_result(card, ONE, "nic")
    assert done.endswith(card)
    assert RepoCard(done).data.to_dict() == {"model-index": [{"name": "nic", "results": [ONE]}]}
    assert put_result(done, ONE, "nic") == done


@pytest.mark.parametrize(
    ("front", "message"),
    [
        *((front, "is not a YAML mapping") for front in ("a: [1", "- a", "1: a")),
        *((f"model-index: {index}", "must be a list of models") for index in ("3", "[x]", "[{name: x, results: [y]}]")),
    ],
)
def test_front_matter_that_cannot_take_a_result_is_refused(front, message):
    with pytest.raises(ValueError, match=message):
        put_result(f"---\n{front}\n---\n", ONE, "nic")


@pytest.mark.parametrize("name", ["a: b\nlicense: evil", "---\nx", "\x00\u2028\ud800", "é 😀", "true"])
def test_a_models_name_is_only_a_name(name):
    shown = name.replace("\n", " ").replace("\x00\u2028\ud800", "\ufffd \ufffd")
    done = put_result("---\nlicense: mit\n---\n", ONE, name)
    assert RepoCard(done).data.to_dict() == {"license": "mit", "model-index": [{"name": shown, "results": [ONE]}]}


LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
TREE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


@settings(deadline=None, max_examples=15)
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


# Options


@pytest.mark.parametrize(
    ("check", "wrong", "message"),
    [
        *(
            (check_repo, ("dataset", repo), r"dataset is .*: write OWNER/NAME")
            for repo in ("", "name", "a/b/c", "a/b.git")
        ),
        *((check_revision, (commit,), "dataset_revision") for commit in ("", "main", COMMIT.upper(), COMMIT + "0")),
        *((checked_date, (date,), "date is") for date in ("", "today", "2026-02-30", "20260131", "2026-01-31Z")),
        *(
            (checked_source, (url, None, None), "source_url is '")
            for url in ("", "javascript:x", "https://", "https://x y")
        ),
        (checked_source, (None, "name", None), "source_url is missing"),
        (checked_source, (None, None, "user"), "source_url is missing"),
        (checked_source, ("https://example.org", None, "a b"), "source_user is"),
    ],
)
def test_an_option_that_the_hub_would_not_take_is_refused(check, wrong, message):
    with pytest.raises(ValueError, match=message):
        check(*wrong)


def test_an_iso_date_stays_as_it_is_and_without_one_it_is_today_in_utc():
    for date in ("2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00+01:00"):
        assert checked_date(date) == date
    before, date, after = datetime.now(timezone.utc), checked_date(None), datetime.now(timezone.utc)
    assert date in (before.date().isoformat(), after.date().isoformat())
