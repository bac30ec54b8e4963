"""Every score and every metric, described once: whatever prints, plots, explains or publishes a score asks here.

To add a score is to write its formula and one entry.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any

INFINITY = float("inf")
SIGNED, PERCENT, SIGNED_PERCENT = (-1.0, 1.0), (0.0, 100.0), (-100.0, 100.0)
SHARE, POSITIVE, NET = (0.0, 1.0), (0.0, INFINITY), (-2.0, 2.0)
ANY, DOUBLE_PERCENT = (-INFINITY, INFINITY), (-200.0, 200.0)
DIRECTIONS = {"a_to_t": "A to T", "t_to_a": "T to A"}
QUESTIONS = {"a_to_t": "does the attribute shape the tasks?", "t_to_a": "do the tasks shape the attribute?"}
# What a person, or a faithful synthetic captioner, reads at most with a few thousand images: attackers trained on other
# captions would differ by as much, which no interval knows of.
SMALL_DBAC = 0.01
HUMAN, EXCESS = "_human", "_excess"  # of the keys of one more person's score, and of the captioner's beyond it
SIDES = {"m": "captioner", "h": "human captions"}


@dataclass(frozen=True)
class Score:
    """A quantity of a metric's result that has an interval.

    Attributes:
        key: in the flat result.
        metric: whose it is.
        label: what it is called on its own.
        digits: after the decimal point.
        bounds: its range.
        meaning: one sentence, or a few.
        row: what it is called in a table, below the score that it belongs to; the label when None.
        direction: `a_to_t` or `t_to_a`, of scores that have one.
        sense: `amplification` (above 0 is worse than people, below 0 better), `size` (0 is best) or None (neither).
        judged: whether its interval gives a verdict; other amplifications also move with how often captions name
            anything at all.
        above, below: the scores that must all be above, or below, 0 for a verdict; itself when empty.
        margin: nearer to 0 than that it says nothing.
        control: whether it needs the metric's `controls`.
        against_a_person: whether captions are also scored against one more person, see `person_scores`.
        headline: among the metric's main scores: compared, logged and plotted by default.
        alone: compared instead where there are no human captions.
        claim: what a score above 0 says is more than with people; `{attribute}` ("gender", "the attribute"), `{value}`
            ("gender", "attribute") and `{tasks}` are filled in.
        sentence: how a verdict is told instead of by the claim; also `{captioner}` and `{more}` ("more often", "less
            often") are filled in.
        task: its id in the Hub's evaluation results, of scores of a captioner.
        human: it describes human captions alone.
        in_tables, on_cards: where it is listed.
    """

    key: str
    metric: str
    label: str
    digits: int
    bounds: tuple[float, float]
    meaning: str = ""
    row: str | None = None
    direction: str | None = None
    sense: str | None = None
    judged: bool = False
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    margin: float = 0.0
    control: bool = False
    against_a_person: bool = False
    headline: bool = False
    alone: bool = False
    claim: str = ""
    sentence: str = ""
    task: str | None = None
    human: bool = False
    in_tables: bool = True
    on_cards: bool = True


@dataclass(frozen=True)
class MetricEntry:
    """A metric: its title, the question it asks, whether it trains attackers, what the common presets `fast` and
    `papers` are called in it, and whether it looks at the images."""

    name: str
    title: str
    question: str
    trained: bool = False
    presets: tuple[tuple[str, str], ...] = ()
    of_images: bool = False

    def preset(self, common: str) -> str | None:
        """What the preset is called in this metric; None if it has none.

        >>> METRICS["lic"].preset("papers")
        'lic-2022'
        """
        return dict(self.presets).get(common)


METRICS = {
    entry.name: entry
    for entry in (
        MetricEntry(
            "sway",
            "Sway",
            "of 100 captions, in how many more than a person's does the attribute named follow the tasks (T to A), do "
            "the tasks named follow the attribute (A to T)?",
        ),
        MetricEntry(
            "dbac",
            "DBAC",
            "does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?",
            True,
            (("fast", "fast"), ("papers", "dbac-2026")),
        ),
        MetricEntry(
            "lic",
            "LIC",
            "can the attribute be read from captions that do not name it?",
            True,
            (("fast", "fast"), ("papers", "lic-2022")),
        ),
        MetricEntry(
            "directional_ba",
            "Directional BA",
            "do captions name together what goes together, more often than people do?",
        ),
        MetricEntry(
            "multi_directional_ba",
            "Multi-attribute BA",
            "directional BA over combinations of tasks, in either sense.",
        ),
        MetricEntry("ba_mals", "BA (MALS)", "do captions strengthen each task's lean to its likelier attribute value?"),
        MetricEntry(
            "dpa",
            "DPA",
            "do captions let tasks be guessed from attributes (A to T), or attributes from tasks (T to A)?",
            True,
        ),
        MetricEntry(
            "label_leakage",
            "Label leakage",
            "is the attribute guessed better from the tasks that captions name?",
            True,
        ),
        MetricEntry(
            "gender_error",
            "Gender ratio and error",
            "how often do captions name either gender, and the wrong one?",
        ),
        MetricEntry(
            "imagecaptioner2",
            "ImageCaptioner2",
            "can the attribute be told from the image and its caption, once neither shows it?",
            True,
            (("fast", "fast"), ("papers", "imagecaptioner2-2023")),
            of_images=True,
        ),
    )
}

REPORTED = ("sway", "dbac", "lic")  # what is measured where no metric is named
OF_CAPTIONS = tuple(name for name, entry in METRICS.items() if not entry.of_images)  # they need nothing else


def _sway() -> Iterable[Score]:
    def score(key: str, label: str, meaning: str, **also: Any) -> Score:
        key = f"sway_{key}"
        direction = key[5:11]
        values = {"sense": "amplification", "direction": direction, "row": f"  {label}", "task": key}
        bounds = DOUBLE_PERCENT if direction == "t_to_a" else ANY
        whole = f"sway {DIRECTIONS[direction]}, of 100" + (f", {label}" if label else "")
        return Score(key, "sway", whole, 1, bounds, meaning, **values | also)

    def ends(key: str, label: str, what: str) -> Iterable[Score]:
        for end in ("least", "most"):
            meaning = f"The same if {what.format(end=end)}."
            yield score(f"{key}_{end}", label.format(end=end), meaning, in_tables=False, task=None)

    def decided(key: str, *more: tuple[str, str]) -> dict[str, tuple[str, ...]]:
        low, high = zip(*more, ("least", "most"), strict=True)
        return {side: tuple(f"sway_{key}_{end}" for end in of) for side, of in (("above", low), ("below", high))}

    yield score(
        "t_to_a",
        "",
        "Of 100 captions that name the attribute, how many more than a person's name a wrong value beside tasks that "
        "suggest another than the true one, compared with beside tasks that suggest it. 0 is a person; errors that do "
        "not follow the tasks read 0.",
        row=None,
        judged=True,
        headline=True,
        claim="the {value} named follows the {tasks} around",
        sentence="Beside {tasks} that go with another {value}, {captioner} names the wrong one {more} than people",
        **decided("t_to_a"),
    )
    yield from ends("t_to_a", "{end} swayed", "every value were as often swayed as the {end} swayed one")
    yield score(
        "t_to_a_lost",
        "silence counted as wrong",
        "The same of all captions: one that names no value, or several, counts as wrong.",
        judged=True,
        headline=True,
        claim="{value} omitted or wrong follows the {tasks} around",
        sentence="Beside {tasks} that go with another {value}, {captioner} omits it or names it wrong {more} than "
        "people",
        **decided("t_to_a_lost"),
    )
    yield from ends("t_to_a_lost", "{end} lost", "every value were as often lost as the {end} lost one")
    yield score(
        "a_to_t",
        "",
        "In 100 captions, how many more mentions than a person's of tasks that go with an attribute value where the "
        "image has that value, what it shows being the same. 0 is a person.",
        row=None,
        judged=True,
        headline=True,
        claim="the {tasks} named follow {attribute}",
        sentence="In like pictures, {captioner} names {tasks} that go with the person's {value} {more} than people",
        **decided("a_to_t", ("low", "high")),
    )
    for end, what in (("low", "lowest"), ("high", "highest")):
        yield score(
            f"a_to_t_{end}",
            f"{what} possible",
            f"The {what} that it can be: people do not name all that is there, so what a captioner names beyond them "
            "may all be there or all be made up. With complete tasks there is no such range.",
        )
    yield from ends("a_to_t", "{end} without a task", "the one task were left out that leaves the {end}")


def _dbac(direction: str, shaping: str, hidden: str, claim: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]

    def score(form: str, ending: str, meaning: str, bounds: tuple[float, float] = SIGNED, **also: Any) -> Score:
        key = f"dbac_{direction}{form}"
        return Score(
            key,
            "dbac",
            f"DBAC {name}, {ending}",
            3,
            bounds,
            meaning,
            direction=direction,
            sense="amplification",
            **{"row": f"  {ending}", "task": key} | also,
        )

    yield score(
        "_net",
        "net",
        f"Matched minus blind. Above 0 {shaping} in the captioner's captions than in people's (amplifies), below 0 "
        "less (mitigates). Closer to 0 than 0.01 it says nothing.",
        NET,
        row=None,
        judged=True,
        margin=SMALL_DBAC,
        control=True,
        headline=True,
        claim=claim,
    )
    yield score(
        "_matched",
        "matched",
        f"Above 0 the captioner's captions give {hidden} away more than people's that name the same, by whatever "
        "words.",
        headline=True,
    )
    yield score(
        "_blind",
        "blind",
        "The matched score when the words for the attribute and for the tasks are both hidden: what it owes to other "
        "words.",
        control=True,
    )
    yield score(
        "",
        "as published",
        "Above 0 amplifies, below 0 mitigates, but this score also moves with how often captions name anything at "
        "all: judge by the net one.",
        headline=True,
    )
    yield score(
        "_prior",
        "its weights alone",
        "The published score with a perfect attacker.",
        task=None,
        in_tables=False,
        on_cards=False,
    )


def _omega(direction: str, attacked: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    meaning = (
        f"How surely an attacker tells {attacked}, each caption by its weight. Never below 0, and larger where the "
        "association is stronger; it has no neutral value of its own."
    )
    for side, who in SIDES.items():
        key = f"omega_{side}_{direction}"
        yield Score(
            key,
            "dbac",
            f"omega {name}, {who}",
            3,
            POSITIVE,
            meaning,
            direction=direction,
            alone=side == "m",
            human=side == "h",
        )
        yield Score(
            f"{key}_matched",
            "dbac",
            f"omega {name}, {who}, matched",
            3,
            POSITIVE,
            meaning,
            direction=direction,
            human=side == "h",
            in_tables=False,
            on_cards=False,
        )


def _lic(key: str, name: str, what: str, chance: str) -> Iterable[Score]:
    side = f"Of 100: {what} from captions whose attribute words are masked. With k labels chance is {chance}."
    main = key == "lic"
    yield Score(
        key,
        "lic",
        f"{name} x 100",
        1,
        SIGNED_PERCENT,
        "Above 0 the captioner's captions give the attribute away more than people's (amplifies), below 0 less "
        "(mitigates).",
        sense="amplification",
        judged=True,
        headline=main,
        claim="the wording alone gives {attribute} away" if main else "",
        task=key,
    )
    for suffix, who in (("m", SIDES["m"]), ("d", SIDES["h"])):
        yield Score(
            f"{key}_{suffix}",
            "lic",
            f"{name} x 100, {who}",
            1,
            PERCENT,
            side,
            row=f"  {who}",
            alone=main and suffix == "m",
            human=suffix == "d",
            in_tables=main,
        )


def _directional_ba(direction: str, given: str, named: str, anything: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    yield Score(
        f"directional_ba_{direction}",
        "directional_ba",
        f"directional BA {name}",
        4,
        SIGNED,
        f"Above 0 captions name the {named} that go with {given} more often for it than the data do "
        f"(amplifies), below 0 less. It also moves with how often captions name {anything} at all.",
        direction=direction,
        sense="amplification",
        headline=True,
        against_a_person=True,
        task=f"directional_ba_{direction}",
    )
    yield Score(
        f"directional_ba_h_{direction}",
        "directional_ba",
        f"directional BA {name}, human captions",
        4,
        SIGNED,
        f"Against the labels of the images. Above 0 people name the {named} that go with {given} more often for it "
        "than it is there, below 0 less often. It also moves with how often they name anything at all.",
        direction=direction,
        sense="amplification",
        human=True,
    )


def _multi_directional_ba(key: str, name: str, meaning: str, bounds: tuple[float, float] = SHARE) -> Iterable[Score]:
    yield Score(
        key,
        "multi_directional_ba",
        f"multi-attribute BA {name}",
        4,
        bounds,
        f"0 is best: how far captions move {meaning}. It has no sign.",
        direction=key.partition("ba_")[2] or None,
        sense="size",
        headline=True,
        against_a_person=True,
        task=key,
    )
    yield Score(
        f"{key}_variance",
        "multi_directional_ba",
        f"multi-attribute BA {name}, variance",
        5,
        SHARE,
        "How unequally they do.",
        row="  variance",
        direction=key.partition("ba_")[2] or None,
        sense="size",
        on_cards=False,
    )


def _dpa(direction: str, more: str, claim: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    yield Score(
        f"dpa_{direction}",
        "dpa",
        f"DPA {name}",
        3,
        SIGNED,
        f"Above 0 {more} (amplifies), below 0 harder (mitigates).",
        direction=direction,
        sense="amplification",
        judged=True,
        headline=True,
        against_a_person=True,
        claim=claim,
        task=f"dpa_{direction}",
    )
    for side, who in (("m", "predicted labels"), ("d", "labels of the images")):
        yield Score(
            f"predictability_{side}_{direction}",
            "dpa",
            f"predictability {name}, {who}",
            3,
            POSITIVE,
            "How well an attacker guesses one from the other.",
            direction=direction,
            in_tables=False,
            on_cards=False,
        )


def _imagecaptioner2(form: str, name: str, what: str, chance: str) -> Iterable[Score]:
    key, main = f"imagecaptioner2{form}", not form
    yield Score(
        key,
        "imagecaptioner2",
        f"ImageCaptioner2{name} x 100",
        1,
        SIGNED_PERCENT,
        "Above 0 the captioner's captions give the attribute away, together with the image, more than people's "
        "(amplifies), below 0 less (mitigates).",
        sense="amplification",
        judged=main,
        headline=main,
        claim="image and caption together give {attribute} away" if main else "",
        task=key,
    )
    for suffix, who in (("m", SIDES["m"]), ("d", SIDES["h"])):
        yield Score(
            f"{key}_{suffix}",
            "imagecaptioner2",
            f"ImageCaptioner2{name} x 100, {who}",
            1,
            PERCENT,
            f"Of 100: {what} after an image whose person is masked, a caption whose attribute words are masked, and "
            f"the prompt. {chance}",
            row=f"  {who}",
            alone=main and suffix == "m",
            human=suffix == "d",
            in_tables=main,
        )


def _others() -> Iterable[Score]:
    yield Score(
        "ba_mals",
        "ba_mals",
        "BA (MALS)",
        4,
        SIGNED,
        "Above 0 captions strengthen each task's lean to its likelier attribute value (amplifies), below 0 they weaken "
        "it (mitigates).",
        sense="amplification",
        judged=True,
        headline=True,
        against_a_person=True,
        claim="{tasks} lean to their likelier {value}",
        task="ba_mals",
    )
    yield from _dpa(
        "a_to_t",
        "the tasks that captions name are easier to guess from the attribute than those shown",
        "the {tasks} named follow from {attribute}",
    )
    yield from _dpa(
        "t_to_a",
        "the attribute that captions name is easier to guess from the tasks than the true one",
        "{tasks} predict which {value} is named",
    )
    yield Score(
        "label_leakage",
        "label_leakage",
        "leakage of task labels x 100",
        1,
        SIGNED_PERCENT,
        "Above 0 the tasks that captions name give the attribute away more than those shown (amplifies), below 0 less "
        "(mitigates).",
        sense="amplification",
        judged=True,
        headline=True,
        against_a_person=True,
        claim="the {tasks} named give {attribute} away",
        task="label_leakage",
    )
    for suffix, who in (("m", "captioner"), ("d", "images")):
        yield Score(
            f"label_leakage_{suffix}",
            "label_leakage",
            f"leakage of task labels x 100, {who}",
            1,
            PERCENT,
            "Percent of test images whose attribute is guessed right from their tasks.",
            row=f"  {who}",
            on_cards=False,
        )
    yield Score(
        "ratio",
        "gender_error",
        "captions: second label to first",
        2,
        POSITIVE,
        "Captions that name the second label for each that names the first; the signature says which they are. At 1 "
        "they are as many.",
        headline=True,
        task="gender_ratio",
    )
    yield Score(
        "error",
        "gender_error",
        "wrong label, %",
        1,
        PERCENT,
        "0 is best: captions of all that name the other label than the image has. It has no sign.",
        row="  with the wrong label, %",
        sense="size",
        headline=True,
        against_a_person=True,
        claim="the wrong {value} is named",
        task="gender_error",
    )
    yield Score(
        "unnamed",
        "gender_error",
        "no label or both, %",
        1,
        PERCENT,
        "Captions that name neither label, or both: they can be neither right nor wrong.",
        row="  with neither or both, %",
        against_a_person=True,
        task="gender_unnamed",
    )


def person_scores(score: Score) -> Iterable[Score]:
    """What else there is of a score of captions: of one more person, and the captioner's beyond that.

    With more than one human caption an image, a verdict goes by the latter, see `superseded`.
    """
    low, high = score.bounds
    yield replace(
        score,
        key=f"{score.key}{EXCESS}",
        label=f"{score.label}, beyond a person",
        bounds=(low - high, high - low),
        meaning="The captioner's score minus that of one more person who describes the same images: 0 is a person.",
        row="  beyond a person",
        sense="amplification",
        judged=bool(score.claim),
        control=True,
        task=f"{score.task}{EXCESS}",
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
        claim="",
        task=None,
        human=True,
        on_cards=False,
    )


def superseded(key: str, keys: Container[str]) -> bool:
    """Whether a verdict goes by the score's excess over a person, which is among the `keys`.

    >>> superseded("ba_mals", {"ba_mals", "ba_mals_excess"}), superseded("ba_mals", {"ba_mals"})
    (True, False)
    """
    return f"{key}{EXCESS}" in keys


# LIC, DBAC and directional BA measure human captions alone. What DPA and label leakage say of the data is of labels
# that were made wrong as often as the captioner's are, and the others are comparisons.
_MEASURED = (
    *_sway(),
    *_dbac(
        "a_to_t",
        "the attribute shapes the named tasks more",
        "the attribute",
        "the {tasks} named reveal {attribute}",
    ),
    *_dbac(
        "t_to_a",
        "the tasks shape the named attribute more",
        "the tasks",
        "the {value} named reveals the {tasks}",
    ),
    *_omega("a_to_t", "the attribute from captions whose attribute words are masked"),
    *_omega("t_to_a", "the tasks from captions whose task words are masked"),
    *_lic(
        "lic",
        "LIC",
        "how often, and how surely, an attacker reads the attribute",
        "100 / k², and up to 100 / k for an attacker that is sure of itself",
    ),
    *_lic("leakage", "leakage", "how often an attacker reads the attribute", "100 / k"),
    *_lic("confidence", "confidence", "how surely an attacker reads the attribute", "100 / k"),
    *_directional_ba("a_to_t", "an attribute value", "tasks", "tasks"),
    *_directional_ba("t_to_a", "a task", "attribute values", "the attribute"),
    *_multi_directional_ba("multi_directional_ba_a_to_t", "A to T", "combinations of tasks for an attribute value"),
    *_multi_directional_ba("multi_directional_ba_t_to_a", "T to A", "attribute values for a combination of tasks"),
    *_multi_directional_ba(
        "multi_mals", "undirected", "the share of a combination's likelier attribute value", (0.0, 2.0)
    ),
    *_others(),
    *_imagecaptioner2("", "", "the judge's probability of the true answer", "With k answers chance is 100 / k."),
    *_imagecaptioner2("_leakage", " leakage", "how often the judge is right", "With k answers chance is 100 / k."),
    *_imagecaptioner2(
        "_lic",
        " LIC",
        "the judge's probability of the true answer where it is right",
        "With k answers chance is 100 / k², and up to 100 / k for a judge that is sure of itself.",
    ),
    *_imagecaptioner2(
        "_raw",
        " raw",
        "the judge's probability of the true answer among all words that it could say",
        "It has no chance level: a judge that is used as it is may hardly ever say any of the answers.",
    ),
)
_ALL = tuple(one for score in _MEASURED for one in (score, *(person_scores(score) if score.against_a_person else ())))
SCORES = {score.key: score for score in _ALL}
TASKS = {score.task: score for score in _ALL if score.task}
_DECIDING = {key for score in _ALL if score.judged for key in (score.key, *score.above, *score.below)}


def scores_of(metric: str) -> list[Score]:
    """A metric's scores, in the order of its tables."""
    return [score for score in _ALL if score.metric == metric]


def headlines(metric: str) -> list[str]:
    """The keys that are compared, logged and plotted when none are named; published before matched.

    >>> headlines("lic"), headlines("dbac")[:2]
    (['lic'], ['dbac_a_to_t', 'dbac_a_to_t_matched'])
    """
    return sorted(score.key for score in scores_of(metric) if score.headline)


def headlines_alone(metric: str) -> list[str]:
    """The same where there are no human captions to measure amplification against."""
    return [score.key for score in scores_of(metric) if score.alone]


def deciding_margin(key: str) -> float | None:
    """The margin of a score whose interval decides a verdict, its own or another's; None if it decides none.

    >>> deciding_margin("dbac_a_to_t_net"), deciding_margin("sway_a_to_t_low"), deciding_margin("lic_m")
    (0.01, 0.0, None)
    """
    return SCORES[key].margin if key in _DECIDING else None


def label(key: str) -> str:
    """What a score is called on its own.

    >>> label("dbac_a_to_t_matched"), label("lic_d")
    ('DBAC A to T, matched', 'LIC x 100, human captions')
    """
    return SCORES[key].label


def bounds(key: str) -> tuple[float, float]:
    """A score's range; of what is no score, any number.

    >>> bounds("lic"), bounds("sources")
    ((-100.0, 100.0), (-inf, inf))
    """
    return SCORES[key].bounds if key in SCORES else ANY
