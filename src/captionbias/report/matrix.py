"""The answer to each question about each captioner in one of four words: a row a captioner, a column a question."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from captionbias.analysis.audit import PERSON
from captionbias.bench.catalogue import Score
from captionbias.bench.verdicts import (
    CANNOT_TELL,
    LEARNED_NOTHING,
    LESS,
    MORE,
    NOTHING,
    NOTHING_FOUND,
    a_little,
    is_mute,
    learned_nothing,
    margin_of,
    noise,
    verdict,
)
from captionbias.metrics import catalogue
from captionbias.report.grid import Cell, Grid, columns
from captionbias.report.svg import Place, line, mark, reach, scale, text, ticks, tone, whisker, zero_band
from captionbias.report.wording import fixed, images_of, listed, named_things, told_of
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

# What the questions that come first ask, and in which unit they are answered.
ASKED = {
    "sway_wrong_gap": (
        "Is one {value} named wrong more often?",
        "more often than {other}, of 100 captions of people who are as hard to see",
    ),
    "sway_unnamed_gap": (
        "Is one left out more often?",
        "captions that name no {value}, more often than of {other}, of 100",
    ),
    "sway_t_to_a": (
        "Do wrong names follow the {tasks}?",
        "more often wrong beside {tasks} that go with {other} {value}, of 100 captions",
    ),
    "sway_words": (
        "Which other words follow the {value}?",
        "how much more than people's, all words together, of 100 captions",
    ),
    "sway_a_to_t": (
        "Do the {tasks} that are named follow the {value}?",
        "more mentions of {tasks} that go with the {value}, of 100 captions",
    ),
    "lic": (
        "Can {attribute} be guessed from the wording?",
        "how much surer a small program guesses it, the words for it hidden (LIC, in points of 100)",
    ),
    "imagecaptioner2": (
        "Can {attribute} be guessed from images with their captions?",
        "the people being masked; ImageCaptioner2 x 100",
    ),
}
# The scores of papers that stand beside these questions, and what each is as it was published, where that differs.
PAPERS = {"dbac_a_to_t_net": "dbac_a_to_t", "dbac_t_to_a_net": "dbac_t_to_a", "lic": None}
WIDTH, HEIGHT, AXIS = 220.0, 26.0, 18.0


class Question(NamedTuple):
    """A column: the score that answers the question, its title and unit, and how far its axis goes."""

    score: Score
    title: str
    unit: str
    low: float
    high: float
    band: float  # how near to 0 is as good as 0, or is read of people by chance


class Answer(NamedTuple):
    """A captioner's answer: one of the four words or "-", more about it, and the bar from `low` to `high`, with a value
    unless the score is a range."""

    verdict: str
    more: str
    value: float | None
    low: float | None
    high: float | None
    little: bool = False

    @property
    def text(self) -> str:
        """The verdict and what belongs to it."""
        if self.verdict == CANNOT_TELL:
            return f"{CANNOT_TELL}: {self.more}"
        word = self.verdict + ", a little" * self.little
        return self.more if word == NOTHING else f"{word}: {self.more}"


class Matrix(NamedTuple):
    """Each captioner's answers (`rows`), the highest on the first question first, and one more person's, None where
    they were not measured."""

    questions: list[Question]
    rows: dict[str, list[Answer | None]]
    person: list[Answer | None]

    def answers(self, column: int) -> dict[str, str]:
        """The verdict of each captioner that has one."""
        cells = {name: row[column] for name, row in self.rows.items()}
        return {name: cell.verdict for name, cell in cells.items() if cell and cell.verdict != NOTHING}


def matrix_of(audit: Audit) -> Matrix:
    """The matrix of an audit, verdicts corrected for their number."""
    estimates = {name: estimates_of(audit, name) for name in audit.captioners}
    first = ChainMap(*estimates.values())
    scores = questions_first(main_scores_by_metric(first, audit.comparisons), first)
    words = named_things(audit)
    lowest = Estimate(-math.inf)
    order = sorted(audit.captioners, key=lambda name: -estimates[name].get(scores[0].key, lowest).value)
    said = audit.verdicts

    def row(name: str) -> list[Answer | None]:
        own = words | (told_of(audit.details("sway", name)) if "sway" in audit.comparisons else {})
        return [answer(estimates[name], score, said.get((name, score.key), NOTHING), own) for score in scores]

    rows = {name: row(name) for name in order}
    read = ChainMap(*(measured.estimates for measured in audit.person.values()))
    person = [answer(read, score, NOTHING, words) if score.judged else None for score in scores]
    columns = zip(*rows.values(), person, strict=True)
    every = [*estimates.values(), read]
    return Matrix(
        [question(score, words, every, cells) for score, cells in zip(scores, columns, strict=True)], rows, person
    )


def estimates_of(audit: Audit, captioner: str) -> ChainMap[str, Estimate]:
    """Everything that was measured of a captioner, by all metrics."""
    return ChainMap(*(comparison.measurements[captioner].estimates for comparison in audit.comparisons.values()))


def main_scores(estimates: Mapping[str, Estimate]) -> list[Score]:
    """The scores that a picture shows: those with a verdict and those of another kind; else the main ones that there
    are, else all."""
    known = [score for key, score in catalogue.SCORES.items() if key in estimates]
    measured = [score for score in known if not catalogue.superseded(score.key, estimates)]
    judged = [score for score in measured if score.judged and score.claim]
    main = [score for score in measured if score.headline]
    others = [score for score in main if score.sense != "amplification"]
    return judged + others or main or [score for score in measured if score.alone] or measured


def main_scores_by_metric(estimates: Mapping[str, Estimate], metrics: Iterable[str]) -> list[Score]:
    """The main scores of each of these metrics, one after the other."""
    return [
        score
        for metric in metrics
        for score in main_scores({key: estimates[key] for key in estimates if catalogue.SCORES[key].metric == metric})
    ]


def questions_first(scores: list[Score], estimates: Mapping[str, Estimate]) -> list[Score]:
    """The questions that sway and ImageCaptioner2 answer, if sway is measured; else all. A range is no answer."""
    asked = [score for score in scores if score.key in ASKED.keys() - PAPERS and is_closed(estimates, score.key)]
    return asked if any(score.metric == "sway" for score in asked) else scores


def is_closed(estimates: Mapping[str, Estimate], key: str) -> bool:
    """Whether a score is a number and no range."""
    low, high = (estimates.get(f"{key}{end}") for end in ("_low", "_high"))
    return low is None or high is None or low.value == high.value


def question(
    score: Score, words: Mapping[str, str], every: Iterable[Mapping[str, Estimate]], answers: Iterable[Answer | None]
) -> Question:
    """A score as a question, with an axis that has room for these answers and for the band."""
    claim = f"Is it that {score.claim}?" if score.claim else score.label
    title, unit = ASKED.get(score.key, (claim, score.label))
    judged = [estimates for estimates in every if score.key in estimates and score.judged]
    band = max((size(estimates, score.key) for estimates in judged for size in (margin_of, noise)), default=0.0)
    low, high = reach((end for cell in answers if cell for end in (cell.value, cell.low, cell.high)), band)
    return Question(score, title.format(**words), unit.format(**words), low, high, band)


def answer(estimates: Mapping[str, Estimate], score: Score, word: str, words: Mapping[str, str]) -> Answer | None:
    """The answer that a score gives, `word` being its verdict; None where it was not measured."""
    estimate = estimates.get(score.key)
    if estimate is None:
        return None
    start, end = (estimates.get(f"{score.key}{end}", estimate) for end in ("_low", "_high"))
    low, high = start.low, end.high
    value = None if end.value > start.value and low is not None else estimate.value
    if word == CANNOT_TELL:
        return Answer(word, _open(estimates, score, low, high, words), value, low, high)
    if word == NOTHING_FOUND:
        return Answer(word, f"would have seen a word in {estimate.detectable:.0f} of 100 captions", value, low, high)
    little = word in (MORE, LESS) and a_little(estimates, score.key)
    return Answer(word, _amount(score, value, low, high, words.get(score.key)), value, low, high, little)


def _amount(score: Score, value: float | None, low: float | None, high: float | None, whose: str | None = None) -> str:
    """A value and its interval, with its side of 0 in words where 0 is like people; of a gap and of words also `whose`
    they are."""
    if whose and value and low is not None and high is not None and float(fixed(value, score.digits)):
        near, far = sorted((low, high), key=lambda end: end * (value or 1.0))
        size, *ends = (fixed(number if value > 0 else -number, score.digits) for number in (value, near, far))
        return f"{size} {whose} ({' to '.join(ends)})"

    def side(number: float) -> str:
        size = fixed(abs(number), score.digits)
        if score.scale.low >= 0 or not float(size):
            return size
        return f"{size} {'more' if number > 0 else 'less'}"

    if high is None and low is not None and value is not None:
        least = f"{fixed(value, score.digits)}, at least {fixed(low, score.digits)}"
        return f"{whose}; {least}" if whose else least
    if low is None or high is None:
        return NOTHING if value is None else side(value)
    start, end = side(low), side(high)
    if low * high > 0:
        near, far = sorted((abs(low), abs(high)))
        start, end = fixed(near, score.digits), side(math.copysign(far, low))
    if value is None:
        return f"from {start} to {end}"
    return f"{side(value)} ({start} to {end})"


def _open(
    estimates: Mapping[str, Estimate], score: Score, low: float | None, high: float | None, words: Mapping[str, str]
) -> str:
    """The range of a score that has no verdict, or what its sign does not survive."""
    if high is None and low is not None:
        return (
            f"{words[score.key]}; all together too little for a verdict" if words.get(score.key) else "too few images"
        )
    if learned_nothing(estimates, score.key):
        return LEARNED_NOTHING
    if is_mute(estimates, score.key):
        return f"it hardly names more than one {words['value']}"
    if score.two_sided and low is not None and high is not None:
        return _amount(score, estimates[score.key].value, low, high, words.get(score.key))
    if low is None or high is None or low <= 0 <= high:
        return _amount(score, None, low, high)
    sign = math.copysign(1, low)
    if any(sign * estimates[key].value <= 0 for key in score.confirmed_by if key in estimates):
        return "the sign changes when repeated captions are left out"
    if min(abs(low), abs(high)) <= noise(estimates, score.key):
        return "other people can differ by as much"
    if verdict(estimates, score.key) != CANNOT_TELL:
        return "among so many verdicts this could be chance"
    return (
        f"hangs on one of the {words['tasks']}"
        if score.direction == "a_to_t"
        else f"clear for all together, not for each {words['value']} taken alone"
    )


# In words


def title_of(audit: Audit) -> str:
    """The question that a report of these captioners asks."""
    subject = f"Does {audit.captioners[0]}" if len(audit.captioners) == 1 else "Do these captioners"
    return f"{subject} exaggerate {named_things(audit)['attribute']}?"


def about(audit: Audit) -> str:
    """What was measured, and by which protocol."""
    protocol = {"fast": "A quick measurement.", "papers": "Measured by the papers' protocols."}[
        audit.settings["preset"]
    ]
    counts = listed([f"{count:,} {images_of(value)}" for value, count in audit.attribute_counts.items()])
    beside = ", beside other people's captions of the same images" if audit.verdicts else ""
    return f"{audit.images:,} images, {counts}{beside}. {protocol}"


def matrix_grid(audit: Audit) -> Grid:
    """The matrix as a table of text."""
    matrix = matrix_of(audit)
    person = {PERSON: matrix.person} if any(matrix.person) else {}
    rows: list[list[Cell]] = [
        [name, *(cell and cell.text for cell in row)] for name, row in (person | matrix.rows).items()
    ]
    units = " ".join(f"{number}: {asked.unit}." for number, asked in enumerate(matrix.questions, start=1))
    return Grid(
        title_of(audit),
        columns("captioner", *(f"{number}. {asked.title}" for number, asked in enumerate(matrix.questions, start=1))),
        rows,
        f"{units} {correction(audit)}",
    )


def correction(audit: Audit) -> str:
    """The number of verdicts and how they are corrected for it; empty where there are not several."""
    return (
        f"Verdicts are stricter because {len(audit.verdicts)} are given at once, here and in the details: of those "
        "that say more or less, at most one in twenty is expected to be false."
        if len(audit.verdicts) > 1
        else ""
    )


# In pictures


def bar(cell: Answer, place: Place, y: float) -> list[str]:
    """An answer on the axis of its question: the interval, and the value, hollow where we cannot tell."""
    kind = tone(cell.verdict)
    parts = whisker(place, y, cell.low, cell.high, kind, 4 if cell.value is None else 3)
    return [*parts, *([mark(place(cell.value), y, cell.verdict)] if cell.value is not None else [])]


def ground(asked: Question, place: Place, top: float, bottom: float) -> list[str]:
    """The band and the line at 0, which lie below answers."""
    return [*zero_band(place, asked.band, top, bottom), line(place(0), top, place(0), bottom, "zero")]


def axis(asked: Question, place: Place, y: float) -> list[str]:
    """The numbers of an axis."""
    return [text(place(at), y, f"{at:.10g}", "soft", "middle", 10) for at in ticks(asked.low, asked.high, 4)]


def cell_svg(asked: Question, cell: Answer | None = None) -> str:
    """An answer in a cell of a table; without it, the axis of the column."""
    place = scale(asked.low, asked.high, 8, WIDTH - 8)
    height = HEIGHT if cell else AXIS
    parts = ground(asked, place, 0, HEIGHT) + bar(cell, place, HEIGHT / 2) if cell else axis(asked, place, 13)
    size = f"0 0 {WIDTH:g} {height:g}"
    return f'<svg class="captionbias interval" viewBox="{size}" aria-hidden="true">{"".join(parts)}</svg>'
