"""`captionbias gate`: do scores stay within bounds? For continuous integration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from captionbias.bench import catalogue
from captionbias.cli.measure import COMMON, measured_by, read_files
from captionbias.cli.options import (
    COUNTS,
    FILES,
    MARGINS,
    PREDICTIONS,
    RESULT,
    Options,
    metric_options,
    result_option,
    scores_of,
    split_options,
    switch,
)
from captionbias.cli.terminal import say

if TYPE_CHECKING:
    from captionbias.bench.measurement import Measurement
    from captionbias.captions import Captions
    from captionbias.metrics.sway.questions import Question
    from captionbias.statistics.samples import Estimate

PASS, FAIL, UNKNOWN = 0, 3, 4  # exit statuses; 1 and 2 are errors
ANSWERS = {PASS: "pass", FAIL: "fail", UNKNOWN: "cannot tell"}
BOUNDS: Options = {
    "at_most": result_option(
        list[str] | None,
        "The largest value that a score may have, such as sway_t_to_a=1; repeat it for each score.",
        metavar="<score=number>",
    ),
    "portrait": switch("--portrait", "Ask every question of sway: is its answer within the tolerance?", panel=RESULT),
    "tolerance": result_option(
        list[str] | None,
        "What --portrait tolerates, per 100 captions, or per 100 words for length; length=10 sets it for one question.",
        metavar="<number or question=number>",
        show_default="5",
    ),
}
OPTIONS = PREDICTIONS | FILES | COUNTS | BOUNDS | MARGINS | metric_options(*COMMON, preset="fast")


def gate(
    at_most: list[str] | None, portrait: bool, tolerance: list[str] | None, margins: list[str] | None, **values: Any
) -> None:
    """Do scores stay within bounds? Exit status 0: all pass; 3: one fails; 4: none fails, and one cannot be told.

    A score passes if its whole 95% interval is at most the bound, and fails if the whole interval is above it; a gap
    between values counts on either side of 0. A question of the portrait passes if its 90% interval is within the
    tolerance, and fails if its 95% interval is wholly beyond it; otherwise it says about how many images would tell.
    Words pass if none is found that follows the value, and one word in that many captions would have been detected.
    Without people and scenes, only wrong names can fail, because people may differ as much in the rest. Questions that
    these data cannot answer are not asked. A captioner that hardly names anybody does not pass.

    Without --predictions, before there is a captioner, it says how many images each question of the portrait needs.

    Example: captionbias gate --portrait --predictions nic.parquet --references people.parquet
    """
    import captionbias.metrics  # noqa: F401  (they are then in the catalogue)
    from captionbias.analysis.compare import margins_by_metric
    from captionbias.compat import told_of

    bounds = scores_of("--at-most", at_most)
    known = [entry.key for metric in catalogue.of_captions() for entry in catalogue.scores_of(metric)]
    for score, _ in bounds:
        if gone := told_of(score):
            raise ValueError(f"--at-most {score} {gone}")
        if score not in known:
            alike = ", ".join(get_close_matches(score, known) or catalogue.headlines("sway"))
            raise ValueError(f"--at-most {score}: no metric of captions has that score; there are {alike}")
    files, chosen = split_options(values)
    chosen["margins"] = margins_by_metric(dict(scores_of("--margin", margins)), list(catalogue.METRICS))
    captioners = read_files(**files)
    if not files["counts"] and all(captions.predictions is None for captions in captioners.values()):
        captions = _person(captioners[""], chosen.get("seed", 0))
        answer = partial(_images_needed, _tolerances(tolerance or []))
        for _, line in _asked(measured_by("sway", captions, chosen), answer):
            say(line)
        return
    if not bounds and not portrait:
        raise ValueError("nothing is asked: give --at-most, as in --at-most sway_t_to_a=1, or --portrait")
    statuses = set()
    entries = [catalogue.SCORES[score] for score, _ in bounds]
    for name, captions in captioners.items():
        measured: dict[str, Measurement] = {}
        for metric in dict.fromkeys([entry.metric for entry in entries] + ["sway"] * portrait):
            directions = {entry.direction for entry in entries if entry.metric == metric and entry.direction}
            options = {**chosen, "directions": sorted(directions)} if directions else chosen
            measured[metric] = measured_by(metric, captions, options)
        estimates = {key: known for one in measured.values() for key, known in one.estimates.items()}
        answers = [_within(score, most, estimates) for score, most in bounds]
        if portrait:
            answers += _asked(measured["sway"], partial(_judged, _tolerances(tolerance or [])))
        for status, line in answers:
            statuses.add(status)
            say(f"{name and f'{name}: '}{line}")
    raise typer.Exit(FAIL if FAIL in statuses else max(statuses))


def _tolerances(given: list[str]) -> dict[str, float]:
    """What is tolerated of each question, by its key; questions are named as their keys, or by what is their own."""
    from captionbias.metrics.sway.questions import PARTS, TOLERANCE

    names = {key: key for key in PARTS} | {part.name: key for key, part in PARTS.items()}
    every = [text for text in given if "=" not in text]
    chosen = dict.fromkeys(PARTS, TOLERANCE)
    for text in (*every, *(text for text in given if text not in every)):
        name, _, number = text.rpartition("=")
        try:
            most = float(number)
        except ValueError:
            most = math.nan
        if not most > 0:
            raise ValueError(f"--tolerance {text}: give a number above 0, as in --tolerance 5 or --tolerance length=10")
        if name and name not in names:
            raise ValueError(
                f"--tolerance {text}: no question is called {name!r}; there are {', '.join(list(names)[len(PARTS) :])}"
            )
        chosen |= dict.fromkeys([names[name]] if name else PARTS, most)
    return chosen


def _person(captions: Captions, seed: int) -> Captions:
    """One human caption of each image in the captioner's place."""
    from captionbias.bench.reading import captions_of_a_person

    person = captions_of_a_person(captions, seed)
    if person is None:
        raise ValueError("--references has no image with two captions, which the questions take: give more of them")
    return person


