"""What an audit says, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from captionbias.report.terminal import LEANS, SMALL_DBAC, UNCLEAR, interval, verdict
from captionbias.report.views import score_name

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

# What a score above 0 means, and one below it.
MEANINGS = {
    "dbac_a_to_t_matched": (
        "lets the person's {attribute} shape which {tasks} it names, more than people do",
        "lets the person's {attribute} shape which {tasks} it names less than people do",
    ),
    "dbac_t_to_a_matched": (
        "lets the {tasks} in an image shape which {attribute} it names, more than people do",
        "lets the {tasks} in an image shape which {attribute} it names less than people do",
    ),
    "lic": (
        "gives the person's {attribute} away by its other words, more than people do",
        "gives the person's {attribute} away by its other words less than people do",
    ),
}
DIGITS = {"lic": 1}
OBJECTS = ("coco_objects", "coco_names")  # the lexicons whose tasks are objects
SURE, FAIRLY_SURE = 0.01, 0.05


class Said(NamedTuple):
    """A sentence about a captioner's score, and the verdict that it puts into words, see `tables.verdict`."""

    captioner: str
    text: str
    verdict: str


def verdicts(audit: Audit) -> list[Said]:
    """For each captioner and judged score a sentence."""
    attribute = audit.settings["attribute_lexicon"]
    kind = attribute if isinstance(attribute, str) and attribute.isalpha() else "attribute"
    lexicon = audit.settings["task_lexicon"]
    tasks = "objects" if lexicon is None or str(lexicon).startswith(OBJECTS) else "tasks"
    found = []
    for captioner in audit.captioners:
        for metric, comparison in audit.comparisons.items():
            result = audit.result(metric, captioner)
            for key in MEANINGS:
                if key in result and key.startswith(metric):
                    p = comparison.p_values[captioner].get(key, math.nan)
                    text = sentence(captioner, result, key, p, kind, tasks)
                    found.append(Said(captioner, text, verdict(result, key)))
    return found


def sentence(
    captioner: str,
    result: dict[str, Any],
    key: str,
    p: float,
    attribute: str = "attribute",
    tasks: str = "objects",
) -> str:
    """One score in plain words, with how sure it is; `attribute` and `tasks` are what these are called.

    >>> sentence("nic", {"lic": 3.1, "lic_ci_low": 1.0, "lic_ci_high": 5.0}, "lic", 0.004, "gender")
    "nic makes its data's bias worse: it gives the person's gender away by its other words, more than people do. We are
    sure of that (LIC x 100: 3.1 [1.0, 5.0])."
    """
    numbers = f"{score_name(key)}: {interval(result, key, DIGITS.get(key, 3))}"
    said = verdict(result, key)
    more, less = (text.format(attribute=attribute, tasks=tasks) for text in MEANINGS[key])
    if said == "amplifies":
        return f"{captioner} makes its data's bias worse: it {more}. {_sure(p)} ({numbers})."
    if said == "mitigates":
        return f"{captioner} softens its data's bias: it {less}. {_sure(p)} ({numbers})."
    if said == LEANS:
        return (
            f"{captioner}: cannot tell whether it {more}. The tasks were taken from human captions, with which this "
            f"score lies below zero whatever a captioner does; give the tasks of the images ({numbers})."
        )
    if said == UNCLEAR and _excludes_zero(result, key):
        return (
            f"{captioner}: no clear change. The score is too small to tell from what a faithful captioner reads, "
            f"{SMALL_DBAC:g} ({numbers})."
        )
    if said == UNCLEAR:
        return f"{captioner}: no clear change. Whether it {more}, or less, cannot be told ({numbers})."
    return f"{captioner}: no interval, so nothing can be said for sure ({numbers})."


def _sure(p: float) -> str:
    if p < SURE:
        return "We are sure of that"
    return "We are fairly sure of that" if p < FAIRLY_SURE or math.isnan(p) else "That is a hint, not sure"


def _excludes_zero(result: dict[str, Any], key: str) -> bool:
    return bool(result[f"{key}_ci_low"] > 0 or result[f"{key}_ci_high"] < 0)
