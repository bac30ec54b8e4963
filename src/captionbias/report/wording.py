"""Results in words: verdicts, numbers with their intervals, sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from captionbias.metrics import catalogue

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.metrics.measurement import Estimate, Measurement

NOTHING = "-"
AMPLIFIES, MITIGATES, UNCLEAR, LEANS = "amplifies", "mitigates", "no clear change", "cannot tell"
# What faithful synthetic captioners read, at most, with a few thousand images: attackers learn from more human captions
# than model captions, which no interval knows of.
SMALL_DBAC = 0.01
OBJECTS = ("coco_objects", "coco_names")  # the lexicons whose tasks are objects
SURE, FAIRLY_SURE = 0.01, 0.05


def fixed(number: float, digits: int) -> str:
    """A number with so many digits behind the point.

    >>> fixed(-0.0001, 3)
    '0.000'
    """
    return f"{round(number, digits) + 0.0:.{digits}f}"  # adding 0 takes the sign off -0


def interval(estimate: Estimate | None, digits: int) -> str:
    """A score with its 95% interval over images and trials.

    >>> from captionbias.metrics.measurement import Estimate
    >>> interval(Estimate(1.234, 0.5, 2.0), 1)
    '1.2 [0.5, 2.0]'
    """
    if estimate is None:
        return NOTHING
    score = fixed(estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return score
    return f"{score} [{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def p_text(p: float) -> str:
    """A p-value with three digits behind the point.

    >>> p_text(0.0421), p_text(0.0002), p_text(float("nan"))
    ('0.042', '<0.001', '-')
    """
    if math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def verdict(measured: Measurement, key: str) -> str:
    """On which side of 0 a score and its interval are; a matched DBAC below `SMALL_DBAC` is no evidence.

    T to A with tasks that human captions name leans below 0 whatever the captioner does: a value there is no evidence.
    """
    estimate = measured.estimates.get(key)
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOTHING
    if key.endswith("_matched") and abs(estimate.value) < SMALL_DBAC:
        return UNCLEAR
    if estimate.low > 0:
        return AMPLIFIES
    if estimate.high >= 0:
        return UNCLEAR
    leans = key == "dbac_t_to_a_matched" and "|tasks:named|" in measured.signature
    return LEANS if leans else MITIGATES


class Statement(NamedTuple):
    """A sentence about a captioner's score, and the verdict that it puts into words, see `verdict`."""

    captioner: str
    text: str
    verdict: str


def verdicts(audit: Audit) -> list[Statement]:
    """A sentence for each captioner and judged headline score."""
    attribute = audit.settings["attribute_lexicon"]
    kind = attribute if isinstance(attribute, str) and attribute.isalpha() else "attribute"
    lexicon = audit.settings["task_lexicon"]
    tasks = "objects" if lexicon is None or str(lexicon).startswith(OBJECTS) else "tasks"
    found = []
    for captioner in audit.captioners:
        for metric, comparison in audit.comparisons.items():
            measured = comparison.measurements[captioner]
            for score in catalogue.scores_of(metric):
                if score.more and score.key in measured.estimates:
                    p = comparison.p_values[captioner].get(score.key, math.nan)
                    text = sentence(captioner, measured, score.key, p, kind, tasks)
                    found.append(Statement(captioner, text, verdict(measured, score.key)))
    return found


def sentence(
    captioner: str, measured: Measurement, key: str, p: float, attribute: str = "attribute", tasks: str = "objects"
) -> str:
    """One score in plain words, with how sure it is; `attribute` and `tasks` are what these are called."""
    score, estimate = catalogue.SCORES[key], measured.estimates[key]
    numbers = f"{score.label}: {interval(estimate, score.digits)}"
    found = verdict(measured, key)
    more, less = (text.format(attribute=attribute, tasks=tasks) for text in (score.more, score.less))
    if found == AMPLIFIES:
        return f"{captioner} makes its data's bias worse: it {more}. {_sure(p)} ({numbers})."
    if found == MITIGATES:
        return f"{captioner} softens its data's bias: it {less}. {_sure(p)} ({numbers})."
    if found == LEANS:
        return (
            f"{captioner}: cannot tell whether it {more}. The tasks were taken from human captions, with which this "
            f"score lies below zero whatever a captioner does; give the tasks of the images ({numbers})."
        )
    if found == UNCLEAR and _excludes_zero(estimate):
        return (
            f"{captioner}: no clear change. The score is too small to tell from what a faithful captioner reads, "
            f"{SMALL_DBAC:g} ({numbers})."
        )
    if found == UNCLEAR:
        return f"{captioner}: no clear change. The interval does not show whether it {more}, or less ({numbers})."
    return f"{captioner}: no interval, so no conclusion is possible ({numbers})."


def _sure(p: float) -> str:
    if p < SURE:
        return "We are sure of that"
    return "We are fairly sure of that" if p < FAIRLY_SURE or math.isnan(p) else "That is a hint, not sure"


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)
