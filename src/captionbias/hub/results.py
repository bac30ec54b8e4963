"""Results for cards and the Hub: read from files, checked, and written as entries of a model's evaluation results."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import TASKS, Score
from captionbias.metrics.measurement import Result
from captionbias.metrics.verdicts import NOTHING, verdict
from captionbias.report.wording import interval
from captionbias.text.markdown import one_line

Results = Mapping[str, Mapping[str, Any]]  # by the name of the metric, as the metric returns them with details=True

# Those on cards: metric by metric, one direction after the other.
SCORES = sorted(
    (score for score in catalogue.SCORES.values() if score.on_cards),
    key=lambda score: (list(catalogue.METRICS).index(score.metric), score.direction or ""),
)


def read_results(files: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """The results in files that `captionbias measure ... --output` wrote, by the name of their metric."""
    results: dict[str, dict[str, Any]] = {}
    for file in map(Path, files):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            metrics = content["metrics"] if "metrics" in content else {content["metric"]: content}
            of_file = {name: {**one["scores"], "details": one["details"]} for name, one in metrics.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file} holds no scores ({type(error).__name__}: {error}): give what captionbias measure ... --output "
                "wrote"
            ) from error
        for name, result in of_file.items():
            if name in results:
                raise ValueError(f"{file}: {name} is also in another file: give one result of each metric")
            _check(name, result, f"{file}: {name}")
            results[name] = result
    return results


def check_results(results: Results) -> None:
    """Raise a ValueError, which names the entry, unless every result can be shown on a card."""
    for name, result in results.items():
        _check(name, result, f"results[{name!r}]")


def _check(name: str, result: Mapping[str, Any], where: str) -> None:
    if name not in catalogue.METRICS:
        raise ValueError(f"{where}: {name!r} is not a metric: choose from {', '.join(catalogue.METRICS)}")
    if "|v:" not in str(result.get("signature")):
        raise ValueError(f"{where}: signature is missing: measure again, so that readers know what was measured")
    if not {"images", "attribute_counts"} <= (result.get("details") or {}).keys():
        raise ValueError(f"{where}: details are missing: measure with details=True, or captionbias measure --output")
    for key in result.keys() - {"signature", "details"}:
        if not (isinstance(result[key], (int, float)) and math.isfinite(result[key])):
            raise ValueError(
                f"{where}: {key} is {result[key]!r}, not a finite number: leave out what is undefined, or measure again"
            )


def verdict_in(result: Mapping[str, Any], score: Score) -> str:
    """What a flat result's score says, as everywhere else; "-" if it has no verdict."""
    return verdict(Result(result).estimates, score.key) if score.judged else NOTHING


def is_fast(result: Mapping[str, Any]) -> bool:
    """Whether attackers of the preset `fast` gave the scores, which are not those of a paper."""
    return "|preset:fast|" in result["signature"]


def scores_in(results: Results, *, human: bool = False) -> list[Score]:
    """The scores that results hold, in the order of a card; with `human` only those of human captions alone.

    A published DBAC without a matched one still has the matched one's row before it, as undefined.
    """
    return [
        score
        for score in SCORES
        if {score.key, score.key.removesuffix("_matched")} & results.get(score.metric, {}).keys()
        and (score.human or not human)
    ]


def tasks_in(results: Results) -> dict[str, Score]:
    """The scores of a captioner that results hold, by their task on the Hub."""
    return {task: score for task, score in TASKS.items() if score.key in results.get(score.metric, {})}


def entries_of(results: Results, fields: Mapping[str, Any]) -> str:
    """The text of `.eval_results/captionbias.yaml`: an entry for each task that the results hold, with these fields."""
    entries = [
        # Adding 0 turns -0 into 0.
        EvalResultEntry(
            task_id=task,
            value=results[score.metric][score.key] + 0.0,
            notes=_notes(results[score.metric], score),
            **fields,
        )
        for task, score in tasks_in(results).items()
    ]
    content = eval_result_entries_to_yaml(entries)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))  # no line is folded


def _notes(result: Mapping[str, Any], score: Score) -> str:
    _, _, ends = interval(Result(result).estimates[score.key], score.digits).partition(" ")
    judgement = verdict_in(result, score)
    notes = [f"95% interval {ends}" if ends else "", "" if judgement == NOTHING else judgement]
    notes += ["preset fast, not for publication" if is_fast(result) else "", one_line(result["signature"])]
    return "; ".join(filter(None, notes))


def check_repo(argument: str, repo: str) -> None:
    """Raise a ValueError unless this is the OWNER/NAME of a repository on the Hub."""
    with suppress(HFValidationError):
        validate_repo_id(repo)
        if repo.count("/") == 1:
            return
    raise ValueError(f"{argument} is {repo!r}: write OWNER/NAME, in letters, digits and single - _ . inside")


def entry_fields(
    dataset: str,
    revision: str | None = None,
    date: str | None = None,
    url: str | None = None,
    name: str | None = None,
    user: str | None = None,
) -> dict[str, str | None]:
    """What all entries of a model have in common: the dataset, the date, and where they come from, if a link says so.

    ValueError: one that the Hub would not take.
    """
    check_repo("dataset", dataset)
    if revision is not None and not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError(f"dataset_revision is {revision!r}: write the 40 hexadecimal digits of a commit")
    try:
        datetime.fromisoformat("2026-01-31" if date is None else date.removesuffix("Z"))
    except ValueError as error:
        raise ValueError(f"date is {date!r}: write one such as 2026-01-31 or 2026-01-31T12:00:00Z") from error
    if url is None and (name or user):
        raise ValueError("source_url is missing: the Hub shows a source's name and user with a link only")
    if url is not None and not url.startswith(("https://", "http://")):
        raise ValueError(f"source_url is {url!r}: write a link that begins with https://")
    source = {"source_url": url, "source_name": url and (name or "captionbias"), "source_user": user}
    return {
        "dataset_id": dataset,
        "dataset_revision": revision,
        "date": date,
        **{field: one_line(text) for field, text in source.items() if text},
    }
