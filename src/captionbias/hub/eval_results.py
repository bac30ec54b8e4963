"""Scores as the Hub reads them: evaluation results of a model, and the tasks of a benchmark dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.repocard_data import eval_results_to_model_index
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from captionbias.hub.markdown import fixed
from captionbias.hub.scores import METRICS, TASKS, Results, Score
from captionbias.text.markdown import one_line

FRAMEWORK = "captionbias"
# By this name our result is found again in a model index.
TASK_NAME = "Societal bias of the captions (captionbias)"
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Source(NamedTuple):
    """Where the results were measured: a link, what it is called, and whose it is on the Hub."""

    url: str
    name: str
    user: str | None = None


def entries_of(results: Results, dataset: str, revision: str | None, date: str, source: Source | None) -> str:
    """The text of `.eval_results/captionbias.yaml`: an entry for each task that the results hold."""
    entries = [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=task,
            value=_value(results, score),
            dataset_revision=revision,
            date=date,
            source_url=source.url if source else None,
            source_name=source.name if source else None,
            source_user=source.user if source else None,
            notes=_notes(results, score),
        )
        for task, score in _tasks_in(results).items()
    ]
    return dumped(eval_result_entries_to_yaml(entries))


def dated_as_before(text: str, before: str) -> str:
    """The entries of `before` where only dates differ, else those of `text`.

    >>> dated_as_before("- {value: 1.0, date: '2026-02-01'}", "- {value: 1.0, date: '2026-01-01'}")
    "- {value: 1.0, date: '2026-01-01'}"
    """
    try:
        old = yaml.safe_load(before)
    except yaml.YAMLError:
        return text
    return before if _undated(old) == _undated(yaml.safe_load(text)) else text


def _undated(entries: Any) -> Any:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    return [{key: value for key, value in entry.items() if key != "date"} for entry in entries]


def index_result(results: Results, dataset: str, revision: str | None, source: Source | None) -> dict[str, Any]:
    """The same scores as one result of a card's `model-index`."""
    found = [
        EvalResult(
            task_type="image-to-text",
            task_name=TASK_NAME,
            dataset_type=dataset,
            dataset_name=dataset,
            dataset_revision=revision,
            metric_type=task,
            metric_name=score.label,
            metric_value=_value(results, score),
            metric_args={"signature": one_line(results[score.metric]["signature"])},
            source_url=source.url if source else None,
            source_name=source.name if source else None,
        )
        for task, score in _tasks_in(results).items()
    ]
    (model,) = eval_results_to_model_index("", found)
    (result,) = model["results"]
    return dict(result)


def _tasks_in(results: Results) -> dict[str, Score]:
    return {task: score for task, score in TASKS.items() if score.key in results.get(score.metric, {})}


def _value(results: Results, score: Score) -> float:
    return float(results[score.metric][score.key]) + 0.0  # adding 0 takes the sign off -0


def _notes(results: Results, score: Score) -> str:
    result = results[score.metric]
    low, high = f"{score.key}_ci_low", f"{score.key}_ci_high"
    interval = ""
    if low in result:
        interval = f"95% interval [{fixed(result[low], score.digits)}, {fixed(result[high], score.digits)}]; "
    return f"{interval}{one_line(result['signature'])}"


def benchmark(name: str, description: str, metrics: Sequence[str] | None = None) -> str:
    """The text of `eval.yaml`, which makes a dataset on the Hub a benchmark that captioners' results can name.

    The Hub takes the file once `captionbias` is in its list of evaluation frameworks, which people are asked to add to.

    Args:
        name: what the benchmark is called.
        description: what it measures, in a sentence.
        metrics: whose scores are its tasks, one for each score and direction; all metrics when None.

    Raises:
        ValueError: an empty name or description, no metric, or one that this package does not have.

    >>> print(benchmark("Captions of people", "Bias amplification.", ["dpa"]))
    name: Captions of people
    description: Bias amplification.
    evaluation_framework: captionbias
    tasks:
    - id: dpa_a_to_t
    - id: dpa_t_to_a
    """
    wanted = METRICS if metrics is None else metrics
    for row, metric in enumerate(wanted):
        if metric not in METRICS:
            raise ValueError(f"metrics[{row}] is {metric!r}, which is no metric here: choose from {', '.join(METRICS)}")
    if not wanted:
        raise ValueError(f"metrics is empty: choose from {', '.join(METRICS)}")
    texts = {"name": one_line(name), "description": one_line(description)}
    for argument, text in texts.items():
        if not text:
            raise ValueError(f"{argument} is empty: the Hub shows it, so give a few words")
    tasks = [{"id": task} for task, score in TASKS.items() if score.metric in wanted]
    return dumped({**texts, "evaluation_framework": FRAMEWORK, "tasks": tasks})


def dumped(content: Any) -> str:
    """YAML in the order given, with no text folded over lines."""
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))


def check_dataset(dataset: str, revision: str | None) -> None:
    """Raise a ValueError unless these name a dataset on the Hub and a commit of it."""
    try:
        validate_repo_id(dataset)
    except HFValidationError as error:
        raise ValueError(f"dataset is {dataset!r}: give its OWNER/NAME on the Hub ({error})") from error
    if dataset.count("/") != 1:
        raise ValueError(f"dataset is {dataset!r}: give its OWNER/NAME on the Hub")
    if revision is not None and not _COMMIT.fullmatch(revision):
        raise ValueError(f"dataset_revision is {revision!r}: give the 40 hexadecimal digits of a commit")


def checked_date(date: str | None) -> str:
    """An ISO 8601 date or time; today's in UTC when None."""
    if date is None:
        return datetime.now(timezone.utc).date().isoformat()
    if _DATE.fullmatch(date):
        with suppress(ValueError):
            datetime.fromisoformat(date.removesuffix("Z"))
            return date
    raise ValueError(f"date is {date!r}: give one such as 2026-01-31 or 2026-01-31T12:00:00Z")


def checked_source(url: str | None, name: str | None, user: str | None) -> Source | None:
    """Where results were measured, if a link says so.

    >>> checked_source("https://example.org/run", None, None)
    Source(url='https://example.org/run', name='captionbias', user=None)
    """
    if url is None:
        if name is not None or user is not None:
            raise ValueError("source_url is missing: the Hub shows a source's name and user with a link only")
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or one_line(url).replace(" ", "") != url:
        raise ValueError(f"source_url is {url!r}: give a link that begins with https://")
    if user is not None and not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", user):
        raise ValueError(f"source_user is {user!r}: give the name of a user or an organisation on the Hub")
    return Source(url, one_line(FRAMEWORK if name is None else name), user)
