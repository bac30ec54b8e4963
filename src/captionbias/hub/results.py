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
from captionbias.bench.verdicts import CANNOT_TELL, MORE, NOTHING
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
    """The results in files that `captionbias measure ... --output`, `Result.save`, `evaluate.save` or a Trainer (its
    `trainer_state.json`) wrote, by the name of their metric."""
    results: dict[str, Result] = {}
    for file in map(Path, files):
        try:
            content = read_json(file)
            if "log_history" in content:
                read = _logged(content)
            elif "signature" in content:
                own = {key: one for key, one in content.items() if _is_own(key, one)}
                read = {settings_of(own["signature"])["metric"]: own}
            else:
                metrics = content["metrics"] if "metrics" in content else {content["metric"]: content}
                read = {name: {**one["scores"], "details": one["details"]} for name, one in metrics.items()}
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file} holds no scores ({type(error).__name__}: {error}): give what captionbias measure ... --output "
                "wrote, a result's save or a Trainer"
            ) from error
        for name, result in read.items():
            if name in results:
                raise ValueError(f"{file}: {name} is also in another file: give one result of each metric")
            results[name] = Result(result)
    return results


def _is_own(key: str, value: Any) -> bool:
    """Whether an entry is of the metric, and neither `evaluate.save` nor a user added it."""
    told = key in ("signature", *catalogue.SCORES) or key.endswith("_verdict") or not isinstance(value, str)
    return told and not key.startswith("_")


def settings_of(signature: str) -> dict[str, str]:
    """The settings that a signature names."""
    return dict(part.partition(":")[::2] for part in signature.split("|"))


def _logged(state: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a Trainer logged of its best checkpoint, else last."""
    rows = [row for row in state["log_history"] if any(f"eval_{key}" in row for key in catalogue.SCORES)]
    row = next((row for row in rows if row["step"] == state.get("best_global_step")), rows[-1])
    logged = {key.removeprefix("eval_"): value for key, value in row.items()}
    results: dict[str, dict[str, Any]] = {}
    for key in [key for key in catalogue.SCORES if key in logged]:
        metric, more = catalogue.SCORES[key].metric, logged.get(f"{key}_more_than_people")
        result = results.setdefault(metric, {"signature": f"metric:{metric}|step:{row['step']}|v:(not logged)"})
        result |= {name: logged[name] for name in (key, f"{key}_ci_low", f"{key}_ci_high") if name in logged}
        result |= {} if more is None else {f"{key}_verdict": MORE if more else CANNOT_TELL}
    return results


def checked(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Result]:
    """The results, by the name of the metric, with details, which may be empty; ValueError, which names the entry,
    unless every one can be shown on a card."""
    for name, result in results.items():
        where = f"results[{name!r}]"
        if name not in catalogue.METRICS:
            raise ValueError(f"{where}: {name!r} is not a metric: choose from {', '.join(catalogue.METRICS)}")
        if not result.get("signature"):
            raise ValueError(f"{where}: signature is missing: give all that the metric returned")
        for key, value in result.items():
            other = key in ("signature", "details") or key.endswith("_verdict")
            other |= key in catalogue.SCORES and catalogue.SCORES[key].minimised  # which may be nan
            if not (other or (isinstance(value, (int, float)) and math.isfinite(value))):
                raise ValueError(f"{where}: {key} is {value!r}, not a finite number: leave it out, or measure again")
    return {name: Result({"details": {}} | result_of(result)) for name, result in results.items()}


def verdict_in(result: Result, score: Score) -> str:
    """The verdict of a result's score, see `verdict_text`; "-" if it has none."""
    estimate = result.estimates.get(score.key)
    return verdict_text(score.key, estimate, result["details"]) if estimate and score.judged else NOTHING


def is_fast(result: Result) -> bool:
    """Whether attackers of the preset `fast` gave the scores, which are not those of a paper."""
    return settings_of(result["signature"]).get("preset") == "fast"


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
        if score.minimised:  # compares with others of as many images, and of the same questions
            images = result.get("sway_images", result["details"].get("images"))
            notes.append(f"{images} images; the worst of {settings_of(result['signature']).get('worst')}")
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
