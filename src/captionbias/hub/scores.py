"""Which scores of a result belong on a card, what each means, and which are tasks of a benchmark on the Hub."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import TASKS, Score
from captionbias.metrics.verdicts import NOTHING, verdict
from captionbias.report.wording import fixed
from captionbias.statistics.samples import Estimate

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
        ValueError: a file holds no results, a metric is in two files, or an entry is missing or not a finite number;
            the message names the file and the entry.
        OSError: a file cannot be read.
    """
    results: dict[str, dict[str, Any]] = {}
    for file in map(Path, files):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            metrics = content["metrics"] if "metrics" in content else {content["metric"]: content}
            found = {name: {**one["scores"], "details": one["details"]} for name, one in metrics.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file} holds no scores ({type(error).__name__}: {error}): give what captionbias measure ... --output "
                "wrote"
            ) from error
        for name, result in found.items():
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
    if name not in METRICS:
        raise ValueError(f"{where}: {name!r} is not a metric with a card: choose from {', '.join(METRICS)}")
    if "|v:" not in str(result.get("signature")):
        raise ValueError(f"{where}: signature is missing: measure again, so that readers know what was measured")
    if not {"images", "attribute_counts"} <= (result.get("details") or {}).keys():
        raise ValueError(f"{where}: details are missing: measure with details=True, or captionbias measure --output")
    for score in SCORES:
        for key in (score.key, *interval_keys(score.key)):
            if key in result and not (isinstance(result[key], (int, float)) and math.isfinite(result[key])):
                raise ValueError(
                    f"{where}: {key} is {result[key]!r}, not a finite number: leave out what is undefined, or measure "
                    "again"
                )


def interval_keys(key: str) -> tuple[str, str]:
    """The keys of a score's 95% interval, from low to high."""
    return f"{key}_ci_low", f"{key}_ci_high"


def interval_text(result: Mapping[str, Any], score: Score) -> str | None:
    """A score's 95% interval, such as "[-1.0, 3.5]"; None if the result has none."""
    keys = interval_keys(score.key)
    return f"[{', '.join(fixed(result[key], score.digits) for key in keys)}]" if keys[0] in result else None


def verdict_in(result: Mapping[str, Any], score: Score) -> str:
    """What a flat result's score says, as everywhere else; "-" if it has no verdict.

    >>> verdict_in({"lic": 1.2, "lic_ci_low": 0.5, "lic_ci_high": 1.9}, catalogue.SCORES["lic"])
    'amplifies'
    """
    if not score.judged:
        return NOTHING
    keys = [score.key for score in catalogue.scores_of(score.metric) if score.key in result]
    return verdict({key: Estimate(result[key], *map(result.get, interval_keys(key))) for key in keys}, score.key)


def is_fast(result: Mapping[str, Any]) -> bool:
    """Whether attackers of the preset `fast` gave the scores, which are not those of a paper."""
    return "|preset:fast|" in result["signature"]


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
