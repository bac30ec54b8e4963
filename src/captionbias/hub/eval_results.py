"""Scores as the Hub reads them: evaluation results of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from captionbias.hub.scores import Results, is_fast, tasks_in, verdict_in
from captionbias.metrics.catalogue import Score
from captionbias.metrics.measurement import Result
from captionbias.metrics.verdicts import NOTHING
from captionbias.report.wording import interval
from captionbias.text.markdown import one_line


def entries_of(
    results: Results, dataset: str, revision: str | None, date: str | None, source: Mapping[str, str]
) -> str:
    """The text of `.eval_results/captionbias.yaml`: an entry for each task that the results hold."""
    entries = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=task,
            value=_value(results, score),
            dataset_revision=revision,
            date=date,
            notes=_notes(results, score),
            **source,
        )
        for task, score in tasks_in(results).items()
    ]
    content = eval_result_entries_to_yaml(entries)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))  # no line is folded


def _value(results: Results, score: Score) -> float:
    return float(results[score.metric][score.key]) + 0.0  # adding 0 turns -0 into 0


def _notes(results: Results, score: Score) -> str:
    result = results[score.metric]
    _, _, ends = interval(Result(result).estimates[score.key], score.digits).partition(" ")
    found = verdict_in(result, score)
    said = [f"95% interval {ends}" if ends else "", "" if found == NOTHING else found]
    said += ["preset fast, not for publication" if is_fast(result) else "", one_line(result["signature"])]
    return "; ".join(filter(None, said))


def check_repo(argument: str, repo: str) -> None:
    """Raise a ValueError unless this is the OWNER/NAME of a repository on the Hub."""
    with suppress(HFValidationError):
        validate_repo_id(repo)
        if repo.count("/") == 1:
            return
    raise ValueError(f"{argument} is {repo!r}: write OWNER/NAME, in letters, digits and single - _ . inside")


def check_revision(revision: str | None) -> None:
    """Raise a ValueError unless this is a commit of a dataset, or None."""
    if revision is not None and not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError(f"dataset_revision is {revision!r}: write the 40 hexadecimal digits of a commit")


def check_date(date: str | None) -> None:
    """Raise a ValueError unless this is an ISO 8601 date or time, or None."""
    try:
        datetime.fromisoformat("2026-01-31" if date is None else date.removesuffix("Z"))
    except ValueError as error:
        raise ValueError(f"date is {date!r}: write one such as 2026-01-31 or 2026-01-31T12:00:00Z") from error


def checked_source(url: str | None, name: str | None, user: str | None) -> dict[str, str]:
    """Where results were measured, if a link says so.

    >>> checked_source("https://example.org/run", None, None)
    {'source_url': 'https://example.org/run', 'source_name': 'captionbias'}
    """
    if url is None and (name or user):
        raise ValueError("source_url is missing: the Hub shows a source's name and user with a link only")
    if url is not None and not url.startswith(("https://", "http://")):
        raise ValueError(f"source_url is {url!r}: write a link that begins with https://")
    found = {"source_url": url, "source_name": url and (name or "captionbias"), "source_user": user}
    return {key: one_line(value) for key, value in found.items() if value}
