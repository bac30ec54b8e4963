"""The rows that a report begins with: people, then each captioner, with bars on one scale and a verdict; and the
sentences above them, each of which its numbers bear out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.analysis.compare import Comparison
from captionbias.bench.catalogue import EXCESS, HUMAN, SCORES, YARDSTICK, Score
from captionbias.bench.measurement import Result
from captionbias.bench.sentence import NO_VERDICT, called_in, claims_of, ends, group, listed, verb
from captionbias.bench.verdicts import (
    BEYOND,
    CANNOT_TELL,
    LESS,
    LIKE,
    NOTHING,
    NOTHING_FOUND,
    SAME,
    SAME_NO_YARDSTICK,
    word_for_yardstick,
)
from captionbias.compat import result_of
from captionbias.metrics import catalogue
from captionbias.metrics.sway.claims import whose_gap
from captionbias.metrics.sway.misnaming import KEYS
from captionbias.metrics.sway.questions import ALL_TASKS, MISSING, NAMES, QUESTIONS, Question
from captionbias.report.wording import (
    ENOUGH,
    NO_PEOPLE,
    PEOPLE,
    Yardstick,
    fixed,
    images_of,
    interval,
    named_things,
    number_word,
    plain,
    verdict_text,
    yardstick,
)
from captionbias.statistics.samples import Estimate
from captionbias.statistics.significance import holm, p_value

MOST_VALUES, MOST_TASKS = 4, 2
SURE = 0.05  # of a corrected p-value
GAP, UNNAMED, STEP, WORDS, OBJECTS = "sway_wrong_gap", "sway_unnamed_gap", "sway_t_to_a", "sway_words", "sway_a_to_t"
NAMING = [
    part.key for question in QUESTIONS if question.view == NAMES for part in question.parts if part.key != UNNAMED
]
TITLES = {
    WORDS: "Other words tied to the {value}",
    OBJECTS: "{tasks} tied to the {value}",
    UNNAMED: "One {value} left out",
}
QUALITY_TITLE = "Are captions of one {value} worse?"
QUALITY = {  # of each gap its column and unit, what its levels are, and whether more is worse
    "recall_gap": ("{tasks} left out", "of 100", "Named of 100 shown", False),
    "chair_gap": ("{tasks} invented", "of 100", "Not there of 100 named", True),
    "cider_gap": ("CIDEr lost", "points", "CIDEr times 100", False),
}
FINE = {LIKE, SAME, SAME_NO_YARDSTICK, NOTHING_FOUND}
MARKS = {**dict.fromkeys(BEYOND, "▲"), **dict.fromkeys(FINE, "="), LESS: "▼", CANNOT_TELL: "?"}


class Bar(NamedTuple):
    """A number with its interval, None where none is drawn; as it is written, or what is written in its place; the
    verdict of the question that it answers; and what the number is made of."""

    estimate: Estimate | None
    text: str
    verdict: str = NOTHING
    made_of: str = ""


class Column(NamedTuple):
    """Bars below each other: what is counted and of what, the ends of their axis, and a word that was found."""

    title: str
    unit: str
    digits: int
    low: float = 0.0
    high: float = 1.0
    example: str = ""

    def at(self, value: float) -> float:
        """Where a number is, in percent of the width."""
        within = min(self.high, max(self.low, value)) - self.low
        return round(100 * within / (self.high - self.low), 2)


class Row(NamedTuple):
    """A captioner, or people, with its verdict; `said`: of how many questions that is."""

    name: str
    bars: list[Bar]
    verdict: str = ""
    said: str = ""

    @property
    def mark(self) -> str:
        return MARKS.get(self.verdict, "")

    @property
    def words(self) -> str:
        return self.verdict.partition(";")[0]


class Wrong(NamedTuple):
    """Of 100 captions of a value's images, how many name another value alone: of all, of those beside tasks that go
    with the value itself, and of those beside tasks that go with another; None of fewer than 20 images."""

    every: Estimate
    own: Estimate | None
    other: Estimate | None

    @property
    def step(self) -> int:
        """How many more it is beside tasks of another, of the numbers as they are shown."""
        return round(self.other.value) - round(self.own.value) if self.own and self.other else 0


class Leaderboard(NamedTuple):
    """Captioners, the worst first, beside people, where they describe the images. `keys`: of each column the value or
    the score that it is of; `called`: see `captionbias.bench.sentence.words_of`; `asked`: the questions of sway;
    `wrong`: by captioner, "" for people, and value; `tasks`: of each value some that go with it; `results`: of each
    captioner those that the rows are of, and `verdicts` by captioner and score."""

    columns: list[Column]
    keys: list[str]
    people: Row | None
    rows: list[Row]
    called: Mapping[str, str]
    yardstick: Yardstick
    asked: list[Question]
    wrong: Mapping[str, Mapping[str, Wrong]]
    tasks: Mapping[str, Sequence[str]]
    results: Mapping[str, Sequence[Result]]
    verdicts: Mapping[tuple[str, str], str]

    @property
    def every_row(self) -> list[Row]:
        return [*filter(None, [self.people]), *self.rows]

    @property
    def legend(self) -> str:
        more = "more than people" if self.yardstick.than else "differs"
        parts = [f"Solid bar: {more}. Pale bar: not so, or not clear."]
        parts += ["Grey line: another person."] * bool(self.people)
        return " ".join([*parts, "Thin line: 95% interval.", self.yardstick.short]).strip()

    def misnaming(self, value: str) -> str:
        """What it is to be named wrong, such as `called men`."""
        other = self._other(value)
        return f"called {other}" if other else "named wrong"

    def calls(self, value: str, share: str) -> str:
        """What a captioner does that names so many wrong, such as `calls 37 of 100 women men`."""
        other = self._other(value)
        return f"{'calls' if other else 'names'} {share} of 100 {group(value)} {other or 'wrong'}"

    def _other(self, value: str) -> str:
        """What those are called who are named wrong, if that is one thing alone."""
        others = [group(other) for other in self.tasks if other != value]
        return others[0] if {group(value), *others} == {"women", "men"} else ""


def leaderboard(
    results: Mapping[str, Sequence[Result]], verdicts: Mapping[tuple[str, str], str], called: Mapping[str, str]
) -> Leaderboard:
    """The rows of captioners by the details of `sway`, the one result of each; without these by the main scores."""
    estimates = {name: {key: one for of in own for key, one in of.estimates.items()} for name, own in results.items()}
    known = {name: own[0].get("details") or {} for name, own in results.items() if own}
    details = {name: of for name, of in known.items() if "level" in of}
    level = {name: {row["attribute"]: row for row in of["level"]} for name, of in details.items()}
    first = next(iter(details.values()), {})
    values = sorted(next(iter(level.values()), {}), key=lambda one: -max(of[one]["wrong"] for of in level.values()))
    values = [row["attribute"] for row in first.get("level", ()) if row["attribute"] in values[:MOST_VALUES]]
    wrong = {name: _wrong(of, "captioner") for name, of in details.items()}
    wrong |= {"": _wrong(first, "person")} if any("wrong_person" in row for row in first.get("level", ())) else {}
    beside = yardstick({key: one for of in estimates.values() for key, one in of.items()})
    asked = _asked(verdicts, first)
    tasks = {value: _examples(first, value) for value in first.get("attribute_counts", ())}
    board = Leaderboard([], [], None, [], called, beside, asked, wrong, tasks, results, verdicts)

    scores = _scores(estimates, verdicts, first)
    bars: dict[str, list[Bar]] = {}
    for name, of in (wrong or {name: {} for name in estimates}).items():
        words = [verdicts.get((name, key), "") for key in NAMING]
        word = next((word for word in words if word in BEYOND), words[0])
        bars[name] = [Bar(of[value].every, fixed(of[value].every.value, 0), word) for value in values]
        for score in scores:
            said = verdicts.get((name, score.key), "")
            bars[name].append(_bar(score, estimates.get(name, {}), said))
    columns = [Column(f"{group(one)} {board.misnaming(one)}", f"of 100 {group(one)}", 0) for one in values]
    for place, score in enumerate(scores, len(values)):
        name = (TITLES.get(score.key, score.label) if details else score.label).format(**called)
        unit = score.scale.unit.replace("captions of 100", "of 100 captions") + beside.than * bool(details)
        of_score = {name: own[place] for name, own in bars.items()}
        example = _example(of_score, details) if score.key == WORDS and details else ""
        if score.key == UNNAMED and details:
            whose = [whose_gap(details[one], "unnamed") for one, bar in of_score.items() if bar.verdict in BEYOND]
            worse = [value for value, more in filter(None, whose) if more]
            if worse and len(first["level"]) == 2:
                name = f"{group(worse[0])} left out more"
                if worse[0] != first["level"][0]["attribute"]:  # of whom a gap is that is below 0
                    for own in bars.values():
                        own[place] = _turned(own[place], score)
        columns.append(Column(name, unit, score.digits, example=example))
    keys = [*values, *(score.key for score in scores)]
    of_scale = ["names"] * len(values) + [one.key if details else f"{one.metric} {one.digits}" for one in scores]
    columns = _on_scales(columns, of_scale, bars)
    rows = [Row(name, bars[name], *_overall(name, estimates[name], verdicts, asked)) for name in estimates]
    people = Row("people", bars[""], said="another person") if "" in wrong else None
    rows.sort(key=lambda row: _order(row, len(values)))
    return board._replace(columns=columns, keys=keys, people=people, rows=rows)


def _scores(
    estimates: Mapping[str, Mapping[str, Estimate]], verdicts: Mapping[tuple[str, str], str], first: Mapping[str, Any]
) -> list[Score]:
    """The scores that have a column: of sway the words, the tasks where all are listed, and who is left out where one
    is; else the main ones."""
    if not first:
        return catalogue.main_scores_by_metric({key: 0 for own in estimates.values() for key in own}, catalogue.METRICS)
    shown = {(key, verdicts.get((name, key))) for name in estimates for key in (WORDS, OBJECTS, UNNAMED)}
    keys = [key for key in (WORDS, OBJECTS) if any(word for one, word in shown if one == key)]
    keys += [UNNAMED] * any((UNNAMED, word) in shown for word in BEYOND)
    return [SCORES[key] for key in keys if key != OBJECTS or first["settings"]["tasks"] != "named"]


def _on_scales(columns: Sequence[Column], of_scale: Sequence[str], bars: Mapping[str, Sequence[Bar]]) -> list[Column]:
    """The columns with the ends of their axes, which those of one scale share."""
    placed = []
    for column, own_scale in zip(columns, of_scale, strict=True):
        places = [place for place, scale in enumerate(of_scale) if scale == own_scale]
        drawn = [one for own in bars.values() for place in places if (one := own[place].estimate)]
        ends = [0.0, *(end for one in drawn for end in (one.value, *one.ends))]
        title = column.title[0].upper() + column.title[1:]
        placed.append(column._replace(title=title, low=min(ends), high=max(*ends, 1e-9)))
    return placed


def _bar(score: Score, own: Mapping[str, Estimate], verdict: str) -> Bar:
    """Of people, who have no estimates of their own, 0."""
    estimate = own.get(score.key)
    if estimate is None:
        return Bar(None, NOTHING if own else "0")
    if score.key == WORDS and (verdict == NOTHING_FOUND or estimate.low is None):
        return Bar(None, "none found" if verdict == NOTHING_FOUND else "too few images", verdict)
    return Bar(estimate, fixed(estimate.value, score.digits), verdict)


def _turned(bar: Bar, score: Score) -> Bar:
    """The gap of the other of two values."""
    if bar.estimate is None:
        return bar
    low, high = (None if end is None else -end for end in (bar.estimate.high, bar.estimate.low))
    return bar._replace(
        estimate=Estimate(-bar.estimate.value, low, high), text=fixed(-bar.estimate.value, score.digits)
    )


def _example(bars: Mapping[str, Bar], details: Mapping[str, Mapping[str, Any]]) -> str:
    """A word that half of the images chose of the captioner that says most such words, and of whom it is said."""
    found = {name: bar.estimate.value for name, bar in bars.items() if bar.verdict in BEYOND and bar.estimate}
    if not found:
        return ""
    name = max(found, key=lambda one: found[one])
    rows = [row for row in details[name].get("words_chosen", ()) if row["columns"] and row[WORDS] == found[name]]
    words = [(row["columns"][0]["words"].replace("|", " or "), group(row["attribute"])) for row in rows]
    return "".join(f"“{word}”, of {people}" for word, people in words[:1])


def _order(row: Row, values: int) -> tuple[float, float]:
    """By the verdict, then by the largest bar."""
    sizes = [abs(bar.estimate.value) for bar in row.bars[: values or 1] if bar.estimate]
    return 0 if row.verdict in BEYOND else 1 if row.verdict == CANNOT_TELL else 2, -max(sizes, default=-math.inf)


def _asked(verdicts: Mapping[tuple[str, str], str], first: Mapping[str, Any]) -> list[Question]:
    """The questions of sway that have an answer here; named tasks read a range as long as not all are known."""
    keys = {key for _, key in verdicts}
    more = {key for (_, key), word in verdicts.items() if word in BEYOND}
    named = first.get("settings", {}).get("tasks") == "named"
    asked = [one for one in QUESTIONS if keys & {part.key for part in one.parts}]
    return [one for one in asked if one.key in more or not (named and one.takes == ALL_TASKS)]


def _overall(
    name: str, estimates: Mapping[str, Estimate], verdicts: Mapping[tuple[str, str], str], asked: Sequence[Question]
) -> tuple[str, str]:
    """In how many of the questions that are asked the captioner does more than people; else the one word for all."""
    own = {key: word for (captioner, key), word in verdicts.items() if captioner == name}
    if not asked:
        words = [own[key] for key in own if not key.startswith("sway")]
        more = [word for word in words if word in BEYOND]
        word = more[0] if more else LIKE if words and {*words} <= FINE else CANNOT_TELL if words else ""
        return word, ""
    answers = {one.key: [own[part.key] for part in one.parts if part.key in own] for one in asked}
    more = [next(word for word in words if word in BEYOND) for words in answers.values() if {*words} & {*BEYOND}]
    if more:
        return more[0], f"in {len(more)} of {len(asked)} questions"
    # Without people the questions that take more may not be asked, and of missing captions only where some are.
    needed = {one.key for one in QUESTIONS if one.takes != MISSING and (YARDSTICK not in estimates or not one.takes)}
    alike = needed <= answers.keys() and all({*words} <= FINE and words for words in answers.values())
    word = word_for_yardstick(estimates, LIKE, KEYS["unnamed"]) if alike else CANNOT_TELL
    return (word if any(answers.values()) else ""), ""


def _wrong(details: Mapping[str, Any], side: str) -> dict[str, Wrong]:
    """Whom the captioner, or a person, names wrong, by value."""
    cells = [cell for cell in details.get("cells", ()) if cell["suggested"] and cell["images"] >= ENOUGH]
    whose = "_person" * (side == "person")

    def share(cells: Sequence[Mapping[str, Any]]) -> Estimate | None:
        key, images = f"{side}_wrong", sum(cell["images"] for cell in cells)
        if len(cells) == 1:
            return _estimate(cells[0], key)
        return Estimate(sum(cell["images"] * cell[key] for cell in cells) / images) if cells else None

    return {
        value: Wrong(
            _estimate(row, f"wrong{whose}"),
            share([cell for cell in cells if cell["attribute"] == value == cell["suggested"]]),
            share([cell for cell in cells if cell["attribute"] == value != cell["suggested"]]),
        )
        for row in details["level"]
        for value in [row["attribute"]]
    }


def _estimate(row: Mapping[str, Any], key: str) -> Estimate:
    return Estimate(row[key], row.get(f"{key}_ci_low"), row.get(f"{key}_ci_high"))


def _examples(details: Mapping[str, Any], value: str) -> list[str]:
    """The tasks that go most with a value, of those that enough captions name."""
    counts = details["attribute_counts"]

    def captions(row: Mapping[str, Any]) -> float:
        sides = [row[key] for key in ("named_captioner", "named_person") if key in row]
        return float(max(sum(side[of] / 100 * counts[of] for of in counts) for side in sides))

    often = {row["task"] for row in details.get("tasks", ()) if captions(row) >= ENOUGH}
    rows = [row for row in details.get("leans", ()) if row["goes_with"] == value and row["task"] in often]
    return [row["task"] for row in sorted(rows, key=lambda row: -row[f"lean_{value}"])[:MOST_TASKS]]


# Of an audit


def audit_leaderboard(audit: Audit) -> Leaderboard:
    """The rows of an audit; of sway, if it was measured."""
    metrics = ["sway"] if "sway" in audit.comparisons else list(audit.comparisons)
    results = {name: [audit.measurement(metric, name).flat() for metric in metrics] for name in audit.captioners}
    board = leaderboard(results, audit.verdicts, named_things(audit))
    margins = audit.settings.get("margins", {})
    rows = [
        row._replace(said="; ".join([row.said, *_tolerated(results[row.name], margins)]).strip("; "))
        for row in board.rows
    ]
    return board._replace(rows=rows)


def captioner_rows(results: Mapping[str, Mapping[str, Any]], name: str) -> Leaderboard:
    """The rows of a captioner by what each metric returned; of sway with details of it alone."""
    known = {metric: result_of(result) for metric, result in results.items()}
    if "level" in (known.get("sway", Result()).get("details") or {}):
        known = {"sway": known["sway"]}
    verdicts = {(name, key): one.verdict for of in known.values() for key, one in of.estimates.items() if one.verdict}
    return leaderboard({name: [*known.values()]}, verdicts, called_in(next(iter(known.values()), {})))


def quality_leaderboard(audit: Audit) -> Leaderboard | None:
    """Whose captions are worse, by `quality_gaps`: of two values the first's where a number is above 0; None where that
    was not measured."""
    if "quality_gaps" not in audit.comparisons:
        return None
    called, measured = named_things(audit), audit.comparisons["quality_gaps"].measurements
    first = measured[audit.captioners[0]]
    values = [key.removeprefix("words_") for key in first.facts if key.startswith("words_")]
    groups = [group(value) for value in values] if len(values) == 2 else [f"one {called['value']}", "the others"]
    excess = EXCESS if f"words_gap{EXCESS}" in first.estimates else ""
    keys = [f"{key}{excess}" for key in QUALITY]
    verdicts = {(name, key): word for (name, key), word in audit.verdicts.items() if key in keys}

    def bar(name: str, key: str) -> Bar:
        *_, what, more_is_worse = QUALITY[key]
        score, own, facts = SCORES[f"{key}{excess}"], measured[name].estimates, measured[name].facts
        beyond = _bar(score, own, verdicts.get((name, score.key), ""))
        made_of = ", ".join(f"{group(one)} {fixed(facts.get(f'{key[:-3]}{one}', math.nan), 1)}" for one in values)
        if len(values) == 2 and (person := own.get(f"{key}{HUMAN}")):  # of more it may be another value's gap
            size = f"{fixed(abs(person.value), 1)} {'more' if person.value > 0 else 'less'}"
            made_of += f"; of a person {groups[0]} {size} than {groups[1]}"
        return (beyond if more_is_worse else _turned(beyond, score))._replace(made_of=f"{what}: {made_of}")

    whose = f"Above 0 captions of {groups[0]} are worse, below 0 those of {groups[1]}."
    beside = PEOPLE if excess else NO_PEOPLE
    beside = beside._replace(meaning=f"{beside.meaning} {whose}", short=f"{whose} {beside.short}".strip())
    columns = [Column(title.format(**called), unit + beside.than, 1) for title, unit, *_ in QUALITY.values()]
    bars = {name: [bar(name, key) for key in QUALITY] for name in audit.captioners}
    columns = _on_scales(columns, [column.unit for column in columns], bars)
    rows = []
    for name, own in bars.items():
        worse = {groups[one.estimate.value < 0] for one in own if one.estimate and one.verdict in BEYOND}
        said = f"worse for {listed(sorted(worse, key=groups.index))}" * bool(worse)
        rows.append(Row(name, own, _overall(name, {}, verdicts, [])[0], said))
    rows.sort(key=lambda row: _order(row, 1))
    people = Row("people", [Bar(None, "0")] * len(columns), said="another person") if excess else None
    return Leaderboard(columns, keys, people, rows, called, beside, [], {}, {}, {}, verdicts)


def _tolerated(results: Sequence[Result], margins: Mapping[str, float]) -> Iterator[str]:
    for key, estimate in ((key, one) for of in results for key, one in of.estimates.items() if key in margins):
        most, (low, high) = margins[key], estimate.ends
        word = (
            "within"
            if -most <= low <= high <= most
            else "beyond"
            if low > most or high < -most
            else "not surely within"
        )
        yield f"{SCORES[key].label.split(',')[0]} {word} {most:g}"


def title(board: Leaderboard) -> str:
    """The largest number that is more than people's, beside theirs; else what a captioner does more; of nothing found,
    that."""
    if not board.verdicts:
        return NO_VERDICT
    counts = []
    for row in board.rows:
        if any(board.verdicts.get((row.name, key)) in BEYOND for key in NAMING):
            for value, wrong in board.wrong.get(row.name, {}).items():
                person = board.wrong[""][value].every.value if board.people else 0.0
                if round(wrong.every.value) > round(person) and wrong.every.ends[0] > person:
                    counts.append((wrong.every.value, row.name, value, person))
    if counts:
        share, name, value, person = max(counts)
        return f"{name} {board.calls(value, fixed(share, 0))}." + f" People: {fixed(person, 0)}." * bool(board.people)
    for row in board.rows:
        own = {key: word for (captioner, key), word in board.verdicts.items() if captioner == row.name}
        for result in (one.with_verdicts(own) for one in board.results[row.name]):
            estimates = result.estimates
            for tier in claims_of(SCORES[next(iter(estimates))].metric, result, estimates, board.called):
                for key in (key for key, claim in tier.items() if claim):
                    size = interval(estimates[key], SCORES[key].digits)
                    return f"{row.name} {verb(tier[key], 1)}: {size} {estimates[key].unit}."
    return ends(next(iter(board.results.values()))[0].estimates)[0]


def beside_tasks(board: Leaderboard, name: str, value: str) -> str:
    """Whether tasks matter: how often a value is named wrong beside which, and by people; empty of too few images."""
    wrong, person = board.wrong[name][value], board.wrong.get("", {}).get(value)
    if not (wrong.own and wrong.other):
        return ""
    others = [other for other in board.tasks if other != value]
    whose = group(others[0]) if len(others) == 1 else f"another {board.called['value']}"
    pair = [fixed(one.value, 0) for one in (person.own, person.other) if one] if person else []
    people = f" People: {listed(pair)}." * bool(pair)
    return (
        f"{name} {board.calls(value, fixed(wrong.own.value, 0))} beside {board.called['tasks']} that go with "
        f"{group(value)}{_such_as(board, [value])}, {fixed(wrong.other.value, 0)} beside those of {whose}"
        f"{_such_as(board, others)}.{people}"
    )


def _such_as(board: Leaderboard, values: Sequence[str]) -> str:
    examples = [task for value in values for task in board.tasks[value]][:MOST_TASKS]
    return f" ({', '.join(examples)})" if examples else ""


def most_swayed(board: Leaderboard) -> Iterator[tuple[str, str]]:
    """The captioners of which wrong names follow the tasks more, and the value of which they do most, in their numbers
    too."""
    for row in board.rows:
        if board.verdicts.get((row.name, STEP)) in BEYOND:
            steps = {value: one.step for value, one in board.wrong[row.name].items()}
            value = max(steps, key=lambda one: steps[one])
            if steps[value] > (board.wrong[""][value].step if board.people else 0):
                yield row.name, value


class Answer(NamedTuple):
    """A question, what is said of it, why one cannot tell, and the number with its interval and unit."""

    question: str
    verdict: str
    size: str


def answers(board: Leaderboard, audit: Audit, name: str) -> Iterator[Answer]:
    """What is said of a captioner in each question that is asked, in the words of a terminal."""
    measured = audit.measurement("sway", name) if board.asked else None
    for question in board.asked:
        for part in question.parts:
            if measured and (word := audit.verdicts.get((name, part.key))):
                estimate = measured.estimates[part.key]._replace(verdict=word)
                asks = (
                    question.title.format(**board.called)
                    if part.key == question.key
                    else part.asks.replace("value", board.called["value"])
                )
                size = f"{interval(estimate, SCORES[part.key].digits)} {estimate.unit}{board.yardstick.than}"
                said = verdict_text(part.key, estimate, measured.details)
                yield Answer(asks[0].upper() + asks[1:], said, size)


def about(board: Leaderboard, audit: Audit, data: str = "") -> str:
    """What was measured: captioners and their range, images, what was left out and why, whose labels and captions."""
    counts = listed([f"{count:,} {images_of(value)}" for value, count in audit.attribute_counts.items()])
    parts = [f"{number_word(len(audit.captioners))} captioners"] if len(audit.captioners) > 1 else []
    if board.wrong and len(board.rows) > 1:
        values = [key for key in board.keys if key in board.tasks]
        shares = {value: [round(board.wrong[row.name][value].every.value) for row in board.rows] for value in values}
        value = max(values, key=lambda one: max(shares[one]))
        low, high = min(shares[value]), max(shares[value])
        parts[0] += f", {low} to {high} of 100 {group(value)} {board.misnaming(value)}"
    parts.append(
        f"{audit.images:,} images ({counts}), {named_things(audit)['value']} as labelled{f' in {data}' * bool(data)}"
    )
    parts += [f"{audit.human_captions:,} human captions"] if audit.human_captions else []
    parts += list(left_out(audit))
    trained = any(catalogue.METRICS[metric].trains for metric in audit.comparisons)
    quick = trained and audit.settings["preset"] == "fast"
    parts += ["a quick measurement"] if quick else []
    return f"{' · '.join(parts)[0].upper()}{' · '.join(parts)[1:]}."


def left_out(audit: Audit) -> Iterator[str]:
    """Of how many images each cause left some out."""
    notes = dict.fromkeys(plain(note) for name in audit.captioners for note in audit.notes(name))
    for note in dict.fromkeys(note.split(": ", 1)[-1].partition(" (first")[0] for note in notes):
        if " images " in note and "left out" in note:
            yield note


# Of two captioners


class Gap(NamedTuple):
    """Of a column the first captioner's number less the second's, and whether that is more than chance."""

    estimate: Estimate
    sure: bool


def gaps(board: Leaderboard, comparisons: Mapping[str, Comparison]) -> list[Gap | None]:
    """The paired difference of each column between two captioners, with Holm's correction for the number of columns;
    nothing of one captioner, or of more."""
    if len(board.rows) != 2 or not comparisons:
        return []
    first, second = (row.name for row in board.rows)
    sizes: list[Estimate | None] = []
    p_values: list[float] = []
    tested = {(each.first, each.score): each for one in comparisons.values() for each in one.differences}
    for key in board.keys:
        if key in board.tasks:
            one, other = (comparisons["sway"].measurements[name].artefacts for name in (first, second))
            place = 0, 0, one.values.index(key)
            between = replace(one.levels[place] - other.levels[place], images=0)
            size = between.estimate()
            sizes.append(size)
            p_values.append(p_value(size.value, between.replicates) if size else 1.0)
        elif each := tested.get((first, key)) or tested.get((second, key)):
            sign = 1 if each.first == first else -1
            low, high = sorted((sign * each.ci_low, sign * each.ci_high))
            sizes.append(Estimate(sign * each.difference, low, high))
            p_values.append(each.p)
        else:
            sizes.append(None)
            p_values.append(1.0)
    return [Gap(size, bool(p < SURE)) if size else None for size, p in zip(sizes, holm(p_values), strict=True)]


def gap_title(board: Leaderboard, between: Sequence[Gap | None]) -> str:
    """The largest difference that is more than chance, with its interval."""
    first, second = (row.name for row in board.rows)
    sure = {number: (abs(gap.estimate.value), gap.estimate) for number, gap in enumerate(between) if gap and gap.sure}
    if not sure:
        return f"No difference between {first} and {second} is more than chance."
    named = [number for number in sure if board.keys[number] in board.tasks]
    number = max(named or sure, key=lambda one: sure[one][0])
    column, (_, gap) = board.columns[number], sure[number]
    fewer, more = (first, second) if gap.value < 0 else (second, first)
    low, high = sorted(abs(end) for end in gap.ends)
    numbers = f"[{fixed(low, column.digits)}, {fixed(high, column.digits)}]"
    if named:
        return f"{fewer} {board.calls(board.keys[number], f'{fixed(abs(gap.value), 0)} fewer')} than {more} {numbers}."
    return f"{column.title}: {fewer} {fixed(abs(gap.value), column.digits)} less than {more} {numbers}, {column.unit}."