def _within(score: str, most: float, estimates: Mapping[str, Estimate]) -> tuple[int, str]:
    """Whether a score stays within its bound, and the line that says so."""
    from captionbias.report.wording import interval

    whole, entry = _interval(score, estimates), catalogue.SCORES[score]
    low, high = whole.low or 0.0, math.inf if whole.high is None else whole.high
    if entry.two_sided:  # how far from 0
        low, high = max(low, -high, 0.0), max(-low, high)
    status = PASS if high <= most else FAIL if low > most else UNKNOWN
    return status, f"{score} {interval(whole, entry.digits)}, at most {most:g}: {ANSWERS[status]}"


def _interval(score: str, estimates: Mapping[str, Estimate]) -> Estimate:
    """A score with its 95% interval; where it is a range (sway_a_to_t), from the low end's to the high end's."""
    ends = [estimates[key] for key in (score, f"{score}_low", f"{score}_high") if key in estimates]
    lows = [end.low for end in ends if end.low is not None]
    highs = [end.high for end in ends if end.high is not None]
    if not lows:
        raise ValueError(f"--at-most {score}: there is no interval to judge by; give both sides and --bootstrap 1000")
    return estimates[score]._replace(low=min(lows), high=max(highs, default=None))


def _asked(
    measured: Measurement, answer: Callable[[str, Estimate, Measurement], tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    """Each question of the portrait, with the status and the line that answer it."""
    from captionbias.metrics.sway.questions import QUESTIONS

    for question in QUESTIONS:
        reason = _not_asked(question, measured)
        for part in question.parts:
            estimate = measured.estimates.get(part.key)
            if reason:
                status, line = PASS, f"Not asked: {reason}"
            elif estimate is None:
                status, line = UNKNOWN, f"No reading: {ANSWERS[UNKNOWN]}"
            elif estimate.verdict is None:
                text = "--portrait: there is no interval to judge by; give 30 images of each value, or scenes, and"
                raise ValueError(f"{text} --bootstrap 1000 or more")
            else:
                status, line = answer(part.key, estimate, measured)
            yield status, f"{part.asks} {line}"


def _not_asked(question: Question, measured: Measurement) -> str:
    """What a question takes that these data lack; empty if it lacks nothing."""
    from captionbias.metrics.sway.questions import ALL_TASKS, MISSING, OTHERS
    from captionbias.scores.words import LEAST_SCORED

    if question.takes == MISSING:
        return "" if question.key in measured.estimates else "no caption is missing"
    if question.parts[0].name in measured.settings["worst"].split(","):
        return ""
    if measured.artefacts.images is None and question.key in ("sway_words", "sway_a_to_t"):
        return "counts cannot answer it, a sample of the captions can"
    if question.key == "sway_words":
        return f"it takes {LEAST_SCORED} images, or scenes"
    if question.takes == OTHERS:
        return "it takes human captions, or scenes"
    if question.takes == ALL_TASKS and measured.settings["tasks"] != "given":
        return "without --tasks the score is a range that hardly ever tells"
    return "it takes human captions, or scenes with --tasks that go with a value"


def _judged(tolerances: Mapping[str, float], key: str, estimate: Estimate, measured: Measurement) -> tuple[int, str]:
    """Whether what a question asks is within its tolerance: its 90% interval is (two one-sided tests at 5%), its 95%
    interval is beyond it, or neither."""
    from captionbias.report.wording import interval

    entry, most = catalogue.SCORES[key], tolerances[key]
    no_people = measured.estimates.get(catalogue.YARDSTICK)
    if estimate.high is None:
        status, line = _words_judged(most, estimate, measured)
    else:
        inner, outer = (_ends(key, measured, level) for level in (0.90, 0.95))
        within = inner[1] <= most and (not entry.two_sided or inner[0] >= -most)
        beyond = outer[0] > most or (entry.two_sided and outer[1] < -most)
        status = PASS if within else FAIL if beyond else UNKNOWN
        line = f"{interval(estimate, entry.digits)} {estimate.unit}{'' if no_people else ' beyond people'}"
        line += f", tolerated {most:g}"
        if status == UNKNOWN:
            line += _more_images(
                most, estimate, inner, outer, measured.samples[key].floor, measured.facts["sway_images"]
            )
    if status == FAIL and no_people and not no_people.value and not entry.absolute:
        status, line = UNKNOWN, f"{line}; people may differ as much"
    if status == PASS and estimate.doubt:
        from captionbias.report.wording import DOUBTS

        status, line = UNKNOWN, f"{line}; {DOUBTS.get(estimate.doubt, estimate.doubt)}"
    return status, f"{line}: {ANSWERS[status]}"


def _ends(key: str, measured: Measurement, level: float) -> tuple[float, float]:
    """The interval of a score; where it is a range (sway_a_to_t), from the low end's to the high end's."""
    ends = [
        sample.estimate(*scale[:2], scale.whole, level)
        for name in (key, f"{key}_low", f"{key}_high")
        if (sample := measured.samples.get(name)) and (scale := catalogue.SCORES[name].scale)
    ]
    return min(end.ends[0] for end in ends if end), max(end.ends[1] for end in ends if end)


def _more_images(
    most: float,
    estimate: Estimate,
    inner: tuple[float, float],
    outer: tuple[float, float],
    floor: float,
    images: float,
) -> str:
    """On how many images this value would be within the tolerance, or beyond it, for sure."""
    value, sign = estimate.value, -1 if estimate.value < 0 else 1
    room = most - abs(value)
    ends = inner if room > 0 else outer
    width = abs(ends[(sign > 0) == (room > 0)] - value)
    if not room or not width:
        return ""
    power = 1 if width <= floor else 2  # an interval of three images shrinks with their number, others with its root
    return f"; about {_rounded_up(images * (width / abs(room)) ** power):,} images would tell"


def _rounded_up(number: float) -> int:
    """To two digits."""
    step = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return int(math.ceil(number / step) * step)


def _words_judged(most: float, estimate: Estimate, measured: Measurement) -> tuple[int, str]:
    """Of what has no upper end: it passes if nothing is surely more and one word in so many captions would be seen."""
    from captionbias.bench.verdicts import BEYOND, CANNOT_TELL
    from captionbias.report.wording import interval

    seen, many = (measured.facts.get(f"sway_words_seen{ending}") for ending in ("", "_20"))
    if estimate.verdict in BEYOND:
        status = FAIL if estimate.value >= most else UNKNOWN
        return status, f"{interval(estimate, 1)} {estimate.unit}, tolerated {most:g}"
    would = ("no word" if seen is None else f"one word in {seen:g}", "none" if many is None else f"twenty in {many:g}")
    if estimate.verdict == CANNOT_TELL and estimate.doubt:
        return UNKNOWN, f"{interval(estimate, 1)} {estimate.unit}, tolerated {most:g}; {estimate.doubt}"
    line = f"Nothing found; of 100 captions {would[0]} would have been seen, {would[1]}; tolerated {most:g}"
    if seen is not None and seen <= most:
        return PASS, line
    more = (
        ""
        if seen is None
        else f"; about {_rounded_up(measured.facts['sway_images'] * (seen / most) ** 2):,} would tell"
    )
    return UNKNOWN, line + more


def _images_needed(
    tolerances: Mapping[str, float], key: str, estimate: Estimate, measured: Measurement
) -> tuple[int, str]:
    """On how many images nine of ten persons would pass: what is seen shrinks with the root of their number."""
    from captionbias.metrics.sway import LEAST_OF_VALUE

    images, most = measured.facts["sway_images"], tolerances[key]
    if estimate.high is None:
        width = measured.facts.get("sway_words_seen", math.nan)
    else:
        low, high = _ends(key, measured, 0.90)
        width = high - low  # as far again as persons are from 0 in nine of ten
    if math.isnan(width):
        return PASS, f"More than 10 times these {images:,.0f} images, to see a word in {most:g} of 100 captions"
    needed = max(_rounded_up(images * (width / most) ** 2), LEAST_OF_VALUE * len(measured.artefacts.values))
    return PASS, f"{needed:,} images, within {most:g} {estimate.unit}"
