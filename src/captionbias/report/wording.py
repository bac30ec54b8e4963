"""Results in words: verdicts, numbers with their intervals, sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from captionbias.metrics import catalogue
from captionbias.metrics.verdicts import CANNOT_TELL, LESS, MORE, NOTHING, detectable, margin_of, verdict

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.metrics.measurement import Measurement
    from captionbias.statistics.samples import Estimate

OFTEN = {MORE: "more often", LESS: "less often"}
OBJECTS = ("coco_objects", "coco_names")  # the lexicons whose tasks are objects
SURE, FAIRLY_SURE = 0.01, 0.05
ALONE = "no verdict, as there are no human captions to compare with."


def fixed(number: float, digits: int) -> str:
    """A number with so many digits behind the point.

    >>> fixed(-0.0001, 3)
    '0.000'
    """
    return f"{round(number, digits) + 0.0:.{digits}f}"  # adding 0 takes the sign off -0


def interval(estimate: Estimate | None, digits: int) -> str:
    """A score with its 95% interval over images and trials.

    >>> from captionbias.statistics.samples import Estimate
    >>> interval(Estimate(1.234, 0.5, 2.0), 1)
    '1.2 [0.5, 2.0]'
    """
    if estimate is None:
        return NOTHING
    score = fixed(estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return score
    return f"{score} [{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def percent(share: Estimate | None) -> str:
    """A share with its 95% interval, in percent; a dash for none.

    >>> from captionbias.statistics.samples import Estimate
    >>> percent(Estimate(0.668, 0.6, 0.7))
    '66.8% [60.0%, 70.0%]'
    """
    if share is None:
        return NOTHING
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
    """What a score says of a captioner: the verdict (see `verdict`) in at most twenty words, and the reasons for it."""

    captioner: str
    score: str
    text: str
    why: str
    verdict: str


def verdicts(audit: Audit) -> list[Statement]:
    """A statement for each captioner and judged headline score; without human captions, that there is no verdict."""
    attribute, tasks = subjects(audit)
    found = []
    for captioner in audit.captioners:
        said = []
        for metric, comparison in audit.comparisons.items():
            measured = comparison.measurements[captioner]
            for score in catalogue.scores_of(metric):
                worded = score.judged and score.claim and not catalogue.superseded(score.key, measured.estimates)
                if worded and score.key in measured.estimates:
                    p = comparison.p_values[captioner].get(score.key, math.nan)
                    said.append(statement(captioner, measured, score.key, p, attribute, tasks))
        found += said or [Statement(captioner, "", f"{captioner}: {ALONE}", "", NOTHING)]
    return found


def subjects(audit: Audit) -> tuple[str, str]:
    """What the attribute and the tasks of an audit are called."""
    attribute = audit.settings["attribute_lexicon"]
    attributes = attribute if isinstance(attribute, list) else [attribute]
    named = all(isinstance(one, str) and one.isalpha() for one in attributes)
    lexicon = audit.settings["task_lexicon"]
    objects = lexicon is None or str(lexicon).startswith(OBJECTS)
    return " and ".join(attributes) if named else "the attribute", "objects" if objects else "tasks"


def statement(
    captioner: str, measured: Measurement, key: str, p: float, attribute: str = "the attribute", tasks: str = "objects"
) -> Statement:
    """One score in plain words; `attribute` and `tasks` are what these are called."""
    score, estimate = catalogue.SCORES[key], measured.estimates[key]
    words = {"attribute": attribute, "value": attribute.removeprefix("the "), "tasks": tasks, "captioner": captioner}
    claim = score.claim.format(**words)
    said = verdict(measured.estimates, key)
    numbers = fixed(estimate.value, score.digits) + " of 100 captions beyond another person" * bool(score.sentence)
    if estimate.low is not None and estimate.high is not None:
        numbers += f", {fixed(estimate.low, score.digits)} to {fixed(estimate.high, score.digits)}"
    of_data = score.against_a_person and not key.endswith(catalogue.EXCESS)
    there, other = ("the data", "data") if of_data else ("people's captions", "people")
    text = {
        MORE: f"{captioner} amplifies: {claim} more than in {there}",
        LESS: f"{captioner} mitigates: {claim} less than in {there}",
        CANNOT_TELL: f"{captioner}: no clear sign that {claim}, compared with {other}",
    }.get(said, f"{captioner}: no interval, so nobody can tell whether {claim}")
    if score.sentence and said in OFTEN:
        text = score.sentence.format(**words, more=OFTEN[said])
    low, high = (measured.estimates.get(f"{key}_{end}") for end in ("low", "high"))
    if said == CANNOT_TELL and low and high and high.value > low.value:
        numbers = f"anything from {fixed(low.value, score.digits)} to {fixed(high.value, score.digits)} of 100 captions"
    why = {
        MORE: _sure(p),
        LESS: _sure(p),
        CANNOT_TELL: f"People's own captions can read {margin_of(measured.estimates, key):.2g} by chance."
        if score.noisy and _excludes_zero(estimate)
        else _open(measured.estimates, key),
    }.get(said, "Without an interval, chance cannot be excluded.")
    if said == CANNOT_TELL:
        why += _seen(measured.estimates, key)
    more = f" {_made_of(measured, key, attribute, tasks)}" if key.endswith("_net") else ""
    counted = f" {score.meaning}" if score.sentence else ""
    return Statement(captioner, key, f"{text} ({numbers}).", f"{score.label}.{counted} {why}{more}", said)


def grouped_notes(audit: Audit) -> dict[str, tuple[str, ...]]:
    """What to know before the numbers are believed, each note once, and the captioners that it is about."""
    found: dict[str, list[str]] = {}
    for captioner in audit.captioners:
        for note in audit.notes(captioner):
            found.setdefault(note, []).append(captioner)
    return {note: tuple(captioners) for note, captioners in found.items()}


def _made_of(measured: Measurement, key: str, attribute: str, tasks: str) -> str:
    """What matched, blind and published DBAC say beside net."""
    direction = key.removeprefix("dbac_").removesuffix("_net")
    hidden, named = (attribute, tasks) if direction == "a_to_t" else (tasks, attribute)
    published, matched, blind = (measured.estimates[f"dbac_{direction}{form}"] for form in ("", "_matched", "_blind"))
    side = _side(matched)
    how = {1: "more than people's do", -1: "less than people's do", 0: "about as much as people's do"}[side]
    text = f"With the words for {hidden} hidden, its captions reveal {hidden} {how} (matched {interval(matched, 3)})."
    if side and verdict(measured.estimates, key) == CANNOT_TELL:
        text += f" Hiding the words for {named} as well changes little: other words explain it (blind"
        text += f" {interval(blind, 3)})."
    else:
        text += f" With the words for {named} hidden as well: {interval(blind, 3)} (blind)."
    return f"{text} As published: {interval(published, 3)}, which also depends on how often captions name anything."


def _open(estimates: Mapping[str, Estimate], key: str) -> str:
    """Why there is no verdict of a score that is no further from 0 than chance, or whose parts do not agree."""
    if not _excludes_zero(estimates[key]):
        return "The interval holds 0, so chance alone could bring such a score; more images or trials narrow it."
    if low := estimates.get(f"{key}_low"):
        high = estimates[f"{key}_high"]
        if high.value > low.value:
            return (
                f"People do not name all that is there: the score can be anything from {fixed(low.value, 1)} to "
                f"{fixed(high.value, 1)}. Give all tasks that the images show (COCO's annotated objects) to narrow it."
            )
        return "With one task left out the sign, or the interval, would be another."
    return "Not every value is swayed: where the person is hard to see, one value may simply be the captioner's habit."


def _seen(estimates: Mapping[str, Estimate], key: str) -> str:
    """What the test could have seen."""
    size = detectable(estimates, key)
    return "" if size is None else f" {fixed(size, catalogue.SCORES[key].digits)} would have been seen."


def _side(estimate: Estimate) -> int:
    """On which side of 0 the interval is, 0 if it holds 0."""
    if not _excludes_zero(estimate):
        return 0
    return 1 if estimate.value > 0 else -1


def _sure(p: float) -> str:
    if math.isnan(p):
        return "The interval lies on one side of 0."
    how = "hardly" if p < SURE else "seldom" if p < FAIRLY_SURE else "now and then"
    return f"Chance alone would {how} bring it (p {p_text(p)})."


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)
