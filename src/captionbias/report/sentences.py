"""What an audit says, in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from captionbias.report.grids import score_name
from captionbias.report.tables import LEANS, UNCLEAR, verdict

if TYPE_CHECKING:
    from captionbias.audit import Audit

# What a score above 0 means, and one below it.
MEANINGS = {
    "dbac_a_to_t_matched": (
        "lets the person's {attribute} shape which objects it names, more than people do",
        "lets the person's {attribute} shape which objects it names less than people do",
    ),
    "dbac_t_to_a_matched": (
        "lets the objects in an image shape which {attribute} it names, more than people do",
        "lets the objects in an image shape which {attribute} it names less than people do",
    ),
    "lic": (
        "gives the person's {attribute} away by its other words, more than people do",
        "gives the person's {attribute} away by its other words less than people do",
    ),
}
DIGITS = {"lic": 1}
SURE, FAIRLY_SURE = 0.01, 0.05


def verdicts(audit: Audit) -> list[tuple[str, str]]:
    """For each captioner and judged score its name and a sentence."""
    attribute = audit.settings["attribute_lexicon"]
    kind = attribute if isinstance(attribute, str) and attribute.isalpha() else "attribute"
    found = []
    for captioner in audit.captioners:
        for metric, comparison in audit.comparisons.items():
            result = audit.result(metric, captioner)
            for key in MEANINGS:
                if key in result and key.startswith(metric):
                    p = comparison.p_values[captioner].get(key, math.nan)
                    found.append((captioner, sentence(captioner, result, key, p, kind)))
    return found


def sentence(captioner: str, result: dict[str, Any], key: str, p: float, attribute: str = "attribute") -> str:
    """One score in plain words, with how sure it is.

    >>> sentence("nic", {"lic": 3.1, "lic_ci_low": 1.0, "lic_ci_high": 5.0}, "lic", 0.004, "gender")
    "nic makes its data's bias worse: it gives the person's gender away by its other words, more than people do. We are
    sure of that (LIC x 100: 3.1 [1.0, 5.0])."
    """
    digits = DIGITS.get(key, 3)
    numbers = f"{score_name(key)}: {_fixed(result[key], digits)}"
    if f"{key}_ci_low" in result:
        numbers += f" [{_fixed(result[f'{key}_ci_low'], digits)}, {_fixed(result[f'{key}_ci_high'], digits)}]"
    said = verdict(result, key)
    more, less = (text.format(attribute=attribute) for text in MEANINGS[key])
    if said == "amplifies":
        return f"{captioner} makes its data's bias worse: it {more}. {_sure(p)} ({numbers})."
    if said == "mitigates":
        return f"{captioner} softens its data's bias: it {less}. {_sure(p)} ({numbers})."
    if said == LEANS:
        return (
            f"{captioner}: cannot tell whether it {more}. The tasks were taken from human captions, with which this "
            f"score lies below zero whatever a captioner does; give the tasks of the images ({numbers})."
        )
    if said == UNCLEAR:
        return f"{captioner}: no clear change. Whether it {more}, or less, cannot be told ({numbers})."
    return f"{captioner}: no interval, so nothing can be said for sure ({numbers})."


def _sure(p: float) -> str:
    if p < SURE:
        return "We are sure of that"
    return "We are fairly sure of that" if p < FAIRLY_SURE or math.isnan(p) else "That is a hint, not sure"


def _fixed(number: float, digits: int) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}"
