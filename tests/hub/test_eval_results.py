"""Results that the Hub's readers find."""

from __future__ import annotations

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from captionbias.hub.eval_results import (
    check_date,
    check_repo,
    check_revision,
    checked_source,
    entries_of,
)

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
            notes=f"95% interval [-1.0, 3.0]; unclear; {SIGNATURE}",
        )
    ]
    assert "date: '2026-01-31'" in text


@pytest.mark.parametrize("words", ["x\n- value: 9", "a: b # c", "\x85\u2028\ud800", "é 😀" * 200])
def test_a_signature_is_only_a_note(words):
    results = {"lic": {"lic": 1.0, "signature": words}}
    (entry,) = parse_eval_result_entries(yaml.safe_load(entries_of(results, "a/b", None, "2026-01-31", {})))
    assert (entry.value, entry.task_id) == (1.0, "lic")
    assert entry.notes.split() == words.replace("\ud800", "\ufffd").split()


@pytest.mark.parametrize(
    ("check", "wrong", "named"),
    [
        *((check_repo, ("dataset", repo), "dataset") for repo in ("", "name", "a/b/c", "a/b.git")),
        *((check_revision, (commit,), "dataset_revision") for commit in ("", "main", COMMIT.upper(), COMMIT + "0")),
        *((check_date, (date,), "date") for date in ("today", "2026-02-30")),
        *((checked_source, (url, None, None), "source_url") for url in ("", "javascript:x")),
        (checked_source, (None, "name", None), "source_url"),
        (checked_source, (None, None, "user"), "source_url"),
    ],
)
def test_an_option_that_the_hub_would_not_take_is_refused(check, wrong, named):
    with pytest.raises(ValueError, match=named):
        check(*wrong)
