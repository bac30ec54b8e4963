"""`captionbias gate`: do scores stay within bounds? For continuous integration."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import typer

from captionbias.cli.measure import COMMON, measured_by, read_files
from captionbias.cli.options import FILES, PREDICTIONS, Options, metric_options, result_option, scores_of, split_options
from captionbias.cli.terminal import say
from captionbias.metrics import catalogue

if TYPE_CHECKING:
    from captionbias.statistics.samples import Estimate

PASS, FAIL, CANNOT_TELL = 0, 3, 4  # exit statuses; 1 and 2 are errors
ANSWERS = {PASS: "pass", FAIL: "fail", CANNOT_TELL: "cannot tell"}
AT_MOST: Options = {
    "at_most": result_option(
        list[str],
        "The most that a score may be, such as sway_t_to_a=1; repeat it for each score.",
        default=Parameter.empty,
        metavar="<score=number>",
    )
}
OPTIONS = PREDICTIONS | FILES | AT_MOST | metric_options(*COMMON, preset="fast")


def gate(at_most: list[str], **values: Any) -> None:
    """Do scores stay within bounds? Exit status 0: all pass; 3: one fails; 4: none fails, and one cannot be told.

    A score passes if its whole 95% interval is at most the bound, and fails if the whole interval is above it.

    Example: captionbias gate --at-most sway_t_to_a=1 --predictions nic.parquet --references people.parquet
    """
    bounds = scores_of("--at-most", at_most)
    for score, _ in bounds:
        _check_known(score)
    entries = [catalogue.SCORES[score] for score, _ in bounds]
    files, chosen = split_options(values)
    statuses = set()
    for name, captions in read_files(**files).items():
        estimates: dict[str, Estimate] = {}
        for metric in dict.fromkeys(entry.metric for entry in entries):
            directions = {entry.direction for entry in entries if entry.metric == metric and entry.direction}
            options = {**chosen, "directions": sorted(directions)} if directions else chosen
            estimates |= measured_by(metric, captions, options).estimates
        for score, most in bounds:
            low, high = _interval(score, estimates)
            status = PASS if high <= most else FAIL if low > most else CANNOT_TELL
            statuses.add(status)
            value, *ends = (f"{n:.{catalogue.SCORES[score].digits}f}" for n in (estimates[score].value, low, high))
            say(f"{name and f'{name}: '}{score} {value} [{', '.join(ends)}], at most {most:g}: {ANSWERS[status]}")
    raise typer.Exit(FAIL if FAIL in statuses else max(statuses))


def _check_known(score: str) -> None:
    known = [entry.key for metric in catalogue.of_captions() for entry in catalogue.scores_of(metric)]
    if score not in known:
        alike = get_close_matches(score, known) or catalogue.headlines("sway")
        raise ValueError(f"--at-most {score}: no metric of captions has that score; there are {', '.join(alike)}")


def _interval(score: str, estimates: dict[str, Estimate]) -> tuple[float, float]:
    """A score's 95% interval; where the score is a range (sway_a_to_t), from the low end's to the high end's."""
    ends = [estimates[key] for key in (score, f"{score}_low", f"{score}_high") if key in estimates]
    numbers = [number for end in ends for number in (end.low, end.high) if number is not None]
    if not numbers:
        raise ValueError(f"--at-most {score}: there is no interval to judge by; give both sides and --bootstrap 1000")
    return min(numbers), max(numbers)
