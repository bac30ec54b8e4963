"""Scores as the Hub reads them: evaluation results of a model."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, RepoCard, eval_result_entries_to_yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.repocard_data import eval_results_to_model_index
from huggingface_hub.utils import validate_repo_id, yaml_dump  # type: ignore[attr-defined]

from captionbias.hub.scores import Results, interval_text, is_fast, tasks_in, verdict_in
from captionbias.metrics.catalogue import Score
from captionbias.metrics.verdicts import NOTHING
from captionbias.text.markdown import one_line

FRAMEWORK = "captionbias"
TASK_NAME = "Societal bias of the captions (captionbias)"  # by which our result is found again in a model index
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_DATED = re.compile(r"^ *date: .*$", re.MULTILINE)  # in entries
_LINK = re.compile(r"https?://[^\s/][!-~]*")
_USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def entries_of(results: Results, dataset: str, revision: str | None, date: str, source: Mapping[str, str]) -> str:
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


def dated_as_before(text: str, before: str) -> str:
    """The entries of `before` where only dates differ, else those of `text`."""
    return before if _DATED.sub("", text) == _DATED.sub("", before) else text


def index_result(results: Results, dataset: str, revision: str | None, source: Mapping[str, str]) -> dict[str, Any]:
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
            source_url=source.get("source_url"),
            source_name=source.get("source_name"),
        )
        for task, score in tasks_in(results).items()
    ]
    (model,) = eval_results_to_model_index("", found)
    (result,) = model["results"]
    return dict(result)


def _value(results: Results, score: Score) -> float:
    return float(results[score.metric][score.key]) + 0.0  # adding 0 turns -0 into 0


def _notes(results: Results, score: Score) -> str:
    result = results[score.metric]
    interval, found = interval_text(result, score), verdict_in(result, score)
    said = [f"95% interval {interval}" if interval else "", "" if found == NOTHING else found]
    said += ["preset fast, not for publication" if is_fast(result) else "", one_line(result["signature"])]
    return "; ".join(filter(None, said))


def put_result(card: str, result: dict[str, Any], model: str) -> str:
    r"""A card with this result in the `model-index` of its front matter, in place of the one of the same task name.

    huggingface_hub reads and writes the front matter. What others wrote there keeps its content, but not its
    formatting: comments, quotes and anchors go. The text after the front matter stays as it is, byte for byte. A card
    that has the result already is not changed at all. `model`: what a new model index calls the model.

    Raises:
        ValueError: front matter that is not a YAML mapping, or a model index that is not a list of models with results.

    >>> print(put_result("# Card", {"task": {"type": "image-to-text", "name": "Bias"}, "metrics": []}, "nic"))
    ---
    model-index:
    - name: nic
      results:
      - task:
          type: image-to-text
          name: Bias
        metrics: []
    ---
    # Card
    """
    newline = line_break(card)
    try:
        # RepoCard logs a warning for a card without front matter.
        parsed = RepoCard(card if card.lstrip().startswith("---") else newline.join(["---", "{}", "---", card]))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ValueError(
            f"the front matter is not a YAML mapping ({one_line(str(error))}): correct it first"
        ) from error
    before = parsed.data.get("model-index")
    index = copy.deepcopy(before) or [{"name": one_line(model), "results": []}]
    try:
        for entry in index:
            entry["results"] = list(entry.get("results") or [])
        places = [
            (entry["results"], place)
            for entry in index
            for place, other in enumerate(entry["results"])
            if (other.get("task") or {}).get("name") == result["task"]["name"]
        ]
    except (TypeError, AttributeError) as error:
        raise ValueError("model-index must be a list of models with results: correct it, or remove it") from error
    if places:
        results, place = places[0]
        results[place] = result
    else:
        index[0]["results"].append(result)
    if index == before:
        return card
    parsed.data["model-index"] = index
    # Its own to_yaml leaves out keys without a value, and strips blanks that belong to a value.
    front = yaml_dump(vars(parsed.data), sort_keys=False, line_break=newline)
    return f"---{newline}{front}---{newline}{parsed.text}"


def line_break(text: str) -> str:
    r"""The line break that a text uses first: a carriage return with a line feed, or a line feed.

    >>> line_break("one\r\ntwo\n")
    '\r\n'
    """
    found = re.search(r"\r?\n", text)
    return found[0] if found else "\n"


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


def checked_date(date: str | None) -> str:
    """An ISO 8601 date or time; today's in UTC when None."""
    if date is None:
        return datetime.now(timezone.utc).date().isoformat()
    with suppress(ValueError):
        datetime.fromisoformat(date.removesuffix("Z"))
        if _DATE.fullmatch(date):
            return date
    raise ValueError(f"date is {date!r}: write one such as 2026-01-31 or 2026-01-31T12:00:00Z")


def checked_source(url: str | None, name: str | None, user: str | None) -> dict[str, str]:
    """Where results were measured, if a link says so.

    >>> checked_source("https://example.org/run", None, None)
    {'source_url': 'https://example.org/run', 'source_name': 'captionbias'}
    """
    if url is None:
        if name is not None or user is not None:
            raise ValueError("source_url is missing: the Hub shows a source's name and user with a link only")
        return {}
    if not _LINK.fullmatch(url):
        raise ValueError(f"source_url is {url!r}: write a link that begins with https://")
    if user is not None and not _USER.fullmatch(user):
        raise ValueError(f"source_user is {user!r}: write the name of a user or an organisation on the Hub")
    source = {"source_url": url, "source_name": one_line(name or FRAMEWORK)}
    return source if user is None else {**source, "source_user": user}
