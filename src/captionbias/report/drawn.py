"""The portrait as SVG, for pages, notebooks and files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from captionbias.bench import verdicts
from captionbias.metrics.sway.questions import NAMES, QUESTIONS, WORDS
from captionbias.report.portrait import FEW_VALUES, STEP, Answer, Portrait, Row, Word, Wrong
from captionbias.report.svg import CHARACTER, Drawing, Place, box, dot, line, scale, shortened, text, ticks, tone
from captionbias.report.wording import MOST_WORDS, NO_PEOPLE, fixed, group, listed

WIDE = 1040.0
NAME, SAID, GAP, SMALL, LINE = 150.0, 205.0, 22.0, 12.0, 15.0
SIGNS = {
    **dict.fromkeys((verdicts.MORE, verdicts.DIFFERS), "▲"),
    **dict.fromkeys((verdicts.LIKE, verdicts.SAME, verdicts.SAME_NO_YARDSTICK, verdicts.NOTHING_FOUND), "="),
    **{verdicts.LESS: "▼", verdicts.CANNOT_TELL: "?", verdicts.NO_YARDSTICK: "△"},
}
LABEL, EACH = 110.0, 26.0  # of many values below each other
PANEL_QUESTIONS = [question for question in QUESTIONS if question.view == NAMES]
OWN, OTHER, ALL = "own", "other", "all"


class _Area(NamedTuple):
    """Where a column begins, and how wide it is."""

    left: float
    width: float


def naming_drawing(portrait: Portrait) -> Drawing:
    """Whom captioners name wrong, of 100 captions of each value: a panel for each value, a person on top."""
    values, panel_questions = portrait.values, PANEL_QUESTIONS
    each = (WIDE - NAME - len(panel_questions) * (SAID + GAP) - GAP * (len(values) - 1)) / len(values)
    panels = [_Area(NAME + number * (each + GAP), each) for number in range(len(values))]
    if many := len(values) > FEW_VALUES:
        panels = [_Area(NAME + LABEL, WIDE - NAME - LABEL - len(panel_questions) * (SAID + GAP))] * len(values)
    answer_areas = [_Area(WIDE - number * (SAID + GAP) + GAP, SAID) for number in range(len(panel_questions), 0, -1)]
    rows = [*filter(None, [portrait.person]), *portrait.rows]
    shares = [share for row in rows for wrong in row.wrong.values() for share in wrong if share]
    most = _round_up(max([10.0, *(share.value if share.high is None else share.high for share in shares)]))
    places = [scale(0.0, most, area.left + 8, area.left + area.width - 34) for area in panels]
    parts = _legend(portrait)
    answered = {key for row in portrait.rows for key, answers in row.answers.items() if answers}
    questions = [portrait.heading(question) if question.key in answered else "" for question in panel_questions]
    titles = [f"{group(value).capitalize()} {portrait.misnaming(value)}, of 100 {group(value)}" for value in values]
    if many:
        titles = [f"Named wrong, of 100 captions of each {portrait.called['value']}"]
    heads = [
        (area, _lines(head, area.width))
        for area, head in zip([*panels[: len(titles)], *answer_areas], titles + questions, strict=True)
    ]
    top = 22.0
    for area, lines in heads:
        parts += [
            text(area.left, top + 12 + number * LINE, one, "strong", size=SMALL) for number, one in enumerate(lines)
        ]
    top += max(len(lines) for _, lines in heads) * LINE + 4
    for place in places[: len(titles)]:
        parts += _axis(place, most, top + 10)
    top += 16
    for row in rows:
        drawn, bottom = _row(
            portrait, row, [row.answers.get(one.key, []) for one in panel_questions], places, answer_areas, top
        )
        is_person = row is portrait.person
        parts.append(box(0, top, WIDE, bottom - top, "raised") if is_person else line(0, top, WIDE, top, "grid"))
        parts += drawn
        top = bottom
    description = "; ".join(_in_words(portrait, row) for row in rows)
    return Drawing(parts, top + 8, description)


def words_drawing(portrait: Portrait) -> Drawing:
    """The words that follow a value more than in people's captions, the largest of each, and what is said of all."""
    (key,) = (question.key for question in QUESTIONS if question.view == WORDS)
    rows = [row for row in portrait.rows if row.words or row.answers[key]]
    if not rows:
        return Drawing([], 0.0, "")
    each = (WIDE - NAME - SAID - GAP) / 2
    words_drawn = [word for row in rows for words in row.words.values() for word in words[:MOST_WORDS]]
    sizes = [size for word in words_drawn for size in word[1:] if size is not None]
    label, numbers = 116.0, 104.0
    most = _round_up(max(sizes, default=1.0))
    own = "unclear" if portrait.yardstick is NO_PEOPLE else "more"
    parts = _boxed(own, 0, 8, "the captioner") if sizes else []
    parts += _boxed("soft", 120, 8, "people, on the same images") if sizes and portrait.person else []
    lefts = (NAME, NAME + each)
    axes = [scale(0.0, most, left + label, left + each - numbers - GAP) for left in lefts]
    top = 40.0 if sizes else 4.0
    for axis in axes if sizes else ():
        parts += _axis(axis, most, top - 6)
    for row in rows:
        parts.append(line(0, top, WIDE, top, "grid"))
        parts.append(text(0, top + 18, shortened(row.name, NAME - 8, 14), "strong", size=14))
        bottom = first = top
        word_count = sum(min(len(words), MOST_WORDS) for words in row.words.values())
        for place, (people, words) in enumerate(row.words.items()):
            column = place % 2
            x, first = lefts[column], first if column else bottom
            y = first
            parts.append(text(x, y + 16, f"more about {people}", "soft", size=SMALL))
            for word in words[:MOST_WORDS]:
                y += 19
                parts += _bars(word, axes[column], x, y, label, own)
            bottom = max(bottom, y + 26)
        more = sum(map(len, row.words.values())) - word_count
        answers = [
            *row.answers[key],
            *[Answer(verdicts.NOTHING, [f"{more} word{'s' * (more > 1)} not shown here"])] * (more > 0),
        ]
        drawn, end = _answers(answers, _Area(WIDE - SAID, SAID), top + 4)
        parts += drawn
        top = max(bottom, end + 4)
    descriptions = [
        f"{row.name}: {word.word} ({people})" for row in rows for people, words in row.words.items() for word in words
    ]
    return Drawing(parts, top + 8, "; ".join(descriptions))


