"""Which scores of a result belong on a card, what each means, and which are tasks of a benchmark on the Hub."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import TASKS, Score

Results = Mapping[str, Mapping[str, Any]]  # by the name of the metric, as the metric returns them with details=True


# Those on cards: metric by metric, one direction after the other.
SCORES = sorted(
    (score for score in catalogue.SCORES.values() if score.on_cards),
    key=lambda score: (list(catalogue.METRICS).index(score.metric), score.direction or ""),
)
METRICS = tuple(dict.fromkeys(score.metric for score in SCORES))


def read_results(files: Iterable[str | Path]) -> dict[str, dict[str, Any]]:
    """The results in files that `captionbias measure ... --output` wrote.

    Returns:
        By the name of its metric each flat result, with its signature and `details`, as the metric returned it.

    Raises:
        ValueError: for a file that cannot be read or holds no results, a metric that is in two files, and an entry
            that is missing or not a finite number; the message names the file and the entry.
    """
    results: dict[str, dict[str, Any]] = {}
    sources: dict[str, Path] = {}
    for file in map(Path, files):
        for name, (entry, content) in _entries(file).items():
            where = f"{file}: {entry}"
            if name in results:
                raise ValueError(f"{where}: {name} is also in {sources[name]}: give one result of each metric")
            if not isinstance(content, Mapping) or not isinstance(content.get("scores"), Mapping):
                raise ValueError(f"{where} has no scores: give a file that captionbias measure ... --output wrote")
            results[name] = {**content["scores"], "details": content.get("details")}
            sources[name] = file
            _check(name, results[name], where)
    return results


def _entries(file: Path) -> dict[str, tuple[str, Any]]:
    """By metric, what the entry is called in this file and what it holds."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror or error}): give a file with results") from error
    except ValueError as error:
        raise ValueError(f"{file} is not JSON ({error}): give what captionbias measure ... --output wrote") from error
    if isinstance(content, Mapping) and isinstance(content.get("metrics"), Mapping):
        return {name: (f"metrics.{name}", of_metric) for name, of_metric in content["metrics"].items()}
    if isinstance(content, Mapping) and isinstance(content.get("metric"), str):
        return {content["metric"]: (content["metric"], content)}
    raise ValueError(f"{file} holds no metric: give a file that captionbias measure ... --output wrote")


def check_results(results: Results) -> None:
    """Raise a ValueError, which names the entry, unless every result can be shown on a card."""
    for name, result in results.items():
        _check(name, result, f"results[{name!r}]")


def _check(name: str, result: Mapping[str, Any], where: str) -> None:
    if name not in METRICS:
        raise ValueError(f"{where}: {name!r} is not a metric with a card: choose from {', '.join(METRICS)}")
    signature = result.get("signature")
    if not isinstance(signature, str) or "|v:" not in signature:
        raise ValueError(f"{where}: signature is {signature!r}: measure again, so that readers know what was measured")
    details = result.get("details")
    counts = details.get("attribute_counts") if isinstance(details, Mapping) else None
    if not isinstance(details, Mapping) or not isinstance(counts, Mapping):
        raise ValueError(f"{where}: details are missing: measure with details=True, or captionbias measure --output")
    for label, count in [("images", details.get("images")), *counts.items()]:
        if not isinstance(count, int) or isinstance(count, bool):
            raise ValueError(f"{where}: details: {label} is {count!r}, not a number of images: measure again")
    for score in SCORES:
        if score.metric == name:
            keys = [key for key in (score.key, *interval_keys(score.key)) if key in result]
            if len(keys) == 2 or (keys and keys[0] != score.key):
                raise ValueError(f"{where}: {keys[0]} is there without the rest of its interval: measure again")
            for key in keys:
                _check_number(result[key], f"{where}: {key}")


def interval_keys(key: str) -> tuple[str, str]:
    """The keys of a score's 95% interval, from low to high."""
    return f"{key}_ci_low", f"{key}_ci_high"


def _check_number(value: Any, where: str) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{where} is {value!r}, not a finite number: leave out what is undefined, or measure again")


def scores_in(results: Results, *, human: bool = False) -> list[Score]:
    """The scores that results hold, in the order of a card; with `human` only those of human captions alone.

    A published DBAC without a matched one still has the matched one's row before it, as undefined.

    >>> [score.key for score in scores_in({"lic": {"lic": 1.2, "lic_m": 47.2, "lic_d": 46.0}})]
    ['lic', 'lic_m', 'lic_d']
    """
    return [
        score
        for score in SCORES
        if {score.key, score.key.removesuffix("_matched")} & results.get(score.metric, {}).keys()
        and (score.human or not human)
    ]


def tasks_in(results: Results) -> dict[str, Score]:
    """The scores of a captioner that results hold, by their task on the Hub.

    >>> list(tasks_in({"lic": {"lic": 1.2, "lic_m": 47.2}}))
    ['lic']
    """
    return {task: score for task, score in TASKS.items() if score.key in results.get(score.metric, {})}
