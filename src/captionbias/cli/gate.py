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
        "The most that a score may be, such as sway_t_to_a=1; repeat it for each score.",
        metavar="<score=number>",
    ),
    "portrait": switch(
        "--portrait", "Ask every question of sway: all must be as of people, or less; in scenes the same.", panel=RESULT
    ),
    "words_seen": result_option(
        float,
        "Of 100 captions, in how many at most a word must be to be seen, for --portrait to pass if none is found.",
        default=5.0,
        metavar="<number>",
    ),
}
OPTIONS = PREDICTIONS | FILES | BOUNDS | MARGINS | metric_options(*COMMON, preset="fast")


def gate(
    at_most: list[str] | None, portrait: bool, words_seen: float, margins: list[str] | None, **values: Any
) -> None:
    """Do scores stay within bounds? Exit status 0: all pass; 3: one fails; 4: none fails, and one cannot be told.

    A score passes if its whole 95% interval is at most the bound, and fails if the whole interval is above it; a gap
    between values counts on either side of 0. A question of the portrait passes if the verdict is like people, or less,
    and fails if it is more than people; in scenes (--scene-column) it passes if it is the same and fails if it differs.
    Without people and scenes none passes or fails by a difference, which people may have as well. What these data
    cannot answer is not asked. A captioner that hardly names anybody does not pass.

    Without --predictions, before there is a captioner: how many images each question of the portrait takes.

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
    if all(captions.predictions is None for captions in captioners.values()):
        captions = _person(captioners[""], chosen.get("seed", 0))
        answer = partial(_images_needed, {"sway_words": words_seen, **dict(bounds)})
        for _, line in _asked(captions, measured_by("sway", captions, chosen), answer):
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
            answers += _asked(captions, measured["sway"], partial(_judged, words_seen))
        for status, line in answers:
            statuses.add(status)
            say(f"{name and f'{name}: '}{line}")
    raise typer.Exit(FAIL if FAIL in statuses else max(statuses))


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
    captions: Captions, measured: Measurement, answer: Callable[[str, Estimate, Measurement], tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    """Each question of the portrait, with the status and the line that answer it."""
    from captionbias.metrics.sway.questions import QUESTIONS

    for question in QUESTIONS:
        reason = _not_asked(question, captions, measured)
        for part in question.parts:
            estimate = measured.estimates.get(part.key)
            if reason:
                status, line = PASS, f"Not asked: {reason}"
            elif estimate is None:
                status, line = UNKNOWN, f"No reading: {ANSWERS[UNKNOWN]}"
            elif estimate.verdict is None:
                text = "--portrait: there is no interval to judge by; give 20 images, or scenes, and --bootstrap 1000"
                raise ValueError(f"{text} or more")
            else:
                status, line = answer(part.key, estimate, measured)
            yield status, f"{part.asks} {line}"


def _not_asked(question: Question, captions: Captions, measured: Measurement) -> str:
    """What a question takes that these data lack; empty if it lacks nothing."""
    from captionbias.metrics.sway.a_to_t import TASKS_NAMED
    from captionbias.metrics.sway.images import NO_LEAN
    from captionbias.metrics.sway.questions import ALL_TASKS, LEANS, OTHERS

    if question.takes == OTHERS:
        return "" if captions.references or captions.scene else "it takes human captions, or scenes"
    if question.takes == ALL_TASKS and captions.tasks is None:
        return "without --tasks the score is a range that hardly ever tells"
    leaning = measured.settings["lean"] != NO_LEAN and (question.takes == LEANS or TASKS_NAMED in measured.estimates)
    if question.takes and not leaning:
        return "it takes human captions, or scenes with --tasks that go with a value"
    return ""


def _judged(words_seen: float, key: str, estimate: Estimate, measured: Measurement) -> tuple[int, str]:
    """Whether a question is answered by like people, or less."""
    from captionbias.bench.catalogue import YARDSTICK
    from captionbias.bench.verdicts import DIFFERS, LESS, LIKE, MORE, NOTHING_FOUND, SAME
    from captionbias.report.wording import interval

    word, passes = estimate.verdict, estimate.verdict in (LIKE, LESS, SAME)
    beyond = "" if YARDSTICK in measured.estimates else " beyond people"
    numbers = f"{interval(estimate, catalogue.SCORES[key].digits)} {estimate.unit}{beyond}"
    if word == NOTHING_FOUND:
        seen = estimate.detectable or 0.0
        passes = seen <= words_seen
        numbers = f"Nothing found; seen would have been a word in {seen:.1f} of 100 captions, at most {words_seen:g}"
    status = FAIL if word in (MORE, DIFFERS) else PASS if passes else UNKNOWN
    return status, f"{numbers}: {ANSWERS[status]}"


def _images_needed(sizes: Mapping[str, float], key: str, estimate: Estimate, measured: Measurement) -> tuple[int, str]:
    """On how many images a score would be seen that is as large as one of `sizes`, else its margin beyond what is as
    good as 0: what is seen beyond that shrinks with the root of their number."""
    from captionbias.bench.verdicts import least_beyond

    images = measured.facts["sway_images"]
    beyond = least_beyond(key, estimate) if estimate.high is not None else 0.0
    size, seen = sizes.get(key, beyond + (estimate.margin or 0.0)), estimate.detectable or 0.0
    if size <= beyond:
        return PASS, f"No number of images tells {size:g} from 0, which is within {beyond:g}"
    needed = math.ceil(images * ((seen - beyond) / (size - beyond)) ** 2)
    unit = estimate.unit
    return PASS, f"{needed:,} images, to see {size:g} {unit}; these {images:,.0f} would show {seen:.1f}"