def _bars(word: Word, axis: Place, x: float, y: float, label: float, kind: str) -> list[str]:
    """A word's bar above people's."""
    own, people = max(word.captioner, 0.0), max(word.person or 0.0, 0.0)
    numbers = fixed(word.captioner, 1) + (f"; people {fixed(word.person, 1)}" if word.person is not None else "")
    beside = [] if word.person is None else [box(axis(0.0), y + 10, max(axis(people) - axis(0.0), 1.0), 4, "soft")]
    return [
        text(x, y + 12, shortened(word.word, label - 6, SMALL), "strong", size=SMALL),
        box(axis(0.0), y + 3, axis(own) - axis(0.0), 7, kind),
        *beside,
        text(axis(max(own, people)) + 6, y + 12, numbers, size=SMALL),
    ]


def _boxed(kind: str, x: float, y: float, what: str) -> list[str]:
    return [box(x, y - 5, 14, 9, kind), text(x + 20, y + 4, what, "soft", size=SMALL)]


def _legend(portrait: Portrait) -> list[str]:
    called = portrait.called
    beside = {
        OWN: f"beside {called['tasks']} that go with their own {called['value']}",
        OTHER: f"beside {called['tasks']} of {called['other']} {called['value']}",
    }
    marks = (beside if portrait.beside_tasks else {}) | {ALL: "all their captions"}
    parts, x = [], 8.0
    for kind, what in marks.items():
        parts += [*_mark(kind, x, 8, "soft"), text(x + 12, 12, what, "soft", size=SMALL)]
        x += len(what) * SMALL * CHARACTER + 30
    short = portrait.yardstick.short
    return [*parts, text(WIDE, 12, short, "strong", "end", SMALL)] if short else parts


def _row(
    portrait: Portrait,
    row: Row,
    answer_lists: Sequence[Sequence[Answer]],
    places: Sequence[Place],
    areas: Sequence[_Area],
    top: float,
) -> tuple[list[str], float]:
    answers = [_answers(one, area, top + 5) for one, area in zip(answer_lists, areas, strict=True)]
    name, end = _name(row, _Area(0.0, NAME), top + 5)
    many = len(places) > FEW_VALUES
    bottom = max(top + (EACH * len(places) + 16 if many else 40), end + 5, *(end + 5 for _, end in answers))
    parts = [*name, *(part for drawn, _ in answers for part in drawn)]
    kind = tone(row.answers[STEP][0].verdict) if row.answers.get(STEP) else "soft"
    for number, (value, place) in enumerate(zip(portrait.values, places, strict=True)):
        y = top + 20 + number * EACH if many else (top + bottom) / 2
        parts += [text(NAME, y + 4, shortened(group(value), LABEL, SMALL), size=SMALL)] * many
        parts += _dumbbell(row.wrong.get(value), place, y, kind)
    return parts, bottom


