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
from captionbias.compat import result_of
from captionbias.errors import InputError
from captionbias.io.formats import read_json
from captionbias.metrics import catalogue
from captionbias.report.wording import interval, verdict_text
from captionbias.text.markdown import one_line

Results = Mapping[str, Result]  # by the name of the metric, with details

# Those on cards: metric by metric, one direction after the other.
SCORES = sorted(
    (score for score in catalogue.SCORES.values() if score.on_cards),
    key=lambda score: (list(catalogue.METRICS).index(score.metric), score.direction or ""),
)


def read_results(files: Iterable[str | Path]) -> dict[str, Result]:
    """The results in files that `captionbias measure ... --output` wrote, by the name of their metric."""
    results: dict[str, Result] = {}
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
            results[name] = Result(result)
    return results


def checked(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Result]:
    """The results, by the name of the metric, as it returns them with details=True; ValueError, which names the entry,
    unless every one can be shown on a card."""
    for name, result in results.items():
        where = f"results[{name!r}]"
        if name not in catalogue.METRICS:
            raise ValueError(f"{where}: {name!r} is not a metric: choose from {', '.join(catalogue.METRICS)}")
        if not (result.get("signature") and (result.get("details") or {}).get("settings")):
            raise ValueError(
                f"{where}: signature or details are missing: measure with details=True, or captionbias measure --output"
            )
        for key, value in result.items():
            is_text = key in ("signature", "details") or key.endswith("_verdict")
            if not (is_text or (isinstance(value, (int, float)) and math.isfinite(value))):
                raise ValueError(f"{where}: {key} is {value!r}, not a finite number: leave it out, or measure again")
    return {name: result_of(result) for name, result in results.items()}


def verdict_in(result: Result, score: Score) -> str:
    """The verdict of a result's score, see `verdict_text`; "-" if it has none."""
    estimate = result.estimates.get(score.key)
    return verdict_text(score.key, estimate, result["details"]) if estimate and score.judged else NOTHING


def is_fast(result: Result) -> bool:
    """Whether attackers of the preset `fast` gave the scores, which are not those of a paper."""
    return bool(result["details"]["settings"].get("preset") == "fast")


def scores_in(results: Results, *, human: bool = False) -> list[Score]:
    """The scores that results hold, in the order of a card; with `human` only those of human captions alone."""
    held = {key for result in results.values() for key in result.estimates}
    return [
        score
        for score in SCORES
        if {score.key, score.key.removesuffix("_matched")} & held and (score.human or not human)
    ]


def tasks_in(results: Results) -> dict[str, Score]:
    """The scores of a captioner that results hold, by their task on the Hub."""
    held = {key for result in results.values() for key in result.estimates}
    return {task: score for task, score in TASKS.items() if score.key in held}


def entries_of(results: Results, dataset: str) -> str:
    """The text of `.eval_results/captionbias.yaml`: an entry for each task that the results on a dataset hold."""
    entries = []
    for task, score in tasks_in(results).items():
        result, judgement = results[score.metric], verdict_in(results[score.metric], score)
        estimate = result.estimates[score.key]
        _, _, ends = interval(estimate, score.digits).partition(" ")
        notes = [f"95% interval {ends}" if ends else "", "" if judgement == NOTHING else judgement]
        notes += ["preset fast, not for publication" if is_fast(result) else "", one_line(result["signature"])]
        value = float(estimate.value) + 0.0  # turns -0 into 0
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
