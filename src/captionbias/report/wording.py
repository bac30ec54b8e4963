"""Results in words: verdicts, numbers with their intervals, sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from captionbias.metrics import catalogue
from captionbias.metrics.verdicts import AMPLIFIES, MITIGATES, NOTHING, SMALL_DBAC, UNCLEAR, verdict

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.metrics.measurement import Estimate, Measurement

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


def percent(share: Estimate) -> str:
    """A share in [0, 1] with its 95% interval, in percent.

    >>> from captionbias.metrics.measurement import Estimate
    >>> percent(Estimate(0.668, 0.6, 0.7))
    '66.8% [60.0%, 70.0%]'
    """
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def p_text(p: float) -> str:
    """A p-value with three digits behind the point.

    >>> p_text(0.0421), p_text(0.0002), p_text(float("nan"))
    ('0.042', '<0.001', '-')
    """
    if math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


class Statement(NamedTuple):
    """A sentence about a captioner's score, and the verdict that it puts into words, see `verdict`."""

    captioner: str
    text: str
    verdict: str


def verdicts(audit: Audit) -> list[Statement]:
    """A sentence for each captioner and judged headline score."""
    attribute = audit.settings["attribute_lexicon"]
    attributes = attribute if isinstance(attribute, list) else [attribute]
    named = all(isinstance(one, str) and one.isalpha() for one in attributes)
    kind = " and ".join(attributes) if named else "attribute"
    lexicon = audit.settings["task_lexicon"]
    tasks = "objects" if lexicon is None or str(lexicon).startswith(OBJECTS) else "tasks"
    found = []
    for captioner in audit.captioners:
        for metric, comparison in audit.comparisons.items():
            measured = comparison.measurements[captioner]
            for score in catalogue.scores_of(metric):
                has_verdict = score.judged and score.more and not catalogue.superseded(score.key, measured.estimates)
                if has_verdict and score.key in measured.estimates:
                    p = comparison.p_values[captioner].get(score.key, math.nan)
                    text = sentence(captioner, measured, score.key, p, kind, tasks)
                    found.append(Statement(captioner, text, verdict(measured.estimates, score.key)))
    return found


def sentence(
    captioner: str, measured: Measurement, key: str, p: float, attribute: str = "attribute", tasks: str = "objects"
) -> str:
    """One score in plain words, with how sure it is; `attribute` and `tasks` are what these are called.

    Of DBAC also what the scores say that net is made of.
    """
    found = _sentence(captioner, measured, key, p, attribute, tasks)
    return f"{found} {_made_of(measured, key, attribute, tasks)}" if key.endswith("_net") else found


def _made_of(measured: Measurement, key: str, attribute: str, tasks: str) -> str:
    """What matched, blind and published DBAC say beside net."""
    direction = key.removeprefix("dbac_").removesuffix("_net")
    hidden, named = (attribute, tasks) if direction == "a_to_t" else (tasks, attribute)
    published, matched, blind = (measured.estimates[f"dbac_{direction}{form}"] for form in ("", "_matched", "_blind"))
    side = _side(matched)
    how = {1: "more than people's do", -1: "less than people's do", 0: "about as much as people's do"}[side]
    text = (
        f"With the words for {hidden} hidden, its captions reveal the {hidden} {how} (matched {interval(matched, 3)})."
    )
    if side and verdict(measured.estimates, key) == UNCLEAR:
        text += f" Hiding the words for {named} as well changes little: other words explain it (blind"
        text += f" {interval(blind, 3)})."
    else:
        text += f" With the words for {named} hidden as well: {interval(blind, 3)} (blind)."
    return f"{text} As published: {interval(published, 3)}, which also depends on how often captions name anything."


def _side(estimate: Estimate) -> int:
    """On which side of 0 the interval is, 0 if it holds 0."""
    if not _excludes_zero(estimate) or abs(estimate.value) < SMALL_DBAC:
        return 0
    return 1 if estimate.value > 0 else -1


def _sentence(captioner: str, measured: Measurement, key: str, p: float, attribute: str, tasks: str) -> str:
    score, estimate = catalogue.SCORES[key], measured.estimates[key]
    numbers = f"{score.label}: {interval(estimate, score.digits)}"
    found = verdict(measured.estimates, key)
    more, less = (text.format(attribute=attribute, tasks=tasks) for text in (score.more, score.less))
    if found == AMPLIFIES:
        return f"{captioner} makes its data's bias worse: it {more}. {_sure(p)} ({numbers})."
    if found == MITIGATES:
        return f"{captioner} softens its data's bias: it {less}. {_sure(p)} ({numbers})."
    if found == UNCLEAR and _excludes_zero(estimate):
        return (
            f"{captioner}: no clear change. The score is too small to tell from what a person reads, "
            f"{SMALL_DBAC:g} ({numbers})."
        )
    if found == UNCLEAR:
        return f"{captioner}: no clear change. We cannot tell whether it {more}, or less ({numbers})."
    return f"{captioner}: no interval, so no conclusion is possible ({numbers})."


def _sure(p: float) -> str:
    if p < SURE:
        return "We are sure of that"
    return "We are fairly sure of that" if p < FAIRLY_SURE or math.isnan(p) else "That is a hint, not sure"


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)
