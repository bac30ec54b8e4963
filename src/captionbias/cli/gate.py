"""`captionbias gate`: do scores stay within bounds? For continuous integration."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
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
    from captionbias.statistics.samples import Estimate

PASS, FAIL, UNKNOWN = 0, 3, 4  # exit statuses; 1 and 2 are errors
ANSWERS = {PASS: "pass", FAIL: "fail", UNKNOWN: "cannot tell"}
WORDS, OBJECTS = "sway_words", "sway_a_to_t"
QUESTIONS = {
    "sway_wrong_gap": "is one value named wrong more often?",
    "sway_unnamed_gap": "is one value left unnamed more often?",
    "sway_t_to_a": "do wrong names follow the surroundings?",
    "sway_t_to_a_lost": "do wrong names and silence follow the surroundings?",
    WORDS: "do other words follow the attribute?",
    OBJECTS: "do the objects named follow the attribute?",
}
OF_TASKS = ("sway_t_to_a", "sway_t_to_a_lost", OBJECTS)
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

    Example: captionbias gate --portrait --predictions nic.parquet --references people.parquet
    """
    import captionbias.metrics  # noqa: F401  (they are then in the catalogue)
    from captionbias.analysis.compare import margins_by_metric

    if not at_most and not portrait:
        raise ValueError("nothing is asked: give --at-most, as in --at-most sway_t_to_a=1, or --portrait")
    bounds = scores_of("--at-most", at_most)
    known = [entry.key for metric in catalogue.of_captions() for entry in catalogue.scores_of(metric)]
    for score, _ in bounds:
        if score not in known:
            alike = ", ".join(get_close_matches(score, known) or catalogue.headlines("sway"))
            raise ValueError(f"--at-most {score}: no metric of captions has that score; there are {alike}")
    entries = [catalogue.SCORES[score] for score, _ in bounds]
    files, chosen = split_options(values)
    chosen["margins"] = margins_by_metric(dict(scores_of("--margin", margins)), list(catalogue.METRICS))
    statuses = set()
    for name, captions in read_files(**files).items():
        measured: dict[str, Measurement] = {}
        for metric in dict.fromkeys([entry.metric for entry in entries] + ["sway"] * portrait):
            directions = {entry.direction for entry in entries if entry.metric == metric and entry.direction}
            options = {**chosen, "directions": sorted(directions)} if directions else chosen
            measured[metric] = measured_by(metric, captions, options)
        estimates = {key: known for one in measured.values() for key, known in one.estimates.items()}
        answers = [_within(score, most, estimates) for score, most in bounds]
        if portrait:
            answers += _portrait(measured["sway"], words_seen, captions)
        for status, line in answers:
            statuses.add(status)
            say(f"{name and f'{name}: '}{line}")
    raise typer.Exit(FAIL if FAIL in statuses else max(statuses))


def _within(score: str, most: float, estimates: dict[str, Estimate]) -> tuple[int, str]:
    """Whether a score stays within its bound, and the line that says so."""
    from captionbias.report.wording import interval

    whole, entry = _interval(score, estimates), catalogue.SCORES[score]
    low, high = whole.low or 0.0, math.inf if whole.high is None else whole.high
    if entry.two_sided:  # how far from 0
        low, high = max(low, -high, 0.0), max(-low, high)
    status = PASS if high <= most else FAIL if low > most else UNKNOWN
    return status, f"{score} {interval(whole, entry.digits)}, at most {most:g}: {ANSWERS[status]}"


def _portrait(measured: Measurement, words_seen: float, captions: Captions) -> Iterable[tuple[int, str]]:
    """The answer to each question of `sway`, and the line that says so."""
    from captionbias.bench.verdicts import DIFFERS, LESS, LIKE, MORE, NOTHING, NOTHING_FOUND, SAME, verdict
    from captionbias.metrics.sway.a_to_t import TASKS_NAMED
    from captionbias.metrics.sway.images import NO_LEAN
    from captionbias.report.wording import interval

    estimates, asks = measured.estimates, measured.settings["lean"] != NO_LEAN
    for key, question in QUESTIONS.items():
        if key == OBJECTS and captions.tasks is None:
            yield PASS, f"{question} Not asked: without --tasks the score is a range that hardly ever tells"
            continue
        if key in OF_TASKS and not (asks and (key != OBJECTS or TASKS_NAMED in estimates)):
            yield PASS, f"{question} Not asked: that takes human captions, or scenes with --tasks that go with a value"
            continue
        if key not in estimates:
            yield UNKNOWN, f"{question} No reading: {ANSWERS[UNKNOWN]}"
            continue
        word = verdict(estimates, key)
        if word == NOTHING:
            raise ValueError(
                "--portrait: there is no interval to judge by; give 20 images, or scenes, and --bootstrap 1000 or more"
            )
        passes = word in (LIKE, LESS, SAME)
        beyond = " beyond people" if captions.references else ""
        numbers = f"{interval(estimates[key], 1)} {catalogue.SCORES[key].scale.unit}{beyond}"
        if word == NOTHING_FOUND:
            seen = estimates[key].detectable or 0.0
            passes = seen <= words_seen
            numbers = (
                f"Nothing found; seen would have been a word in {seen:.1f} of 100 captions, at most {words_seen:g}"
            )
        status = FAIL if word in (MORE, DIFFERS) else PASS if passes else UNKNOWN
        yield status, f"{question} {numbers}: {ANSWERS[status]}"


def _interval(score: str, estimates: dict[str, Estimate]) -> Estimate:
    """A score with its 95% interval; where it is a range (sway_a_to_t), from the low end's to the high end's."""
    ends = [estimates[key] for key in (score, f"{score}_low", f"{score}_high") if key in estimates]
    lows = [end.low for end in ends if end.low is not None]
    highs = [end.high for end in ends if end.high is not None]
    if not lows:
        raise ValueError(f"--at-most {score}: there is no interval to judge by; give both sides and --bootstrap 1000")
    return estimates[score]._replace(low=min(lows), high=max(highs, default=None))