def _name(row: Row, area: _Area, top: float) -> tuple[list[str], float]:
    parts = [text(area.left, top + 14, shortened(row.name, area.width - 8, 14), "strong", size=14)]
    drawn, bottom = _answers([row.overall], area, top + 17)
    return parts + drawn, bottom


def _answers(answers: Sequence[Answer], area: _Area, top: float) -> tuple[list[str], float]:
    """Verdicts below each other, each with what it is of; and where they end."""
    parts = []
    for verdict, of, little in answers:
        if verdict in SIGNS:
            of = [f"{SIGNS[verdict]} {verdict}{', a little' * little}", *of]
        for number, whole in enumerate(of):
            kind = f"{tone(verdict)} strong" if verdict in SIGNS and number == 0 else "soft"
            for one in _lines(whole, area.width):
                parts.append(text(area.left, top + 12, one, kind, size=SMALL))
                top += LINE
    return parts, top


def _dumbbell(wrong: Wrong | None, place: Place, y: float, kind: str) -> list[str]:
    """The marks of a value with their intervals; the numbers are beside the outer two."""
    if wrong is None:
        return []
    ends = [(kind_of, share) for kind_of, share in ((OWN, wrong.own), (OTHER, wrong.other)) if share]
    parts = [line(place(0), y - 16, place(0), y + 16, "grid")]
    if len(ends) == 2:
        parts.append(line(place(ends[0][1].value), y, place(ends[1][1].value), y, kind, 3))
    for number, (_, share) in enumerate(ends):
        if share.low is not None and share.high is not None:
            parts.append(line(place(share.low), y + 9 + 2 * number, place(share.high), y + 9 + 2 * number, kind, 1))
    parts += _mark(ALL, place(wrong.every.value), y, kind)
    for kind_of, share in ends:
        parts += _mark(kind_of, place(share.value), y, kind)
    numbers = sorted(ends or [(ALL, wrong.every)], key=lambda end: end[1].value)
    right = numbers[-1][1]
    apart = place(right.value) - place(numbers[0][1].value) > 26
    labels = [fixed(share.value, 0) for _, share in (numbers if apart else ends or numbers)]
    if len(labels) == 2 and apart and place(numbers[0][1].value) - place(0) > 26:
        parts.append(text(place(numbers[0][1].value) - 9, y + 4, labels[0], "", "end", SMALL))
        parts.append(text(place(right.value) + 9, y + 4, labels[1], "strong", size=SMALL))
    else:
        parts.append(text(place(right.value) + 9, y + 4, listed(labels), "strong", size=SMALL))
    return parts


def _mark(kind: str, x: float, y: float, colour: str) -> list[str]:
    if kind == ALL:
        return [line(x, y - 9, x, y + 5, colour, 2)]
    return [dot(x, y, colour, hollow=kind == OWN, size=5.5)]


def _axis(place: Place, most: float, y: float) -> list[str]:
    return [text(place(at), y, f"{at:g}", "soft", "middle", 11) for at in ticks(0.0, most, 5)]


def _round_up(most: float) -> float:
    """An end of an axis that is one of its ticks."""
    step = ticks(0.0, most, 5)[1]
    return step * math.ceil(most / step - 1e-9)


def _lines(content: str, width: float) -> list[str]:
    return textwrap.wrap(content, max(8, int(width / (SMALL * CHARACTER))))


def _in_words(portrait: Portrait, row: Row) -> str:
    """A row, for those who cannot see it."""
    shares = [
        f"{fixed(wrong.every.value, 0)} of 100 {group(value)} {portrait.misnaming(value)}"
        + (
            f" ({fixed(wrong.own.value, 0)} beside {portrait.called['tasks']} of their own {portrait.called['value']}, "
            f"{fixed(wrong.other.value, 0)} beside others)"
            if wrong.own and wrong.other
            else ""
        )
        for value, wrong in row.wrong.items()
    ]
    answers = [
        ": ".join(filter(None, (answer.verdict, ", ".join(answer.lines))))
        for one in PANEL_QUESTIONS
        for answer in row.answers.get(one.key, [])
    ]
    return ", ".join([f"{row.name}: {listed(shares)}", *answers])
