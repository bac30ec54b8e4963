"""Results for cards and the Hub: read from files, checked, and written as entries of a model's evaluation results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from captionbias.bench.catalogue import TASKS, Score
from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import NOTHING
from captionbias.errors import InputError
from captionbias.io.formats import read_json
from captionbias.metrics import catalogue
from captionbias.report.wording import interval, said_of
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
            content = read_json(file)
            metrics = content["metrics"] if "metrics" in content else {content["metric"]: content}
            read = {name: {**content["scores"], "details": content["details"]} for name, content in metrics.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file} holds no scores ({type(error).__name__}: {error}): give what captionbias measure ... --output "
                "wrote"
            ) from error
        for name, result in read.items():
            if name in results:
                raise ValueError(f"{file}: {name} is also in another file: give one result of each metric")
            results[name] = result
    return results


def check_results(results: Results) -> None:
    """Raise a ValueError, which names the entry, unless every result can be shown on a card."""
    for name, result in results.items():
        where = f"results[{name!r}]"
        if name not in catalogue.METRICS:
            raise ValueError(f"{where}: {name!r} is not a metric: choose from {', '.join(catalogue.METRICS)}")
        if not (result.get("signature") and (result.get("details") or {}).get("settings")):
            raise ValueError(
                f"{where}: signature or details are missing: measure with details=True, or captionbias measure --output"
            )
        for key in result.keys() - {"signature", "details"}:
            if not (isinstance(result[key], (int, float)) and math.isfinite(result[key])):
                raise ValueError(
                    f"{where}: {key} is {result[key]!r}, not a finite number: leave it out, or measure again"
                )


def verdict_in(result: Mapping[str, Any], score: Score) -> str:
    """The verdict of a flat result's score, see `said_of`; "-" if it has none."""
    return said_of(Result(result).estimates, score.key, result.get("details")) if score.judged else NOTHING


def is_fast(result: Mapping[str, Any]) -> bool:
    """Whether attackers of the preset `fast` gave the scores, which are not those of a paper."""
    return bool(result["details"]["settings"].get("preset") == "fast")


def scores_in(results: Results, *, human: bool = False) -> list[Score]:
    """The scores that results hold, in the order of a card; with `human` only those of human captions alone."""
    return [
        score
        for score in SCORES
        if {score.key, score.key.removesuffix("_matched")} & results.get(score.metric, {}).keys()
        and (score.human or not human)
    ]


def tasks_in(results: Results) -> dict[str, Score]:
    """The scores of a captioner that results hold, by their task on the Hub."""
    return {task: score for task, score in TASKS.items() if score.key in results.get(score.metric, {})}


def entries_of(results: Results, dataset: str) -> str:
    """The text of `.eval_results/captionbias.yaml`: an entry for each task that the results on a dataset hold."""
    entries = []
    for task, score in tasks_in(results).items():
        result, judgement = results[score.metric], verdict_in(results[score.metric], score)
        _, _, ends = interval(Result(result).estimates[score.key], score.digits).partition(" ")
        notes = [f"95% interval {ends}" if ends else "", "" if judgement == NOTHING else judgement]
        notes += ["preset fast, not for publication" if is_fast(result) else "", one_line(result["signature"])]
        value = result[score.key] + 0.0  # turns -0 into 0
        entries.append(EvalResultEntry(dataset, task, value, notes="; ".join(filter(None, notes))))
    content = eval_result_entries_to_yaml(entries)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))  # no line is folded


def check_repo(argument: str, repo: str) -> None:
    """Raise a ValueError unless this is the OWNER/NAME of a repository on the Hub."""
    with suppress(HFValidationError):
        validate_repo_id(repo)
        if repo.count("/") == 1:
            return
    raise InputError(argument, f"is {repo!r}: write OWNER/NAME, in letters, digits and single - _ . inside")
