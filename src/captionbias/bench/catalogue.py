"""Every metric and every score, described once, where its formula is: whatever prints, plots, explains or publishes a
score asks here."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

INFINITY = float("inf")


class Scale(NamedTuple):
    """What a score is counted in, between which numbers."""

    low: float
    high: float
    unit: str
    whole: float | None = None  # what it is if it is so of every image; None where there is no such number

    def difference(self) -> Scale:
        """The scale of the difference of two such scores."""
        return self._replace(low=self.low - self.high, high=self.high - self.low)


SHARE, PERCENT = Scale(0.0, 1.0, "share", 1.0), Scale(0.0, 100.0, "of 100", 100.0)
SIGNED, SIGNED_PERCENT = Scale(-1.0, 1.0, "share", 1.0), PERCENT.difference()
NORMALIZED, DOUBLE_SHARE = Scale(-1.0, 1.0, "difference over sum", 1.0), Scale(0.0, 2.0, "share", 1.0)
NET = NORMALIZED.difference()
CAPTIONS = Scale(-200.0, 200.0, "captions of 100", 100.0)
TIES = Scale(-INFINITY, INFINITY, "captions of 100", 100.0)  # of any number of words
MENTIONS = Scale(-INFINITY, INFINITY, "mentions in 100 captions", 100.0)
RATIO = Scale(0.0, INFINITY, "ratio")
TOLERATED = Scale(0.0, INFINITY, "times what is tolerated")
DIRECTIONS = {"a_to_t": "A to T", "t_to_a": "T to A"}
YARDSTICK = "sway_scenes"  # how many scenes are in people's place; without it people are, and 0 is neither
HUMAN, EXCESS = "_human", "_excess"  # of the keys of one more person's score, and of the captioner's beyond it
SWAY_SEES_MORE = "`sway_worst` sees more: attackers' guesses do not say in how many captions."
SIDES = {"m": "captioner", "h": "human captions"}


@dataclass(frozen=True)
class Score:
    """A quantity of a metric's result that has an interval."""

    key: str  # in the flat result
    label: str  # what it is called on its own
    digits: int  # after the decimal point
    scale: Scale
    meaning: str = ""  # one sentence, or a few
    row: str | None = None  # what it is called in a table, below the score that it belongs to; the label when None
    direction: str | None = None  # `a_to_t` or `t_to_a`
    sense: str | None = None  # `amplification` (above 0 is worse than people, below 0 better), `size` (0 is best), None
    judged: bool = False  # whether its interval gives a verdict; other amplifications also move with naming anything
    above: tuple[str, ...] = ()  # the scores that must all be above 0 for a verdict; itself when empty
    or_above: tuple[str, ...] = ()  # those of which one above 0 is as good
    below: tuple[str, ...] = ()
    absolute: bool = False  # wrong without people, too, who are hardly ever wrong: without a yardstick 0 is one
    two_sided: bool = False  # a gap between values: on either side of 0 it is more than people's
    like_if: tuple[tuple[str, float], ...] = ()  # scores that must be this much for it to be like people
    learned: tuple[str, ...] = ()  # the gains of its attackers, of which one must be surely above 0 for a verdict
    confirmed_by: tuple[str, ...] = ()  # the scores that must have its sign for a verdict, where they are measured
    margin: float | None = None  # nearer to 0 it is as good as 0, unless the result says otherwise; one of 100 if None
    noisy: bool = False  # people's own captions read something by chance: more and less are beyond that, or the margin
    recentred: bool = False  # resampling by itself moves it, so its replicates are moved back: `Sample.recentre`
    beyond_margin: bool = False  # more and less are beyond the margin, not beyond 0
    control: bool = False  # it needs the metric's `controls`
    against_a_person: bool = False  # captions are also scored against one more person, see `person_scores`
    headline: bool = False  # compared, logged and plotted by default
    minimised: bool = False  # lower is better: what a training goes by, in a result also where it is undefined, as nan
    published: bool = False  # another number that a paper prints: a result has it without details, as a headline
    alone: bool = False  # compared instead where there are no human captions
    # What a score above 0 says is more than with people; `{attribute}` ("gender", "the attribute"), `{value}`
    # ("gender", "attribute") and `{tasks}` are filled in.
    claim: str = ""
    task: str | None = None  # its id in the Hub's evaluation results, of scores of a captioner
    human: bool = False  # it describes human captions alone
    in_tables: bool = True
    on_cards: bool = True
    metric: str = ""  # whose it is; `register` fills it in

    def __post_init__(self) -> None:
        if self.judged and self.margin is None and self.scale.whole is None:
            raise ValueError(f"score {self.key!r} has a verdict and is counted in {self.scale.unit}: give its margin")

    @property
    def usual_margin(self) -> float:
        """The margin, in units of the score."""
        return (self.scale.whole or 0.0) / 100 if self.margin is None else self.margin

    def deciding(self, sign: int) -> tuple[str, ...]:
        """The scores that must all be above 0 (1), or below it (-1), for a verdict."""
        return (self.above if sign > 0 else self.below) or (self.key,)


