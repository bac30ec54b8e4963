"""The portrait of captioners: who is named wrong beside which tasks, and which words follow the attribute, beside
people; and what it says, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.analysis.compare import Comparison
from captionbias.bench.catalogue import SCORES, YARDSTICK
from captionbias.bench.measurement import Result
from captionbias.bench.sentence import NO_VERDICT, claims_of, ends, verb
from captionbias.bench.verdicts import (
    BEYOND,
    CANNOT_TELL,
    LIKE,
    NOTHING,
    NOTHING_FOUND,
    SAME,
    SAME_NO_YARDSTICK,
    word_for_yardstick,
)
from captionbias.errors import few
from captionbias.metrics.sway.a_to_t import TASKS_NAMED
from captionbias.metrics.sway.images import NO_LEAN, OWN, SHIPPED
from captionbias.metrics.sway.misnaming import KEYS, NAMED_LEAST
from captionbias.metrics.sway.questions import ALL_TASKS, MISSING, PARTS, QUESTIONS, WORDS, Question
from captionbias.report.wording import (
    SCENES,
    Yardstick,
    fixed,
    following_words,
    group,
    images_of,
    interval,
    listed,
    named_things,
    number_word,
    whose_gap,
    yardstick,
    yardstick_of,
)
from captionbias.statistics.samples import Estimate

ENOUGH = 20  # images of a cell for its share to be shown, and captions that name a task for it to be an example
FEW_VALUES, MOST_TASKS, MOST_CHOSEN = 4, 2, 3
# What leans were counted on, by what the settings call them; nothing of those that are given.
COUNTED_ON = {OWN: "these images"} | dict.fromkeys((f"{SHIPPED},named", f"{SHIPPED},given"), "COCO's labelled photos")
REPEATED = 30  # percent of a captioner's captions
SURE = 0.05  # of a corrected p-value
STEP = "sway_t_to_a"
DOUBTS = {  # what a captioner says too little for, by the key of the score that shows it
    NAMED_LEAST: "it hardly names more than one {value}",
    TASKS_NAMED: "it hardly names {tasks} that go with a {value}",
}


class Wrong(NamedTuple):
    """Of 100 captions of a value's images, how many name another value alone: of all, of those beside tasks that go
    with the value itself, and of those beside tasks that go with another; None of fewer than 20 images."""

    every: Estimate
    own: Estimate | None
    other: Estimate | None

    @property
    def step(self) -> int | None:
        """How many more it is beside tasks of another, of the numbers as they are shown."""
        return _of_100(self.other) - _of_100(self.own) if self.own and self.other else None


class Answer(NamedTuple):
    """A verdict, what it is of, line by line, and whether the score may be within the margin of 0 all the same."""

    verdict: str
    lines: Sequence[str]
    little: bool = False


class Word(NamedTuple):
    """A word, and in how many more of 100 captions it is used of one value than of another, by both sides."""

    word: str
    captioner: float
    person: float | None


class Row(NamedTuple):
    """A captioner, or a person: whom it names wrong, by value; what answers each question, by the question's key; in
    how many of the questions it does more than people, or one word for all; its words, by the people whom they
    follow."""

    name: str
    wrong: dict[str, Wrong]
    answers: dict[str, list[Answer]]
    overall: Answer
    words: dict[str, list[Word]]


class Portrait(NamedTuple):
    """Captioners, the one that the tasks sway most on top, beside one person, if people describe the images. `called`:
    the parts of questions, see `captionbias.report.wording.words_of`; `tasks`: of each value some that go with it."""

    person: Row | None
    rows: list[Row]
    called: Mapping[str, str]
    tasks: dict[str, list[str]]
    yardstick: Yardstick

    @property
    def values(self) -> list[str]:
        """The values that are shown, at most four."""
        return list(self.rows[0].wrong)

    @property
    def beside_tasks(self) -> bool:
        """Whether captions beside tasks are told of."""
        return any(row.answers[STEP] for row in self.rows)

    def heading(self, question: Question) -> str:
        """A question with its number."""
        title = self.yardstick.words if question.view == WORDS else question.title
        return f"{QUESTIONS.index(question) + 1}. {title.format(**self.called)}"

    def misnaming(self, value: str) -> str:
        """What it is to be named wrong, such as `called men`."""
        other = self._called(value)
        return f"called {other}" if other else "named wrong"

    def misnaming_count(self, value: str, share: int) -> str:
        """What a captioner does that names so many of 100 wrong, such as `calls 37 of 100 women men`."""
        other = self._called(value)
        return f"{'calls' if other else 'names'} {share} of 100 {group(value)} {other or 'wrong'}"

    def _called(self, value: str) -> str:
        """What those are called who are named wrong, if that is one thing alone."""
        others = [group(other) for other in self.tasks if other != value]
        return others[0] if {group(value), *others} == {"women", "men"} else ""


def portrait_of(
    measured: Mapping[str, Result], verdicts: Mapping[tuple[str, str], str], called: Mapping[str, str]
) -> Portrait:
    """The portrait of captioners by what `sway` returned of each, with details, and by their verdicts."""
    lowest = Estimate(-math.inf)
    order = sorted(measured, key=lambda name: -measured[name].estimates.get(STEP, lowest).value)
    first = measured[order[0]]["details"]
    wrong = _wrong(first, "_person")
    about = Answer(NOTHING, ["another person's captions"])
    person = Row("people", wrong, {}, about, {}) if wrong else None
    rows = []
    for name in order:
        own = {key: word for (captioner, key), word in verdicts.items() if captioner == name}
        rows.append(_row(name, measured[name], own, called))
    tasks = {value: _examples(first, value) for value in first["attribute_counts"]}
    return Portrait(person, rows, called, tasks, yardstick(measured[order[0]].estimates))


def _row(name: str, sway: Result, verdicts: Mapping[str, str], called: Mapping[str, str]) -> Row:
    estimates, details = sway.estimates, sway["details"]
    wrong = _wrong(details)
    sides = [one for one in (wrong, _wrong(details, "_person")) if one]

    said: set[str] = set()

    def answer(key: str) -> Answer:
        word, estimate = verdicts.get(key, NOTHING), estimates.get(key)
        doubt = estimate.doubt if estimate and estimate.doubt and word == CANNOT_TELL else ""
        if doubt in said:
            return Answer(word, [])
        said.update(DOUBTS.keys() & {doubt})
        doubt = DOUBTS.get(doubt, doubt if " " in doubt else "")
        lines = [doubt.format(**called)] if doubt else _lines(key, word, estimate, details, sides)
        lines += _chosen(details, key, estimate) if doubt and estimate and estimate.high is None else []
        return Answer(word, lines, word in BEYOND and estimate is not None and estimate.may_be_little)

    answers: dict[str, list[Answer]] = {}
    for question in QUESTIONS:
        first, *others = [part.key for part in question.parts]
        more = [key for key in others if verdicts.get(key) in BEYOND]
        if verdicts.get(first) in BEYOND:
            more = [key for key in more if not PARTS[key].implied]
        first_keys = [first] if first in verdicts or question.view == WORDS else []
        answers[question.key] = [answer(key) for key in first_keys + more]
    words = {
        people: [
            Word(
                word,
                abs(row["captioner"]),
                math.copysign(1, row["captioner"]) * row["person"] if "person" in row else None,
            )
            for word, row in rows
        ]
        for people, rows in following_words(details).items()
    }
    return Row(name, wrong, answers, _overall(estimates, verdicts, details), words)


def _lines(
    key: str, word: str, estimate: Estimate | None, details: Mapping[str, Any], sides: Sequence[Mapping[str, Wrong]]
) -> list[str]:
    """What a verdict is of, line by line: of the first questions the numbers that the picture shows."""
    if key == "sway_wrong_gap":
        levels = {value: [side[value].every.value for side in sides] for value in sides[0]}
        return [*_worse(details, "wrong"), *_beside(levels)]
    if key == "sway_unnamed_gap":
        keys = ["unnamed", "unnamed_person"][: len(sides)]
        levels = {row["attribute"]: [row[key] for key in keys] for row in details["level"]}
        return ["left out", *_worse(details, "unnamed"), *_beside(levels)]
    if key == STEP:
        known = [value for value, one in sides[0].items() if one.step is not None]
        steps = {value: [float(side[value].step or 0) for side in sides] for value in known}
        numbers = _beside(steps, change=True) if steps else ["too few images"]
        return [*numbers, *(_clear_values(details) if word == CANNOT_TELL else [])]
    if key == "sway_t_to_a_lost":
        return ["wrong or left out"]
    if estimate is None or estimate.low is None:
        return ["too few images for a verdict"]
    if word == NOTHING_FOUND and estimate.detectable:
        return [f"a word in {fixed(estimate.detectable, 0)} of 100 captions would have been seen"]
    if estimate.high is None:  # of words
        sure = f"at least {fixed(estimate.low, 1)}" if word in BEYOND else "too small for a verdict"
        return [f"any word: {fixed(estimate.value, 1)}", sure, *_chosen(details, key, estimate)]
    return [f"{interval(estimate, SCORES[key].digits)} {estimate.unit}"]


def _chosen(details: Mapping[str, Any], key: str, estimate: Estimate) -> list[str]:
    """Of whom most words are found, and which: those that half of the images choose."""
    rows = [row for row in details.get("words_chosen", ()) if row[key] == estimate.value and row["columns"]]
    words = [[column["words"].replace("|", " or ") for column in row["columns"]] for row in rows[:1]]
    return [f"{group(row['attribute'])}: {few(of, MOST_CHOSEN)}" for row, of in zip(rows, words, strict=False)]


def _wrong(details: Mapping[str, Any], whose: str = "") -> dict[str, Wrong]:
    """Whom the captioner, or people (`_person`), name wrong, of the first values."""
    side = "person" if whose else "captioner"
    cells = [cell for cell in details.get("cells", ()) if cell["suggested"] and cell["images"] >= ENOUGH]

    def share(cells: Sequence[Mapping[str, Any]]) -> Estimate | None:
        key, images = f"{side}_wrong", sum(cell["images"] for cell in cells)
        if len(cells) == 1:
            return _estimate(cells[0], key)
        return Estimate(sum(cell["images"] * cell[key] for cell in cells) / images) if cells else None

    wrong = {}
    for row in details.get("level", ()):
        if f"wrong{whose}" not in row:
            break
        value = row["attribute"]
        of_value = [cell for cell in cells if cell["attribute"] == value]
        own = [cell for cell in of_value if cell["suggested"] == value]
        other = [cell for cell in of_value if cell["suggested"] != value]
        wrong[value] = Wrong(_estimate(row, f"wrong{whose}"), share(own), share(other))
    return wrong


def _estimate(row: Mapping[str, Any], key: str) -> Estimate:
    return Estimate(row[key], row.get(f"{key}_ci_low"), row.get(f"{key}_ci_high"))


def _of_100(share: Estimate | None) -> int:
    return round(share.value) if share else 0


def _beside(shares: Mapping[str, Sequence[float]], change: bool = False) -> list[str]:
    """Of 100 of each value those of the captioner and those of people; of many values the picture alone tells."""
    if len(shares) > FEW_VALUES:
        return []
    sides = [
        [f"{round(share):+d}" if change else f"{round(share)}" for share in side]
        for side in zip(*shares.values(), strict=True)
    ]
    own = ", ".join(f"{group(value)} {share}" for value, share in zip(shares, sides[0], strict=True))
    return [own, *(f"people {', '.join(side)}" for side in sides[1:])]


def _worse(details: Mapping[str, Any], kind: str) -> list[str]:
    """Of more than two values, whose gap it is."""
    whose = whose_gap(details, kind)
    return [f"{group(whose[0])} {'worse' if whose[1] else 'better'}"] if whose and len(details["level"]) > 2 else []


def _clear_values(details: Mapping[str, Any]) -> list[str]:
    """Which values alone follow the tasks beyond chance, if not all do."""
    clear = {row["attribute"]: row.get("extra_ci_low", 0.0) > 0 for row in details["t_to_a"] if "attribute" in row}
    some, others = (listed([group(value) for value in clear if clear[value] == sure]) for sure in (True, False))
    return [f"clear for {some}, not for {others}"] if some and others else []


def _overall(estimates: Mapping[str, Estimate], verdicts: Mapping[str, str], details: Mapping[str, Any]) -> Answer:
    """In how many of the questions that can be answered the captioner does more than people; else the one word that
    holds for all. The tasks that are named read a range as long as not all are known."""
    open_questions = [one for one in QUESTIONS if one.takes == ALL_TASKS and details["settings"]["tasks"] == "named"]
    answers = {}
    for question in QUESTIONS:
        words = [verdicts[part.key] for part in question.parts if part.key in verdicts]
        answers[question.key] = [] if question in open_questions and not {*BEYOND} & {*words} else words
    more = sum(not {*BEYOND}.isdisjoint(words) for words in answers.values())
    if more:
        word = next(word for words in answers.values() for word in words if word in BEYOND)
        return Answer(word, [f"in {more} of {sum(map(bool, answers.values()))} questions"])
    # Without people the questions that take more may not be asked, and of missing captions only where some are.
    asked = [one for one in QUESTIONS if one.takes != MISSING and (YARDSTICK not in estimates or not one.takes)]
    needed = [answers[one.key] for one in asked]
    alike = all({*words} <= {LIKE, SAME, SAME_NO_YARDSTICK, NOTHING_FOUND} for words in answers.values())
    some = CANNOT_TELL if any(answers.values()) else NOTHING
    return Answer(word_for_yardstick(estimates, LIKE, KEYS["unnamed"]) if alike and all(needed) else some, [])


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


def audit_portrait(audit: Audit) -> Portrait | None:
    """The portrait of an audit; None where sway was not measured."""
    if "sway" not in audit.comparisons:
        return None
    measured = {name: audit.measurement("sway", name).flat() for name in audit.captioners}
    return portrait_of(measured, audit.verdicts, named_things(audit))


def about(audit: Audit, data: str = "") -> str:
    """What was measured, and by which protocol; `data`: what the data are called."""
    counts = listed([f"{count:,} {images_of(value)}" for value, count in audit.attribute_counts.items()])
    people = f", {audit.human_captions:,} human captions" if audit.human_captions else ""
    quick = (
        " A quick measurement." if audit.settings["preset"] == "fast" and audit.comparisons.keys() - {"sway"} else ""
    )
    return f"{f'{data}: ' * bool(data)}{audit.images:,} images, {counts}{people}.{quick}"


def headline(audit: Audit) -> str:
    """What captioners do more than people, in a sentence: how many of them, and which most."""
    if not audit.verdicts:
        return NO_VERDICT
    does: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for key, claims in _claims(audit).items():
        for what, names in claims.items():
            most = _most(audit.comparisons[SCORES[key].metric], key, names)
            does.setdefault(tuple(names), []).append((verb(what, len(names)), most))
    nothing, after = ends(audit.measurement(next(iter(audit.comparisons)), audit.captioners[0]).estimates)
    if not does:
        return nothing
    sentence = "; ".join(f"{_who(names, audit.captioners)} {_all_that(whats)}" for names, whats in does.items())
    begun = sentence[0].upper() if len(next(iter(does))) > 1 else sentence[0]  # a name stays as it is
    return f"{begun}{sentence[1:]}. {after}"


def _claims(audit: Audit) -> dict[str, dict[str, list[str]]]:
    """The captioners of which a verdict says more, by its key and what each does: by sway whom they name wrong, else
    what they do otherwise; without sway what each judged score claims."""
    tiers: list[dict[str, dict[str, list[str]]]] = [{}, {}]
    for metric in ["sway"] if "sway" in audit.comparisons else audit.comparisons:
        for name in audit.captioners:
            own = {key: word for (captioner, key), word in audit.verdicts.items() if captioner == name}
            result = audit.measurement(metric, name).flat().with_verdicts(own)
            for tier, told in zip(
                tiers, claims_of(metric, result, result.estimates, named_things(audit)), strict=False
            ):
                for key, what in told.items():
                    tier.setdefault(key, {}).setdefault(what, []).append(name)
    said = ({key: {what: names for what, names in of.items() if what} for key, of in tier.items()} for tier in tiers)
    return next((tier for tier in said if any(tier.values())), {})


def _most(comparison: Comparison, key: str, names: Sequence[str]) -> str:
    """Of several captioners the one whose score is furthest from 0, if its paired difference from each other is."""
    if len(names) < 2:
        return ""
    sizes = {name: abs(comparison.measurements[name].estimates[key].value) for name in names}
    top = max(names, key=lambda name: sizes[name])
    pairs = {frozenset((each.first, each.second)): each.p_holm for each in comparison.differences if each.score == key}
    return top if all(pairs.get(frozenset((top, name)), 1.0) < SURE for name in names if name != top) else ""


def _who(names: Sequence[str], captioners: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if len(names) < len(captioners):
        return f"{number_word(len(names))} of {number_word(len(captioners))} captioners"
    return "both captioners" if len(names) == 2 else f"all {number_word(len(names))}"


def _all_that(whats: Sequence[tuple[str, str]]) -> str:
    """What captioners do, and which does it most, once if it is the same."""
    mosts = {most for _, most in whats}
    if len(mosts) == 1:
        return listed([what for what, _ in whats]) + "".join(f", {most} most" for most in mosts if most)
    return listed([what + f" ({most} most)" * bool(most) for what, most in whats])


def most_wrong(portrait: Portrait, audit: Audit) -> tuple[Row, str | None] | None:
    """The captioner of the largest effect that is more than people's, and the value that tasks sway most; None in place
    of a value if it is the gap between values that is more, and alone if nothing is."""
    for row in portrait.rows:
        steps = {value: wrong.step for value, wrong in row.wrong.items() if wrong.step is not None}
        if audit.verdicts.get((row.name, STEP)) in BEYOND and steps:
            return row, max(steps, key=lambda value: steps[value])
    worse = [row for row in portrait.rows if audit.verdicts.get((row.name, "sway_wrong_gap")) in BEYOND]
    sizes = {row.name: abs(audit.measurement("sway", row.name).estimates["sway_wrong_gap"].value) for row in worse}
    return (max(worse, key=lambda row: sizes[row.name]), None) if worse else None


def largest(portrait: Portrait, audit: Audit) -> str:
    """The largest effect that is more than people's, with its numbers and people's; empty without one."""
    if not (most := most_wrong(portrait, audit)):
        return ""
    row, value = most
    if value is None:
        first, *others = [portrait.misnaming_count(one, _of_100(of.every)) for one, of in row.wrong.items()]
        shares = listed([first, *(other.partition(" ")[2] for other in others)])
        people = [f"{_of_100(of.every)}" for of in portrait.person.wrong.values()] if portrait.person else []
        return f"{row.name} {shares}{f'; people {listed(people)}' if people else ''}."
    wrong, tasks = row.wrong[value], portrait.called["tasks"]
    person = portrait.person.wrong[value] if portrait.person else None
    others = [other for other in portrait.tasks if other != value]
    whose = group(others[0]) if len(others) == 1 else f"another {portrait.called['value']}"
    return (
        f"{row.name} {portrait.misnaming_count(value, _of_100(wrong.own))} beside {tasks} that go with {group(value)}"
        f"{_such_as(portrait.tasks, [value])}, and {_of_100(wrong.other)} of 100 beside those that go with {whose}"
        f"{_such_as(portrait.tasks, others)}"
        + (f"; people do so for {_of_100(person.own)} and {_of_100(person.other)}." if person else ".")
    )


def _such_as(tasks: Mapping[str, Sequence[str]], values: Sequence[str]) -> str:
    examples = [task for value in values for task in tasks[value]][:MOST_TASKS]
    return f" ({', '.join(examples)})" if examples else ""


def in_a_line(audit: Audit, question: Question) -> str:
    """The answer to a question that is shown by itself; empty where it was not asked."""
    verdicts = {name: audit.verdicts.get((name, question.key), "") for name in audit.captioners}
    if not any(verdicts.values()):
        return ""
    settings, tasks = audit.measurement("sway", audit.captioners[0]).settings, named_things(audit)["tasks"]
    if question.takes == ALL_TASKS and settings["tasks"] == "named" and not {*BEYOND} & {*verdicts.values()}:
        return (
            f"Cannot tell: people leave {tasks} out, so what a captioner names and they do not may be there or not. "
            f"With a list of all {tasks} that each image shows, it can be measured."
        )
    score, clauses = SCORES[question.key], []
    for word in dict.fromkeys(verdicts.values()):
        names = [name for name in verdicts if verdicts[name] == word]
        sizes = [audit.measurement("sway", name).estimates.get(question.key) for name in names]
        numbers = [f"{name} {interval(size, score.digits)}" for name, size in zip(names, sizes, strict=True)]
        clauses.append(f"{word}: {listed(numbers)}")
    line = "; ".join(clauses)
    return f"{line[0].upper()}{line[1:]}, {score.scale.unit}{yardstick_of(audit).than}."


def doubts(audit: Audit) -> Iterator[str]:
    """What most could make the answers wrong."""
    called = named_things(audit)
    if "sway" in audit.comparisons:
        level = [row for name in audit.captioners for row in audit.details("sway", name).get("level", ())]
        unnamed = [row["unnamed"] for row in level]
        low, high = (fixed(end(unnamed, default=0.0), 0) for end in (min, max))
        share = low if low == high else f"{low} to {high}"
        lean = audit.measurement("sway", audit.captioners[0]).settings["lean"]
        if yardstick_of(audit) is SCENES:
            yield (
                "Only the person differs between the images of a scene, if scenes are as given: look whether place, "
                "light, pose and things are the same, and persons as easy to see."
            )
        elif lean != NO_LEAN:
            yield f"“Beside” is not “because of”: the scene suggests as much as the {called['tasks']} do."
        yield (
            f"Captions that name no {called['value']}, or several, count among the 100, not as wrong: {share} of 100."
        )
        if lean in COUNTED_ON:
            yield f"Which {called['tasks']} go with whom was counted on {COUNTED_ON[lean]}."
    lic = {name: audit.measurement("lic", name) for name in audit.captioners} if "lic" in audit.comparisons else {}
    repeats = {name: measured.facts.get("seen_m", 0.0) for name, measured in lic.items()}
    if often := sorted((name for name in repeats if repeats[name] > REPEATED), key=lambda name: -repeats[name]):
        unseen = lic[often[0]].estimates.get("lic_unseen")
        yield (
            f"{fixed(repeats[often[0]], 0)}% of {often[0]}'s captions repeat ones that the attacker learned from"
            + (f"; without them LIC is {fixed(unseen.value, 1)}" if unseen else "")
            + (f"; many do of {listed(often[1:])} too." if often[1:] else ".")
        )
    if len(audit.verdicts) > 1:
        yield (
            f"{len(audit.verdicts)} verdicts are given at once, so they are stricter: of those that say more or less, "
            "at most one in twenty is expected to be false."
        )
