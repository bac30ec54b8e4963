"""Which scores of a result belong on a card, what each says, and which are tasks of a benchmark on the Hub."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Results = Mapping[str, Mapping[str, Any]]  # by the name of the metric, as the metric returns them with details=True


class Score(NamedTuple):
    """A score of a metric's flat result.

    `task`: its id on the Hub, for scores of a captioner. `human`: it describes human captions alone.
    """

    metric: str
    key: str
    label: str
    digits: int
    meaning: str
    task: str | None = None
    human: bool = False


def _dbac(direction: str, name: str, shaping: str, attacked: str) -> tuple[Score, ...]:
    omega = (
        f"How surely an attacker tells {attacked}, each caption by its weight. Never below 0, and larger where the "
        "association is stronger; it has no neutral value of its own."
    )
    return (
        Score(
            "dbac",
            f"dbac_{direction}_matched",
            f"DBAC {name}, matched",
            3,
            f"Above 0 {shaping} in the captioner's captions than in people's (amplifies), below 0 less (mitigates). "
            "Closer to 0 than 0.01 it says nothing.",
            f"dbac_{direction}_matched",
        ),
        Score(
            "dbac",
            f"dbac_{direction}",
            f"DBAC {name}, as published",
            3,
            "Above 0 amplifies, below 0 mitigates, but this score also moves with how often captions name anything at "
            "all: judge by the matched one.",
            f"dbac_{direction}",
        ),
        Score("dbac", f"omega_m_{direction}", f"omega {name}, captioner", 3, omega),
        Score("dbac", f"omega_h_{direction}", f"omega {name}, human captions", 3, omega, human=True),
    )


def _read_from_captions(key: str, label: str, what: str, chance: str) -> tuple[Score, ...]:
    side = f"Of 100: {what} from captions whose attribute words are masked. With k labels chance is {chance}."
    return (
        Score(
            "lic",
            key,
            f"{label} x 100",
            1,
            "Above 0 the captioner's captions give the attribute away more than people's (amplifies), below 0 less "
            "(mitigates).",
            key,
        ),
        Score("lic", f"{key}_m", f"{label} x 100, captioner", 1, side),
        Score("lic", f"{key}_d", f"{label} x 100, human captions", 1, side, human=True),
    )


# LIC, DBAC and directional BA measure human captions alone. What DPA and label leakage say of the data is of labels
# that were made wrong as often as the captioner's are, and the others are comparisons.
SCORES = (
    *_dbac(
        "a_to_t",
        "A to T",
        "the attribute shapes the named tasks more",
        "the attribute from captions whose attribute words are masked",
    ),
    *_dbac(
        "t_to_a",
        "T to A",
        "the tasks shape the named attribute more",
        "the tasks from captions whose task words are masked",
    ),
    *_read_from_captions(
        "lic",
        "LIC",
        "how often, and how surely, an attacker reads the attribute",
        "100 / k², and up to 100 / k for an attacker that is sure of itself",
    ),
    *_read_from_captions("leakage", "leakage", "how often an attacker reads the attribute", "100 / k"),
    *_read_from_captions("confidence", "confidence", "how surely an attacker reads the attribute", "100 / k"),
    Score(
        "directional_ba",
        "directional_ba_a_to_t",
        "directional BA A to T",
        4,
        "Above 0 captions name the tasks that go with an attribute value more often for it than the data do "
        "(amplifies), below 0 less. It also moves with how often captions name tasks at all.",
        "directional_ba_a_to_t",
    ),
    Score(
        "directional_ba",
        "directional_ba_t_to_a",
        "directional BA T to A",
        4,
        "Above 0 captions name the attribute values that go with a task more often for it than the data do "
        "(amplifies), below 0 less. It also moves with how often captions name the attribute at all.",
        "directional_ba_t_to_a",
    ),
    *(
        Score(
            "directional_ba",
            f"directional_ba_h_{direction}",
            f"directional BA {name}, human captions",
            4,
            f"Against the labels of the images. Above 0 people name {what} more often for it than it is there, below 0 "
            "less often. It also moves with how often they name anything at all.",
            human=True,
        )
        for direction, name, what in (
            ("a_to_t", "A to T", "the tasks that go with an attribute value"),
            ("t_to_a", "T to A", "the attribute values that go with a task"),
        )
    ),
    Score(
        "multi_directional_ba",
        "multi_directional_ba_a_to_t",
        "multi-attribute BA A to T",
        4,
        "0 is best: how far captions move combinations of tasks for an attribute value. It has no sign.",
        "multi_directional_ba_a_to_t",
    ),
    Score(
        "multi_directional_ba",
        "multi_directional_ba_t_to_a",
        "multi-attribute BA T to A",
        4,
        "0 is best: how far captions move attribute values for a combination of tasks. It has no sign.",
        "multi_directional_ba_t_to_a",
    ),
    Score(
        "ba_mals",
        "ba_mals",
        "BA (MALS)",
        4,
        "Above 0 captions strengthen each task's lean to its likelier attribute value (amplifies), below 0 they weaken "
        "it (mitigates).",
        "ba_mals",
    ),
    Score(
        "dpa",
        "dpa_a_to_t",
        "DPA A to T",
        3,
        "Above 0 the tasks that captions name are easier to guess from the attribute than those shown (amplifies), "
        "below 0 harder (mitigates).",
        "dpa_a_to_t",
    ),
    Score(
        "dpa",
        "dpa_t_to_a",
        "DPA T to A",
        3,
        "Above 0 the attribute that captions name is easier to guess from the tasks than the true one (amplifies), "
        "below 0 harder (mitigates).",
        "dpa_t_to_a",
    ),
    Score(
        "label_leakage",
        "label_leakage",
        "leakage of task labels x 100",
        1,
        "Above 0 the tasks that captions name give the attribute away more than those shown (amplifies), below 0 less "
        "(mitigates).",
        "label_leakage",
    ),
    Score(
        "gender_error",
        "ratio",
        "captions: second label to first",
        2,
        "Captions that name the second label for each that names the first; the signature says which they are. At 1 "
        "they are as many.",
        "gender_ratio",
    ),
    Score(
        "gender_error",
        "error",
        "captions with the wrong label, %",
        1,
        "0 is best: captions of all that name the other label than the image has. It has no sign.",
        "gender_error",
    ),
)
TASKS = {score.task: score for score in SCORES if score.task}
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