@dataclass(frozen=True)
class MetricEntry:
    """A metric: its title, the question it asks, its scores in the order of its tables, the settings of its presets by
    name, that of its paper first, what a result of it holds, whether it looks at the images, what is said below its
    table, and whether its facts are told with details alone."""

    name: str
    title: str
    question: str
    scores: tuple[Score, ...]
    presets: Mapping[str, Any] = field(default_factory=dict)
    returns: str = ""
    of_images: bool = False
    below: str = ""
    facts_are_details: bool = False
    trains: bool = False
    extra: str = ""  # of the package, which it needs
    claims: Callable[..., Sequence[dict[str, str]]] | None = None  # see `captionbias.bench.sentence.claims_of`


REPORTED = ("sway", "dbac", "lic")  # what is measured where no metric is named
METRICS: dict[str, MetricEntry] = {}
SCORES: dict[str, Score] = {}
TASKS: dict[str, Score] = {}  # by their id in the Hub's evaluation results


def register(entry: MetricEntry) -> None:
    """Add a metric, with its scores and those of one more person."""
    METRICS[entry.name] = entry
    for measured in entry.scores:
        score = replace(measured, metric=entry.name)
        for one in (score, *(person_scores(score) if score.against_a_person else ())):
            SCORES[one.key] = one
            if one.task:
                TASKS[one.task] = one


def person_scores(score: Score) -> Iterable[Score]:
    """Of a score of captions that of one more person and the captioner's beyond it, by which verdicts go."""
    yield replace(
        score,
        key=f"{score.key}{EXCESS}",
        label=f"{score.label}, beyond a person",
        scale=score.scale.difference(),
        meaning="The captioner's score minus that of one more person who describes the same images: 0 is a person.",
        row="  beyond a person",
        sense="amplification",
        judged=bool(score.claim),
        published=False,
        control=True,
        task=score.task and f"{score.task}{EXCESS}",
    )
    yield replace(
        score,
        key=f"{score.key}{HUMAN}",
        label=f"{score.label}, one more person",
        meaning="The same score of one human caption of each image against the others.",
        row="  one more person",
        sense=None,
        judged=False,
        control=True,
        headline=False,
        published=False,
        claim="",
        task=None,
        human=True,
        on_cards=False,
    )


def superseded(key: str, keys: Container[str]) -> bool:
    """Whether a verdict goes by the score's excess over a person, which is among the `keys`."""
    return f"{key}{EXCESS}" in keys


def scores_of(metric: str) -> list[Score]:
    """A metric's scores, in the order of its tables."""
    return [score for score in SCORES.values() if score.metric == metric]


def of_captions() -> list[str]:
    """The metrics that need captions and labels alone."""
    return [name for name, entry in METRICS.items() if not entry.of_images]


def main_scores(keys: Container[str]) -> list[Score]:
    """The scores that a picture shows of these: those with a verdict and those of another kind; else the main ones,
    else all."""
    measured = [score for key, score in SCORES.items() if key in keys and not superseded(key, keys)]
    judged = [score for score in measured if score.judged and score.claim]
    main = [score for score in measured if score.headline]
    others = [score for score in main if score.sense != "amplification"]
    return judged + others or main or [score for score in measured if score.alone] or measured


def main_scores_by_metric(keys: Iterable[str], metrics: Iterable[str]) -> list[Score]:
    """The main scores of each of these metrics, one after the other."""
    known = [key for key in keys if key in SCORES]
    return [
        score for metric in metrics for score in main_scores([key for key in known if SCORES[key].metric == metric])
    ]


def results_among(keys: Container[str]) -> list[str]:
    """The keys that a result has without details: the headlines and what papers print; where there are none, as of
    captions of one side, those that stand alone, else all."""
    measured = [score for key, score in SCORES.items() if key in keys]
    main = [score for score in measured if score.headline or score.published]
    return [score.key for score in main or [score for score in measured if score.alone] or measured]


def headlines(metric: str) -> list[str]:
    """The keys that are compared, logged and plotted when none are named; published before matched."""
    return sorted(score.key for score in scores_of(metric) if score.headline)


def headlines_alone(metric: str) -> list[str]:
    """The same where there are no human captions to measure amplification against."""
    return [score.key for score in scores_of(metric) if score.alone]


def worst(metric: str, label: str, digits: int, scale: Scale, meaning: str) -> Score:
    """The score of a metric that a training minimises; see `captionbias.bench.verdicts.worst_of`."""
    meaning += " What a training minimises: lower is better; nan where one cannot tell."
    kind: dict[str, Any] = {"sense": "size", "minimised": True, "published": True, "in_tables": False}
    return Score(f"{metric}_worst", label, digits, scale, meaning, task=f"{metric}_worst", **kind)


def label(key: str) -> str:
    """What a score is called on its own."""
    return SCORES[key].label
